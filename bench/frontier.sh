#!/bin/sh
# SPDX-License-Identifier: MIT
# What an arena's slack costs and saves: footprint against calls of the device, without a clock.
#   bench/frontier.sh [TRACE | DIRECTORY of traces]...  >doc/arena-frontier.dat && make pictures
# Each argument becomes a curve: a trace, or the mean of a directory's traces (*.csv.gz). Without
# arguments, examples/data is drawn. The traces are replayed once, and five times by the same pool.
set -eu

top_srcdir=$(cd "$(dirname "$0")/.." && pwd)
: "${CLPOOL:=tools/clpool}" # the program that replays
slacks='0 0.001 0.002 0.004 0.008 0.016 0.03 0.06 0.1 0.25 0.5 1'
default=0.016

# Prints the footprint, the segments taken and the allocations of a replay.
replay() {
  "$CLPOOL" replay "$1" --arena="$2" --passes="$3" --json |
    awk -F'[:,]' '
      /"footprint"/ { footprint = $2 }
      /"device_allocations"/ { segments = $2 }
      /"allocations"/ { allocations = $2 }
      END { print footprint, segments, allocations }'
}

traces_of() {
  if [ -d "$1" ]; then
    for trace in "$1"/*.csv.gz; do
      echo "$trace"
    done
  else
    echo "$1"
  fi
}

# Footprints and allocations for each segment are geometric means, segments are sums.
row() {
  traces_of "$1" | while IFS= read -r trace; do
    once=$(replay "$trace" "$2" 1)
    often=$(replay "$trace" "$2" 5)
    echo "$once $often"
  done | awk -v slack="$2" -v default="$default" '
    {
      first += log($1); fifth += log($4)
      worst = $4 > worst ? $4 : worst
      segments += $2; more += $5
      lasts += log($3 / $2)
    }
    END {
      printf "%-6s %9.3f %9.3f %9.3f %9d %9d %11.1f %8d\n", slack, exp(first / NR),
        exp(fifth / NR), worst, segments, more, exp(lasts / NR), slack == default
    }'
}

[ $# -gt 0 ] || set -- "$top_srcdir"/examples/data/*.csv.gz
cat <<END
# The footprint after one pass and after five (the mean and the worst), the segments taken in one
# pass and in five, and the allocations for each segment in the first pass.
# slack   1 pass  5 passes     worst  segments  in five  allocations  default
END
curve=0
for argument in "$@"; do
  [ $curve -eq 0 ] || printf '\n\n'
  curve=$((curve + 1))
  name=$(basename "$argument" .csv.gz)
  printf '"%s"\n' "$(echo "$name" | tr _ ' ')"
  for slack in $slacks; do
    row "$argument" "$slack"
  done
done
