#!/bin/sh
# SPDX-License-Identifier: MIT
# clpool bench: check_bench.py.
# shellcheck source=../support/house.sh
. "${top_srcdir:=$(cd "$(dirname "$0")/../.." && pwd)}/tests/support/house.sh"
command -v python3 >/dev/null || skip "python3 is missing"
export top_srcdir top_builddir
python3 -B "$top_srcdir/tests/tools/check_bench.py" || fail "see above"
