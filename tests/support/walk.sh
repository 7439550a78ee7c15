#!/bin/sh
# SPDX-License-Identifier: MIT
# make walk: prints each call of the library that a miss, a hit, a take-over, statistics and a carve
# pass, indented, and the number of functions and files.
# By hand: top_builddir=/where/you/built tests/support/walk.sh [--sums]
set -eu
: "${top_srcdir:=$(cd "$(dirname "$0")/../.." && pwd)}" "${top_builddir:=$top_srcdir}" "${CC:=cc}"
case $top_builddir in /*) ;; *) top_builddir=$PWD/$top_builddir ;; esac
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$top_srcdir"
not_built=debug_info.c
if grep -q '^#define HAVE_LIBDW 1' "$top_builddir/config.h"; then
  not_built=no_debug_info.c
  : "${LIBDW_LIBS:=-ldw}"
fi
sources=$(find lib -name '*.c' ! -name "$not_built")
# DWARF 4, since addr2line takes inline functions of later versions for their callers' files.
cat >"$folder/compile" <<'END'
exec $CC -std=gnu11 -O0 -gdwarf-4 -finstrument-functions -include "$top_builddir/config.h" \
  -Iinclude -I"$top_builddir/include" -Ilib $OPENCL_CFLAGS -DCL_USE_DEPRECATED_OPENCL_1_2_APIS \
  -c "$1" -o "$folder/$(echo "$1" | tr / _).o"
END
: "${OPENCL_CFLAGS:=-DCL_TARGET_OPENCL_VERSION=300}"
export CC OPENCL_CFLAGS folder top_builddir
# shellcheck disable=SC2086 # a list of names
printf '%s\n' $sources tests/support/walk.c | xargs -P "$(nproc)" -n 1 sh "$folder/compile"
# shellcheck disable=SC2086 # the compiler and libraries are lists of words
$CC -no-pie -pthread "$folder"/*.o -o "$folder/walk" ${OPENCL_LIBS:--lOpenCL} ${LIBDW_LIBS-} \
  -ldl
"$folder/walk" >"$folder/calls"
sed -n 's/^[0-9]* \(0x.*\)/\1/p' "$folder/calls" | addr2line -f -e "$folder/walk" |
  sed -e "s,$PWD/,,; s,:[0-9?].*,," -e "s,$top_builddir/,," | paste -s -d '\t\n' >"$folder/names"
awk -v sums="${1-}" -v names="$folder/names" -F '\t' '
  function sum() {
    if (what) printf "%s: %d calls, %d functions, %d files\n", what, calls, functions, files
    calls = functions = files = 0
    split("", seen)
  }
  /^#/ { sum(); what = substr($0, 3); if (!sums) print what; next }
  {
    depth = $0 + 0
    getline <names
    calls++
    functions += !seen[$1 "\t" $2]++
    files += !seen[$2]++
    if (!sums) printf "%*s%s  %s\n", 2 * depth + 2, "", $1, $2
  }
  END { sum() }' "$folder/calls"
