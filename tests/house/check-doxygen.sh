#!/bin/sh
# SPDX-License-Identifier: MIT
# The reference that Doxygen makes has all that is public, each with a comment: headers, functions,
# types, their members, macros and enumerators; and the guides.
# shellcheck source=../support/house.sh
. "${top_srcdir:=$(cd "$(dirname "$0")/../.." && pwd)}/tests/support/house.sh"
set -eu

: "${MAKE:=make}"
command -v "${DOXYGEN:=doxygen}" >/dev/null || skip "doxygen is missing"
[ -n "${clp_headers-}" ] || broken "clp_headers does not name the installed headers"

# The make that runs this check has its own targets, flags and jobs.
unset MAKEFLAGS MFLAGS MAKELEVEL

# make_reference FOLDER [VARIABLE=VALUE...]: the reference, in this folder, as XML too. Fails where
# Doxygen warns; what it says goes to FOLDER.log.
make_reference() {
  reference=$1
  shift
  "$MAKE" -C "$top_builddir" doxygen DOXYGEN="$DOXYGEN" doxygen_folder="$reference" \
    doxygen_xml=YES "$@" >"$reference.log" 2>&1
}

# find_silent FOLDER HEADER...: what the reference does not have though Doxygen says nothing: text
# for an enumerator, but for those of clp_status, whose list has it; the functions of a header
# without a comment of its own.
find_silent() {
  awk '
    /<memberdef / { listed = 0 }
    /<name>clp_status<\/name>/ { listed = 1 }
    /<enumvalue / { inside = 1; text = "" }
    inside { text = text $0 }
    /<\/enumvalue>/ {
      inside = 0
      if (text ~ /<para>/ || listed)
        next
      sub(/.*<name>/, "", text)
      sub(/<\/name>.*/, "", text)
      print text " is not documented"
    }' "$1"/xml/*_8h.xml
  shift
  for header in "$@"; do
    grep -q '^/\*\* @file$' "$header" || echo "$header does not begin with a comment of @file"
  done
}

# The installed headers, as files.
header_files() {
  for header in $clp_headers; do
    if [ -e "$top_srcdir/$header" ]; then
      echo "$top_srcdir/$header"
    else
      echo "$top_builddir/$header"
    fi
  done
}

# First the check itself: a function without a comment, an enumerator, a header without one.
planted=$house_tmp/log.h
plant() {
  sed "$1" "$top_srcdir/include/clpool/log.h" >"$planted"
  rm -rf "$house_tmp/planted"
  make_reference "$house_tmp/planted" doxygen_headers="$planted" doxygen_guides=
}
plant '' || { cat "$house_tmp/planted.log"; broken "log.h alone has no reference"; }
[ -z "$(find_silent "$house_tmp/planted" "$planted")" ] || broken "log.h alone is not whole"
! plant 's/^void clp_set_log.*/&\nvoid clp_planted(void);/' ||
  broken "a planted function is not found"
grep -q 'clp_planted.*not documented' "$house_tmp/planted.log" ||
  { cat "$house_tmp/planted.log"; broken "a planted function is not named"; }
plant 's/CLP_LOG_INFO = 0,/CLP_LOG_PLANTED = 5, &/'
[ "$(find_silent "$house_tmp/planted" "$planted")" = 'CLP_LOG_PLANTED is not documented' ] ||
  broken "a planted enumerator is not found"
plant 's/@file//' || :
find_silent "$house_tmp/planted" "$planted" | grep -q 'log.h does not' ||
  broken "a header without a comment is not found"

make_reference "$house_tmp/reference" || { cat "$house_tmp/reference.log"; fail "Doxygen warns"; }
# shellcheck disable=SC2046 # a list of headers
find_silent "$house_tmp/reference" $(header_files) >"$house_tmp/silent"
cat "$house_tmp/silent"
[ ! -s "$house_tmp/silent" ] || fail "see above"
for guide in "$top_srcdir"/doc/*.md; do
  guide=${guide##*/}
  [ "$guide" = internals.md ] ||
    grep -q "<location file=\"[^\"]*doc/$guide\"" "$house_tmp"/reference/xml/md_*.xml ||
    fail "the reference lacks the guide $guide"
done
echo "$(grep -c 'kind="function"' "$house_tmp/reference/xml/index.xml") functions, all documented"
