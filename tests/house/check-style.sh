#!/bin/sh
# SPDX-License-Identifier: MIT
# clang-format 14 changes nothing; shellcheck has no remarks. Skipped where one of them is missing.
# shellcheck source=../support/house.sh
. "${top_srcdir:=$(cd "$(dirname "$0")/../.." && pwd)}/tests/support/house.sh"
: "${CLANG_FORMAT:=clang-format-14}" "${SHELLCHECK:=shellcheck}"
"$CLANG_FORMAT" --version 2>&1 | grep -q 'version 14\.' || skip "clang-format 14 is missing"
command -v "$SHELLCHECK" >/dev/null || skip "shellcheck is missing"

cd "$top_srcdir"
list_files c h cc hpp | xargs "$CLANG_FORMAT" --style=file --dry-run -Werror ||
  fail "clang-format would change the files above"
{ printf '%s\n' quickstart.sh .ci/run .ci/steps.sh; list_files sh bash; } |
  xargs "$SHELLCHECK" --external-sources --source-path=SCRIPTDIR || fail "shellcheck has remarks"
