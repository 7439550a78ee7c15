#!/bin/sh
# SPDX-License-Identifier: MIT
# What bash completes of clpool's command lines, with "=" between words as it is at first, and with
# a COMP_WORDBREAKS that lacks it; and what fish does, where it is installed.
# shellcheck source=../support/house.sh
. "${top_srcdir:=$(cd "$(dirname "$0")/../.." && pwd)}/tests/support/house.sh"
set -eu

command -v bash >/dev/null || skip "bash is missing"
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

# completes ANSWERS WORD...: the answers to the words after "clpool".
completes() {
  wanted=$1
  shift
  found=$(cd "$house_tmp/files" &&
    bash --norc "$house_tmp/complete.bash" "$top_srcdir" clpool "$@" 2>"$house_tmp/err") ||
    fail "clpool $*: $(cat "$house_tmp/err")"
  [ "$found" = "$wanted" ] || fail "clpool $*: \"$found\", not \"$wanted\""
  [ ! -s "$house_tmp/err" ] || fail "clpool $*: said $(cat "$house_tmp/err")"
  checks=$((checks + 1))
}

checks=0
top_srcdir=$(cd "$top_srcdir" && pwd)
mkdir "$house_tmp/files" "$house_tmp/files/traces"
: >"$house_tmp/files/trace.csv"
: >"$house_tmp/files/a trace.csv"
allocators='cl-deferred cl-immediate cl-svm cuda-async host simulated'

# Commands.
completes 'bench help info record replay report run tune' ''
completes 'record replay report' re
completes 'bench info record replay report run tune' help ''
completes 'tune' help t
completes '' help tune ''
completes '' nonsense
completes '--help --version' -
completes '--version' --v

# Options, before the trace and after it.
completes '--help --json' info --
completes '' info ''
completes '--leading-bits= --lenient --limit=' replay --l
completes '--leading-bits= --lenient --limit=' replay trace.csv --l
completes '--help --output= --stacks' record --
completes '--help --hold= --leading-bits= --limit= --report' run --
completes '--leading-bits= --limit=' run --l
completes '--arena' replay --ar
completes '--allocator=' tune --a
completes '--lenient --limit=' tune run.1.csv run.2.csv --l
completes '-o' report -o
completes '' nonsense --

# Values, in a word of their own, behind "=" that is one, and in one word.
completes "$allocators" replay --allocator ''
completes "$allocators" replay --allocator =
completes 'cl-deferred cl-immediate cl-svm' replay --allocator = cl
completes '--allocator=cl-deferred --allocator=cl-immediate --allocator=cl-svm' \
  replay --allocator=cl
completes "${allocators% simulated}" tune --allocator ''
completes "${allocators% simulated}" bench --allocator = ''
completes 'auto' replay --scale = a
completes '' replay --limit = ''
completes '' replay --limit ''
completes '' replay --arena = ''
for costs in "$top_srcdir"/tools/costs/*.csv; do
  known=$(basename "$costs" .csv)
  completes "$known" tune --cost = "$known"
done

# Files: traces, and what options name.
completes 'a trace.csv trace.csv traces' tune ''
completes 'trace.csv traces' replay --arena tr
completes 'a trace.csv' report a
completes 'trace.csv traces' record -o t
completes 'trace.csv traces' record -o new.csv t
completes 'trace.csv traces' report -o t
completes 'trace.csv traces' report --perfetto = t
completes '--plot=trace.csv --plot=traces' tune --plot=t
completes 'trace.csv traces' tune trace.csv -o t
: >"$house_tmp/files/m y.csv"
completes 'm y.csv' tune --cost m
completes 'm y.csv' bench -o m
completes '' bench ''
completes 'trace.csv traces' run t

# fish_completes ANSWERS WORDS: the answers of fish to "clpool WORDS".
fish_completes() {
  # shellcheck disable=SC2016 # fish expands them
  found=$(cd "$house_tmp/files" && HOME=$house_tmp fish --no-config -c '
    source $argv[1]; complete -C "clpool $argv[2]" | string replace -r "\t.*" ""' \
    "$top_srcdir/tools/clpool.fish" "$2" | LC_ALL=C sort | paste -sd ' ')
  [ "$found" = "$1" ] || fail "fish, clpool $2: \"$found\", not \"$1\""
  checks=$((checks + 1))
}

if command -v fish >/dev/null; then
  fish_completes 'record replay report' re
  fish_completes '--leading-bits= --lenient --limit=' 'replay --l'
  fish_completes '--allocator=cuda-async' 'replay --allocator=cu'
  fish_completes 'cuda-async' 'replay --allocator cu'
  fish_completes '--plot=trace.csv --plot=traces/' 'tune --plot=tr'
  fish_completes 'trace.csv traces/' 'report tra'
fi

echo "$checks lines"
