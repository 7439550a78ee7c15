#!/bin/sh
# SPDX-License-Identifier: MIT
# Our own declarations of CUDA's driver, the library's (lib/cuda/driver.h) and those of the tests
# (tests/fakecuda/fakecuda.h), are cuda.h's. First the check itself is tried on declarations that
# are wrong. Skipped where there is no cuda.h; CUDA_HOME says where to look first.
# shellcheck source=../support/house.sh
. "${top_srcdir:=$(cd "$(dirname "$0")/../.." && pwd)}/tests/support/house.sh"
set -eu

# find_cuda: the folder that has cuda.h.
find_cuda() {
  for folder in ${CUDA_HOME:+"$CUDA_HOME/include"} \
    "$(${PKG_CONFIG:-pkg-config} --variable=includedir cuda 2>/dev/null || :)" \
    /usr/local/cuda/include /usr/include; do
    if [ -n "$folder" ] && [ -e "$folder/cuda.h" ]; then
      echo "$folder"
      return
    fi
  done
}

cuda=$(find_cuda)
[ -n "$cuda" ] || skip "there is no cuda.h"
version=$(sed -n 's/^#define CUDA_VERSION  *//p' "$cuda/cuda.h")
[ "$version" -ge 12090 ] || skip "cuda.h is of CUDA $version, and 12.9 is needed"

tree=$house_tmp/tree

# copy_tree: the headers that are compared.
copy_tree() {
  mkdir -p "$tree/lib/cuda" "$tree/tests/fakecuda"
  cat "$top_srcdir/lib/cuda/driver.h" >"$tree/lib/cuda/driver.h"
  cat "$top_srcdir/tests/fakecuda/fakecuda.h" >"$tree/tests/fakecuda/fakecuda.h"
}

# compare: compiles the comparison with that copy, and runs it.
compare() {
  # shellcheck disable=SC2086 # the compiler is a list of words
  $CC -std=gnu11 -Wall -Wextra -Werror -isystem "$cuda" -I"$tree/lib" -I"$tree/tests/fakecuda" \
    -I"$top_srcdir/include" -I"$top_builddir/include" -o "$house_tmp/compare" \
    "$top_srcdir/tests/support/cuda_header.c" && "$house_tmp/compare"
}

# refuses FILE FROM TO: it is noticed where one is in place of the other.
refuses() {
  copy_tree
  sed "s/$2/$3/" "$top_srcdir/$1" >"$tree/$1"
  ! cmp -s "$top_srcdir/$1" "$tree/$1" || broken "$1 has no $2"
  ! compare >/dev/null 2>&1 || broken "$3 in place of $2 is not noticed"
}

copy_tree
compare || fail "the declarations are not those of $cuda/cuda.h"

library=lib/cuda/driver.h
refuses $library 'size_t max_bytes;' 'unsigned max_bytes;'
refuses $library 'reserved\[54\]' 'reserved[46]'
refuses $library 'CLPI_CUDA_NOT_SUPPORTED = 801' 'CLPI_CUDA_NOT_SUPPORTED = 802'
refuses $library 'bytes\[64\]' 'bytes[65]'
refuses $library '(int \*count)' '(size_t *count)'
refuses $library 'cuDeviceTotalMem, _v2' 'cuDeviceTotalMem, '
refuses $library 'cuMemFreeAsync, , 11020' 'cuMemFreeAsync, , 11010'
refuses $library 'clpi_cuda_pointer pointer, clpi_cuda_stream stream))' \
  'clpi_cuda_stream stream, clpi_cuda_pointer pointer))'
refuses tests/fakecuda/fakecuda.h 'X(cuStreamDestroy, _v2,' 'X(cuStreamDestroy, ,'
refuses tests/fakecuda/fakecuda.h '((CUstream)1)' '((CUstream)3)'
refuses tests/fakecuda/fakecuda.h 'unsigned char byte,' 'unsigned short byte,'

echo "all declarations are those of CUDA $version in $cuda"
