#!/bin/sh
# SPDX-License-Identifier: MIT
# What bash completes of clpool's command lines, with "=" between words as it is at first, and with
# a COMP_WORDBREAKS that lacks it; and what fish does, where it is installed.
# shellcheck source=../support/house.sh
. "${top_srcdir:=$(cd "$(dirname "$0")/../.." && pwd)}/tests/support/house.sh"
set -eu

command -v bash >/dev/null || skip "bash is missing"
top_srcdir=$(cd "$top_srcdir" && pwd)
PATH=$(cd "$top_builddir" && pwd)/tools:$PATH
[ "$(command -v clpool)" = "${PATH%%:*}/clpool" ] || broken "tools/clpool is missing"

# As bash calls the function, for a line whose words are the arguments, the last of which is at the
# cursor. Prints the answers, sorted, on one line.
cat >"$house_tmp/complete.bash" <<'END'
set -u
. "$1/tools/clpool.bash"
shift
# shellcheck disable=SC2034 # the function reads them
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
function=$(complete -p clpool)
function=${function#*-F }
"${function% *}" clpool "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
printf '%s\n' "${COMPREPLY[@]+"${COMPREPLY[@]}"}" | LC_ALL=C sort | paste -sd ' '
END

mkdir -p "$house_tmp/files/traces"
cd "$house_tmp/files"
touch trace.csv "a trace.csv" "m y.csv"
cost=$(basename "$(find "$top_srcdir"/tools/costs -name '*.csv' | sort | head -n 1)" .csv)

# Each line: the words after "clpool", the last at the cursor ("" if it is empty), and the answers.
# Commands; options, before the trace and after it; values, in a word of their own, behind "=" that
# is one, and in one word; files: traces, and what options name.
lines=0
while IFS='|' read -r words answers; do
  eval "set -- clpool $words"
  found=$(bash --norc "$house_tmp/complete.bash" "$top_srcdir" "$@" 2>&1)
  [ "$found" = "$answers" ] || fail "$words: \"$found\", not \"$answers\""
  lines=$((lines + 1))
done <<END
""|bench help info record replay report run tune
re|record replay report
help ""|bench info record replay report run tune
help t|tune
help tune ""|
nonsense|
-|--help --version
info --|--help --json
info ""|
replay --l|--leading-bits= --lenient --limit=
replay trace.csv --l|--leading-bits= --lenient --limit=
record --|--help --output= --stacks
run --|--help --hold= --leading-bits= --limit= --report
tune run.1.csv run.2.csv --l|--lenient --limit=
report -o|-o
nonsense --|
replay --allocator ""|cl-deferred cl-immediate cl-svm cuda-async host simulated
replay --allocator = cl|cl-deferred cl-immediate cl-svm
replay --allocator=cl|--allocator=cl-deferred --allocator=cl-immediate --allocator=cl-svm
tune --allocator ""|cl-deferred cl-immediate cl-svm cuda-async host
replay --scale = a|auto
replay --limit = ""|
replay --limit ""|
tune --cost = $cost|$cost
tune tr|trace.csv traces
report a|a trace.csv
record -o new.csv t|trace.csv traces
report --perfetto = t|trace.csv traces
tune --plot=t|--plot=trace.csv --plot=traces
tune trace.csv -o t|trace.csv traces
tune --cost m|m y.csv
bench ""|
run t|trace.csv traces
END

# The words, and what fish answers.
if command -v fish >/dev/null; then
  while IFS='|' read -r words answers; do
    # shellcheck disable=SC2016 # fish expands them
    found=$(HOME=$house_tmp fish --no-config -c '
      source $argv[1]; complete -C "clpool $argv[2]" | string replace -r "\t.*" ""' \
      "$top_srcdir/tools/clpool.fish" "$words" </dev/null | LC_ALL=C sort | paste -sd ' ')
    [ "$found" = "$answers" ] || fail "fish, clpool $words: \"$found\", not \"$answers\""
    lines=$((lines + 1))
  done <<END
re|record replay report
replay --l|--leading-bits= --lenient --limit=
replay --allocator=cu|--allocator=cuda-async
replay --allocator cu|cuda-async
tune --plot=tr|--plot=trace.csv --plot=traces/
report tra|trace.csv traces/
END
fi
echo "$lines lines"
