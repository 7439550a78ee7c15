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
sed "s/COST/$cost/g" "$top_srcdir/tests/house/completion.txt" >"$house_tmp/rows"

while IFS='|' read -r shell words answers; do
  case $shell in
    bash)
      eval "set -- clpool $words"
      found=$(bash --norc "$house_tmp/complete.bash" "$top_srcdir" "$@" 2>&1) ;;
    fish)
      command -v fish >/dev/null || continue
      # shellcheck disable=SC2016 # fish expands them
      found=$(HOME=$house_tmp fish --no-config -c '
        source $argv[1]; complete -C "clpool $argv[2]" | string replace -r "\t.*" ""' \
        "$top_srcdir/tools/clpool.fish" "$words" </dev/null | LC_ALL=C sort | paste -sd ' ') ;;
    *) continue ;;
  esac
  [ "$found" = "$answers" ] || fail "$shell, clpool $words: \"$found\", not \"$answers\""
done <"$house_tmp/rows"
