#!/bin/sh
# SPDX-License-Identifier: MIT
# The thread tests under helgrind, on a core that tells it what the caches' flags order.
set -eu

skip() {
  echo "check-helgrind.sh: skipped: $1"
  exit 77
}

command -v valgrind >/dev/null || skip "valgrind is missing"
[ -z "${CLP_SANITIZER_FLAGS-}" ] || skip "a sanitizer is built in"
top=${top_srcdir:?}
for program in tests/test_threads_helgrind tests/test_thread_cache_helgrind; do
  CK_FORK=no "${top_builddir:?}/libtool" --mode=execute valgrind --tool=helgrind --quiet \
    --history-level=none --suppressions="$top/tests/support/helgrind.supp" --error-exitcode=99 \
    "$top_builddir/$program"
done
