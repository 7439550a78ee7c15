#!/bin/sh
# SPDX-License-Identifier: MIT
# clpool run: calls, right and wrong ones, do the same under the layer that pools as without; it
# takes what clpool tune says; and what cannot be is told in one line. CLPT_SEQUENCES is the number
# of sequences drawn by chance; `tests/layer/program calls N 1 0` makes one of them.
: "${top_srcdir:=$(cd "$(dirname "$0")/../.." && pwd)}"
command=run
layer=layer
# shellcheck source=layer.sh
. "$top_srcdir/tests/layer/layer.sh"
count=${CLPT_SEQUENCES:-80}

# pooled COUNT: so many buffers, at least, were from held memory.
pooled() {
  [ "$(awk '/^clpool run: buffers: / { print $4 }' err)" -ge "$1" ] ||
    fail "few buffers are from pools: $(cat err)"
}

# --- The same as without

same '' threads
says ''
first=1
while [ "$first" -le "$count" ]; do
  some=$((count - first + 1))
  [ "$some" -le 500 ] || some=500
  for threads in 0 1 4; do
    ! same "--leading-bits=$threads --report" calls "$first" "$some" "$threads" || pooled "$some"
  done
  first=$((first + some))
done

# The variables of a program's own pools are nothing to the layer, nor is what those take pooled.
with='CLPOOL_MEMORY_LIMIT=x CLPOOL_LEADING_BITS=x CLPOOL_ARENA=x CLPOOL_HOLD=0'
! same --report calls 1 10 1 || pooled 10
example=$builddir/examples/array_expressions
if [ -x "$example" ]; then
  with='CLPOOL_TRACE=its.csv'
  run 0 --report "$example"
  grep -q "buffers: 0 from held memory, 0 of new memory, .* for the program's own pools)" err ||
    fail "$(cat err)"
  with=
  clpool 0 replay its.csv
fi

# The program may change its working directory.
ln -s "$CLPOOL_LAYER_LIBRARY" "$builddir/.libs/libclpool-audit.so" .
with="CLPOOL_LAYER_LIBRARY=./${CLPOOL_LAYER_LIBRARY##*/}"
# shellcheck disable=SC2016 # for the shell that is run
run 7 sh -c 'cd / && exec "$0" exits' "$program"
says ''
with=

# --- What clpool tune says, within a tenth

# member KEY: of the JSON on standard input.
member() { sed -n "s/^ *\"$1\": \\(.*[^,]\\),*\$/\\1/p" | head -n 1; }

# takes_what_tune_says [LIMIT]
takes_what_tune_says() {
  clpool 0 tune asked.csv --json ${1:+--limit=$1}
  sed -n '/"run": {/,/}/p' out >said
  said=$(member peak_device_bytes <said)
  bits=$(member leading_bits <said)
  [ -n "$bits" ] || { [ -n "${1-}" ] && return 0; } || fail "$kind: no line for clpool run"
  run 0 --leading-bits="$bits" ${1:+--limit=$1} --report "$program" "$kind"
  taken=$(sed -n 's/.* in use, \([0-9]*\) bytes taken.*/\1/p' err)
  awk -v said="$said" -v it="$taken" 'BEGIN { exit !(said >= 0.9 * it && said <= 1.1 * it) }' ||
    fail "$kind, $bits leading bits ${1-}: tune says $said bytes, and run takes $taken: $(cat err)"
}

for kind in phases kinds; do
  with=CLPOOL_LAYER_LIBRARY=$builddir/.libs/libclpool-record.so
  clpool 0 record -o asked.csv "$program" "$kind"
  with=
  takes_what_tune_says
  # All that the program had at once fits, and little more.
  clpool 0 replay asked.csv --no-pool --json
  limit=$(member peak_device_bytes <out)
  takes_what_tune_says $((limit + limit / 20))
  clpool 0 tune asked.csv
  grep -q '^clpool run .* \./program$' out || fail "no line for clpool run: $(cat out)"
done

# --- What cannot be

no_bytes='expected bytes, such as 1073741824, 512M or 1.5GiB, found'
no_opencl='used no OpenCL, or its OpenCL loader cannot be replaced: nothing is pooled'
says_for <<ROWS
2|the program is missing (see clpool run --help)||
2|--leading-bits: expected a number from 0 to 16, found "17"|--leading-bits=17 true|
2|--limit: $no_bytes "0.5"; for a part write a percentage, such as 50%|--limit=0.5 true|
2|--hold: $no_bytes "x"|--hold=x true|
127|cannot run ./nosuch: No such file or directory|./nosuch|
0|true $no_opencl|true|
2|cannot load the layer: ./none: cannot open shared object file: No such file or directory|true\
|CLPOOL_LAYER_LIBRARY=./none
7|CLPOOL_LAYER_LEADING_BITS is "x", not 0 to 16: nothing is pooled|$program exits\
|CLPOOL_LAYER_LEADING_BITS=x
7|CLPOOL_LAYER_HOLD is "x", not a size such as 512M, 1.5G or 40%: nothing is pooled\
|$program exits|CLPOOL_LAYER_HOLD=x
ROWS
echo "$checks runs"
