#!/bin/sh
# SPDX-License-Identifier: MIT
# What the program says of itself and its man pages are one: each command has a page, and has the
# same options in its help, its page and the completion. Each function has one, made of the headers.
# The pages are without warnings, of the date of the release, and refer to pages that there are.
# shellcheck source=../support/house.sh
. "${top_srcdir:=$(cd "$(dirname "$0")/../.." && pwd)}/tests/support/house.sh"
set -eu
LC_ALL=C
export LC_ALL

clpool=$(cd "$top_builddir" && pwd)/tools/clpool
[ -x "$clpool" ] || broken "$clpool is missing"
failures=0

complain() { echo "$*"; failures=$((failures + 1)); }

# --- Options, one a line; those with a value end in "=" -------------------------------------------

# Of a help text on standard input: what begins a line below "Options:".
help_options() {
  sed -n '/^Options:/,/^$/s/^  \(\(-[a-z-]*, \)*--[a-z-]*=\{0,1\}\).*/\1/p' |
    grep -o -e '--[a-z][a-z-]*=\{0,1\}' | sort -u
}

# Of a page: the tags below OPTIONS.
page_options() {
  awk '/^\.SH / { on = $2 == "OPTIONS" && NF == 2 } on && tag; { tag = $0 == ".TP" }' "$1" |
    sed 's/\\-/-/g' | grep -o -e '--[a-z][a-z-]*=\{0,1\}' | sort -u
}

# Of the completion, for a command, or "" for none.
completed_options() {
  # shellcheck disable=SC2086 # none, or one word
  "$clpool" --complete $1 -- | sort -u
}

# same WHAT FILE OTHER-WHAT OTHER-FILE: both list the same options.
same() {
  for option in $(comm -23 "$2" "$4"); do complain "$1 has $option, $3 has not"; done
  for option in $(comm -13 "$2" "$4"); do complain "$3 has $option, $1 has not"; done
}

# check_options COMMAND PAGE: what `clpool COMMAND --help` says, COMMAND "" for the program's own.
check_options() {
  # shellcheck disable=SC2086 # none, or one word
  "$clpool" $1 --help >"$house_tmp/help" || fail "clpool $1 --help fails"
  help_options <"$house_tmp/help" >"$house_tmp/helped"
  page_options "$2" >"$house_tmp/paged"
  grep -qx -e --help "$house_tmp/helped" || broken "clpool $1 --help has no options"
  same "clpool $1 --help" "$house_tmp/helped" "${2##*/}" "$house_tmp/paged"
  completed_options "$1" >"$house_tmp/completed"
  same "clpool $1 --help" "$house_tmp/helped" "the completion of \"$1\"" "$house_tmp/completed"
}

# --- Commands -------------------------------------------------------------------------------------

commands() {
  "$clpool" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\)  *.*/\1/p'
}

check_command() {
  page=$top_srcdir/doc/clpool-$1.1
  [ -s "$page" ] || { complain "the command $1 has no page"; return 0; }
  check_options "$1" "$page"
  "$clpool" help "$1" >"$house_tmp/helped" || complain "clpool help $1 fails"
  cmp -s "$house_tmp/help" "$house_tmp/helped" || complain "clpool help $1 says something else"
  grep -q '^Examples:' "$house_tmp/help" || complain "clpool $1 --help has no examples"
  for option in $(page_options "$page"); do
    option=${option%=}
    # Its value, if it takes one, and what keeps the command from running.
    ! "$clpool" "$1" "$option" value --no-such-option 2>&1 | grep -qF "no option \"$option\"" ||
      complain "clpool $1 does not know $option"
  done
}

# --- Pages ----------------------------------------------------------------------------------------

# find_dead PAGE...: what they refer to, of ours, that is not there.
find_dead() {
  sed -n 's/\\-/-/g; s/^\.BR \(clpool[a-z-]*\) (\([15]\)).*/\1.\2/p' "$@" | sort -u |
    while read -r name; do
      [ -s "$top_srcdir/doc/$name" ] || echo "the pages refer to $name, which is missing"
    done
}

check_pages() {
  for page in "$top_srcdir"/doc/clpool*.[15]; do
    grep -q '^\.SH EXAMPLES' "$page" || complain "${page##*/} has no examples"
    grep -q '^\.SH SEE ALSO' "$page" || complain "${page##*/} refers to no other page"
    grep -q "doc/${page##*/}" "$top_srcdir/doc/doc.mk" || complain "${page##*/} is not installed"
  done
  dead=$(find_dead "$top_srcdir"/doc/clpool*.[15])
  [ -z "$dead" ] || complain "$dead"
}

# lint PAGE: prints what groff has to say.
lint() { groff -man -ww -z -Tutf8 "$1" 2>&1; }

lint_pages() {
  printf '.TH A 1\n.SH NAME\na \\- b\n.nosuchrequest\n' >"$house_tmp/wrong.1"
  [ -n "$(lint "$house_tmp/wrong.1")" ] || broken "groff does not find a wrong request"
  for page in "$top_srcdir"/doc/clpool*.[15] "$top_builddir"/doc/man3/*.3; do
    remarks=$(lint "$page")
    [ -z "$remarks" ] || complain "${page##*/}: $remarks"
  done
}

# check_dates DATE PAGE...
check_dates() {
  date=$1
  shift
  for page in "$@"; do
    grep -qE "^\.TH [^ ]+ [135] \"?$date\"? " "$page" || complain "${page##*/} is not of $date"
  done
}

# What programs call, and where no word of the headers' markup is left.
check_reference() {
  nm -D --defined-only "$top_builddir/.libs/libclpool.so" | sed -n 's/.* T \(clp_[a-z_]*\).*/\1/p' \
    >"$house_tmp/functions"
  [ -s "$house_tmp/functions" ] || broken "libclpool.so has no functions"
  while read -r function; do
    [ -s "$top_builddir/doc/man3/$function.3" ] || complain "$function has no page"
  done <"$house_tmp/functions"
  ! grep -nE '\*/|/\*\*|@(file|name|[{}])' "$top_builddir"/doc/man3/*.3 ||
    complain "pages have markup of the headers"
}

# --- First the check itself -----------------------------------------------------------------------

cat >"$house_tmp/right.1" <<'END'
.SH OPTIONS
.TP
.BR \-o ", " \-\-out\-put= \fIFILE\fR
not \-\-this
.TP
.B \-\-arena
.TP
.B \-\-no\-arena
.SH COMMON OPTIONS
.TP
.B \-\-that
END
page_options "$house_tmp/right.1" >"$house_tmp/paged"
printf 'Options:\n  -o, --out-put=FILE  it, --not-this\n  --arena, --no-arena  it\n\n  --that\n' |
  help_options >"$house_tmp/helped"
[ "$(paste -sd ' ' "$house_tmp/paged")" = "--arena --no-arena --out-put=" ] ||
  broken "options of a page"
[ -z "$(same a "$house_tmp/paged" b "$house_tmp/helped")" ] || broken "same options are told apart"
echo --zone >>"$house_tmp/helped"
[ -n "$(same a "$house_tmp/paged" b "$house_tmp/helped")" ] || broken "other options are the same"

all_commands=$(commands)
case " $(echo "$all_commands" | paste -sd ' ') " in
  *' info record run replay '*) ;;
  *) broken "no commands were found: $all_commands" ;;
esac
check_options '' "$top_srcdir/doc/clpool.1"
"$clpool" --version | grep -q '^clpool [0-9]' || complain "clpool --version says nothing"
for command in $all_commands; do
  [ "$command" = help ] || check_command "$command"
done
check_pages
check_dates "$(sed -n 's/^date-released: //p' "$top_srcdir/CITATION.cff")" \
  "$top_srcdir"/doc/clpool*.[15] "$top_builddir"/doc/man3/*.3
check_reference
if command -v groff >/dev/null; then lint_pages; fi
[ "$failures" -eq 0 ] || fail "see above"
command -v groff >/dev/null || skip "groff is missing, which would look at the pages"
pages=$(find "$top_srcdir/doc" -name 'clpool*.[15]' | wc -l)
echo "$(echo "$all_commands" | wc -l) commands, $pages pages"
