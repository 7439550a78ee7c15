#!/bin/sh
# SPDX-License-Identifier: MIT
# The installed headers compile without a warning, each twice, and each of their _INIT macros
# initializes its struct; so do the programs in the comments of clpool.h and clpool.hpp. All of them
# compile in one file as C11 and C++11 with every compiler that is here, and each alone as C11.
# With CLPT_STANDARDS=all (make check-standards), each compiles alone with every compiler as C11 and
# as C++11 to C++20, and so does the test of clpool.hpp.
# shellcheck source=../support/house.sh
. "${top_srcdir:=$(cd "$(dirname "$0")/../.." && pwd)}/tests/support/house.sh"

[ -n "${clp_headers-}" ] || broken "clp_headers does not name the installed headers"
mkdir "$house_tmp/alone" "$house_tmp/together"
cd "$house_tmp"

# compile LANGUAGE-STANDARD FILE COMPILER...: with each compiler that is here.
compile() {
  standard=$1 file=$2
  shift 2
  for compiler in "$@"; do
    command -v "${compiler%% *}" >/dev/null || continue
    # shellcheck disable=SC2086 # the compiler and its flags are lists of words
    $compiler -std="$standard" ${OPENCL_CFLAGS-} -Wall -Wextra -pedantic -Werror -fsyntax-only \
      -I"$top_srcdir/include" -I"$top_builddir/include" "$file" || fail "$file: $compiler $standard"
  done
}

for header in $clp_headers; do
  file=$top_srcdir/$header
  [ -e "$file" ] || file=$top_builddir/$header
  name=${header#include/clpool/}
  alone=alone/${name%.*}.c
  case $name in *.hpp) alone=alone/${name%.*}_hpp.cc ;; esac
  printf '#include <clpool/%s>\n#include <clpool/%s>\n' "$name" "$name" >"$alone"
  # CLP_POOL_STATS_INIT initializes a clp_pool_stats.
  macros=$(sed -n 's/^#define \(CLP_[A-Z_]*_INIT\)\>.*/\1/p' "$file")
  for macro in $macros; do
    type=$(echo "${macro%_INIT}" | tr '[:upper:]' '[:lower:]')
    printf 'extern %s global_%s;\n%s global_%s = %s;\n' "$type" "$type" "$type" "$type" "$macro"
    printf '%s *use_%s(%s *);\n' "$type" "$type" "$type"
    printf '%s *use_%s(%s *out)\n' "$type" "$type" "$type"
    printf '{\n  const %s local = %s;\n  *out = local;\n  return out;\n}\n' "$type" "$macro"
  done >>"$alone"
done
grep -q '_INIT;$' alone/pool.c || broken "no _INIT macro was found"
cat alone/*.c >together/headers.c
cat alone/*.cc alone/*.c >together/headers.cc
for header in clpool.h clpool.hpp; do # the program in its comment
  ending=$(echo "${header##*.}" | tr hp c+ | sed 's/c++/cc/')
  sed -n '/^ \*     #include/,/^ \*     }$/s/^ \* \{0,5\}//p' "$top_srcdir/include/clpool/$header" |
    tee "alone/example.$ending" | grep . >"together/example.$ending" || broken "$header: no program"
done

for file in alone/*.c; do compile c11 "$file" "$CC" ${CLPT_STANDARDS:+gcc clang}; done
for file in together/*.c; do compile c11 "$file" "$CC" gcc clang; done
[ -n "${HOUSE_CXX-}" ] || skip "the headers are fine in C; there is no C++ compiler"
for file in together/*.cc; do compile c++11 "$file" "$HOUSE_CXX" g++ clang++; done
if [ -n "${CLPT_STANDARDS-}" ]; then
  for file in alone/*.c; do cp "$file" "${file%.c}_c.cc"; done
  cp "$top_srcdir/tests/cplusplus/test_cplusplus.cc" alone
  for standard in c++11 c++14 c++17 c++20; do
    for file in alone/*.cc; do compile "$standard" "$file" "$HOUSE_CXX" g++ clang++; done
  done
fi
