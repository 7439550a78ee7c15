#!/bin/sh
# SPDX-License-Identifier: MIT
# All that bench/README tells about CUDA in one go, in about two minutes: what was measured as JSON,
# an object a line, and then the same as tables. Run in the build folder:
#     make bench/cuda tools/clpool && .../bench/cuda_all.sh [TRACE...]
# THREADS and ROUNDS can be set. Exits with 77 where there is no CUDA device.
set -eu

bench=$(cd "$(dirname "$0")" && pwd)
: "${PYTHON3:=python3}" "${THREADS:=16}" "${ROUNDS:=11}"
export PYTHONDONTWRITEBYTECODE=1
results=$(mktemp)
trap 'rm -f "$results"' EXIT
trap 'exit 1' HUP INT TERM

keep() { tee -a "$results"; }

failed=0

# clpool replay writes an object over several lines. What fails has said so; the rest is measured.
replay() {
  object=$(tools/clpool replay "$@" --allocator=cuda-async --json) || { failed=1; return 0; }
  printf '%s' "$object" | tr -s '\n ' ' ' | keep
  echo | keep
}

# A benchmark in Python: what it compares with may be missing.
rivals() {
  program=$1
  shift
  status=0
  "$PYTHON3" "$bench/$program" "$@" --json >"$results.part" || status=$?
  keep <"$results.part"
  rm -f "$results.part"
  [ "$status" -eq 0 ] || [ "$status" -eq 77 ] || failed=1
}

bench/cuda --threads="$THREADS" --rounds="$ROUNDS" --json >"$results" || exit
cat "$results"
rivals cuda_pair.py --threads="$THREADS" --rounds="$ROUNDS"
for trace in "$@"; do
  for passes in 1 2; do
    replay "$trace" --passes="$passes" --no-pool
    replay "$trace" --passes="$passes"
    replay "$trace" --passes="$passes" --arena
  done
done
[ $# -eq 0 ] || rivals cuda_replay.py "$@"
"$PYTHON3" "$bench/cuda_table.py" <"$results"
exit "$failed"
