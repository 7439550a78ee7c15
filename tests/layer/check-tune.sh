#!/bin/sh
# SPDX-License-Identifier: MIT
# What clpool tune says that clpool run takes for a recorded program is what it takes, within a
# tenth: a second recording, beneath the layer, tells.
# shellcheck source=../support/house.sh
. "${top_srcdir:=$(cd "$(dirname "$0")/../.." && pwd)}/tests/support/house.sh"
set -eu
command=run
layer=layer
# shellcheck source=layer.sh
. "$top_srcdir/tests/layer/layer.sh"
record=$builddir/.libs/libclpool-record.so
program=$programs/many_sizes
PATH=$builddir/tools:$PATH

# member KEY: of the JSON on standard input.
member() { sed -n "s/^ *\"$1\": \\(.*[^,]\\),*\$/\\1/p" | head -n 1; }

# under LAYERS TRACE [VARIABLE...]: the program runs under these layers; the last code is its own.
under() {
  layers=$1
  trace=$2
  shift 2
  code=0
  env OPENCL_LAYERS="$layers" CLPOOL_LAYER_TRACE="$trace" "$@" "$program" "$kind" 2>err || code=$?
  [ "$code" -eq 0 ] || [ "$code" -eq 77 ] || fail "$kind fails: $(cat err)"
}

# near SAID TAKEN WITH
near() {
  awk -v said="$1" -v taken="$2" 'BEGIN { exit !(said >= 0.9 * taken && said <= 1.1 * taken) }' ||
    fail "$kind: with $3 tune says $1 bytes, and run takes $2"
}

# compare [LIMIT]: the line for clpool run works as it is printed, and its report says that as much
# is taken, as far as all objects are pooled; so does what is recorded beneath the layer.
compare() {
  clpool 0 tune asked.csv --json ${1:+--limit=$1}
  sed -n '/"run": {/,/}/p' out >said
  said=$(member peak_device_bytes <said)
  bits=$(member leading_bits <said)
  [ -n "$bits" ] || { [ -n "${1-}" ] && return 0; } || fail "$kind: no line for clpool run"
  rm -f taken.csv
  under "$record:$CLPOOL_LAYER_LIBRARY" taken.csv CLPOOL_LAYER_LEADING_BITS="$bits" \
    ${1:+CLPOOL_LAYER_LIMIT=$1}
  clpool 0 replay taken.csv --no-pool --json
  near "$said" "$(member peak_device_bytes <out)" "$bits leading bits ${1-}"
  # shellcheck disable=SC2086 # words
  clpool 0 run --leading-bits=$bits ${1:+--limit=$1} --report "$program" "$kind"
  ! grep -q ' [1-9][0-9]* not pooled' err || return 0
  near "$said" "$(sed -n 's/.* in use, \([0-9]*\) bytes taken.*/\1/p' err)" "a report ${1-}"
}

compared=0
for kind in phases flags images contexts; do
  rm -f ./*.csv
  under "$record" asked.csv
  [ "$code" -eq 0 ] || continue
  [ -s asked.csv ] || skip "the OpenCL loader has no layers"
  compare
  # All that the program had at once fits, and little more.
  clpool 0 replay asked.csv --no-pool --json
  limit=$(member peak_device_bytes <out)
  compare $((limit + limit / 20))
  compared=$((compared + 1))
done
clpool 0 tune asked.csv
grep -q '^clpool run .* \./program$' out || fail "there is no line for clpool run: $(cat out)"
echo "$compared programs take what tune says"
