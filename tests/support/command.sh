# SPDX-License-Identifier: MIT
# What the checks of single commands of clpool share; sourced after house.sh, not run. $command is
# the command's name; from here on the current folder is an empty one, $out and $err are what the
# last run printed.
# shellcheck shell=sh

: "${command:?}" "${house_tmp:?}"
clpool=$(cd "$top_builddir" && pwd)/tools/clpool
[ -x "$clpool" ] || broken "$clpool is missing"
top_builddir=$(cd "$top_builddir" && pwd)
top_srcdir=$(cd "$top_srcdir" && pwd)
mkdir "$house_tmp/work"
cd "$house_tmp/work" || broken "$house_tmp is gone"
out=$house_tmp/out
err=$house_tmp/err
# The first 2,000 events of the tree's trace, under the same name. The trace has 17,321, and each
# setting that is tried replays them all.
resnet=$house_tmp/resnet50_train.csv.gz
gunzip -c "$top_srcdir/examples/data/${resnet##*/}" | sed 2001q | gzip >"$resnet"
path=$PATH # where clpool finds programs

# run CODE ARGUMENT...: the command ends with this exit code; its output goes to $out and $err.
run() {
  wanted=$1
  shift
  code=0
  PATH=$path "$clpool" "$command" "$@" >"$out" 2>"$err" || code=$?
  [ "$code" -eq "$wanted" ] || fail "$command $*: exit code $code, not $wanted: $(cat "$err")"
}

# refuses CODE MESSAGE ARGUMENT...: ends so, with this line on standard error and no output.
refuses() {
  refuses_code=$1
  message="clpool $command: $2"
  shift 2
  run "$refuses_code" "$@"
  [ "$(cat "$err")" = "$message" ] || fail "$command $*: said \"$(cat "$err")\", not \"$message\""
  [ ! -s "$out" ] || fail "$command $*: has output: $(head -n 1 "$out")"
}

# accepts ARGUMENT...: succeeds without a word on standard error.
accepts() {
  run 0 "$@"
  [ ! -s "$err" ] || fail "$command $*: said $(cat "$err")"
}

# $out has these words.
says() { grep -qF -- "$1" "$out" || fail "the output lacks \"$1\": $(cat "$out")"; }

# $out is JSON, as far as that can be told here.
if python3 -c 'import json' 2>/dev/null; then
  valid_json() { python3 -m json.tool <"$out" >/dev/null || fail "no JSON: $(cat "$out")"; }
else
  valid_json() { [ "$(sed -n '1p;$p' "$out")" = "{
}" ] || fail "no JSON: $(cat "$out")"; }
fi
