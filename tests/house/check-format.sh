#!/bin/sh
# SPDX-License-Identifier: MIT
# clang-format 14 finds nothing to change. Other versions lay code out differently, so they cannot
# judge: skipped where version 14 is missing.
# shellcheck source=../support/house.sh
. "${top_srcdir:=$(cd "$(dirname "$0")/../.." && pwd)}/tests/support/house.sh"

: "${CLANG_FORMAT:=clang-format-14}"
command -v "$CLANG_FORMAT" >/dev/null || skip "clang-format 14 is missing"
"$CLANG_FORMAT" --version | grep -q 'version 14\.' || skip "$CLANG_FORMAT is not version 14"

list_files c h cc hpp >"$house_tmp/files"
(cd "$top_srcdir" && xargs "$CLANG_FORMAT" --style=file --dry-run -Werror) <"$house_tmp/files" ||
  fail "clang-format would change the files above"
echo "$(wc -l <"$house_tmp/files") files are laid out as .clang-format says"
