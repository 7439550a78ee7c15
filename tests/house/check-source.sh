#!/bin/sh
# SPDX-License-Identifier: MIT
# The text of the sources: a licence line first, no code switched off, no notes to oneself, no tabs
# or trailing blanks, 100 columns. The workflow runs every step of .ci/run, and only those.
# shellcheck source=../support/house.sh
. "${top_srcdir:=$(cd "$(dirname "$0")/../.." && pwd)}/tests/support/house.sh"
set -eu

# reject WHAT PATTERN ENDING...: no file with these endings has a line that matches.
reject() {
  what=$1
  pattern=$2
  shift 2
  list_files "$@" >"$house_tmp/files"
  (cd "$top_srcdir" && xargs grep -nE -- "$pattern") <"$house_tmp/files" >"$house_tmp/hits" || :
  [ -s "$house_tmp/hits" ] || return 0
  sed "s/^/$what: /" "$house_tmp/hits"
  failures=$((failures + 1))
}

tab=$(printf '\t')
failures=0

# Spelled so that this file does not find itself.
reject 'switched off' '^[[:space:]]*#[[:space:]]*if[[:space:]]+0\b' c h cc hpp
reject 'note to oneself' '\b(TO''DO|FIX''ME|X''XX)\b' c h cc hpp sh awk mk cl py pyi
reject 'tab' "$tab" c h cc hpp cl sh awk py pyi
reject 'trailing blank' '[[:blank:]]+$' c h cc hpp in cl sh awk mk md py pyi
reject 'over 100 columns' '^.{101}' c h cc hpp cl sh awk py pyi

list_files c h cc hpp >"$house_tmp/files"
while read -r file; do
  line=$(head -n 1 "$top_srcdir/$file")
  case $line in
    '/* SPDX-License-Identifier: MIT */' | '// SPDX-License-Identifier: MIT') continue ;;
  esac
  echo "no licence line: $file:1: $line"
  failures=$((failures + 1))
done <"$house_tmp/files"

bash "$top_srcdir/.ci/run" --steps | sort >"$house_tmp/steps"
sed -n '/^ *step:.*fromJSON/,/^ *steps:/p' "$top_srcdir/.github/workflows/ci.yml" |
  grep -o '"[a-z-]*"' | tr -d '"' | sort >"$house_tmp/workflow"
if ! diff "$house_tmp/steps" "$house_tmp/workflow"; then
  echo "steps: < is only in .ci/run, > only in .github/workflows/ci.yml"
  failures=$((failures + 1))
fi

[ "$failures" -eq 0 ] || fail "see above"
echo "$(wc -l <"$house_tmp/files") C files, and the rest"
