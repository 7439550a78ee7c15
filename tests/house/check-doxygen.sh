#!/bin/sh
# SPDX-License-Identifier: MIT
# The reference that Doxygen makes has all that is public, each with a comment: headers, functions,
# types, their members, macros and enumerators.
# shellcheck source=../support/house.sh
. "${top_srcdir:=$(cd "$(dirname "$0")/../.." && pwd)}/tests/support/house.sh"

command -v "${DOXYGEN:=doxygen}" >/dev/null || skip "doxygen is missing"
[ -n "${clp_headers-}" ] || broken "clp_headers does not name the installed headers"

# The make that runs this check has its own targets, flags and jobs. Doxygen's warnings are errors.
unset MAKEFLAGS MFLAGS MAKELEVEL
xml=$house_tmp/reference/xml
"${MAKE:=make}" -C "$top_builddir" doxygen DOXYGEN="$DOXYGEN" \
  doxygen_folder="$house_tmp/reference" >"$house_tmp/log" 2>&1 ||
  { cat "$house_tmp/log"; fail "Doxygen warns"; }

# What Doxygen says nothing of: an enumerator without a text, but for those of clp_status, whose
# list has it.
awk '
  /<memberdef / { listed = 0 }
  /<name>clp_status<\/name>/ { listed = 1 }
  /<enumvalue / { inside = 1; text = "" }
  inside { text = text $0 }
  /<\/enumvalue>/ {
    inside = 0
    if (text ~ /<para>/ || listed)
      next
    gsub(/.*<name>|<\/name>.*/, "", text)
    print text " is not documented"
  }' "$xml"/*_8h.xml >"$house_tmp/silent"
cat "$house_tmp/silent"
[ ! -s "$house_tmp/silent" ] || fail "see above"
