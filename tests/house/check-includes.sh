#!/bin/sh
# SPDX-License-Identifier: MIT
# Who may include whom, downwards only: every #include of the tree stays within the rules of
# tests/support/includes.awk. First the checker itself is tried on includes that break them.
# shellcheck source=../support/house.sh
. "${top_srcdir:=$(cd "$(dirname "$0")/../.." && pwd)}/tests/support/house.sh"
set -eu

rules=$top_srcdir/tests/support/includes.awk

# check_tree TOP: prints each include that breaks the rules; fails if there is one.
check_tree() {
  (cd "$1" &&
    find include lib layer tools python examples bench -name '*.[ch]' -type f 2>/dev/null |
    sort | awk -f "$rules")
}

# planted FILE INCLUDE...: a small tree with these lines in FILE.
planted() {
  rm -rf "$house_tmp/tree"
  for folder in include/clpool lib/core/base lib/core/pool lib/cuda lib/opencl \
    layer lib/hooks lib/host tools/trace python/src examples; do
    mkdir -p "$house_tmp/tree/$folder"
  done
  for file in include/clpool/pool.h include/clpool/opencl.h include/clpool/cuda.h \
    include/clpool/cuda_mempool.h lib/core/pool/pool.h lib/core/base/list.h lib/opencl/device.h \
    lib/cuda/driver.h lib/hooks/trace_file.h layer/dispatch.h tools/trace/reader.h tools/json.h; do
    echo '#include <stddef.h>' >"$house_tmp/tree/$file"
  done
  file=$house_tmp/tree/$1
  shift
  printf '#include %s\n' "$@" >"$file"
}

allows() {
  planted "$@"
  check_tree "$house_tmp/tree" >/dev/null || broken "$1 may include $2"
}

refuses() {
  planted "$@"
  ! check_tree "$house_tmp/tree" >/dev/null || broken "$1 must not include $2"
}

allows lib/core/pool/a.c '"core/pool/pool.h"' '"pool.h"' '<clpool/pool.h>' '<pthread.h>'
allows lib/opencl/a.c '"core/pool/pool.h"' '"device.h"' '<clpool/opencl.h>' '<CL/cl.h>'
allows lib/host/a.c '"core/pool/pool.h"' '<unistd.h>'
allows lib/cuda/a.c '"core/pool/pool.h"' '"driver.h"' '<clpool/cuda.h>' '<dlfcn.h>'
allows include/clpool/cuda_mempool.h '<clpool/cuda.h>'
allows tools/trace/a.c '"trace/reader.h"' '"core/base/list.h"' '<clpool/pool.h>' '<zlib.h>'
allows tools/trace/metering_allocator.c '"core/pool/pool.h"'
allows tools/a.c '"trace/reader.h"' '<clpool/opencl.h>' '<clpool/cuda.h>'
allows lib/core/pool/a.c '"core/base/list.h"'
allows layer/a.c '"opencl/device.h"' '<clpool/opencl.h>'
allows layer/a.c '"dispatch.h"' '"core/base/list.h"' '"hooks/trace_file.h"' '<CL/cl_layer.h>'
allows python/src/a.c '<Python.h>' '<clpool/opencl.h>' '<CL/cl.h>'
refuses layer/a.c '"trace/reader.h"'
refuses lib/core/base/a.c '"core/pool/pool.h"'
refuses lib/core/pool/a.c '<clpool/opencl.h>'
refuses lib/core/pool/a.c '"opencl/device.h"'
refuses lib/core/pool/a.c '"trace/reader.h"'
refuses lib/core/pool/a.c '"../../tools/trace/reader.h"'
refuses lib/core/pool/a.c '<CL/cl.h>'
refuses lib/core/pool/a.c '"core/no-such-file.h"'
refuses lib/core/pool/a.c '<clpool/cuda.h>'
refuses lib/core/pool/a.c '<clpool/cuda_mempool.h>'
refuses lib/cuda/a.c '"opencl/device.h"'
refuses lib/cuda/a.c '<clpool/opencl.h>'
refuses lib/cuda/a.c '<cuda.h>'
refuses lib/host/a.c '"cuda/driver.h"'
refuses lib/opencl/a.c '"cuda/driver.h"'
refuses lib/opencl/a.c '"trace/reader.h"'
refuses tools/trace/a.c '"core/pool/pool.h"'
refuses tools/trace/a.c '"json.h"'
refuses tools/a.c '"core/pool/pool.h"'
refuses examples/a.c '"trace/reader.h"'
refuses python/src/a.c '"core/pool/pool.h"'
refuses examples/a.c '<Python.h>'
refuses include/clpool/a.h '<clpool/opencl.h>'
refuses include/clpool/a.h '"../../lib/core/pool/pool.h"'

check_tree "$top_srcdir" || fail "an include breaks the rules of tests/support/includes.awk"
