#!/bin/sh
# SPDX-License-Identifier: MIT
# The thread tests under helgrind, on a core that tells it what its atomics order, and lets other
# threads run between the steps of the caches' protocol.
set -eu

skip() {
  echo "check-helgrind.sh: skipped: $1"
  exit 77
}

command -v valgrind >/dev/null || skip "valgrind is missing"
[ -z "${CLP_SANITIZER_FLAGS-}" ] || skip "a sanitizer is built in"
[ -n "${clp_stepped_tests-}" ] || skip "there are no thread tests without Check"
for program in $clp_stepped_tests; do
  CK_FORK=no valgrind --tool=helgrind --quiet --fair-sched=try --history-level=none \
    --error-exitcode=99 --suppressions="${top_srcdir:?}/tests/support/helgrind.supp" \
    "${top_builddir:?}/$program"
done
