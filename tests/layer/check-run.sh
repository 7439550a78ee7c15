#!/bin/sh
# SPDX-License-Identifier: MIT
# clpool run: calls, right and wrong ones, do the same under the layer that pools as without; it
# takes what clpool tune says; and what cannot be is told in one line.
command=run layer=layer
# shellcheck source=layer.sh
. "${top_srcdir:=$(cd "$(dirname "$0")/../.." && pwd)}/tests/layer/layer.sh"

same '' threads
says ''
# The variables of a program's own pools are nothing to the layer. `tests/layer/program calls N 1 0`
# makes one of the sequences.
with='CLPOOL_MEMORY_LIMIT=x CLPOOL_LEADING_BITS=x CLPOOL_ARENA=x CLPOOL_HOLD=0'
for threads in 0 1 4; do
  ! same "--leading-bits=$threads --report" calls 1 80 $threads ||
    [ "$(awk '/^clpool run: buffers: / { print $4 }' err)" -ge 80 ] ||
    fail "few buffers are from pools: $(cat err)"
done

# What those take is not pooled.
example=$builddir/examples/array_expressions
if [ -x "$example" ]; then
  with='CLPOOL_TRACE=its.csv'
  clpool 0 run --report "$example"
  grep -q "buffers: 0 from held memory, 0 from new memory, .* for the program's own pools)" err ||
    fail "$(cat err)"
  with=
  ! "$clpool" info | grep -q '^ *SVM .*coarse-grain' ||
    clpool 0 run "$clpool" replay its.csv --allocator=cl-svm
fi

# The program may change its working directory.
ln -s "$CLPOOL_LAYER_LIBRARY" "$builddir/.libs/libclpool-audit.so" .
with="CLPOOL_LAYER_LIBRARY=./${CLPOOL_LAYER_LIBRARY##*/}"
# shellcheck disable=SC2016 # for the shell that is run
clpool 7 run sh -c 'cd / && exec "$0" exits' "$program"
says ''

# --- What clpool tune says, within a tenth

# member KEY: of what the JSON in out says of clpool run.
member() { sed -n "/\"run\": {/,/}/s/^ *\"$1\": \\(.*[^,]\\),*\$/\\1/p" out | head -n 1; }

# takes_what_tune_says [LIMIT]
takes_what_tune_says() {
  clpool 0 tune asked.csv --json ${1:+--limit=$1}
  said=$(member peak_device_bytes)
  bits=$(member leading_bits)
  [ -n "$bits" ] || { [ -n "${1-}" ] && return 0; } || fail "$kind: no line for clpool run"
  clpool 0 run --leading-bits="$bits" ${1:+--limit=$1} --report "$program" "$kind"
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
  limit=$(sed -n 's/^ *"peak_device_bytes": \([0-9]*\).*/\1/p' out)
  takes_what_tune_says $((limit + limit / 20))
done
refuses
