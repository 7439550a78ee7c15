#!/bin/sh
# SPDX-License-Identifier: MIT
# Who may call whom, downwards only: what the objects of the library refer to stays within the rules
# of tests/support/calls.awk. First the checker itself is tried on references that break them.
# shellcheck source=../support/house.sh
. "${top_srcdir:=$(cd "$(dirname "$0")/../.." && pwd)}/tests/support/house.sh"
set -eu

check() { awk -f "$top_srcdir/tests/support/calls.awk"; }

# references LINE...: what nm would print.
references() { printf '%s\n' "$@" | check >/dev/null; }

allows() { references "$@" || broken "refused: $*"; }
refuses() { ! references "$@" || broken "allowed: $*"; }

allows 'lib/core/pool/a.c: f U' 'lib/core/base/b.c: f T 0 1'
allows 'lib/arena/a.c: f U' 'lib/core/pool/b.c: f T 0 1'
allows 'lib/core/pool/a.c: table U' 'lib/hooks/b.c: table D 0 1'
refuses 'lib/core/base/a.c: f U' 'lib/core/pool/b.c: f T 0 1'
refuses 'lib/core/pool/a.c: f U' 'lib/hooks/b.c: f T 0 1'
refuses 'lib/cuda/a.c: f U' 'lib/hooks/b.c: f T 0 1'
refuses 'lib/core/pool/a.c: f U' 'lib/core/pool/a.c: g T 0 1' \
  'lib/core/pool/b.c: g U' 'lib/core/pool/b.c: f T 0 1'
refuses 'layer/a.c: f U' 'layer/a.c: g T 0 1' 'layer/b.c: g U' 'layer/b.c: f T 0 1'

cd "$top_builddir"
objects=$(find lib layer -path '*.libs*' \
  '(' -name 'libclpool_internal_la-*.o' -o -name 'libclpool_layer_la-*.o' ')')
[ -n "$objects" ] || broken "no objects of the library are here"
# shellcheck disable=SC2086 # a list of names; NM may bring flags along
${NM:-nm} -A -P $objects |
  sed 's,/\.libs/libclpool_[a-z]*_la-,/,; s,\.o:,.c:,' >"$house_tmp/references"
if ! grep -q ' U' "$house_tmp/references"; then
  skip "the objects have no symbols of their own: built for the linker to optimize"
fi
check <"$house_tmp/references" || fail "a call breaks the rules of tests/support/calls.awk"
