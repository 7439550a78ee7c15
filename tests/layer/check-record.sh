#!/bin/sh
# SPDX-License-Identifier: MIT
# clpool record: a program does the same under the layer as without, and the trace says what it did,
# also where it is killed, forks, or ends in haste; what cannot be recorded is told in one line.
# CLPT_PROGRAMS is the number of programs drawn by chance.
# shellcheck source=../support/house.sh
. "${top_srcdir:=$(cd "$(dirname "$0")/../.." && pwd)}/tests/support/house.sh"
set -eu
command=record
layer=record
# shellcheck source=layer.sh
. "$top_srcdir/tests/layer/layer.sh"
count=${CLPT_PROGRAMS:-60}
random=$programs/random_programs

# rows FILE: "ACTION SIZE CONTEXT KIND FLAGS" of each.
rows() {
  awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) of[$i] = i; next }
    { print $of["Action"], $of["Size"], $of["Context"], $of["Kind"], $of["Flags"] }' "$1"
}
has_rows() { [ "$(rows "$1" | wc -l)" -eq "$2" ] || fail "$1 has not $2 rows: $(cat "$1")"; }

# is_whole FILE: a trace that can be replayed.
is_whole() { "$clpool" replay "$1" >/dev/null 2>err || fail "the trace: $(cat err)"; }

unused='used no OpenCL, or its OpenCL loader cannot be replaced: nothing is recorded'

# --- What is recorded

says ''
has_rows run.csv 2
alone plain "$recorded" all
as_alone -o run.csv "$recorded" all
says ''
grep -E '^(allocate|free)' out >expected
rows run.csv >found
cmp -s expected found || fail "the rows are others: $(diff expected found)"
is_whole run.csv
pools=$(grep '^allocate [0-9]' expected | cut -d ' ' -f 3,4 | sort -u | wc -l)
"$clpool" replay --json run.csv | grep -q "\"pools\": $pools," ||
  fail "not each kind of memory in each context has a pool of its own"
head -n 2 run.csv | tail -n 1 | grep -q ',0x[0-9a-f]*,1,buffer,0x1$' ||
  fail "the first row has no stream"

alone plain "$recorded" threads
as_alone -o run.csv "$recorded" threads
is_whole run.csv
for action in allocate free; do
  [ "$(rows run.csv | grep -c "^$action ")" -eq 20000 ] || fail "threads: rows are missing"
done
[ "$(awk -F, 'NR > 1 { print $1 }' run.csv | sort -u | wc -l)" -eq 4 ] || fail "not four threads"

# Programs drawn by chance: each buffer has a row, and each row of a free one of an allocate.
alone plain "$random" 1 "$count" 2
as_alone -o run.csv "$random" 1 "$count" 2
is_whole run.csv
rows run.csv >found
[ "$(grep -c '^allocate ' found)" -ge "$count" ] || fail "random programs: rows are missing"
[ "$(grep -c '^allocate ' found)" -eq "$(grep -c '^free ' found)" ] ||
  fail "random programs: not as many are freed as allocated"

# By hand; the loader cuts the variable behind the first layer.
own_loader_has_layers() {
  ldd "$recorded" | awk '/libOpenCL/ { print $3 }' | xargs grep -q OPENCL_LAYERS
}
if own_loader_has_layers; then
  rm run.csv
  OPENCL_LAYERS=$CLPOOL_LAYER_LIBRARY CLPOOL_LAYER_TRACE=run.csv "$recorded" exits >out || :
  [ "$(rows run.csv)" = 'allocate 10 1 buffer 0x1
free 10 1 buffer 0x1' ] || fail "by hand: $(cat run.csv)"
fi

# --- How programs end: what is lost is less than a buffer

run 137 -o run.csv "$recorded" killed
is_whole run.csv
[ "$(rows run.csv | wc -l)" -gt 8000 ] || fail "killed: $(wc -l <run.csv) rows are too few"

# What a recorded process starts is recorded if its own loader has layers.
run 0 -o run.csv "$recorded" children
! own_loader_has_layers ||
  says "clpool record: $house_tmp/run.csv: another process records to it: nothing is recorded"
[ "$(rows run.csv)" = 'allocate 500 1 buffer 0x1
free 500 1 buffer 0x1' ] || fail "children: $(cat run.csv)"

# A file for each process; a name that glob() would take for a pattern.
mkdir 'each[1]'
each='each[1]/run.%p.csv'
run 0 -o "$each" sh -c "'$recorded' exits; '$recorded' all; :"
says ''
run 7 -o "$each" sh -c "'$recorded' exits"
set -- each*/run.*.csv
[ $# -eq 3 ] || fail "there are $# files for three processes: $*"
for file; do is_whole "$file"; done
[ "$(cat "$@" | grep -c ',allocate,')" -gt 5 ] || fail "rows are missing: $(cat "$@")"
run 0 -o "$each" sh -c "'$recorded' nothing; :"
says "clpool record: sh allocated nothing by OpenCL: nothing is recorded"
run 0 -o "$each" sh -c :
says "clpool record: sh $unused"

# Links are followed, also to a name with %p that is none of ours, or to what is not there yet.
ln -s 'file.%p.csv' link.csv
for _ in new old; do
  run 7 -o link.csv "$recorded" exits
  has_rows 'file.%p.csv' 2
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

run 0 -o run.csv "$recorded" nothing
says "clpool record: $recorded allocated nothing by OpenCL: nothing is recorded"
clpool 1 replay run.csv
says 'clpool replay: run.csv: no allocation is recorded there, so there is nothing to replay'
run 0 -o run.csv sh -c "'$recorded' exits; '$recorded' all; :"
says "clpool record: $house_tmp/run.csv: it is not empty, and one file is for one process: \
nothing is recorded"
has_rows run.csv 2
OCL_ICD_FILENAMES='' OCL_ICD_VENDORS=$house_tmp/none run 0 -o run.csv true
says 'clpool record: there is no OpenCL driver here (see clpool info): nothing is recorded'
run 7 -o run.csv env -u CLPOOL_LAYER_TRACE "$recorded" exits
says 'clpool record: CLPOOL_LAYER_TRACE names no file: nothing is recorded'
echo 'a text' >text.so
while IFS='|' read -r library line; do
  CLPOOL_LAYER_LIBRARY=$library run 2 -o run.csv true
  says "clpool record: $line"
done <<ROWS
$house_tmp/none|cannot load the layer: $house_tmp/none: cannot open shared object file: \
No such file or directory
./text.so|cannot load the layer: $house_tmp/text.so: file too short
libc.so.6|libc.so.6 is no layer of the OpenCL loader
ROWS

mkdir 'a%p'
echo kept >'a%p/run.csv'
exec 9>>'file.%p.csv'
flock 9
while IFS='|' read -r wanted line arguments; do
  # shellcheck disable=SC2086 # words
  run "$wanted" $arguments 9>&-
  says "clpool record: $line"
done <<'ROWS'
2|-o is missing, the file for the trace (see clpool record --help)|true
2|the program is missing (see clpool record --help)|-o run.csv
2|there is no option "-x" (see clpool record --help)|-x
2|cannot record to link.csv: another process does so now|-o link.csv true
2|cannot record to /: Is a directory|-o / true
2|cannot record to -: name a file, not standard output, which is the program's|-o - true
2|--output: the name is empty|--output= true
2|cannot record to none/run.csv: No such file or directory|-o none/run.csv true
2|cannot record to none/%p.csv: No such file or directory|-o none/%p.csv true
2|cannot record to a%p/run.csv: its folder has %p in its name|-o a%p/run.csv true
127|cannot run ./nosuch: No such file or directory|-o run.csv ./nosuch
126|cannot run ./run.csv: Permission denied|-o other.csv ./run.csv
ROWS
exec 9>&-
[ "$(cat 'a%p/run.csv')" = kept ] || fail "a file was emptied that is not recorded to"

# Layers that are set stay, behind it; what else a program inherits is as it was.
OPENCL_LAYERS=one.so:two.so CLPOOL_TRACE=its.csv run 0 -o run.csv env
grep -qx "OPENCL_LAYERS=$CLPOOL_LAYER_LIBRARY:one.so:two.so" out || fail "other layers are gone"
grep -qx 'CLPOOL_TRACE=its.csv' out || fail "the program's own trace is gone"
exports_only_two
echo "$checks runs"
