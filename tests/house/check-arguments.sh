#!/bin/sh
# SPDX-License-Identifier: MIT
# Every public function is in a row of the tables of wrong arguments (tests/api/rows.h), unless it
# takes every argument.
# shellcheck source=../support/house.sh
. "${top_srcdir:=$(cd "$(dirname "$0")/../.." && pwd)}/tests/support/house.sh"
set -eu

# Take no argument, or any: tests/api/test_status.c has what they answer.
exempt='clp_free_all_held clp_last_error clp_set_last_error clp_status_message clp_status_name
  clp_version'

# A declaration begins at the left margin, and its name is right before a parenthesis.
sed -n 's/^[a-z].*[ *]\(clp_[a-z0-9_]*\)(.*/\1/p' "$top_srcdir"/include/clpool/*.h \
  "$top_srcdir"/include/clpool/*.h.in | sort -u >"$house_tmp/declared"
grep -q '^clp_pool_create$' "$house_tmp/declared" || broken "no declarations were found"

sed -n 's/^[A-Z_]*(\([0-9A-Z_ +-]*, \)\{0,1\}\(clp_[a-z0-9_]*\),.*/\2/p' \
  "$top_srcdir"/tests/api/*.def | sort -u >"$house_tmp/rows"
grep -q '^clp_pool_create$' "$house_tmp/rows" || broken "no rows were found"

# shellcheck disable=SC2086 # a list of words
printf '%s\n' $exempt | sort -u >"$house_tmp/exempt"
{
  comm -23 "$house_tmp/exempt" "$house_tmp/declared" | sed 's/^/exempt, but not declared: /'
  comm -12 "$house_tmp/exempt" "$house_tmp/rows" | sed 's/^/exempt, but in a row: /'
  comm -23 "$house_tmp/declared" "$house_tmp/rows" | comm -23 - "$house_tmp/exempt" |
    sed 's/^/in no row of a table in tests\/api: /'
} >"$house_tmp/wrong"
cat "$house_tmp/wrong"
[ ! -s "$house_tmp/wrong" ] || fail "the tables of wrong arguments are not complete"
echo "$(wc -l <"$house_tmp/rows") of $(wc -l <"$house_tmp/declared") public functions have rows"
