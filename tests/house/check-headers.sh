#!/bin/sh
# SPDX-License-Identifier: MIT
# Each installed header compiles alone and twice, as strict C11 and as C++11, and every _INIT macro
# initializes its struct in both.
# shellcheck source=../support/house.sh
. "${top_srcdir:=$(cd "$(dirname "$0")/../.." && pwd)}/tests/support/house.sh"
set -eu

[ -n "${clp_headers-}" ] || broken "clp_headers does not name the installed headers"

# compile LANGUAGE COMPILER FLAG...: reads the source from standard input.
compile() {
  language=$1
  compiler=$2
  shift 2
  # shellcheck disable=SC2086 # the compiler and its flags are lists of words
  $compiler "$@" ${OPENCL_CFLAGS-} -Wall -Wextra -Werror -fsyntax-only \
    -I"$top_srcdir/include" -I"$top_builddir/include" -x "$language" -
}

# The structs that have an _INIT macro, in lower case: CLP_POOL_STATS_INIT is for clp_pool_stats.
init_types() {
  sed -n 's/^#define \(CLP_[A-Z_]*\)_INIT\>.*/\1/p' "$1" | tr '[:upper:]' '[:lower:]'
}

# check HEADER LANGUAGE COMPILER STANDARD
check() {
  name=${1#include/}
  printf '#include <%s>\n#include <%s>\n' "$name" "$name" |
    compile "$2" "$3" "$4" -pedantic || fail "$name does not compile alone with $4"
  file=$top_srcdir/$1
  [ -e "$file" ] || file=$top_builddir/$1
  for type in $(init_types "$file"); do
    macro=$(echo "${type}_init" | tr '[:lower:]' '[:upper:]')
    printf '#include <%s>\nextern %s it;\n%s it = %s;\n' "$name" "$type" "$type" "$macro" |
      compile "$2" "$3" "$4" -Wno-missing-field-initializers || fail "$macro fails with $4"
    inits=$((inits + 1))
  done
}

inits=0
headers=0
for header in $clp_headers; do
  check "$header" c "$CC" -std=c11
  [ -z "${HOUSE_CXX-}" ] || check "$header" c++ "$HOUSE_CXX" -std=c++11
  headers=$((headers + 1))
done
[ "$inits" -gt 0 ] || broken "no _INIT macro was found"
[ -n "${HOUSE_CXX-}" ] || skip "$headers headers are fine in C; there is no C++ compiler"
echo "$headers headers, alone, in C and C++"
