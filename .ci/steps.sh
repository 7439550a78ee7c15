# SPDX-License-Identifier: MIT
# The steps of .ci/run, which sources this file. Each step runs with `set -e` in an empty directory
# $work/STEP. $work/tree is a copy of the checkout, $work/source one after autoreconf.
#
# gcc compiles everything except what valgrind runs (clang 14), what is fuzzed (clang 15) and the
# step clang. ThreadSanitizer is gcc's: clang's is linked into the program, where --wrap would give
# it the tests' functions.
# shellcheck shell=bash
# shellcheck disable=SC2154,SC2164 # .ci/run sets work, step, logs, jobs and checkout, and `set -e`
# shellcheck disable=SC2016 # make expands what is in single quotes

# shellcheck disable=SC2034 # .ci/run uses these
default_steps=(house check address thread valgrind bare install python layer site five-plants)
# shellcheck disable=SC2034
named_steps=(
  valgrind-all standards clang lto coverage fuzz soak distcheck portable debian pyopencl plants
)
# shellcheck disable=SC2034
packages=(
  git clang-format-14 valgrind shellcheck python3 python3-venv python3-dev clang-14 clang-15 lld
  doxygen groff-base mandoc cmake meson libclblast-dev clblast-tests musl-tools
)
portable_packages=(
  gcc-i686-linux-gnu libc6-dev-i386-cross libc6-i386
  gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user
)

# build FLAG...: configures the source out of tree with these flags and builds it. All builds share
# the kernels that PoCL compiled: with AddressSanitizer, compiling them takes minutes.
build() {
  mkdir -p "$work/pocl-cache"
  ln -sfn "$work/pocl-cache" pocl-cache
  "$work/source/configure" --enable-werror "$@"
  make -j"$jobs"
}

# The build with the default switches, which several steps share.
default_build() {
  mkdir -p "$work/default"
  cd "$work/default"
  [ -e config.status ] || build
  make -j"$jobs"
}

# check_only TESTS [VARIABLE...]: builds and runs these tests and no others. Make expands TESTS.
check_only() {
  make -j"$jobs" check TESTS="$1" "${@:2}"
}

# --- By default -----------------------------------------------------------------------------------

step_house() {
  default_build
  make -j"$jobs" check-house
}

# The first commands of README.md, in a copy of the tree.
step_check() {
  local commands
  commands=$(awk '/^```sh$/ { on = 1; next } /^```$/ { if (on) exit } on' "$work/tree/README.md")
  [ -n "$commands" ]
  cp -a "$work/tree/." .
  mkdir -p "$work/pocl-cache"
  ln -s "$work/pocl-cache" pocl-cache
  MAKEFLAGS=-j$jobs sh -exc "$commands"
}

step_address() {
  build --enable-sanitizer=address,undefined CFLAGS='-g -O1'
  make -j"$jobs" check
}

# The programs with threads.
step_thread() {
  build --enable-sanitizer=thread CFLAGS='-g -O1'
  check_only "$thread_tests"
}
thread_tests='tests/model/test_crowd $(filter tests/hostile/% tests/api/test_pool '
thread_tests+='tests/api/test_hook tests/api/test_arena %_order_cuda '
thread_tests+='tests/cuda/test_cuda,$(test_programs))'

# The random programs, and the tests in which calls fail in turn. Debian 12's valgrind does not read
# clang's DWARF 5.
step_valgrind() {
  build --enable-valgrind CC=clang-14 CFLAGS='-g -O1 -gdwarf-4'
  make -j"$jobs" check-valgrind VALGRIND_TESTS="$valgrind_tests"
}

valgrind_tests='tests/model/test_model tests/model/test_nth_failure '
valgrind_tests+='$(filter %_failures,$(test_programs))'

# Without OpenCL and libdw, the benchmarks on what is left, then the library alone, then with musl.
step_bare() {
  build --without-opencl --without-libdw
  make -j"$jobs" check TESTS='$(test_programs) $(built_checks)'
  # 10 million calls, each compared with the model.
  CLPT_PROGRAMS=22000 CK_FORK=no tests/model/test_model
  make -j"$jobs" bench/pair bench/cuda
  bench/pair --rounds=3 --json
  CLPOOL_CUDA_LIBRARY=tests/fakecuda/.libs/libfakecuda.so bench/cuda --rounds=3 --threads=4 --json
  mkdir library
  cd library
  build --without-opencl --without-libdw --disable-tool
  make check-TESTS TESTS='tests/house/check-library.py tests/house/check-examples.py'
  make check-install
  mkdir musl
  cd musl
  compile_with_musl
}

# The library alone, which needs no zlib. Debian's libgcc.a is for glibc: with musl's, a library's
# stack walker is in libgcc_s.
compile_with_musl() {
  "$work/source/configure" --enable-werror --disable-tool --without-opencl --without-libdw \
    CC=musl-gcc
  make -j"$jobs" libclpool.la \
    NO_UNDEFINED_LDFLAGS="-Wl,-z,defs -Wl,$(gcc -print-file-name=libgcc_s.so.1)"
}

# What distcheck does: a tarball, built out of tree from a read-only source, installed, uninstalled
# and cleaned, with nothing left behind. Of the tests, only those of the installation.
step_install() {
  type pkg-config aclocal autoconf cmake meson # check-install.sh is skipped where one is missing
  "$work/source/configure"
  make -j"$jobs" distcheck DISTCHECK_CONFIGURE_FLAGS=--enable-werror \
    check_LIBRARIES= check_LTLIBRARIES= \
    TESTS='tests/house/check-install.sh tests/house/check-walk.sh'
}

# The tests of the Python package, and again with a wheel, of its source distribution alone, in a
# clean environment. The source distribution is made in the tree that it is of.
step_python() {
  (
    default_build
    make check-python
  )
  cp -a "$work/source" source
  mkdir wheel
  cd wheel
  CLPOOL_FAKE_CUDA=$work/default/tests/fakecuda/.libs/libfakecuda.so \
    CLPOOL_PROGRAM=$work/default/tools/clpool ../source/python/tests/wheel.sh "$work/python/source"
}

# The layers' tests, then clpool's own OpenCL tests and another project's under the layers.
step_layer() {
  default_build
    check_only '$(filter tests/layer/%,$(test_programs)) $(layer_checks)'
  make -j"$jobs" check-layer
}

# The documentation site. CI_SITE names a directory for it.
step_site() {
  "$work/source/configure"
  make site
  if [ -n "${CI_SITE-}" ]; then
    mkdir -p "$CI_SITE"
    cp -a site/html/. "$CI_SITE"
  fi
}

# Five planted faults, chosen by the commit.
step_five_plants() {
  plants PLANTS_COUNT=5 PLANTS_SEED="$(git -C "$checkout" rev-parse HEAD)"
}

plants() {
  default_build
  make check-plants PLANTS="--jobs=$jobs" "$@"
}

# --- By name --------------------------------------------------------------------------------------

step_plants() {
  plants
}

step_valgrind_all() {
  build --enable-valgrind CC=clang-14 CFLAGS='-g -O1 -gdwarf-4'
  make -j"$jobs" check-valgrind
}

step_standards() {
  default_build
  make -j"$jobs" check-standards
}

step_clang() {
  build CC=clang-15 CXX=clang++-15
  make -j"$jobs" check
}

step_lto() {
  build CFLAGS='-g -O2 -flto=auto'
  make -j"$jobs" check
}

step_coverage() {
  build --enable-coverage CFLAGS='-g -O0'
  make -j"$jobs" check-coverage
}

# CI_CORPUS names a directory that keeps what the fuzzer finds from run to run.
step_fuzz() {
  build --enable-fuzzing CC=clang-15 CXX=clang++-15
  if [ -n "${CI_CORPUS-}" ]; then
    mkdir -p "$CI_CORPUS"
    ln -s "$CI_CORPUS" fuzz-corpus
  fi
  make fuzz FUZZ_SECONDS="${FUZZ_SECONDS:-60}" || {
    cp fuzz-corpus/*-* "$logs" # the programs that fail
    return 1
  }
}

step_soak() {
  build
  make -j"$jobs" soak
}

step_distcheck() {
  "$work/source/configure"
  make -j"$jobs" distcheck DISTCHECK_CONFIGURE_FLAGS=--enable-werror
}

# fetch_for ARCHITECTURE: unpacks here what is built against. The machine itself stays of one
# architecture. If an index does not come, the download that needs it fails.
fetch_for() {
  local options=(
    -o "Dir::State::Lists=$PWD/lists" -o "Dir::Cache=$PWD/cache" -o "APT::Architectures::=$1"
  )
  mkdir -p lists/partial cache/archives/partial
  apt-get -q "${options[@]}" update || true
  apt-get -q "${options[@]}" download "check:$1" "libsubunit-dev:$1" "zlib1g-dev:$1"
  find . -maxdepth 1 -name '*.deb' -exec dpkg -x {} . \;
}

# test_on ARCHITECTURE HOST DIRECTORY VARIABLE...: builds everything for HOST with what Debian has
# for the ARCHITECTURE in usr/lib/DIRECTORY, and runs a few tests of the core with these variables
# of make. Other tests take numbers that a size of 32 bits does not hold.
test_on() {
  local tests='tests/api/test_status tests/api/test_pool tests/api/test_hook'
  tests+=' tests/model/test_crowd tests/model/test_model'
  tests+=' tests/trace/test_reader'
  mkdir "$1"
  cd "$1"
  fetch_for "$1"
  build --host="$2" --without-opencl --without-libdw \
    CPPFLAGS="-isystem $PWD/usr/include" LDFLAGS="-L$PWD/usr/lib/$3"
  check_only "$tests" "${@:4}"
}

step_portable() {
  install_packages "${portable_packages[@]}"
  (test_on i386 i686-linux-gnu i386-linux-gnu)
  # Tests do under qemu-user as under valgrind. It is slow, and 7.2 aborts in a fork's child.
  (test_on arm64 aarch64-linux-gnu aarch64-linux-gnu \
    LOG_COMPILER='qemu-aarch64 -L /usr/aarch64-linux-gnu' \
    CPPFLAGS='-isystem usr/include -D__VALGRIND_H -DRUNNING_ON_VALGRIND=1')
}

# Debian's packages, without their tests, which other steps run.
step_debian() {
  install_packages debhelper dh-python lintian python3-setuptools
  cp -a "$work/tree" clpool
  cd clpool
  DEB_BUILD_OPTIONS="nocheck parallel=$jobs" dpkg-buildpackage -us -uc
  lintian --fail-on error,warning ../clpool_*.changes
}

# PyOpenCL's own tests, which take long.
step_pyopencl() {
  default_build
  make check-pyopencl
}
