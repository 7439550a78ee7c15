#!/bin/sh
# SPDX-License-Identifier: MIT
# A request passes few functions: tests/support/walk.sh counts those of a hit, a miss and a carve.
# shellcheck source=../support/house.sh
. "${top_srcdir:=$(cd "$(dirname "$0")/../.." && pwd)}/tests/support/house.sh"
set -eu

command -v addr2line >/dev/null || skip "no addr2line"
export top_srcdir top_builddir CC
grep -q '^#define HAVE_OPENCL 1' "$top_builddir/config.h" || skip "built without OpenCL"
status=0
"$top_srcdir/tests/support/walk.sh" --sums >"$house_tmp/sums" 2>"$house_tmp/errors" || status=$?
[ "$status" -ne 77 ] || skip "$(cat "$house_tmp/errors")"
[ "$status" -eq 0 ] || fail "tests/support/walk.sh: $(cat "$house_tmp/errors")"

# within WHAT FUNCTIONS FILES: that request passes at most so many of each.
within() {
  awk -v what="$1" -v functions="$2" -v files="$3" '
    index($0, what) == 1 {
      found = 1
      sub(/.* calls, /, "")
      too_long = $1 > functions || $3 > files
    }
    END { exit !found || too_long }' "$house_tmp/sums" ||
    fail "$1 passes more than $2 functions in $3 files: $(cat "$house_tmp/sums")"
}

within "a hit" 13 4
within "a miss" 45 12
within "a carve" 40 12
cat "$house_tmp/sums"
