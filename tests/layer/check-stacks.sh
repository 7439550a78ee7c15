#!/bin/sh
# SPDX-License-Identifier: MIT
# clpool record --stacks and CLPOOL_TRACE_STACKS: the lines that allocate, of C and of Python, also
# of a program that is killed; and the program does the same as without.
# shellcheck source=../support/house.sh
. "${top_srcdir:=$(cd "$(dirname "$0")/../.." && pwd)}/tests/support/house.sh"
set -eu
command=record
layer=record
# shellcheck source=layer.sh
. "$top_srcdir/tests/layer/layer.sh"
unset CLPOOL_TRACE CLPOOL_TRACE_STACKS
has_names=no
grep -q '^#define HAVE_LIBDW 1' "$builddir/config.h" && has_names=yes

# record CODE PROGRAM...: into run.csv, with stacks.
record() {
  record_code=$1
  shift
  run "$record_code" --stacks -o run.csv "$@"
}

# folds: the stacks at the peak, into folded, which sum up to it.
folds() {
  "$clpool" report run.csv --folded=folded --json >report.json 2>err || fail "a report: $(cat err)"
  sum=$(awk '{ sum += $NF } END { print sum }' folded)
  grep -q "\"peak_active_bytes\": $sum,\$" report.json ||
    fail "the stacks sum up to $sum: $(cat folded)"
}

# --- C

# Its lines are those that are asked for below.
cat >nested.c <<'END'
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <signal.h>
#include <unistd.h>
static cl_context context;
static cl_mem make(size_t bytes)
{
  return clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, NULL);
}
static cl_mem twice(size_t bytes)
{
  clReleaseMemObject(make(bytes));
  return make(bytes);
}
int main(int count, char **words)
{
  cl_platform_id platforms[16];
  cl_uint found = 0;
  cl_device_id device;
  clGetPlatformIDs(16, platforms, &found);
  for (cl_uint i = 0; i < found && !context; i++)
    if (!clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 1, &device, NULL))
      context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
  cl_mem first = make(1000);
  cl_mem second = twice(30000);
  clReleaseMemObject(twice(200));
  clReleaseMemObject(first);
  (void)words;
  if (count > 1) {
    usleep(100000);
    make(7);
    raise(SIGKILL);
  }
  clReleaseMemObject(second);
  return 5;
}
END
# shellcheck disable=SC2086 # lists of words
$CC ${CLP_SANITIZER_FLAGS-} -g -O0 -o nested nested.c -lOpenCL 2>err ||
  skip "no program with OpenCL: $(head -n 1 err)"

record 5 ./nested
head -n 1 run.csv | grep -q ',Stack$' || fail "there is no column of stacks: $(head -n 1 run.csv)"
folds
if [ $has_names = yes ]; then
  cat >expected <<'END'
nested.c:24:main;nested.c:8:make 1000
nested.c:25:main;nested.c:13:twice;nested.c:8:make 30000
nested.c:26:main;nested.c:12:twice;nested.c:8:make 200
END
  sort folded | cmp -s - expected || fail "the stacks of C: $(cat folded)"
  tr -d '\n ' <report.json | grep -qF \
    '"bytes":30000,"times":1,' || fail "the largest: $(grep -A 20 largest report.json)"
  tr -d '\n ' <report.json | grep -qF \
    '"from":["nested.c:8:make","nested.c:13:twice","nested.c:25:main"]' ||
    fail "where the largest is from: $(grep -A 4 '"from"' report.json)"
fi
[ "$(grep -c ',free,.*,0$' run.csv)" -eq "$(grep -c ',free,' run.csv)" ] ||
  fail "a free has a stack"
[ "$(grep -c ',allocate,.*,0$' run.csv)" -eq 0 ] || fail "an allocation has no stack"

# Names are looked up when the trace is read: a program that is killed needs not end well.
record 137 ./nested killed
folds
largest='^nested.c:25:main;nested.c:13:twice;nested.c:8:make 30000$'
[ $has_names = no ] || grep -q "$largest" folded ||
  fail "the stacks of a program that was killed: $(cat folded)"
mv nested moved
folds
grep -q '^nested+0x.* 30000$' folded || fail "without the program: $(cat folded)"

# The program does the same as without, on several threads, too.
for part in all threads; do
  alone plain "$recorded" $part
  record 0 "$recorded" $part
  cmp -s plain out || fail "$part does something else: $(diff plain out | head)"
  folds
done
[ "$(grep -c ',allocate,' run.csv)" -eq 20000 ] || fail "rows are missing"

# --- Python, which holds its lock in a call of ctypes.PyDLL, and not in one of ctypes.CDLL

cat >program.py <<'END'
import ctypes
import sys
cl = getattr(ctypes, sys.argv[1])("libOpenCL.so.1")
platforms, count, device = (ctypes.c_void_p * 16)(), ctypes.c_uint(), ctypes.c_void_p()
for name in "clCreateContext", "clCreateBuffer":
    getattr(cl, name).restype = ctypes.c_void_p
cl.clGetPlatformIDs(16, platforms, ctypes.byref(count))
for platform in platforms[: count.value]:
    if not cl.clGetDeviceIDs(ctypes.c_void_p(platform), ctypes.c_uint64(0xFFFFFFFF), 1,
                             ctypes.byref(device), None):
        break
context = ctypes.c_void_p(cl.clCreateContext(None, 1, ctypes.byref(device), None, None, None))
def array(bytes):
    return cl.clCreateBuffer(context, ctypes.c_uint64(1), ctypes.c_size_t(bytes), None, None)
def step():
    return [array(10000) for _ in range(3)]
first = array(500)
rest = step()
END
if [ "${clp_sanitized:-no}" = yes ]; then
  echo "not tried: Python, which lacks the layer's sanitizer"
elif python3 -c 'import ctypes, sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
  record 0 python3 program.py PyDLL
  folds
  own=$house_tmp/program.py
  grep -q "^$own:17:<module>;$own:14:array;.* 500\$" folded ||
    fail "the stacks of Python: $(cat folded)"
  sed -n "s|;$own:16:<listcomp>||; s|;$own:14:array;.* | |p" folded |
    grep -qx "$own:18:<module>;$own:16:step 30000" ||
    fail "the stacks of Python in a function: $(cat folded)"
  ! grep -q 'PyEval\|Py_RunMain' folded || fail "the interpreter is in the stacks: $(cat folded)"
  record 0 python3 program.py CDLL
  folds
  ! grep -q 'program.py' folded || fail "Python's lines without its lock: $(cat folded)"
else
  echo "not tried: Python, of which there is none from 3.10 on"
fi

# --- Programs that use clpool

if [ -x "$builddir/examples/where_memory_goes" ]; then
  (
    CLPOOL_TRACE=run.csv CLPOOL_TRACE_STACKS=1
    export CLPOOL_TRACE CLPOOL_TRACE_STACKS
    "$builddir/examples/where_memory_goes" memory.csv memory.folded >out 2>err ||
      fail "CLPOOL_TRACE_STACKS: $(cat err)"
    CLPOOL_TRACE_STACKS=2
    ! "$builddir/examples/where_memory_goes" memory.csv memory.folded >out 2>err ||
      fail "CLPOOL_TRACE_STACKS=2 is fine"
    grep -q 'CLPOOL_TRACE_STACKS is "2"' err || fail "CLPOOL_TRACE_STACKS=2: $(cat err)"
  )
  folds
  if [ $has_names = yes ]; then
    grep -q ':main;.*;.*:array_create [0-9]*$' folded ||
      fail "stacks of a pool: $(cat folded)"
  fi
fi
