#!/bin/sh
# SPDX-License-Identifier: MIT
# What clpool tune says that clpool run takes for a recorded program is what it takes, within a
# tenth: a second recording, beneath the layer, tells.
# shellcheck source=../support/house.sh
. "${top_srcdir:=$(cd "$(dirname "$0")/../.." && pwd)}/tests/support/house.sh"
set -eu

builddir=$(cd "$top_builddir" && pwd)
clpool=$builddir/tools/clpool
program=$builddir/tests/layer/many_sizes
record=$builddir/.libs/libclpool-record.so
layer=$builddir/.libs/libclpool-layer.so
for file in "$program" "$record" "$layer"; do
  [ -e "$file" ] || broken "$file is missing"
done
unset OPENCL_LAYERS CLPOOL_LAYER_TRACE
PATH=$builddir/tools:$PATH
CLPOOL_LAYER_LIBRARY=$layer
export PATH CLPOOL_LAYER_LIBRARY
# The layer's tables last as long as the process, and PoCL loses a few bytes of each image.
# ThreadSanitizer's variables need room.
ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
GLIBC_TUNABLES=glibc.rtld.optional_static_tls=1048576
export ASAN_OPTIONS GLIBC_TUNABLES
cd "$house_tmp"

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

# said KEY [ARGUMENT...]: of the line for clpool run, as JSON has it.
said() {
  key=$1
  shift
  "$clpool" tune asked.csv --json "$@" | sed -n '/"run": {/,/}/p' | member "$key"
}

# taken LIMIT: what the program takes beneath the layer, with the leading bits that tune recommends.
taken() {
  rm -f taken.csv
  under "$record:$layer" taken.csv CLPOOL_LAYER_LEADING_BITS="$bits" ${1:+CLPOOL_LAYER_LIMIT=$1}
  "$clpool" replay taken.csv --no-pool --json | member peak_device_bytes
}

# near SAID TAKEN WITH
near() {
  awk -v said="$1" -v taken="$2" 'BEGIN { exit !(said >= 0.9 * taken && said <= 1.1 * taken) }' ||
    fail "$kind: with $3 tune says $1 bytes, and run takes $2"
}

# as_printed [ARGUMENT...]: the line for clpool run works as it is printed, and its report says that
# as much is taken, as far as all objects are pooled.
as_printed() {
  line=$("$clpool" tune asked.csv "$@" | grep '^clpool run .* \./program$')
  line=${line%./program}
  # shellcheck disable=SC2086 # words
  $line --report "$program" "$kind" 2>report || fail "$line fails: $(cat report)"
  ! grep -q ' [1-9][0-9]* not pooled' report || return 0
  near "$(said peak_device_bytes "$@")" \
    "$(sed -n 's/.* in use, \([0-9]*\) bytes taken.*/\1/p' report)" "$line"
}

compared=0
for kind in small phases all contents images flags growing layers volumes contexts; do
  rm -f ./*.csv
  under "$record" asked.csv
  [ "$code" -eq 0 ] || continue
  [ -s asked.csv ] || skip "the OpenCL loader has no layers"
  bits=$(said leading_bits)
  [ -n "$bits" ] || fail "$kind: no line for clpool run: $("$clpool" tune asked.csv)"
  near "$(said peak_device_bytes)" "$(taken '')" "$bits leading bits"
  as_printed
  # All that the program had at once fits, and little more.
  limit=$("$clpool" replay asked.csv --no-pool --json | member peak_device_bytes)
  limit=$((limit + limit / 20))
  bits=$(said leading_bits --limit=$limit)
  [ -n "$bits" ] || continue
  near "$(said peak_device_bytes --limit=$limit)" "$(taken $limit)" "$bits leading bits, $limit"
  as_printed --limit=$limit
  compared=$((compared + 1))
done
[ "$compared" -gt 0 ] || skip "there is no OpenCL device"
echo "$compared programs take what tune says"
