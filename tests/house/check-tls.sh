#!/bin/sh
# SPDX-License-Identifier: MIT
# libclpool.so takes little static TLS, of which dlopen has about 1.6 kB for all that it loads: a
# process may have several copies of the library, in plug-ins that bring their own.
# shellcheck source=../support/house.sh
. "${top_srcdir:=$(cd "$(dirname "$0")/../.." && pwd)}/tests/support/house.sh"
set -eu

most=128
library=$top_builddir/.libs/libclpool.so
[ -e "$library" ] || broken "$library is not built"
command -v readelf >/dev/null || skip "there is no readelf"

bytes=$(readelf -lW "$library" | awk '$1 == "TLS" { print $6 }')
[ -n "$bytes" ] || broken "$library has no TLS segment"
[ "$((bytes))" -le "$most" ] || fail "$((bytes)) bytes of TLS, more than $most"
echo "$((bytes)) bytes of TLS"
