#!/bin/sh
# SPDX-License-Identifier: MIT
# Searches every interleaving of the claim on a cache (doc/thread-cache.md) in its model: with the
# fence and the wait there is no error, and without either of them one is found.
set -eu

command -v spin >/dev/null || { echo "check-model.sh: skipped: spin is missing"; exit 77; }
model=${top_srcdir:?}/tests/house/claim.pml
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# errors_of FLAG...: how many errors the search finds (it stops at the first).
errors_of() {
  spin "$@" -a "$model" >spin.log
  ${CC:-cc} -O1 -w -DSAFETY -o pan pan.c
  ./pan -m100000 >pan.log
  grep -q 'max search depth too small' pan.log && return 1
  sed -n 's/.*errors: \([0-9]*\)$/\1/p' pan.log
}

# expect COUNT FLAG...
expect() {
  wanted=$1
  shift
  found=$(errors_of "$@")
  states=$(sed -n 's/^ *\([0-9]*\) states, stored.*/\1/p' pan.log)
  echo "claim.pml $*: $found errors in $states states"
  [ "$found" = "$wanted" ] || { cat pan.log; exit 1; }
}

expect 0
expect 1 -DWITHOUT_FENCE
expect 1 -DWITHOUT_WAIT
expect 1 -DWITHOUT_DEPOT_LOCK
