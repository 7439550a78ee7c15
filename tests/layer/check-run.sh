#!/bin/sh
# SPDX-License-Identifier: MIT
# clpool run: programs do the same under the layer that pools as without, and what cannot be is told
# in one line. CLPT_PROGRAMS is the number of programs drawn by chance.
# shellcheck source=../support/house.sh
. "${top_srcdir:=$(cd "$(dirname "$0")/../.." && pwd)}/tests/support/house.sh"
set -eu

builddir=$(cd "$top_builddir" && pwd)
clpool=$builddir/tools/clpool
random=$builddir/tests/layer/random_programs
recorded=$builddir/tests/layer/recorded
shared=$builddir/tests/layer/shared_context
programs=${CLPT_PROGRAMS:-100}
CLPOOL_LAYER_LIBRARY=$builddir/.libs/libclpool-layer.so
export CLPOOL_LAYER_LIBRARY
for file in "$random" "$recorded" "$shared" "$CLPOOL_LAYER_LIBRARY"; do
  [ -e "$file" ] || broken "$file is missing"
done
unset OPENCL_LAYERS
# The layer's tables last as long as the process. ThreadSanitizer's variables need room.
ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
GLIBC_TUNABLES=glibc.rtld.optional_static_tls=1048576
export ASAN_OPTIONS GLIBC_TUNABLES
# shellcheck source=../support/one_platform.sh
. "$top_srcdir/tests/support/one_platform.sh"
cd "$house_tmp"
checks=0

# run CODE ARGUMENT...: clpool run ends with this code; what is said goes to out and err.
run() {
  wanted=$1
  shift
  code=0
  timeout 300 "$clpool" run "$@" >out 2>err || code=$?
  checks=$((checks + 1))
  [ "$code" -eq "$wanted" ] || fail "run $*: exit code $code, not $wanted: $(cat out err)"
}

says() { [ "$(cat err)" = "$1" ] || fail "said \"$(cat err)\", not \"$1\""; }

# pooled: how many buffers were from held memory.
pooled() { awk '/^clpool run: buffers: / { print $4 }' err; }

run 7 "$recorded" exits
! grep -q 'install ocl-icd-libopencl1' err || skip "no OpenCL loader here has layers"

# --- The same as without

# by_chance FIRST COUNT: programs from this seed on, without the layer and with it.
by_chance() {
  code=0
  timeout 300 "$random" "$1" "$2" 2 >plain || code=$?
  [ "$code" -ne 77 ] || skip "there is no OpenCL device"
  [ "$code" -eq 0 ] || fail "the programs fail by themselves: $(cat plain)"
  for bits in 0 4; do
    for threads in 1 4; do
      run 0 --leading-bits="$bits" --report "$random" "$1" "$2" "$threads"
      cmp -s plain out || fail "programs from seed $1: $(diff plain out)"
      [ "$(pooled)" -ge "$2" ] || fail "few buffers are from pools: $(cat err)"
    done
  done
}

first=1
while [ "$first" -le "$programs" ]; do
  count=$((programs - first + 1))
  [ "$count" -le 500 ] || count=500
  by_chance "$first" "$count"
  first=$((first + count))
done

for what in all threads; do
  "$recorded" "$what" >plain
  run 0 "$recorded" "$what"
  cmp -s plain out || fail "$what: $(diff plain out)"
  says ''
done
run 7 "$recorded" exits

# Threads that share a context, and a queue or none.
for queues in 1 4; do
  run 0 --report "$shared" 4 "$queues" "$((programs * 10))"
  [ "$(pooled)" -ge "$((programs * 20))" ] || fail "few buffers are from pools: $(cat err)"
done

# What is held goes when memory is out, though more may be held than there is.
code=0
"$builddir/tests/layer/exhausted" >plain || code=$?
if [ "$code" -ne 77 ]; then
  [ "$code" -eq 0 ] || fail "exhausted: $(cat plain)"
  run 0 --hold=10G "$builddir/tests/layer/exhausted"
fi

# The variables of a program's own pools are nothing to the layer.
CLPOOL_MEMORY_LIMIT=x CLPOOL_LEADING_BITS=x CLPOOL_ARENA=x CLPOOL_HOLD=0 \
  run 0 --report "$shared" 4 1 "$((programs * 10))"
[ "$(pooled)" -ge "$((programs * 20))" ] || fail "few buffers are from pools: $(cat err)"

# Examples look at their results themselves.
for example in array_expressions two_queues; do
  [ ! -x "$builddir/examples/$example" ] || run 0 "$builddir/examples/$example"
done

# What a program's own pools take is not pooled again.
if [ -x "$builddir/examples/array_expressions" ]; then
  run 0 --report "$builddir/examples/array_expressions"
  grep -q "buffers: 0 from held memory, 0 of new memory, .* for the program's own pools)" err ||
    fail "$(cat err)"
fi

# A program's own trace is its own.
if [ -x "$builddir/examples/array_expressions" ]; then
  CLPOOL_TRACE=its.csv run 0 "$builddir/examples/array_expressions"
  "$clpool" replay its.csv >/dev/null || fail "the layer has written to the program's trace"
fi

# The program may change its working directory.
ln -s "$CLPOOL_LAYER_LIBRARY" layer.so
ln -s "$builddir/.libs/libclpool-audit.so" .
# shellcheck disable=SC2016 # for the shell that is run
CLPOOL_LAYER_LIBRARY=./layer.so run 7 sh -c 'cd / && exec "$0" exits' "$recorded"
says ''

# --- What cannot be

run 3 sh -c 'exit 3'
says 'clpool run: sh used no OpenCL, or its OpenCL loader cannot be replaced: nothing is pooled'
run 127 ./nosuch
run 2
says 'clpool run: the program is missing (see clpool run --help)'
run 2 --leading-bits=17 true
says 'clpool run: --leading-bits: expected a number from 0 to 16, found "17"'
run 2 --limit=0.5 true
says 'clpool run: --limit: expected bytes, such as 1073741824, 512M or 1.5GiB, found '\
'"0.5"; for a part write a percentage, such as 50%'
run 2 --hold=x true
says 'clpool run: --hold: expected bytes, such as 1073741824, 512M or 1.5GiB, found "x"'
CLPOOL_LAYER_LIBRARY=./none run 2 true
says 'clpool run: cannot load the layer: ./none: cannot open shared object file: No such file or '\
'directory'
CLPOOL_LAYER_LEADING_BITS=x run 7 "$recorded" exits
says 'clpool run: CLPOOL_LAYER_LEADING_BITS is "x", not 0 to 16: nothing is pooled'
CLPOOL_LAYER_HOLD=x run 7 "$recorded" exits
says 'clpool run: CLPOOL_LAYER_HOLD is "x", not a size such as 512M, 1.5G or 40%: nothing is pooled'

exported=$(${NM:-nm} -D --defined-only "$CLPOOL_LAYER_LIBRARY" | awk '{ print $3 }' | sort | xargs)
[ "$exported" = 'clGetLayerInfo clInitLayer' ] || fail "the layer exports $exported"
echo "$checks runs"
