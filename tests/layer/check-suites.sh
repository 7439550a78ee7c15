#!/bin/sh
# SPDX-License-Identifier: MIT
# Tests of clpool's, whose paths are the arguments, and CLBlast's that are installed: under clpool
# run and record, they end as they do alone, and print the same results.
command=run layer=layer
# shellcheck source=layer.sh
. "${top_srcdir:=$(cd "$(dirname "$0")/../.." && pwd)}/tests/layer/layer.sh"
export top_srcdir
record=$builddir/.libs/libclpool-record.so
number=$("$clpool" info 2>&1 | sed -n "s/^platform \([0-9]*\): $CLPT_PLATFORM\$/\1/p" | head -n 1)
differ=0 total=0

# results FILE COMMAND...: the exit code, the sums of Check's tests and those of CLBlast's.
results() {
  file=$1 code=0
  shift
  timeout 900 "$@" >printed 2>said || code=$?
  echo "exit code $code" >"$file"
  grep -E '^[0-9]+%: Checks|:[FE]:|^\* |^ +[0-9]+ ' printed >>"$file" || :
}

for each in "$@" xamax xaxpy xdot xgemv xger xnrm2 xomatcopy; do
  set -- "$builddir/$each"
  case $each in
  *test_pools | *stress) continue ;; # which take long
  x*) set -- "/usr/bin/clblast_test_$each" -platform "$number" -device 0 ;;
  esac
  [ -x "$1" ] || continue
  results alone "$@"
  results run "$clpool" run "$@"
  CLPOOL_LAYER_LIBRARY=$record results record "$clpool" record -o run.csv "$@"
  total=$((total + 1))
  cmp -s alone run && cmp -s alone record && continue
  differ=$((differ + 1))
  echo "${each##*/}: $(diff alone run) $(diff alone record)"
done
echo "$total programs, $differ with a difference"
[ "$differ" -eq 0 ]
