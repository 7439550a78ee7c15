#!/bin/sh
# SPDX-License-Identifier: MIT
# Prints the share of executed lines for each source file of the library, from the counters that a
# build with --enable-coverage left in the current folder.
set -eu

find lib tools/trace -name '*.gcda' | sort >coverage.list
[ -s coverage.list ] || { echo "no counters: did the tests run?" >&2; exit 1; }

# gcov -n says, for each file: File 'path' / Lines executed:97.50% of 40 / (an empty line).
xargs "${GCOV:-gcov}" -n <coverage.list 2>/dev/null |
  awk -F "'" '
    /^File / { file = $2; sub(/.*\/lib\//, "lib/", file); sub(/.*\/tools\//, "tools/", file); next }
    /^Lines executed:/ && file ~ /^(lib|tools)\// {
      split($0, part, /[:% ]+/)
      percent[file] = part[3]
      lines[file] = part[5]
    }
    { file = "" }
    END {
      for (file in lines) {
        printf "%6.1f %% of %4d lines  %s\n", percent[file], lines[file], file | "sort -k 6"
        all += lines[file]
        run += percent[file] * lines[file] / 100
      }
      close("sort -k 6")
      printf "%6.1f %% of %4d lines  in all\n", 100 * run / all, all
    }'
rm -f coverage.list
