#!/bin/sh
# SPDX-License-Identifier: MIT
# libclpool.so starts on any machine: the drivers' libraries are loaded when they are first used, so
# it names none. A program that is not linked with OpenCL is told what is missing.
# shellcheck source=../support/house.sh
. "${top_srcdir:=$(cd "$(dirname "$0")/../.." && pwd)}/tests/support/house.sh"
set -eu

library=$top_builddir/.libs/libclpool.so
[ -e "$library" ] || broken "$library is not built"
command -v readelf >/dev/null || skip "there is no readelf"

needed=$(readelf -dW "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\].*/\1/p')
case $needed in
*libc.*) ;;
*) broken "readelf does not name the C library" ;;
esac
drivers=$(echo "$needed" | grep -i -e opencl -e cuda -e pocl || :)
[ -z "$drivers" ] || fail "it needs $drivers"
# shellcheck disable=SC2086 # on one line
echo "it needs" $needed

[ -n "${OPENCL_CFLAGS-}" ] || { echo "built without OpenCL"; exit 0; }
cat >"$house_tmp/asks.c" <<'END'
#include <clpool/opencl.h>
#include <stdio.h>

int main(void)
{
  clp_allocator *allocator;
  cl_context context = (cl_context)&allocator; /* never looked at */
  clp_status status = clp_cl_deferred_allocator_create(context, 0, &allocator);
  printf("%s: %s\n", clp_status_name(status), clp_last_error()->message);
  return 0;
}
END
# shellcheck disable=SC2086 # the compiler and its flags are lists of words
$CC ${CLP_BUILD_FLAGS-} $OPENCL_CFLAGS -I"$top_srcdir/include" -I"$top_builddir/include" \
  -o "$house_tmp/asks" "$house_tmp/asks.c" -L"$top_builddir/.libs" -lclpool ||
  fail "a program that calls no OpenCL itself does not link without it"
LD_LIBRARY_PATH=$top_builddir/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
CLPOOL_OPENCL_LIBRARY=/no/such/opencl.so
export LD_LIBRARY_PATH CLPOOL_OPENCL_LIBRARY
said=$("$house_tmp/asks")
case $said in
"CLP_NOT_SUPPORTED: there is no OpenCL: /no/such/opencl.so"*) echo "$said" ;;
*) fail "without OpenCL it says: $said" ;;
esac
