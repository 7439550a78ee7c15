#!/bin/sh
# SPDX-License-Identifier: MIT
# clpool record: a program does the same under the layer as without, and the trace says what it did,
# also where it is killed, forks, or ends in haste, and with --stacks which lines of C and of Python
# allocated; what cannot be recorded is told in one line.
command=record layer=record
# shellcheck source=layer.sh
. "${top_srcdir:=$(cd "$(dirname "$0")/../.." && pwd)}/tests/layer/layer.sh"

record() { code=$1; shift; clpool "$code" record -o run.csv "$@"; }

# has_rows ROWS ACTION [BYTES]: in run.csv.
has_rows() {
  [ "$(grep -c ",$2,0x[0-9a-f]*,${3-[0-9]*}," run.csv)" -eq "$1" ] ||
    fail "there are not $1 rows of $2 ${3-}: $(head -n 20 run.csv)"
}
has_pair() { has_rows 1 allocate "$1"; has_rows 1 free "$1"; has_rows 2 '[a-z]*'; }

# is_whole FILE: a trace that can be replayed.
is_whole() { "$clpool" replay "$1" >/dev/null 2>err || fail "the trace: $(cat err)"; }

# --- What is recorded

has_pair 10
grep -q ',10,0,1,buffer,0x0$' run.csv || fail "recorded: $(cat run.csv)"
# Each buffer has a row, and each row of a free one of an allocate.
if same '-o run.csv' calls 1 60 2; then
  is_whole run.csv
  allocations=$(grep -c ',allocate,' run.csv)
  [ "$allocations" -ge 300 ] || fail "random calls: rows are missing"
  has_rows "$allocations" free
fi

# By hand, which a loader of old takes no notice of.
rm -f run.csv
OPENCL_LAYERS=$CLPOOL_LAYER_LIBRARY CLPOOL_LAYER_TRACE=run.csv "$program" exits >out || :
[ ! -e run.csv ] || has_pair 10

# --- How programs end: what is lost is less than a buffer

record 137 "$program" killed
is_whole run.csv
[ "$(wc -l <run.csv)" -gt 8000 ] || fail "killed: $(wc -l <run.csv) rows are too few"

# What a recorded process starts is recorded if its own loader has layers.
record 0 "$program" children
[ ! -s err ] ||
  says "clpool record: $house_tmp/run.csv: another process is recording to it: nothing is recorded"
has_pair 500

# A file for each process; a name that glob() would take for a pattern.
mkdir 'each[1]'
clpool 7 record -o 'each[1]/run.%p.csv' sh -c "'$program' phases; '$program' exits"
says ''
set -- each*/run.*.csv
[ $# -eq 2 ] || fail "there are $# files for two processes: $*"
for file; do is_whole "$file"; done

# Links are followed.
ln -s file.csv link.csv
clpool 7 record -o link.csv "$program" exits
is_whole file.csv

# A signal for clpool is one for the program.
"$clpool" record -o run.csv sh -c 'echo $$ >pid; exec sleep 1000' 2>err &
while [ ! -s pid ]; do sleep 0.1; done
kill "$!"
code=0
wait "$!" || code=$?
[ "$code" -eq 143 ] || fail "terminated: exit code $code"
! kill -0 "$(cat pid)" 2>/dev/null || fail "the program lives on"

# --- Stacks

# folds [STACK...]: the stacks at the peak, among which these are, sum up to it.
folds() {
  "$clpool" report run.csv --folded=folded --json >report.json 2>err || fail "a report: $(cat err)"
  sum=$(awk '{ sum += $NF } END { print sum }' folded)
  grep -q "\"peak_active_bytes\": $sum,\$" report.json ||
    fail "the stacks sum up to $sum: $(cat folded)"
  for stack; do grep -q "$stack" folded || fail "no stack is $stack: $(cat folded)"; done
}

for part in phases threads; do
  same '--stacks -o run.csv' $part
  folds
done
# at TEXT: the program's line that has it.
at() { grep -nF "$1" "$top_srcdir/tests/layer/program.c" | sed 's/:.*//; s/^/program.c:/'; }
! grep -q '^#define HAVE_LIBDW 1' "$builddir/config.h" ||
  folds "$(at 'mem = make(1000'):make_pairs;.*$(at 'Buffer(plain, 0,'):make [0-9]*\$"
! grep ',free,' run.csv | grep -v ',0$' || fail "a free has a stack"
has_rows 20000 allocate
has_rows 20000 free
[ "$(awk -F, 'NR > 1 { print $1 }' run.csv | sort -u | wc -l)" -ge 4 ] || fail "not four threads"
# Names are looked up when the trace is read.
cp "$program" moved
record 7 --stacks ./moved exits
rm moved
folds '^moved+0x.* 10$'

# Python, which holds its lock in a call of ctypes.PyDLL. Without it, no lines of Python are read.
cat >program.py <<'END'
import ctypes
cl, unlocked = (kind("libOpenCL.so.1") for kind in (ctypes.PyDLL, ctypes.CDLL))
cl.clCreateContextFromType.restype = cl.clCreateBuffer.restype = ctypes.c_void_p
platforms, count = (ctypes.c_void_p * 16)(), ctypes.c_uint()
cl.clGetPlatformIDs(16, platforms, ctypes.byref(count))
contexts = (cl.clCreateContextFromType((ctypes.c_void_p * 3)(0x1084, platform, None),
                                       ctypes.c_uint64(0xFFFFFFFF), None, None, None)
            for platform in platforms[: count.value])
context = ctypes.c_void_p(next(filter(None, contexts)))
def array(bytes, library=cl):
    return library.clCreateBuffer(context, ctypes.c_uint64(1), ctypes.c_size_t(bytes), None, None)
def step(depth):
    return step(depth - 1) if depth else array(30000)
first = array(500)
rest = step(0), step(300), array(600, unlocked)
for name in "a\nb", "\udcff":
    exec(compile("array(700)", name, "exec"))
END
if [ "${clp_sanitized:-no}" = yes ]; then
  echo "not tried: Python, which lacks the layer's sanitizer"
elif python3 -c 'import ctypes, sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
  record 0 --stacks python3 program.py
  own=$house_tmp/program.py
  folds "^$own:14:<module>;$own:11:array\\(;.*\\)* 500\$" \
    "^$own:15:<module>;$own:13:step;$own:11:array\\(;.*\\)* 30000\$" \
    "^\\($own:13:step;\\)*$own:11:array\\(;.*\\)* 30000\$" \
    "^$own:17:<module>;a b:1:<module>;$own:11:array\\(;.*\\)* 700\$" ";??:1:<module>;.* 700\$"
  ! grep -v ' 600$' folded | grep 'PyEval\|Py_RunMain' || fail "the interpreter is in the stacks"
else
  echo "not tried: Python, of which there is none from 3.10 on"
fi

# --- What cannot be recorded

record 0 sh -c "'$program' exits; '$program' exits; :"
says "clpool record: $house_tmp/run.csv: the file is not empty; put %p in its name for a file \
per process: nothing is recorded"
has_pair 10
echo 'a text' >text.so
mkdir 'a%p'
echo kept >'a%p/run.csv'
exec 9>>file.csv
flock 9
refuses 9>&-
[ "$(cat 'a%p/run.csv')" = kept ] || fail "a file was emptied that is not recorded to"

# Layers that are set stay, behind it; what else a program inherits is as it was.
with='OPENCL_LAYERS=one.so:two.so CLPOOL_TRACE=its.csv'
record 0 env
grep -qx "OPENCL_LAYERS=$CLPOOL_LAYER_LIBRARY:one.so:two.so" out || fail "other layers are gone"
grep -qx 'CLPOOL_TRACE=its.csv' out || fail "the program's own trace is gone"
