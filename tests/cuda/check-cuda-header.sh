#!/bin/sh
# SPDX-License-Identifier: MIT
# Our own declarations of CUDA's driver, the library's (lib/cuda/driver.h) and those of the tests
# (tests/fakecuda/fakecuda.h), are cuda.h's. Skipped where there is no cuda.h; CUDA_HOME says where
# to look first.
# shellcheck source=../support/house.sh
. "${top_srcdir:=$(cd "$(dirname "$0")/../.." && pwd)}/tests/support/house.sh"

for cuda in ${CUDA_HOME:+"$CUDA_HOME/include"} \
  "$(${PKG_CONFIG:-pkg-config} --variable=includedir cuda 2>/dev/null || :)" \
  /usr/local/cuda/include /usr/include; do
  [ ! -e "$cuda/cuda.h" ] || break
done
[ -e "$cuda/cuda.h" ] || skip "there is no cuda.h"
version=$(sed -n 's/^#define CUDA_VERSION  *//p' "$cuda/cuda.h")
[ "$version" -ge 12090 ] || skip "cuda.h is of CUDA $version, and 12.9 is needed"

# shellcheck disable=SC2086 # the compiler is a list of words
$CC -std=gnu11 -Wall -Wextra -Werror -isystem "$cuda" -I"$top_srcdir/lib" \
  -I"$top_srcdir/tests/fakecuda" -I"$top_srcdir/include" -I"$top_builddir/include" \
  -o "$house_tmp/compare" "$top_srcdir/tests/support/cuda_header.c" ||
  fail "the declarations are not those of $cuda/cuda.h"
"$house_tmp/compare" || fail "some functions are not those of $cuda/cudaTypedefs.h"
