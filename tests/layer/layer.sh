# SPDX-License-Identifier: MIT
# What the checks of the layers share; sourced, not run. $command is the command of clpool, $layer
# the name of its layer. The current folder is an empty one from here on.
# shellcheck shell=sh disable=SC2154
# shellcheck source=../support/house.sh
. "$top_srcdir/tests/support/house.sh"
top_srcdir=$(cd "$top_srcdir" && pwd) builddir=$(cd "$top_builddir" && pwd)
clpool=$builddir/tools/clpool
program=$builddir/tests/layer/program
CLPOOL_LAYER_LIBRARY=$builddir/.libs/libclpool-$layer.so
unset OPENCL_LAYERS CLPOOL_LAYER_TRACE CLPOOL_LAYER_STACKS CLPOOL_LOADER LD_AUDIT CLPOOL_TRACE \
  CLPOOL_TRACE_STACKS
# The layers' tables last as long as the process, and PoCL loses a few bytes of each image.
# ThreadSanitizer's variables need room.
ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
GLIBC_TUNABLES=glibc.rtld.optional_static_tls=1048576
# By name, since loaders have orders of their own, and clpool may replace a program's.
: "${CLPT_PLATFORM:=$("$clpool" info 2>&1 | sed -n 's/^platform 0: //p')}"
export CLPOOL_LAYER_LIBRARY ASAN_OPTIONS GLIBC_TUNABLES CLPT_PLATFORM
cd "$house_tmp"

# clpool CODE COMMAND ARGUMENT...: clpool, with the variables $with, ends with this code; what is
# printed goes to out, what clpool says to err, which has all that is said if it says nothing.
# Drivers speak, too.
with='' line=''
clpool() {
  wanted=$1 code=0
  shift
  # shellcheck disable=SC2086 # words
  timeout 300 env $with "$clpool" "$@" >out 2>all || code=$?
  grep '^clpool ' all >err || cp all err
  [ "$code" -eq "$wanted" ] || fail "$*: exit code $code, not $wanted: $(cat out all)"
}

says() { [ "$(cat err)" = "$1" ] || fail "said \"$(cat err)\", not \"$1\""; }

# refuses: what refusals.txt says of $command.
refuses() {
  sed -n "s#{tmp}#$house_tmp#g; s#{program}#$program#g; /^[0-9]*|$command/p" \
    "$top_srcdir/tests/layer/refusals.txt" >rows
  while IFS='|' read -r row_code arguments with line; do
    # shellcheck disable=SC2086 # words
    clpool "$row_code" $arguments
    says "clpool $command: $line"
  done <rows
  with=
}

# same OPTIONS PART...: the program does and prints under $command, with these options, what it does
# without. False, and not tried, where the driver itself crashes at that.
same() {
  options=$1 code=0
  shift
  timeout 300 "$program" "$@" >plain || code=$?
  [ "$code" -ne 139 ] || { echo "not tried: the driver itself crashes at $*"; return 1; }
  [ "$code" -eq 0 ] || fail "$* fails by itself, exit code $code: $(tail plain)"
  # shellcheck disable=SC2086 # words
  clpool 0 "$command" $options "$program" "$@"
  cmp -s plain out || fail "$*: does something else: $(diff -U100 plain out | head -n 150)"
}

"$program" exits >out || [ $? -ne 77 ] || skip "there is no OpenCL device"
case $command in
run) clpool 7 run "$program" exits ;;
record) clpool 7 record -o run.csv "$program" exits ;;
check) clpool 7 check --no-leaks "$program" exits && line='clpool check: 0 errors' ;;
esac
! grep -q 'install ocl-icd-libopencl1' err || skip "no OpenCL loader here has layers"
says "$line"
exported=$(${NM:-nm} -D --defined-only "$CLPOOL_LAYER_LIBRARY" | awk '{ print $3 }' | sort | xargs)
[ "$exported" = 'clGetLayerInfo clInitLayer' ] || fail "the layer exports $exported"
