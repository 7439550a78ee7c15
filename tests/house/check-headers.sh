#!/bin/sh
# SPDX-License-Identifier: MIT
# The installed headers compile without a warning, each twice, and each of their _INIT macros
# initializes its struct; so do the programs in the comments of clpool.h and clpool.hpp. Each header
# compiles alone as C11 with the build's compiler; all of them compile in one file as C11 and C++11
# with every compiler that is here.
#
# With CLPT_STANDARDS=all (make check-standards), each header compiles alone with every compiler as
# C11 and as C++11 to C++20. So does the test of clpool.hpp, which includes the backends' headers.
# shellcheck source=../support/house.sh
. "${top_srcdir:=$(cd "$(dirname "$0")/../.." && pwd)}/tests/support/house.sh"
set -eu

[ -n "${clp_headers-}" ] || broken "clp_headers does not name the installed headers"

# compile STANDARD COMPILER FILE
compile() {
  # shellcheck disable=SC2086 # the compiler and its flags are lists of words
  $2 -std="$1" ${OPENCL_CFLAGS-} -Wall -Wextra -pedantic -Werror -fsyntax-only \
    -I"$top_srcdir/include" -I"$top_builddir/include" "$3"
}

# The structs that have an _INIT macro: CLP_POOL_STATS_INIT is for clp_pool_stats.
init_types() {
  sed -n 's/^#define \(CLP_[A-Z_]*\)_INIT\>.*/\1/p' "$1" | tr '[:upper:]' '[:lower:]'
}

# write_program HEADER: what has to compile, in C and in C++.
write_program() {
  name=${1#include/}
  file=$top_srcdir/$1
  [ -e "$file" ] || file=$top_builddir/$1
  printf '#include <%s>\n#include <%s>\n' "$name" "$name"
  for type in $(init_types "$file"); do
    macro=$(echo "${type}_init" | tr '[:lower:]' '[:upper:]')
    printf 'extern %s global_%s;\n%s global_%s = %s;\n' "$type" "$type" "$type" "$type" "$macro"
    printf '%s *use_%s(%s *);\n' "$type" "$type" "$type"
    printf '%s *use_%s(%s *out)\n' "$type" "$type" "$type"
    printf '{\n  const %s local = %s;\n  *out = local;\n  return out;\n}\n' "$type" "$macro"
  done
}

# The compilers: the build's own, GCC and clang, each once. In C++ only if the build has one.
compilers() {
  for compiler in "$@"; do
    # shellcheck disable=SC2086 # the first word is the program
    command -v ${compiler%% *} >/dev/null && echo "$compiler"
  done | awk '!seen[$0]++'
}

# everywhere STANDARD... -- LANGUAGE COMPILER...: compiles all programs of $house_tmp/$programs.
everywhere() {
  standards=
  while [ "$1" != -- ]; do
    standards="$standards $1"
    shift
  done
  language=$2
  shift 2
  compilers "$@" | while read -r compiler; do
    for standard in $standards; do
      for program in "$house_tmp/$programs"/*."$language"; do
        compile "$standard" "$compiler" "$program" ||
          fail "$(basename "$program" ".$language").h: $compiler -std=$standard"
      done
    done
  done
}

# First the check itself: what is no initializer in C++11, and what leaves a field out.
for wrong in '{ .a = 1, .b = 2 }' '{ 1 }'; do
  printf 'struct pair { int a, b; };\nextern struct pair it;\nstruct pair it = %s;\n' "$wrong" \
    >"$house_tmp/planted.cc"
  [ -z "${HOUSE_CXX-}" ] || ! compile c++11 "$HOUSE_CXX" "$house_tmp/planted.cc" 2>/dev/null ||
    broken "$wrong passes as C++11"
done
rm "$house_tmp/planted.cc"

# program_of HEADER: the one in its comment.
program_of() {
  sed -n '/^ \*     #include/,/^ \*     }$/s/^ \* \{0,5\}//p' "$top_srcdir/include/clpool/$1" |
    grep . || broken "$1 has no program"
}

mkdir "$house_tmp/alone" "$house_tmp/together"
headers=0
for header in $clp_headers; do
  case $header in *.hpp) continue ;; esac
  write_program "$header" >"$house_tmp/alone/$(basename "$header" .h).c"
  headers=$((headers + 1))
done
grep -q '_INIT;$' "$house_tmp/alone/pool.c" || broken "no _INIT macro was found"
printf '#include <clpool/%s>\n' clpool.hpp clpool.hpp cuda.h clpool.hpp \
  >"$house_tmp/together/headers.cc"
cat "$house_tmp/alone"/*.c | tee "$house_tmp/together/headers.c" >>"$house_tmp/together/headers.cc"
program_of clpool.h | tee "$house_tmp/alone/example.c" >"$house_tmp/together/example.c"
program_of clpool.hpp >"$house_tmp/together/example_hpp.cc"

if [ "${CLPT_STANDARDS-}" = all ]; then
  for program in "$house_tmp"/alone/*.c; do
    cp "$program" "${program%.c}.cc"
  done
  printf '#include <clpool/%s>\n' clpool.hpp clpool.hpp cuda.h clpool.hpp \
    >"$house_tmp/alone/clpool_hpp.cc"
  cp "$house_tmp/together/example_hpp.cc" "$top_srcdir/tests/cplusplus/test_cplusplus.cc" \
    "$house_tmp/alone"
  programs=alone
  everywhere c11 -- c "$CC" gcc clang
  [ -n "${HOUSE_CXX-}" ] || skip "$headers headers are fine in C; there is no C++ compiler"
  everywhere c++11 c++14 c++17 c++20 -- cc "$HOUSE_CXX" g++ clang++
  echo "$headers headers, alone, in C and C++"
else
  programs=alone
  everywhere c11 -- c "$CC"
  programs=together
  everywhere c11 -- c "$CC" gcc clang
  [ -n "${HOUSE_CXX-}" ] || skip "$headers headers are fine in C; there is no C++ compiler"
  everywhere c++11 -- cc "$HOUSE_CXX" g++ clang++
  echo "$headers headers, alone in C and together in C and C++"
fi
