#!/bin/sh
# SPDX-License-Identifier: MIT
# The shell scripts are clean under shellcheck. Skipped where it is missing.
# shellcheck source=../support/house.sh
. "${top_srcdir:=$(cd "$(dirname "$0")/../.." && pwd)}/tests/support/house.sh"

: "${SHELLCHECK:=shellcheck}"
command -v "$SHELLCHECK" >/dev/null || skip "shellcheck is missing"

cd "$top_srcdir"
{ printf '%s\n' quickstart.sh .ci/run .ci/steps.sh; list_files sh bash; } >"$house_tmp/files"
xargs "$SHELLCHECK" --external-sources --source-path=SCRIPTDIR <"$house_tmp/files" ||
  fail "shellcheck has remarks"
echo "$(wc -l <"$house_tmp/files") scripts"
