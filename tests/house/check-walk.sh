#!/bin/sh
# SPDX-License-Identifier: MIT
# A request passes few functions: those of a hit, a miss, a take-over, statistics and a carve are
# counted, and limited for some. With CLPT_WALK=print (make walk) prints each call, indented.
# shellcheck source=../support/house.sh
. "${top_srcdir:=$(cd "$(dirname "$0")/../.." && pwd)}/tests/support/house.sh"

command -v addr2line >/dev/null || skip "no addr2line"
grep -q '^#define HAVE_OPENCL 1' "$top_builddir/config.h" || skip "built without OpenCL"
top_builddir=$(cd "$top_builddir" && pwd)
cd "$top_srcdir"
not_built=debug_info.c
if grep -q '^#define HAVE_LIBDW 1' "$top_builddir/config.h"; then
  not_built=no_debug_info.c
  : "${LIBDW_LIBS:=-ldw}"
fi
# DWARF 4, since addr2line takes inline functions of later versions for their callers' files.
# shellcheck disable=SC2046,SC2086 # lists of words
$CC -std=gnu11 -O0 -gdwarf-4 -finstrument-functions -no-pie -pthread \
  -include "$top_builddir/config.h" -Iinclude -I"$top_builddir/include" -Ilib \
  ${OPENCL_CFLAGS:--DCL_TARGET_OPENCL_VERSION=300} -DCL_USE_DEPRECATED_OPENCL_1_2_APIS \
  $(find lib -name '*.c' ! -name "$not_built") tests/support/walk.c -o "$house_tmp/walk" \
  ${OPENCL_LIBS:--lOpenCL} ${LIBDW_LIBS-} -ldl
"$house_tmp/walk" >"$house_tmp/calls"
sed -n 's/^[0-9]* \(0x.*\)/\1/p' "$house_tmp/calls" | addr2line -f -e "$house_tmp/walk" |
  sed -e "s,$PWD/,,; s,:[0-9?].*,," -e "s,$top_builddir/,," | paste -s -d '\t\n' \
  >"$house_tmp/names"
awk -v prints="${CLPT_WALK-}" -v names="$house_tmp/names" -F '\t' '
  function sum() {
    if (what) printf "%s: %d calls, %d functions, %d files\n", what, calls, functions, files
    key = what
    sub(/:.*/, "", key)
    if (key in most && (functions > most[key] || files > most_files[key])) {
      printf "more than %d functions or %d files\n", most[key], most_files[key]
      wrong = 1
    }
    found += key in most
    calls = functions = files = 0
    split("", seen)
  }
  BEGIN {
    most["a hit"] = 13; most_files["a hit"] = 4
    most["a miss"] = 41; most_files["a miss"] = 11
    most["a carve"] = 40; most_files["a carve"] = 12
  }
  /^#/ { sum(); what = substr($0, 3); if (prints) print what; next }
  {
    depth = $0 + 0
    getline <names
    calls++
    functions += !seen[$1 "\t" $2]++
    files += !seen[$2]++
    if (prints) printf "%*s%s  %s\n", 2 * depth + 2, "", $1, $2
  }
  END { sum(); exit wrong || found < 3 }' "$house_tmp/calls"
