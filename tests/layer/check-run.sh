#!/bin/sh
# SPDX-License-Identifier: MIT
# clpool run: programs do the same under the layer that pools as without, and what cannot be is told
# in one line. CLPT_PROGRAMS is the number of programs drawn by chance.
# shellcheck source=../support/house.sh
. "${top_srcdir:=$(cd "$(dirname "$0")/../.." && pwd)}/tests/support/house.sh"
set -eu
command=run
layer=layer
# shellcheck source=layer.sh
. "$top_srcdir/tests/layer/layer.sh"
count=${CLPT_PROGRAMS:-60}
says ''

# pooled COUNT: so many buffers, at least, were from held memory.
pooled() {
  [ "$(awk '/^clpool run: buffers: / { print $4 }' err)" -ge "$1" ] ||
    fail "few buffers are from pools: $(cat err)"
}

# --- The same as without

# by_chance FIRST COUNT: programs from this seed on.
by_chance() {
  alone plain "$programs/random_programs" "$1" "$2" 2
  for threads in 1 4; do
    as_alone --leading-bits=$((threads & 4)) --report "$programs/random_programs" "$1" "$2" $threads
    pooled "$2"
  done
}

first=1
while [ "$first" -le "$count" ]; do
  some=$((count - first + 1))
  [ "$some" -le 500 ] || some=500
  by_chance "$first" "$some"
  first=$((first + some))
done
for what in all threads; do
  alone plain "$recorded" $what
  as_alone "$recorded" $what
  says ''
done

alone plain "$recorded" shares
as_alone --report "$recorded" shares
pooled 1600

# What is held goes when memory is out, though more may be held than there is.
code=0
"$recorded" exhausts >plain || code=$?
if [ "$code" -ne 77 ]; then
  [ "$code" -eq 0 ] || fail "out of memory: $(cat plain)"
  run 0 --hold=10G "$recorded" exhausts
fi

# The variables of a program's own pools are nothing to the layer.
alone plain "$programs/random_programs" 1 10 1
CLPOOL_MEMORY_LIMIT=x CLPOOL_LEADING_BITS=x CLPOOL_ARENA=x CLPOOL_HOLD=0 \
  as_alone --report "$programs/random_programs" 1 10 1
pooled 10

# Nor is what those pools take pooled again, and their trace is their own.
example=$builddir/examples/array_expressions
if [ -x "$example" ]; then
  CLPOOL_TRACE=its.csv run 0 --report "$example"
  grep -q "buffers: 0 from held memory, 0 of new memory, .* for the program's own pools)" err ||
    fail "$(cat err)"
  clpool 0 replay its.csv
fi

# The program may change its working directory.
ln -s "$CLPOOL_LAYER_LIBRARY" layer.so
ln -s "$builddir/.libs/libclpool-audit.so" .
# shellcheck disable=SC2016 # for the shell that is run
CLPOOL_LAYER_LIBRARY=./layer.so run 7 sh -c 'cd / && exec "$0" exits' "$recorded"
says ''

# --- What cannot be

no_bytes='expected bytes, such as 1073741824, 512M or 1.5GiB, found'
while IFS='|' read -r wanted line arguments; do
  # shellcheck disable=SC2086 # words
  run "$wanted" $arguments
  says "clpool run: $line"
done <<ROWS
2|the program is missing (see clpool run --help)|
2|--leading-bits: expected a number from 0 to 16, found "17"|--leading-bits=17 true
2|--limit: $no_bytes "0.5"; for a part write a percentage, such as 50%|--limit=0.5 true
2|--hold: $no_bytes "x"|--hold=x true
127|cannot run ./nosuch: No such file or directory|./nosuch
0|true used no OpenCL, or its OpenCL loader cannot be replaced: nothing is pooled|true
ROWS
CLPOOL_LAYER_LIBRARY=./none run 2 true
says 'clpool run: cannot load the layer: ./none: cannot open shared object file: No such file or '\
'directory'
CLPOOL_LAYER_LEADING_BITS=x run 7 "$recorded" exits
says 'clpool run: CLPOOL_LAYER_LEADING_BITS is "x", not 0 to 16: nothing is pooled'
CLPOOL_LAYER_HOLD=x run 7 "$recorded" exits
says 'clpool run: CLPOOL_LAYER_HOLD is "x", not a size such as 512M, 1.5G or 40%: nothing is pooled'
exports_only_two
echo "$checks runs"
