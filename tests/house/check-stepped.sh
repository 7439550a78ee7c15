#!/bin/sh
# SPDX-License-Identifier: MIT
# The thread tests on a core that lets other threads run between the steps of the caches' protocol.
set -eu

[ -n "${clp_stepped_tests-}" ] || {
  echo "check-stepped.sh: skipped: there are no thread tests without Check"
  exit 77
}
status=0
for program in $clp_stepped_tests; do
  "${top_builddir:?}/$program" || status=1
done
exit $status
