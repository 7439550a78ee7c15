#!/bin/sh
# SPDX-License-Identifier: MIT
# Every planted fault of tests/house/plants still applies: the text that it replaces is in its file
# exactly once. `make check-plants` plants them, which takes long.
# shellcheck source=../support/house.sh
. "${top_srcdir:=$(cd "$(dirname "$0")/../.." && pwd)}/tests/support/house.sh"
set -eu

command -v python3 >/dev/null || skip "python3 is missing"
python3 "$top_srcdir/tests/house/check-plants.py" --check || fail "see above"
