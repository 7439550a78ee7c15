#!/bin/sh
# SPDX-License-Identifier: MIT
# libclpool.so exports the functions that the installed headers declare, all of them, and no more.
# shellcheck source=../support/house.sh
. "${top_srcdir:=$(cd "$(dirname "$0")/../.." && pwd)}/tests/support/house.sh"
set -eu

library=$top_builddir/.libs/libclpool.so
[ -e "$library" ] || broken "$library is not built"
[ -n "${clp_headers-}" ] || broken "clp_headers does not name the installed headers"

for header in $clp_headers; do
  case $header in *.hpp) continue ;; esac # inline, all of it
  echo "#include <${header#include/}>"
done >"$house_tmp/all.h"

# Declared: a name right before a parenthesis, in what the preprocessor leaves of our own headers.
# Types of functions have their name inside of one, so they are not found.
# shellcheck disable=SC2086 # the compiler and its flags are lists of words
$CC ${OPENCL_CFLAGS-} -I"$top_srcdir/include" -I"$top_builddir/include" -E "$house_tmp/all.h" |
  awk '/^# [0-9]/ { own = ($3 ~ /include\/clpool\//); next } own && !/^static /' |
  grep -o '\<clp_[a-z0-9_]*(' | tr -d '(' | sort -u >"$house_tmp/declared"

# "A" is the version node itself; NM may bring flags along.
${NM:-nm} -D --defined-only "$library" |
  awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort -u >"$house_tmp/exported"

grep -q '^clp_pool_create$' "$house_tmp/declared" || broken "no declarations were found"

comm -23 "$house_tmp/declared" "$house_tmp/exported" >"$house_tmp/missing"
comm -13 "$house_tmp/declared" "$house_tmp/exported" >"$house_tmp/leaked"
sed 's/^/declared, not exported: /' "$house_tmp/missing"
sed 's/^/exported, not declared: /' "$house_tmp/leaked"
if [ -s "$house_tmp/missing" ] || [ -s "$house_tmp/leaked" ]; then
  fail "the exported symbols are not the public functions"
fi
echo "$(wc -l <"$house_tmp/exported") public functions, all exported, and nothing else"
