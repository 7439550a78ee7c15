#!/bin/sh
# SPDX-License-Identifier: MIT
# clpool record: a program does the same under the layer as without, and the trace says what it did,
# also where it is killed, forks, or ends in haste; what cannot be recorded is told in one line.
# CLPT_PROGRAMS is the number of programs drawn by chance.
# shellcheck source=../support/house.sh
. "${top_srcdir:=$(cd "$(dirname "$0")/../.." && pwd)}/tests/support/house.sh"
set -eu

builddir=$(cd "$top_builddir" && pwd)
clpool=$builddir/tools/clpool
recorded=$builddir/tests/layer/recorded
random=$builddir/tests/layer/random_programs
programs=${CLPT_PROGRAMS:-100}
CLPOOL_LAYER_LIBRARY=$builddir/.libs/libclpool-record.so
export CLPOOL_LAYER_LIBRARY
[ -x "$recorded" ] || broken "$recorded is missing"
[ -x "$random" ] || broken "$random is missing"
[ -e "$CLPOOL_LAYER_LIBRARY" ] || broken "$CLPOOL_LAYER_LIBRARY is missing"
unset OPENCL_LAYERS CLPOOL_LAYER_TRACE
# PoCL loses a few bytes of each image. ThreadSanitizer's variables need room.
ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
GLIBC_TUNABLES=glibc.rtld.optional_static_tls=1048576
export ASAN_OPTIONS GLIBC_TUNABLES
# shellcheck source=../support/one_platform.sh
. "$top_srcdir/tests/support/one_platform.sh"
cd "$house_tmp"
checks=0

code=0
"$recorded" all >plain || code=$?
[ "$code" -ne 77 ] || skip "there is no OpenCL device"
[ "$code" -eq 0 ] || fail "the program fails by itself: $(cat plain)"

# run CODE PROGRAM...: clpool record ends with this code; what is said goes to out and err.
run() {
  wanted=$1
  shift
  code=0
  "$clpool" record -o run.csv "$@" >out 2>all || code=$?
  grep '^clpool ' all >err || :
  checks=$((checks + 1))
  [ "$code" -eq "$wanted" ] || fail "record $*: exit code $code, not $wanted: $(cat all)"
}

# says LINE: that is all that clpool has said. Drivers speak, too.
says() { [ "$(cat err)" = "$1" ] || fail "said \"$(cat err)\", not \"$1\""; }

# rows FILE: "ACTION SIZE CONTEXT KIND FLAGS" of each.
rows() {
  awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) of[$i] = i; next }
    { print $of["Action"], $of["Size"], $of["Context"], $of["Kind"], $of["Flags"] }' "$1"
}

unused='used no OpenCL, or its OpenCL loader cannot be replaced: nothing is recorded'

# is_whole FILE: a trace that can be replayed.
is_whole() { "$clpool" replay "$1" >/dev/null 2>err || fail "the trace: $(cat err)"; }

# --- What is recorded

"$clpool" record -o run.csv "$recorded" exits >out 2>err || :
! grep -q 'install ocl-icd-libopencl1' err || skip "no OpenCL loader here has layers"
run 0 "$recorded" all
says ''
cmp -s plain out || fail "the program does something else: $(diff plain out)"
grep -E '^(allocate|free)' out >expected
rows run.csv >found
cmp -s expected found || fail "the rows are others: $(diff expected found)"
is_whole run.csv
pools=$(grep '^allocate [0-9]' expected | cut -d ' ' -f 3,4 | sort -u | wc -l)
"$clpool" replay --json run.csv | grep -q "\"pools\": $pools," ||
  fail "not each kind of memory in each context has a pool of its own"
head -n 2 run.csv | tail -n 1 | grep -q ',0x[0-9a-f]*,1,buffer,0x1$' ||
  fail "the first row has no stream"

"$recorded" threads >plain
run 0 "$recorded" threads
says ''
cmp -s plain out || fail "threads do something else"
is_whole run.csv
for action in allocate free; do
  [ "$(rows run.csv | grep -c "^$action ")" -eq 80000 ] || fail "threads: rows are missing"
done
[ "$(awk -F, 'NR > 1 { print $1 }' run.csv | sort -u | wc -l)" -eq 4 ] || fail "not four threads"

# Programs drawn by chance: each buffer has a row, and each row of a free one of an allocate.
"$random" 1 "$programs" 2 >plain || fail "the programs fail by themselves: $(cat plain)"
run 0 "$random" 1 "$programs" 2
says ''
cmp -s plain out || fail "random programs do something else: $(diff plain out)"
is_whole run.csv
rows run.csv >found
[ "$(grep -c '^allocate ' found)" -ge "$programs" ] || fail "random programs: rows are missing"
[ "$(grep -c '^allocate ' found)" -eq "$(grep -c '^free ' found)" ] ||
  fail "random programs: not as many are freed as allocated"

# By hand; the loader cuts the variable behind the first layer.
if own_loader_has_layers "$recorded"; then
  rm run.csv
  OPENCL_LAYERS=$CLPOOL_LAYER_LIBRARY CLPOOL_LAYER_TRACE=run.csv "$recorded" exits >out || :
  [ "$(rows run.csv)" = 'allocate 10 1 buffer 0x1
free 10 1 buffer 0x1' ] || fail "by hand: $(cat run.csv)"
fi

# --- How programs end

run 7 "$recorded" exits
says ''
[ "$(rows run.csv | wc -l)" -eq 2 ] || fail "exit: $(cat run.csv)"

# What is lost is less than a buffer.
run 137 "$recorded" killed
is_whole run.csv
[ "$(rows run.csv | wc -l)" -gt 38000 ] || fail "killed: $(wc -l <run.csv) rows are too few"

# What a recorded process starts is recorded if its own loader has layers.
run 0 "$recorded" children
! own_loader_has_layers "$recorded" ||
  says "clpool record: $house_tmp/run.csv: another process records to it: nothing is recorded"
[ "$(rows run.csv)" = 'allocate 500 1 buffer 0x1
free 500 1 buffer 0x1' ] || fail "children: $(cat run.csv)"

# A file for each process; a name that glob() would take for a pattern.
run_each() { "$clpool" record -o "$1" sh -c "$2; :" >out 2>err || fail "record $1: $(cat err)"; }
mkdir 'each[1]'
run_each 'each[1]/run.%p.csv' "'$recorded' exits; '$recorded' all"
says ''
run_each 'each[1]/run.%p.csv' "'$recorded' exits"
set -- each*/run.*.csv
[ $# -eq 3 ] || fail "there are $# files for three processes: $*"
for file; do is_whole "$file"; done
[ "$(cat "$@" | grep -c ',allocate,')" -gt 5 ] || fail "rows are missing: $(cat "$@")"
run_each 'each[1]/run.%p.csv' "'$recorded' nothing"
says "clpool record: sh allocated nothing by OpenCL: nothing is recorded"
run_each 'each[1]/run.%p.csv' :
says "clpool record: sh $unused"

# Links are followed, also to a name with %p that is none of ours, or to what is not there yet.
ln -s 'file.%p.csv' link.csv
for _ in new old; do
  run_each link.csv "'$recorded' exits"
  says ''
  [ "$(rows 'file.%p.csv' | wc -l)" -eq 2 ] || fail "a link: $(cat 'file.%p.csv')"
done
set -- file.*
[ $# -eq 1 ] || fail "a link: there are $*"

# A signal for clpool is one for the program.
"$clpool" record -o run.csv sh -c 'echo $$ >pid; exec sleep 1000' 2>err &
while [ ! -s pid ]; do sleep 0.1; done
kill "$!"
code=0
wait "$!" || code=$?
[ "$code" -eq 143 ] || fail "terminated: exit code $code"
! kill -0 "$(cat pid)" 2>/dev/null || fail "the program lives on"

# --- What cannot be recorded

run 3 sh -c 'exit 3'
says "clpool record: sh $unused"
run 0 "$recorded" nothing
says "clpool record: $recorded allocated nothing by OpenCL: nothing is recorded"
! "$clpool" replay run.csv 2>err || fail "nothing was replayed"
says 'clpool replay: run.csv: no allocation is recorded there, so there is nothing to replay'
run 0 sh -c "'$recorded' exits; '$recorded' all; :"
says "clpool record: $house_tmp/run.csv: it is not empty, and one file is for one process: \
nothing is recorded"
[ "$(rows run.csv | wc -l)" -eq 2 ] || fail "the second program: $(cat run.csv)"
run 127 ./nosuch
says 'clpool record: cannot run ./nosuch: No such file or directory'
run 126 ./run.csv
says 'clpool record: cannot run ./run.csv: Permission denied'
OCL_ICD_FILENAMES='' OCL_ICD_VENDORS=$house_tmp/none run 0 true
says 'clpool record: there is no OpenCL driver here (see clpool info): nothing is recorded'
CLPOOL_LAYER_LIBRARY=$house_tmp/none run 2 true
says "clpool record: cannot load the layer: $house_tmp/none: cannot open shared object file: \
No such file or directory"
echo 'a text' >text.so
CLPOOL_LAYER_LIBRARY=./text.so run 2 true
says "clpool record: cannot load the layer: $house_tmp/text.so: file too short"
CLPOOL_LAYER_LIBRARY=libc.so.6 run 2 true
says 'clpool record: libc.so.6 is no layer of the OpenCL loader'

refuses() {
  wanted=$1
  shift
  code=0
  "$clpool" record "$@" >out 2>err || code=$?
  checks=$((checks + 1))
  [ "$code" -eq 2 ] || fail "record $*: exit code $code"
  says "clpool record: $wanted"
}
refuses '-o is missing, the file for the trace (see clpool record --help)' true
refuses 'the program is missing (see clpool record --help)' -o run.csv
refuses 'there is no option "-x" (see clpool record --help)' -x
(
  flock 9
  refuses 'cannot record to link.csv: another process does so now' -o link.csv true
) 9>>'file.%p.csv'
refuses 'cannot record to /: Is a directory' -o / true
refuses "cannot record to -: name a file, not standard output, which is the program's" -o - true
refuses '--output: the name is empty' -o '' true
refuses 'cannot record to none/run.csv: No such file or directory' -o none/run.csv true
refuses 'cannot record to none/%p.csv: No such file or directory' -o none/%p.csv true

mkdir 'a%p'
refuses 'cannot record to a%p/run.csv: its folder has %p in its name' -o a%p/run.csv true
(
  cd a%p
  echo kept >run.csv
  refuses 'cannot record to run.csv: its folder has %p in its name' -o run.csv true
  [ "$(cat run.csv)" = kept ] || fail "a file was emptied that is not recorded to"
)

# Layers that are set stay, behind it; what else a program inherits is as it was.
OPENCL_LAYERS=one.so:two.so CLPOOL_TRACE=its.csv run 0 env
grep -qx "OPENCL_LAYERS=$CLPOOL_LAYER_LIBRARY:one.so:two.so" out || fail "other layers are gone"
grep -qx 'CLPOOL_TRACE=its.csv' out || fail "the program's own trace is gone"
run 7 env -u CLPOOL_LAYER_TRACE "$recorded" exits
says 'clpool record: CLPOOL_LAYER_TRACE names no file: nothing is recorded'

# --- Other programs

if [ -x "$builddir/examples/array_expressions" ]; then
  run 0 "$builddir/examples/array_expressions"
  is_whole run.csv
  [ "$(rows run.csv | grep -c '^allocate ')" -gt 400 ] || fail "array_expressions has few rows"
fi
exported=$(${NM:-nm} -D --defined-only "$CLPOOL_LAYER_LIBRARY" | awk '{ print $3 }' | sort | xargs)
[ "$exported" = 'clGetLayerInfo clInitLayer' ] || fail "the layer exports $exported"
echo "$checks runs"
