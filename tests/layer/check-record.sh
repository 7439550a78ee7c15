#!/bin/sh
# SPDX-License-Identifier: MIT
# clpool record: a program does the same under the layer as without, and the trace says what it did,
# also where it is killed, forks, or ends in haste, and with --stacks which lines of C and of Python
# allocated; what cannot be recorded is told in one line.
: "${top_srcdir:=$(cd "$(dirname "$0")/../.." && pwd)}"
command=record
layer=record
# shellcheck source=layer.sh
. "$top_srcdir/tests/layer/layer.sh"
has_names=no
grep -q '^#define HAVE_LIBDW 1' "$builddir/config.h" && has_names=yes

has_rows() { [ "$(wc -l <"$1")" -eq "$(($2 + 1))" ] || fail "$1 has not $2 rows: $(cat "$1")"; }
counts() { [ "$(grep -c ",$1," run.csv)" -eq "$2" ] || fail "there are not $2 rows of $1"; }
has_pair() {
  has_rows run.csv 2
  [ "$(grep -c ",\(allocate\|free\),0x[0-9a-f]*,$1,0,1,buffer,0x0\$" run.csv)" -eq 2 ] ||
    fail "recorded: $(cat run.csv)"
}

# is_whole FILE: a trace that can be replayed.
is_whole() { "$clpool" replay "$1" >/dev/null 2>err || fail "the trace: $(cat err)"; }

unused='used no OpenCL, or its OpenCL loader cannot be replaced: nothing is recorded'

# --- What is recorded

has_pair 10
says ''
# Each buffer has a row, and each row of a free one of an allocate.
if same '-o run.csv' calls 1 60 2; then
  is_whole run.csv
  [ "$(grep -c ',allocate,' run.csv)" -ge 300 ] || fail "random calls: rows are missing"
  counts free "$(grep -c ',allocate,' run.csv)"
fi

# By hand; the loader cuts the variable behind the first layer.
own_loader_has_layers() {
  ldd "$program" | awk '/libOpenCL/ { print $3 }' | xargs grep -q OPENCL_LAYERS
}
if own_loader_has_layers; then
  rm run.csv
  OPENCL_LAYERS=$CLPOOL_LAYER_LIBRARY CLPOOL_LAYER_TRACE=run.csv "$program" exits >out || :
  has_pair 10
fi

# --- How programs end: what is lost is less than a buffer

run 137 -o run.csv "$program" killed
is_whole run.csv
[ "$(wc -l <run.csv)" -gt 8000 ] || fail "killed: $(wc -l <run.csv) rows are too few"

# What a recorded process starts is recorded if its own loader has layers.
run 0 -o run.csv "$program" children
! own_loader_has_layers ||
  says "clpool record: $house_tmp/run.csv: another process records to it: nothing is recorded"
has_pair 500

# A file for each process; a name that glob() would take for a pattern.
mkdir 'each[1]'
each='each[1]/run.%p.csv'
run 0 -o "$each" sh -c "'$program' exits; '$program' phases; :"
says ''
run 7 -o "$each" sh -c "'$program' exits"
set -- each*/run.*.csv
[ $# -eq 3 ] || fail "there are $# files for three processes: $*"
for file; do is_whole "$file"; done
[ "$(cat "$@" | grep -c ',allocate,')" -gt 5 ] || fail "rows are missing: $(cat "$@")"
run 0 -o "$each" sh -c "'$program' nothing; :"
says "clpool record: sh allocated nothing by OpenCL: nothing is recorded"

# Links are followed.
ln -s file.csv link.csv
run 7 -o link.csv "$program" exits
has_rows file.csv 2

# A signal for clpool is one for the program.
"$clpool" record -o run.csv sh -c 'echo $$ >pid; exec sleep 1000' 2>err &
while [ ! -s pid ]; do sleep 0.1; done
kill "$!"
code=0
wait "$!" || code=$?
[ "$code" -eq 143 ] || fail "terminated: exit code $code"
! kill -0 "$(cat pid)" 2>/dev/null || fail "the program lives on"

# --- Stacks

# record PROGRAM...: with stacks, which at the peak, in folded, sum up to it.
record() {
  run 0 --stacks -o run.csv "$@"
  folds
}
folds() {
  "$clpool" report run.csv --folded=folded --json >report.json 2>err || fail "a report: $(cat err)"
  sum=$(awk '{ sum += $NF } END { print sum }' folded)
  grep -q "\"peak_active_bytes\": $sum,\$" report.json ||
    fail "the stacks sum up to $sum: $(cat folded)"
}
# has_stack PATTERN: at the peak, where lines have names.
has_stack() { [ $has_names = no ] || grep -q "$1" folded || fail "no stack is $1: $(cat folded)"; }

# Its lines are those that are asked for below.
cat >nested.c <<'END'
#include "support/opencl_devices.h"
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
int main(void)
{
  cl_device_id device;
  clpt_find_devices(1, &device);
  context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
  cl_mem first = make(1000);
  cl_mem second = twice(30000);
  clReleaseMemObject(twice(200));
  clReleaseMemObject(first);
  clReleaseMemObject(second);
}
END
# shellcheck disable=SC2086 # lists of words
if $CC ${CLP_SANITIZER_FLAGS-} -I"$(cd "$top_srcdir" && pwd)/tests" \
  -DCL_TARGET_OPENCL_VERSION=120 -g -O0 -o nested nested.c -lOpenCL 2>err; then
  record ./nested
  has_stack '^nested.c:17:main;nested.c:5:make 1000$'
  has_stack '^nested.c:18:main;nested.c:10:twice;nested.c:5:make 30000$'
  has_stack '^nested.c:19:main;nested.c:9:twice;nested.c:5:make 200$'
  [ "$(grep -c ',free,.*,0$' run.csv)" -eq 5 ] || fail "a free has a stack: $(cat run.csv)"
  [ "$(grep -c ',allocate,.*,0$' run.csv)" -eq 0 ] || fail "an allocation has no stack"
  # Names are looked up when the trace is read.
  mv nested moved
  folds
  grep -q '^nested+0x.* 30000$' folded || fail "without the program: $(cat folded)"
else
  echo "not tried: stacks of C: $(head -n 1 err)"
fi

for part in phases threads; do
  same '--stacks -o run.csv' $part
  folds
done
counts allocate 20000
counts free 20000
[ "$(awk -F, 'NR > 1 { print $1 }' run.csv | sort -u | wc -l)" -ge 4 ] || fail "not four threads"

# Python, which holds its lock in a call of ctypes.PyDLL.
cat >program.py <<'END'
import ctypes, os
cl = ctypes.PyDLL("libOpenCL.so.1")
platforms, count, device = (ctypes.c_void_p * 16)(), ctypes.c_uint(), ctypes.c_void_p()
cl.clCreateContext.restype = cl.clCreateBuffer.restype = ctypes.c_void_p
cl.clGetPlatformIDs(16, platforms, ctypes.byref(count))
name = ctypes.create_string_buffer(256)
for platform in map(ctypes.c_void_p, platforms[: count.value]):
    cl.clGetPlatformInfo(platform, 0x902, ctypes.c_size_t(256), name, None)
    if name.value.decode() == os.environ["CLPT_PLATFORM"]:
        every = ctypes.c_uint64(0xFFFFFFFF)
        cl.clGetDeviceIDs(platform, every, 1, ctypes.byref(device), None)
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
  record python3 program.py
  own=$house_tmp/program.py
  grep -q "^$own:17:<module>;$own:14:array;.* 500\$" folded || fail "of Python: $(cat folded)"
  sed -n "s|;$own:16:<listcomp>||; s|;$own:14:array;.* | |p" folded |
    grep -qx "$own:18:<module>;$own:16:step 30000" || fail "of a function: $(cat folded)"
  ! grep -q 'PyEval\|Py_RunMain' folded || fail "the interpreter is in the stacks: $(cat folded)"
else
  echo "not tried: Python, of which there is none from 3.10 on"
fi

# --- What cannot be recorded

run 0 -o run.csv sh -c "'$program' exits; '$program' exits; :"
says "clpool record: $house_tmp/run.csv: it is not empty, and one file is for one process: \
nothing is recorded"
has_pair 10
echo 'a text' >text.so
mkdir 'a%p'
echo kept >'a%p/run.csv'
exec 9>>file.csv
flock 9
says_for 9>&- <<ROWS
0|$program allocated nothing by OpenCL: nothing is recorded|-o none.csv $program nothing|
0|sh $unused|-o $each sh -c :|
0|there is no OpenCL driver here (see clpool info): nothing is recorded|-o run.csv true\
|OCL_ICD_FILENAMES= OCL_ICD_VENDORS=$house_tmp/none
7|CLPOOL_LAYER_TRACE names no file: nothing is recorded\
|-o run.csv env -u CLPOOL_LAYER_TRACE $program exits|
2|cannot load the layer: $house_tmp/none: cannot open shared object file: No such file or directory\
|-o run.csv true|CLPOOL_LAYER_LIBRARY=$house_tmp/none
2|cannot load the layer: $house_tmp/text.so: file too short|-o run.csv true\
|CLPOOL_LAYER_LIBRARY=./text.so
2|libc.so.6 is no layer of the OpenCL loader|-o run.csv true|CLPOOL_LAYER_LIBRARY=libc.so.6
2|-o is missing, the file for the trace (see clpool record --help)|true|
2|the program is missing (see clpool record --help)|-o run.csv|
2|there is no option "-x" (see clpool record --help)|-x|
2|cannot record to link.csv: another process does so now|-o link.csv true|
2|cannot record to /: Is a directory|-o / true|
2|cannot record to -: name a file, not standard output, which is the program's|-o - true|
2|--output: the name is empty|--output= true|
2|cannot record to none/%p.csv: No such file or directory|-o none/%p.csv true|
2|cannot record to a%p/run.csv: its folder has %p in its name|-o a%p/run.csv true|
127|cannot run ./nosuch: No such file or directory|-o run.csv ./nosuch|
126|cannot run ./run.csv: Permission denied|-o other.csv ./run.csv|
ROWS
exec 9>&-
[ "$(cat 'a%p/run.csv')" = kept ] || fail "a file was emptied that is not recorded to"
clpool 1 replay none.csv
says 'clpool replay: none.csv: no allocation is recorded there, so there is nothing to replay'

# Layers that are set stay, behind it; what else a program inherits is as it was.
with='OPENCL_LAYERS=one.so:two.so CLPOOL_TRACE=its.csv'
run 0 -o run.csv env
grep -qx "OPENCL_LAYERS=$CLPOOL_LAYER_LIBRARY:one.so:two.so" out || fail "other layers are gone"
grep -qx 'CLPOOL_TRACE=its.csv' out || fail "the program's own trace is gone"
echo "$checks runs"
