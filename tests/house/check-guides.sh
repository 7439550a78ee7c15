#!/bin/sh
# SPDX-License-Identifier: MIT
# The guides of doc/: their C and C++ code is that of the examples, line for line but for the
# indentation, so it compiles and runs; where they show frames, file:line:function, the line is in
# that function; the pictures that they show are there, drawn ones with their sources; what they and
# README.md link is there, headings too, and README.md links them all. What examples print is
# check-examples.sh's.
# shellcheck source=../support/house.sh
. "${top_srcdir:=$(cd "$(dirname "$0")/../.." && pwd)}/tests/support/house.sh"
set -eu

picture_bytes=150000 # one that is not drawn has fewer

# find_code GUIDE EXAMPLE...: each block of C in the guide is in one of the examples. Prints where
# those are that are not; fails if there is one.
find_code() {
  guide=$1
  shift
  awk -v guide="$guide" '
    { line = $0; sub(/^[ \t]+/, "", line) }
    FILENAME != guide { text = text (FNR == 1 ? "\f\n" : "") line "\n"; next }
    $0 == "```c" || $0 == "```cpp" { inside = 1; code = "\n"; start = FNR; next }
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

# find_frames GUIDE FOLDER: each frame in the guide, examples/file:line:function, is a line of that
# function with a call, in the folder. Prints those that are not; fails if there is one.
find_frames() {
  sed -n 's/^ *\(examples\/[^ :]*\):\([0-9]*\):\([^ ]*\) (.*/\1 \2 \3/p' "$1" |
    sort -u >"$house_tmp/frames"
  while read -r file line function; do
    head -n "$line" "$2/$file" | awk -v function_name="$function" '
      /^[a-z].*\(/ { inside = $0 ~ "[ *]" function_name "\\(" }
      { last = $0 }
      END { exit !(inside && last ~ /\(.*\)/) }' ||
      echo "$1: $file:$line is no call in $function"
  done <"$house_tmp/frames" >"$house_tmp/missing"
  cat "$house_tmp/missing"
  [ ! -s "$house_tmp/missing" ]
}

# has_picture PICTURE: it is there, a drawn or plotted one with its source, another one not too
# large.
has_picture() {
  case $1 in
    */tuning.svg) [ -s "$1" ] ;; # clpool tune draws it, from a trace: make pictures
    *.svg) [ -s "$1" ] && { [ -s "${1%.svg}.dot" ] || [ -s "${1%.svg}.gp" ]; } ;;
    *) [ -s "$1" ] && [ "$(wc -c <"$1")" -lt $picture_bytes ] ;;
  esac
}

# find_pictures GUIDE: each picture in the guide is beside it. Prints those that are not; fails if
# there is one.
find_pictures() {
  sed -n 's/.*!\[[^]]*\](\([^)]*\)).*/\1/p' "$1" >"$house_tmp/pictures"
  while read -r picture; do
    has_picture "${1%/*}/$picture" || echo "$1: no $picture, no source of it, or too large"
  done <"$house_tmp/pictures" >"$house_tmp/missing"
  cat "$house_tmp/missing"
  [ ! -s "$house_tmp/missing" ]
}

# links_of FILE: the targets of its links that are no addresses of the web, one a line.
links_of() {
  awk '
    /^```/ { inside = !inside }
    inside { next }
    {
      gsub(/`[^`]*`/, "")
      while (match($0, /\]\([^)]*\)/)) {
        target = substr($0, RSTART + 2, RLENGTH - 3)
        $0 = substr($0, RSTART + RLENGTH)
        if (target !~ /^https?:/)
          print target
      }
    }' "$1"
}

# anchors_of FILE: those of its headings, one a line.
anchors_of() {
  cat >"$house_tmp/anchors.awk" <<'END'
/^```/ { inside = !inside }
!inside && /^#+ / { print anchor($0) }
END
  awk -f "$top_srcdir/doc/anchors.awk" -f "$house_tmp/anchors.awk" "$1"
}

# find_links FILE: each link in it leads to a file or folder that is there, and to a heading that it
# has. Prints those that do not; fails if there is one.
find_links() {
  links_of "$1" | while read -r link; do
    target=${1%/*}/${link%%#*}
    [ -n "${link%%#*}" ] || target=$1
    if [ ! -e "$target" ]; then
      echo "$1: links $link, which is not there"
    elif [ "${link#*#}" != "$link" ]; then
      anchors_of "$target" | grep -qxF -e "${link#*#}" ||
        echo "$1: links $link, but there is no such heading"
    fi
  done >"$house_tmp/missing"
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
mv "$house_tmp/b.dot" "$house_tmp/b.gp"
find_pictures "$house_tmp/right.md" || broken "a plot that is there is not found"
rm "$house_tmp/b.gp"
! find_pictures "$house_tmp/right.md" >/dev/null || broken "a picture without a source is found"
! find_pictures "$house_tmp/wrong.md" >/dev/null || broken "a picture that is not there is found"
mkdir "$house_tmp/examples"
printf 'static int *a(int b)\n{\n  return c(b);\n}\nint d(void)\n{\n  return c(1);\n}\n' \
  >"$house_tmp/examples/e.c"
printf '  examples/e.c:%s:%s (1.00KB, 0.00B)\n' 3 a 7 d >"$house_tmp/right.md"
find_frames "$house_tmp/right.md" "$house_tmp" || broken "a frame that is there is not found"
for wrong in '7 a' '3 d' '2 a' '99 d'; do
  # shellcheck disable=SC2086 # two words
  printf '  examples/e.c:%s:%s (1.00KB, 0.00B)\n' $wrong >"$house_tmp/wrong.md"
  ! find_frames "$house_tmp/wrong.md" "$house_tmp" >/dev/null ||
    broken "a frame that is not there is found: $wrong"
done

cat >"$house_tmp/right.md" <<'END'
# 1. What? A `name_of` it
[a](other.md), [b](#1-what-a-name_of-it) and [c](other.md#two--three), <https://a.b>, [d](https://c)
## It's
`[e](nowhere.md)`
END
cat >"$house_tmp/other.md" <<'END'
# Other
```
# No heading
```
### Two / three
END
find_links "$house_tmp/right.md" || broken "links that are right are not found"
for wrong in 's/other.md/another.md/' 's/#1-what/#1-who/' 's/two--three/no-heading/'; do
  sed "$wrong" "$house_tmp/right.md" >"$house_tmp/wrong.md"
  ! find_links "$house_tmp/wrong.md" >/dev/null || broken "a dead link is found: $wrong"
done

failures=0
for page in README.md HACKING.md; do
  find_links "$top_srcdir/$page" || failures=$((failures + 1))
done
for guide in "$top_srcdir"/doc/*.md; do
  find_links "$guide" || failures=$((failures + 1))
  # What is about the tree itself is HACKING.md's.
  case $guide in */internals.md) top=HACKING.md ;; *) top=README.md ;; esac
  links_of "$top_srcdir/$top" | grep -qxF "doc/${guide##*/}" ||
    { echo "$top does not link doc/${guide##*/}"; failures=$((failures + 1)); }
  find_code "$guide" "$top_srcdir"/examples/*.[ch] "$top_srcdir"/examples/*.cc ||
    failures=$((failures + 1))
  find_frames "$guide" "$top_srcdir" || failures=$((failures + 1))
  find_pictures "$guide" || failures=$((failures + 1))
done
[ "$failures" -eq 0 ] || fail "see above"
