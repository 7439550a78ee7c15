#!/bin/sh
# SPDX-License-Identifier: MIT
# What `make install` leaves behind serves other projects: a program that asks pkg-config, one whose
# configure uses clpool.m4, one of Meson's, one that CMake finds it for, wherever the installation
# was moved to, the code that README.md shows, and the examples, compiled as their README and the
# guide say. What the installed guides link is there.
# shellcheck source=../support/house.sh
. "${top_srcdir:=$(cd "$(dirname "$0")/../.." && pwd)}/tests/support/house.sh"
set -eu

: "${MAKE:=make}" "${PKG_CONFIG:=pkg-config}"
command -v "$PKG_CONFIG" >/dev/null || skip "pkg-config is missing"

# The make that runs this check has its own targets, flags and jobs.
unset MAKEFLAGS MFLAGS MAKELEVEL
root=$house_tmp/root
"$MAKE" -C "$top_builddir" install DESTDIR="$root" >"$house_tmp/install.log" 2>&1 ||
  { cat "$house_tmp/install.log"; fail "make install failed"; }

pc=$(cd "$root" && find . -name clpool.pc)
libdir=$(cd "$root/${pc%/pkgconfig/clpool.pc}" && pwd)
PKG_CONFIG_LIBDIR=$libdir/pkgconfig:$("$PKG_CONFIG" --variable=pc_path pkg-config)
PKG_CONFIG_SYSROOT_DIR=$root
LD_LIBRARY_PATH=$libdir${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export PKG_CONFIG PKG_CONFIG_LIBDIR PKG_CONFIG_SYSROOT_DIR LD_LIBRARY_PATH

cflags="-Wall -Wextra -Werror ${CLP_BUILD_FLAGS-} $("$PKG_CONFIG" --cflags clpool)"
libs=$("$PKG_CONFIG" --libs clpool)
version=$("$PKG_CONFIG" --modversion clpool)

with_pkg_config() {
  # shellcheck disable=SC2086 # the compiler and its flags are lists of words
  $CC $cflags -o "$house_tmp/consumer" "$top_srcdir/tests/house/install/consumer.c" $libs ||
    fail "the consumer does not build with pkg-config's flags"
  [ "$("$house_tmp/consumer")" = "clpool $version" ] || fail "the consumer does not run"
  echo "pkg-config: a program builds and runs with clpool $version"
}

# The first block of C in README.md is a source file of a user's, whole but for main().
readme() {
  awk '/^```c$/ { on = 1; next } /^```$/ { if (on) exit } on' "$top_srcdir/README.md" \
    >"$house_tmp/readme.c"
  [ -s "$house_tmp/readme.c" ] || broken "README.md has no block of C"
  if [ ! -e "$(find "$root" -name opencl.h)" ]; then
    echo "README.md: not compiled, this clpool is built without OpenCL"
    return
  fi
  # shellcheck disable=SC2086
  $CC $cflags -DCL_TARGET_OPENCL_VERSION=300 -c -o "$house_tmp/readme.o" "$house_tmp/readme.c" ||
    fail "the code in README.md does not compile"
  echo "README.md: its code compiles"
}

# The commands of the examples' README, but for those of programs that were not built here, for want
# of OpenCL, CLBlast or a compiler of C++.
examples() {
  cp -R "$docs/examples" "$house_tmp/examples"
  chmod -R u+w "$house_tmp/examples"
  cd "$house_tmp/examples"
  awk '/^    cc / { on = 1 } on { on = sub(/\\$/, ""); printf "%s%s", $0, on ? "" : "\n" }' README \
    >commands
  [ -s commands ] || broken "the examples' README does not say how to compile them"
  sed -n 's/^\$ \(cc -o first_pool .*\)/\1/p' "$docs/doc/getting-started.md" >first
  [ -s first ] || broken "getting-started.md does not say how to compile its program"
  cat first >>commands
  # shellcheck disable=SC2086,SC2317 # lists of words; the commands call them
  cc() { $CC -Wall -Wextra -Werror ${CLP_BUILD_FLAGS-} "$@"; }
  # shellcheck disable=SC2086,SC2317
  cxx() { $HOUSE_CXX -Wall -Wextra -Werror ${CLP_BUILD_FLAGS-} "$@"; }
  while read -r command; do
    program=${command#*-o }
    program=${program%% *}
    [ -e "$top_builddir/examples/$program" ] || continue
    command=$(echo "$command" | sed 's/ c++ / cxx /')
    eval "$command" || fail "the guide or examples/README: this does not compile: $command"
    echo "examples: $program compiles"
  done <commands
  ./tune_bins >/dev/null || fail "tune_bins does not run"
  ./arena >/dev/null || fail "arena does not run"
  cd - >/dev/null
}

# find_links FOLDER: what the guides there link but is not there.
find_links() {
  find "$1" -name '*.md' | while read -r guide; do
    sed -n 's/\](/\n](/gp' "$guide" | sed -n 's/^\](\([^)#:]*\)[#)].*/\1/p' |
      while read -r link; do
        [ -z "$link" ] || [ -e "${guide%/*}/$link" ] || echo "${guide##*/} links $link"
      done
  done
}

links() {
  mkdir "$house_tmp/guides"
  echo 'See [a](a.md), [b](b.md#c), [d](#d), [e](https://e).' >"$house_tmp/guides/a.md"
  [ "$(find_links "$house_tmp/guides")" = 'a.md links b.md' ] || broken "dead links are not found"
  dead=$(find_links "$docs")
  [ -z "$dead" ] || fail "installed guides have dead links: $dead"
  echo "guides: what they link is installed"
}

with_autoconf() {
  if ! command -v aclocal >/dev/null || ! command -v autoconf >/dev/null; then
    echo "clpool.m4: not tried, aclocal or autoconf is missing"
    return
  fi
  mkdir "$house_tmp/project"
  cp "$top_srcdir/tests/house/install/"* "$house_tmp/project"
  cd "$house_tmp/project"
  chmod u+w .
  sed "s/@VERSION@/$version/" configure.ac >configure.ac.new
  mv -f configure.ac.new configure.ac
  macros=$(dirname "$(find "$root" -name clpool.m4)")
  {
    ACLOCAL_PATH=$macros aclocal && autoconf && ./configure CC="$CC" CFLAGS="${CLP_BUILD_FLAGS-}" &&
      "$MAKE"
  } >project.log 2>&1 || { cat project.log; fail "a project that uses clpool.m4 does not build"; }
  [ "$(./consumer)" = "clpool $version" ] || fail "that project's program does not run"
  echo "clpool.m4: a project with PKG_CHECK_CLPOOL builds and runs"
}

# cmake_project WHERE VERSION: a project that asks for that version of the clpool there.
cmake_project() {
  rm -rf "$house_tmp/cmake"
  cmake -S "$top_srcdir/tests/house/install" -B "$house_tmp/cmake" -DCMAKE_C_COMPILER="$CC" \
    -DCMAKE_C_FLAGS="${CLP_BUILD_FLAGS-}" -Dclpool_DIR="$1" -Dversion="$2" \
    >"$house_tmp/cmake.log" 2>&1 && cmake --build "$house_tmp/cmake" >>"$house_tmp/cmake.log" 2>&1
}

with_cmake() {
  if ! command -v cmake >/dev/null; then
    echo "find_package: not tried, cmake is missing"
    return
  fi
  mkdir "$house_tmp/moved here"
  cp -R "$root/." "$house_tmp/moved here"
  for place in "$libdir" "$house_tmp/moved here${libdir#"$root"}"; do
    LD_LIBRARY_PATH=$place
    cmake_project "$place/cmake/clpool" "$version" ||
      { cat "$house_tmp/cmake.log"; fail "a project with find_package does not build"; }
    for consumer in "$house_tmp"/cmake/consumer*; do
      [ "$("$consumer")" = "clpool $version" ] || fail "that project's ${consumer##*/} does not run"
    done
  done
  for wrong in 999 0.1; do
    ! cmake_project "$libdir/cmake/clpool" $wrong || fail "find_package found a clpool $wrong"
    grep -q compatible "$house_tmp/cmake.log" ||
      broken "clpool $wrong is refused for another reason"
  done
  echo "find_package: a project builds and runs, also where the installation was moved"
}

with_meson() {
  if ! command -v meson >/dev/null; then
    echo "dependency('clpool'): not tried, meson is missing"
    return
  fi
  {
    CC=$CC CFLAGS=${CLP_BUILD_FLAGS-} meson setup "$house_tmp/meson" \
      "$top_srcdir/tests/house/install" && meson compile -C "$house_tmp/meson"
  } >"$house_tmp/meson.log" 2>&1 || { cat "$house_tmp/meson.log"; fail "Meson's does not build"; }
  [ "$("$house_tmp/meson/consumer")" = "clpool $version" ] || fail "Meson's program does not run"
  echo "dependency('clpool'): a project of Meson's builds and runs"
}

docs=$(dirname "$(find "$root" -path '*/examples/README')")
docs=${docs%/examples}
with_pkg_config
readme
examples
links
with_autoconf
with_meson
with_cmake
