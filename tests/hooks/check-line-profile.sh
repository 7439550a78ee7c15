#!/bin/sh
# SPDX-License-Identifier: MIT
# The line profile of tests/support/profiled.c, built in the ways in which programs are: on the
# shared library or with the library linked into it, with and without debug information, stripped,
# position-independent or not, loaded at run time. The figures are the same always, and none of the
# library's frames ever shows.
# shellcheck source=../support/house.sh
. "${top_srcdir:=$(cd "$(dirname "$0")/../.." && pwd)}/tests/support/house.sh"
set -eu

: "${clp_libdw:?yes or no: whether there are names}"
source=tests/support/profiled.c
shared=$top_builddir/.libs/libclpool.so
objects=$top_builddir/.libs/libclpool-internal.a
for library in "$shared" "$objects"; do
  [ -e "$library" ] || broken "$library is not built"
done
LD_LIBRARY_PATH=$top_builddir/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH
program=$house_tmp/profiled
checks=0

# build FLAG...: the program, as it is built from the top of a tree.
build() {
  built=$*
  rm -f "$house_tmp"/*.gcda # what another program of the name counted
  # shellcheck disable=SC2086 # the compiler and its flags are lists of words
  (cd "$top_srcdir" && $CC ${CLP_BUILD_FLAGS-} -Iinclude -I"$top_builddir/include" -pthread \
    -o "$program" "$source" "$@") || fail "$source does not build with $*"
}

build_shared() { build "$@" -L"$top_builddir/.libs" -lclpool; }

# shellcheck disable=SC2086 # lists of words
build_linked_in() { build "$@" "$objects" ${LIBDW_LIBS-}; }

# build_static FLAG...: with the C library and libdw in it, too; fails where they are not to be had.
build_static() {
  libraries=-pthread
  [ "$clp_libdw" = no ] || libraries="$libraries -ldw -lelf -lz -lbz2 -llzma"
  echo 'int main(void) { return 0; }' >"$house_tmp/empty.c"
  # shellcheck disable=SC2086 # lists of words
  $CC ${CLP_BUILD_FLAGS-} -o "$house_tmp/empty" "$house_tmp/empty.c" "$@" \
    $libraries >/dev/null 2>&1 || return 1
  # shellcheck disable=SC2086 # likewise
  build "$@" "$objects" $libraries
}

# Each mark of the source, @main, becomes its file and line.
awk -v file="$source" 'match($0, /@[a-z0-9]+/) {
    printf "s|%s:|%s:%d:|g\n", substr($0, RSTART, RLENGTH), file, NR
  }' "$top_srcdir/$source" >"$house_tmp/marks"

# expect COMMAND...: prints what standard input says, but that offsets become "+".
expect() {
  code=0
  sed -f "$house_tmp/marks" >"$house_tmp/expected"
  "$@" >"$house_tmp/out" 2>&1 || code=$?
  [ "$code" = 0 ] || { cat "$house_tmp/out"; fail "$built: exited with $code"; }
  sed 's/+0x[0-9a-f]*/+/g' "$house_tmp/out" >"$house_tmp/plain"
  diff "$house_tmp/expected" "$house_tmp/plain" || fail "$built: not the profile that it must be"
  checks=$((checks + 1))
}

with_names() {
  expect "$program" <<END
_root (6.00KB, 3.00KB)
  @main1:main (3.00KB, 3.00KB)
    @axpy1:axpy (1.00KB, 1.00KB)
      @temporary:temporary (1.00KB, 1.00KB)
    @axpy2:axpy (2.00KB, 2.00KB)
      @temporary:temporary (2.00KB, 2.00KB)
  @main2:main (3.00KB, 0.00B)
    @axpy1:axpy (1.00KB, 0.00B)
      @temporary:temporary (1.00KB, 0.00B)
    @axpy2:axpy (2.00KB, 0.00B)
      @temporary:temporary (2.00KB, 0.00B)
END
  expect "$program" folded <<END
@main1:main;@axpy1:axpy;@temporary:temporary 1024
@main1:main;@axpy2:axpy;@temporary:temporary 2048
@main2:main;@axpy1:axpy;@temporary:temporary 1024
@main2:main;@axpy2:axpy;@temporary:temporary 2048
END
  [ "${clp_sanitized-}" != yes ] || return 0 # it has a frame of its own in each thread
  expect "$program" thread <<END
_root (3.00KB, 3.00KB)
  @thread:run_thread (3.00KB, 3.00KB)
    @axpy1:axpy (1.00KB, 1.00KB)
      @temporary:temporary (1.00KB, 1.00KB)
    @axpy2:axpy (2.00KB, 2.00KB)
      @temporary:temporary (2.00KB, 2.00KB)
END
}

# with_offsets MAIN AXPY: where functions are known as this at most.
with_offsets() {
  expect "$program" <<END
_root (6.00KB, 3.00KB)
  profiled+$1 (3.00KB, 3.00KB)
    profiled+$2 (1.00KB, 1.00KB)
    profiled+$2 (2.00KB, 2.00KB)
  profiled+$1 (3.00KB, 0.00B)
    profiled+$2 (1.00KB, 0.00B)
    profiled+$2 (2.00KB, 0.00B)
END
}

with_debug_information() {
  if [ "$clp_libdw" = yes ]; then with_names; else with_offsets '' ''; fi
}

without_debug_information() {
  if [ "$clp_libdw" = yes ]; then with_offsets :main :axpy; else with_offsets '' ''; fi
}

for kind in build_shared build_linked_in; do
  for flags in '-O0' '-O2' '-O2 -fno-pie -no-pie' '-O2 -fomit-frame-pointer'; do
    # shellcheck disable=SC2086 # a list of words
    $kind -g $flags
    with_debug_information
  done
  $kind -g0 -O2
  without_debug_information
  $kind -g0 -O2 -s
  with_offsets '' ''
done

# Debug information that was made at link time, in another file, in an older format.
for flags in '-O2 -flto' '-O2 -gsplit-dwarf' '-O2 -gdwarf-4'; do
  # shellcheck disable=SC2086 # a list of words
  if ! echo 'int main(void) { return 0; }' |
    $CC -x c $flags -o "$house_tmp/plain" - 2>/dev/null; then
    echo "not tried: $flags, which $CC lacks here"
    continue
  fi
  # shellcheck disable=SC2086 # a list of words
  build_shared -g $flags
  with_debug_information
done

# With all libraries linked in. Without libdw, the C library's frames above main have no names then,
# by which they would be known.
for flags in -static -static-pie; do
  if [ "$clp_libdw" != yes ]; then
    echo "not tried: $flags, without libdw"
    continue
  fi
  if ! build_static -g -O2 $flags; then
    echo "not tried: $flags, for which libraries are missing"
    continue
  fi
  with_debug_information
  build_static -g0 -O2 $flags
  without_debug_information
done

# Where nothing has a name, the function at which the program starts is known all the same.
if build_static -g0 -O2 -static; then
  start=0x$(${NM:-nm} "$program" | awk '$3 == "_start" { print $1 }')
  [ "$start" != 0x ] || broken "$program has no _start"
  build_static -g0 -O2 -static -s
  "$program" | sed -n 's/.*+\(0x[0-9a-f]*\) .*/\1/p' >"$house_tmp/offsets"
  [ -s "$house_tmp/offsets" ] || fail "$built: prints no offsets"
  while read -r offset; do
    distance=$((offset - start))
    [ $distance -lt 0 ] || [ $distance -ge 38 ] || fail "$built: shows _start"
  done <"$house_tmp/offsets"
  checks=$((checks + 1))
fi

# As a part of another program that is loaded when it runs.
build_shared -g -O2 -fPIC -shared -Dmain=run
cat >"$house_tmp/load.c" <<'END'
#include <dlfcn.h>
int main(int count, char **arguments)
{
  void *part = dlopen(arguments[1], RTLD_NOW);
  int (*run)(int, char **) = part ? (int (*)(int, char **))dlsym(part, "run") : 0;
  int code = run ? run(count - 1, arguments + 1) : 1;
  return code;
}
END
# shellcheck disable=SC2086 # lists of words
$CC ${CLP_BUILD_FLAGS-} -g0 -o "$house_tmp/load" "$house_tmp/load.c" -ldl
if [ "$clp_libdw" = yes ]; then
  expect "$house_tmp/load" "$program" folded <<END
load+:main;@main1:run;@axpy1:axpy;@temporary:temporary 1024
load+:main;@main1:run;@axpy2:axpy;@temporary:temporary 2048
load+:main;@main2:run;@axpy1:axpy;@temporary:temporary 1024
load+:main;@main2:run;@axpy2:axpy;@temporary:temporary 2048
END
else
  expect "$house_tmp/load" "$program" folded <<END
load+;profiled+;profiled+ 1024
load+;profiled+;profiled+ 2048
load+;profiled+;profiled+ 1024
load+;profiled+;profiled+ 2048
END
fi

echo "$checks profiles, each as it must be"
