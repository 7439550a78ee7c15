#!/bin/sh
# SPDX-License-Identifier: MIT
# The known answers for the bins are what their generator writes.
# shellcheck source=support/house.sh
. "${top_srcdir:=$(cd "$(dirname "$0")/.." && pwd)}/tests/support/house.sh"
set -eu

command -v python3 >/dev/null || skip "no python3 to run tests/support/bin_answers.py"
python3 "$top_srcdir/tests/support/bin_answers.py" >"$house_tmp/answers"
diff "$house_tmp/answers" "$top_srcdir/tests/bin_answers.inc" || fail "make the answers anew"
