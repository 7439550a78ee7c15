#!/bin/sh
# SPDX-License-Identifier: MIT
# What the guides say that clpool tune prints about the traces that come with clpool is what it
# prints, and the picture of doc/ is what it draws.
# shellcheck source=../support/house.sh
. "${top_srcdir:=$(cd "$(dirname "$0")/../.." && pwd)}/tests/support/house.sh"
set -eu

clpool=$(cd "$top_builddir" && pwd)/tools/clpool
[ -x "$clpool" ] || broken "$clpool is missing"
cd "$top_srcdir"

# outputs GUIDE: each command in it that has a trace of examples/data, and what it prints there, to
# files 1.command, 1.expected and so on.
outputs() {
  rm -f "$house_tmp"/*.command "$house_tmp"/*.expected
  awk -v to="$house_tmp" '
    /^```/ { inside = 0 }
    /^\$ clpool tune examples\/data\// {
      inside = ++count
      print substr($0, 3) >(to "/" count ".command")
      next
    }
    /^\$ / { inside = 0 }
    inside { print >(to "/" inside ".expected") }' "$1"
}

compared=0
for guide in doc/tuning.md doc/many-ranks.md; do
  outputs $guide
  for command in "$house_tmp"/*.command; do
    [ -e "$command" ] || broken "$guide has no command that can be checked"
    expected=${command%.command}.expected
    words=$(sed "s/-o \([^ ]*\)/-o $(echo "$house_tmp" | sed 's,/,\\/,g')\/\1/" "$command")
    sh -c "\"\$0\" ${words#clpool }" "$clpool" >"$house_tmp/found" ||
      fail "$guide: $(cat "$command") fails"
    [ -e "$expected" ] || continue
    cmp -s "$expected" "$house_tmp/found" ||
      fail "$guide: $(cat "$command"): $(diff "$expected" "$house_tmp/found")"
    compared=$((compared + 1))
  done
done
[ "$compared" -ge 2 ] || broken "too few outputs were found"
cmp -s "$house_tmp/tuning.svg" doc/tuning.svg || fail "doc/tuning.svg is another picture"
echo "$compared outputs and a picture"
