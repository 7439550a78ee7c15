#!/bin/sh
# SPDX-License-Identifier: MIT
# clpool run: calls on memory objects, right and wrong ones, have the same codes, answers and bytes
# as without the layer. CLPT_SEQUENCES is the number of sequences drawn by chance. A difference is
# shown with the calls before it; `tests/layer/random_calls SEQUENCE 1` makes them.
# shellcheck source=../support/house.sh
. "${top_srcdir:=$(cd "$(dirname "$0")/../.." && pwd)}/tests/support/house.sh"
set -eu
command=run
layer=layer
# shellcheck source=layer.sh
. "$top_srcdir/tests/layer/layer.sh"
sequences=${CLPT_SEQUENCES:-150}

# shows_difference: the sequence up to the first line that differs, and that line of the other.
shows_difference() {
  awk '/^sequence/ { calls = "" }
    { calls = calls $0 "\n"; if ((getline layer <"out") <= 0) layer = "nothing" }
    layer != $0 { print calls "under the layer:\n" layer; exit }' plain
}

# compare FIRST COUNT: these sequences, without the layer and with it.
compare() {
  code=0
  timeout 300 "$programs/random_calls" "$1" "$2" >plain || code=$?
  [ "$code" -lt 132 ] || [ "$code" -eq 134 ] ||
    skip "the driver itself crashes at calls with wrong handles or offsets"
  [ "$code" -eq 0 ] || fail "the calls fail by themselves, exit code $code: $(tail -n 1 plain)"
  for bits in 0 4; do
    run 0 --leading-bits="$bits" --report "$programs/random_calls" "$1" "$2"
    cmp -s plain out || fail "$(shows_difference)"
    [ "$(awk '/^clpool run: buffers: / { print $4 }' err)" -gt 0 ] ||
      fail "no buffers are from held memory: $(cat err)"
  done
}

first=0
while [ "$first" -lt "$sequences" ]; do
  count=$((sequences - first))
  [ "$count" -le 500 ] || count=500
  compare "$first" "$count"
  first=$((first + count))
done
echo "$sequences sequences"
