#!/bin/sh
# SPDX-License-Identifier: MIT
# The guides of doc/: their C code is that of the examples, line for line but for the indentation,
# so it compiles and runs; the pictures that they show are there, with their sources.
# shellcheck source=support/house.sh
. "${top_srcdir:=$(cd "$(dirname "$0")/.." && pwd)}/tests/support/house.sh"
set -eu

# find_code GUIDE EXAMPLE...: each block of C in the guide is in one of the examples. Prints where
# those are that are not; fails if there is one.
find_code() {
  guide=$1
  shift
  awk -v guide="$guide" '
    { line = $0; sub(/^[ \t]+/, "", line) }
    FILENAME != guide { text = text (FNR == 1 ? "\f\n" : "") line "\n"; next }
    $0 == "```c" { inside = 1; code = "\n"; start = FNR; next }
    $0 == "```" && inside {
      inside = 0
      if (index(text, code))
        next
      printf "%s:%d: this code is in no example\n", guide, start
      strange++
    }
    inside { code = code line "\n" }
    END { exit strange > 0 }' "$@" "$guide"
}

# find_pictures GUIDE: each picture in the guide is beside it, and has a source. Prints those that
# are not; fails if there is one.
find_pictures() {
  sed -n 's/.*!\[[^]]*\](\([^)]*\)).*/\1/p' "$1" >"$house_tmp/pictures"
  while read -r picture; do
    [ -s "${1%/*}/$picture" ] && [ -s "${1%/*}/${picture%.svg}.dot" ] ||
      echo "$1: no $picture, or no source of it"
  done <"$house_tmp/pictures" >"$house_tmp/missing"
  cat "$house_tmp/missing"
  [ ! -s "$house_tmp/missing" ]
}

# First the check itself.
printf 'int a;\n  int b;\nint c;\n' >"$house_tmp/example.c"
cat >"$house_tmp/right.md" <<'END'
```c
int b;
int c;
```
![b](b.svg)
END
sed 's/int b/int a/; s/b/c/g' "$house_tmp/right.md" >"$house_tmp/wrong.md"
echo b | tee "$house_tmp/b.svg" >"$house_tmp/b.dot"
find_code "$house_tmp/right.md" "$house_tmp/example.c" || broken "code that is there is not found"
! find_code "$house_tmp/wrong.md" "$house_tmp/example.c" >/dev/null ||
  broken "code that is not there is found"
find_pictures "$house_tmp/right.md" || broken "a picture that is there is not found"
! find_pictures "$house_tmp/wrong.md" >/dev/null || broken "a picture that is not there is found"

failures=0
for guide in "$top_srcdir"/doc/*.md; do
  find_code "$guide" "$top_srcdir"/examples/*.[ch] || failures=$((failures + 1))
  find_pictures "$guide" || failures=$((failures + 1))
done
[ "$failures" -eq 0 ] || fail "see above"
