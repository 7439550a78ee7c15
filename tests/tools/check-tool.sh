#!/bin/sh
# SPDX-License-Identifier: MIT
# The program clpool: its options and errors, exit codes, JSON, where traces may come from, and that
# a trace larger than the memory it is allowed goes through.
# shellcheck disable=SC2002 # what comes from a pipe is not what comes from a file
# shellcheck source=../support/house.sh
. "${top_srcdir:=$(cd "$(dirname "$0")/../.." && pwd)}/tests/support/house.sh"
set -eu

clpool=$(cd "$top_builddir" && pwd)/tools/clpool
[ -x "$clpool" ] || broken "$clpool is missing"
resnet=$(cd "$top_srcdir" && pwd)/examples/data/resnet50_train.csv.gz
header=Thread,Time,Action,Pointer,Size,Stream
checks=0
cd "$house_tmp"

# run CODE ARGUMENT...: the program ends with this exit code; its output goes to out and err.
run() {
  wanted=$1
  shift
  code=0
  "$clpool" "$@" >out 2>err || code=$?
  checks=$((checks + 1))
  [ "$code" -eq "$wanted" ] || fail "clpool $*: exit code $code, not $wanted: $(cat err)"
}

# refuses CODE MESSAGE ARGUMENT...: ends so, with this line on standard error and no output.
refuses() {
  refuses_code=$1
  message=$2
  shift 2
  run "$refuses_code" "$@"
  [ "$(cat err)" = "$message" ] || fail "clpool $*: said \"$(cat err)\", not \"$message\""
  [ "$(wc -l <err)" -eq 1 ] || fail "clpool $*: more than one line of error"
  [ ! -s out ] || fail "clpool $*: has output: $(head -n 1 out)"
}

# accepts ARGUMENT...: succeeds without a word on standard error.
accepts() {
  run 0 "$@"
  [ ! -s err ] || fail "clpool $*: said $(cat err)"
  [ -s out ] || fail "clpool $*: has no output"
}

says() { grep -qF -- "$1" out || fail "the output lacks \"$1\": $(cat out)"; }

# What JSON in out says: member KEY of the object, the first with that name.
member() { sed -n "s/^ *\"$1\": \\(.*[^,]\\),*\$/\\1/p" out | head -n 1; }

# What is printed for people has no longer lines, but for the name of the trace.
fits_80_columns() { ! sed 1d out | grep -E '^.{81}' || fail "a line is longer than 80 columns"; }

# has KEY VALUE: a member of out's JSON.
has() { [ "$(member "$1")" = "$2" ] || fail "\"$1\" is $(member "$1"), not $2"; }

if python3 -c 'import json' 2>/dev/null; then
  valid_json() { python3 -m json.tool <out >/dev/null || fail "no JSON: $(cat out)"; }
else
  valid_json() { [ "$(sed -n '1p;$p' out)" = "{
}" ] || fail "no JSON: $(cat out)"; }
fi

# --- Commands and help

refuses 2 'clpool: a command is missing (see clpool --help)'
refuses 2 'clpool: there is no command "nonsense" (see clpool --help)' nonsense
refuses 2 'clpool: there is no command "play": did you mean replay? (see clpool --help)' help play
words='there is no option "--verson": did you mean --version? (see clpool --help)'
refuses 2 "clpool: $words" --verson
refuses 2 'clpool: there is no argument "extra" (see clpool --help)' help tune extra
refuses 2 'clpool: there is no option "--play" (see clpool --help)' --play
accepts --version
grep -qE '^clpool [0-9]+\.[0-9]+\.[0-9]+$' out || fail "--version prints $(cat out)"
accepts --help
cp out help
for words in help 'help -h' 'help --help' 'help help'; do
  # shellcheck disable=SC2086 # words
  accepts $words
  cmp -s out help || fail "clpool $words and clpool --help differ"
done
for command in info replay report; do
  accepts --help
  says "  $command "
  accepts help "$command"
  cp out help
  accepts "$command" --help
  cmp -s out help || fail "help $command and $command --help differ"
  says "Usage: clpool $command"
done
says 'Examples:'

# --- info

accepts info
says '  host          posix_memalign'
accepts info --json
valid_json
grep -q '"simulated"' out || fail "info --json lacks the simulated allocator"
opencl=$(member opencl)
devices=$(grep -c '"driver":' out || :)
svm=false
! grep -q '"coarse-grain buffer"' out || svm=true
if [ "$opencl" = true ]; then
  grep -q '"cl-svm"' out || fail "info --json lacks the allocator of shared virtual memory"
fi
refuses 2 'clpool info: there is no option "--play" (see clpool info --help)' info --play
refuses 2 'clpool info: there is no option "-x" (see clpool info --help)' info -xh
refuses 2 'clpool info: there is a value where none belongs, "--json=1" (see clpool info --help)' \
  info --json=1
accepts info -h
says 'Usage: clpool info'
refuses 2 'clpool info: there is no argument "x" (see clpool info --help)' info x

# --- replay: arguments

refuses 2 'clpool replay: the trace is missing (see clpool replay --help)' replay
refuses 2 'clpool replay: there is no option "--play" (see clpool replay --help)' replay a --play
words='there is no option "--leniant": did you mean --lenient? (see clpool replay --help)'
refuses 2 "clpool replay: $words" replay a --leniant
words='there is no option "--limits=2": did you mean --limit? (see clpool replay --help)'
refuses 2 "clpool replay: $words" replay a --limits=2
refuses 2 'clpool replay: --limit needs a value (see clpool replay --help)' replay a --limit
refuses 2 'clpool replay: one trace at a time, but there is "b", too' replay a b
refuses 2 'clpool replay: there is no allocator "malloc" (see clpool info)' \
  replay a --allocator=malloc
for bits in 17 -1 4x '' 99999999999999999999; do
  refuses 2 "clpool replay: --leading-bits: expected a number from 0 to 16, found \"$bits\"" \
    replay a --leading-bits="$bits"
done
for bytes in -1 .5G 1.5.G 1,5G 10X 5MB 5Mi 5KiBs 40%% 101% 100.1% '' G 0x1p3 \
  1. 5.% 99999999999999999999X; do
  words="expected bytes, such as 1073741824, 512M or 1.5GiB, found \"$bytes\""
  refuses 2 "clpool replay: --limit: $words" replay a --limit="$bytes"
done
words='expected bytes, such as 1073741824, 512M or 1.5GiB, found "0.5"'
words="$words; for a part write a percentage, such as 50%"
refuses 2 "clpool replay: --limit: $words" replay a --limit=0.5
for bytes in 18446744073709551616 16777216T 16777216TiB 20000000.5T 99999999999999999999; do
  words="expected at most 18446744073709551615 bytes, found \"$bytes\""
  refuses 2 "clpool replay: --limit: $words" replay a --limit="$bytes"
done
for scale in 0 -1 nan inf 1e999 half '' 2x; do
  refuses 2 "clpool replay: --scale: expected auto or a number above 0, found \"$scale\"" \
    replay a --scale="$scale"
done
for device in -1 x ''; do
  words='expected a device of OpenCL, such as 0.0, or of CUDA, such as 0'
  refuses 2 "clpool replay: --device: $words, found \"$device\"" \
    replay a --device="$device" --allocator=cuda-async
done
refuses 2 'clpool replay: one CUDA device at a time, but there is "1", too' \
  replay a --device=0 --device=1 --allocator=cuda-async
words='it needs an --allocator of OpenCL (see clpool info)'
for allocator in simulated host cuda-async; do
  refuses 2 "clpool replay: --device=0.0 is of OpenCL: $words" \
    replay a --device=0.0 --allocator=$allocator
done
words='it needs an --allocator of CUDA (see clpool info)'
refuses 2 "clpool replay: --device=0 is of CUDA: $words" \
  replay a --device=0 --allocator=cl-svm
for slack in -0.1 1.1 nan x ''; do
  refuses 2 "clpool replay: --arena: expected a number from 0 to 1, found \"$slack\"" \
    replay a --arena="$slack"
done
hostile=$(printf 'a\033[31m\n.csv')
printf '%s\n' $header '1,00:00:00.0,allocate,(nil),0,0' >"$hostile"
accepts replay "$hostile"
says 'a\x1b[31m\x0a.csv on simulated'
rm "$hostile"
refuses 2 'clpool replay: a\x1b[31m\x0a.csv: No such file or directory' replay "$hostile"
for passes in 0 -1 x 1000001; do
  refuses 2 "clpool replay: --passes: expected a number from 1 to 1000000, found \"$passes\"" \
    replay a --passes="$passes"
done
for option in --leading-bits=4 --limit=1G --compare; do
  words="${option%=*} cannot go together with --no-pool"
  refuses 2 "clpool replay: $words" replay a --no-pool $option
done

# The figures of out's JSON that do not differ from run to run.
figures() { grep -vE '"(ns_per_operation|trace|allocator|device|peak_reserved_bytes)":' out >"$1"; }

# --- Traces that cannot be read, by any command that reads one

trace_commands='replay report tune'

# outputs COMMAND: the options with which it writes files, and those it needs.
outputs() {
  case $1 in
    report) echo '-o page.html --perfetto=page.json' ;;
    tune) echo '--cost=pocl-cpu' ;;
  esac
}

# spoils MESSAGE FILE OPTION...: every command ends with this line, and leaves no file.
spoils() {
  spoils_message=$1
  shift
  for command in $trace_commands; do
    # shellcheck disable=SC2046 # options are words
    refuses 2 "clpool $command: $spoils_message" "$command" "$@" $(outputs "$command")
    left=$(find . -name '*page*')
    [ -z "$left" ] || fail "clpool $command $*: left $left"
  done
}

# spoils_piped MESSAGE FILE OPTION...: the same, with the file through a pipe.
spoils_piped() {
  piped_message=$1
  piped=$2
  shift 2
  for command in $trace_commands; do
    code=0
    # shellcheck disable=SC2046 # options are words
    cat "$piped" | "$clpool" "$command" - "$@" $(outputs "$command") >out 2>err || code=$?
    [ "$code" -eq 2 ] || fail "$piped into clpool $command: exit code $code"
    [ "$(cat err)" = "clpool $command: standard input:$piped_message" ] ||
      fail "$piped into clpool $command: said $(cat err)"
    [ ! -s out ] || fail "$piped into clpool $command: has output"
    left=$(find . -name '*page*')
    [ -z "$left" ] || fail "$piped into clpool $command: left $left"
  done
}

# cuts PATTERN FILE OPTION...: the same; where it breaks off depends on zlib.
cuts() {
  cuts_pattern=$1
  shift
  for command in $trace_commands; do
    # shellcheck disable=SC2046 # options are words
    run 2 "$command" "$@" $(outputs "$command")
    grep -qE "^clpool $command: $cuts_pattern\$" err || fail "clpool $command $*: said $(cat err)"
    [ "$(wc -l <err)" -eq 1 ] || fail "clpool $command $*: more than one line of error"
    left=$(find . -name '*page*')
    [ -z "$left" ] || fail "clpool $command $*: left $left"
  done
}

# row ACTION POINTER SIZE: a row of RMM's log.
row() { echo "1,00:00:00.000000,$1,$2,$3,0"; }

spoils 'missing.csv: No such file or directory' missing.csv
spoils '.: Is a directory' .
spoils 'line\x0afeed.csv: No such file or directory' 'line
feed.csv'
: >secret.csv
chmod 000 secret.csv
if [ ! -r secret.csv ]; then
  spoils 'secret.csv: Permission denied' secret.csv
fi
words="expected a header such as $header, found"
printf '\177ELF\002\001\000junk' >junk
spoils "junk:1:1: $words \"\\x7fELF\\x02\\x01\"" junk
echo 'Thread,Time,Action' >header.csv
spoils "header.csv:1:1: $words \"Thread,Time,Action\"" header.csv
{ echo $header && row allocate 0x1 -5; } >negative.csv
size='a size in bytes, a decimal number of at most 64 bits'
words="expected $size, found \"-5\""
spoils "negative.csv:2:32: $words" negative.csv
spoils_piped "2:32: $words" negative.csv
{ echo $header && row allocate 0x1 18446744073709551616; } >large.csv
words="expected $size, found \"18446744073709551616\""
spoils "large.csv:2:32: $words" large.csv
{ echo $header && row free 0x1 5; } >free.csv
words='expected a pointer that is live, found 0x1 (--lenient leaves such frees out)'
spoils "free.csv:2:24: $words" free.csv
{ echo $header && row allocate 0x1 5 && row allocate 0x1 5; } >twice.csv
words='expected a pointer that is not live, found 0x1, allocated in line 2 and not freed since'
spoils "twice.csv:3:28: $words" twice.csv
{ echo $header && row allocate 0x1 5 && row free 0x1 6; } >other.csv
spoils 'other.csv:3:28: expected the size 5 that line 2 allocated, found 6' other.csv
head -c 50000 "$resnet" >cut.csv.gz
words='cannot decompress further: unexpected end of file'
cuts "cut.csv.gz:[0-9]+:[0-9]+: $words" cut.csv.gz
{ head -c 5000 "$resnet" && cat junk && tail -c +5100 "$resnet"; } >damaged.csv.gz
cuts 'damaged.csv.gz:[0-9]+:[0-9]+: (cannot decompress further:|expected) .*' damaged.csv.gz

printf '\200\004\225junk' >snapshot.pickle
words="found a pickle: if it is a memory snapshot of PyTorch's, python3 -m clpool convert makes a \
trace of it"
words="expected a header such as $header, $words"
spoils "snapshot.pickle:1:1: $words" snapshot.pickle
{ echo "$header,Pool" && echo "$(row allocate 0x1 5),\"a,b"; } >quote.csv
spoils 'quote.csv:2:36: expected a value that ends in a quotation mark, found "a,b"' quote.csv
{ echo "$header,Pool" && echo "$(row allocate 0x1 5),a,b"; } >comma.csv
spoils 'comma.csv:2:37: expected 7 columns, as in the header, found more' comma.csv
{ echo "$header,Pool" && row allocate 0x1 5; } >short.csv
spoils 'short.csv:2:35: expected 7 columns, as in the header, found 6' short.csv
{ echo "$header,Size" && echo "$(row allocate 0x1 5),5"; } >double.csv
spoils "double.csv:1:1: expected a header such as $header, found \"$header,S...\"" double.csv

# A log that begins late.
{
  echo $header && row allocate 0x1 5
  row free 0x2 5 && row free 0x1 5 && row free 0x2 5
} >late.csv
words='expected a pointer that is live, found 0x2 (--lenient leaves such frees out)'
spoils "late.csv:3:24: $words" late.csv
for command in $trace_commands; do
  # shellcheck disable=SC2046 # options are words
  run 0 "$command" late.csv --lenient --json $(outputs "$command" | sed 's/-o.*/-o page.html/')
  has frees 1
  words='2 frees of what was allocated before it begins are left out, the first in line 3'
  [ "$(cat err)" = "clpool $command: remark: late.csv: $words" ] || fail "said $(cat err)"
done
rm page.html

# A trace of nothing.
{ echo $header && row 'allocate failure' 0x0 5; } >nothing.csv
: >empty.csv
for command in $trace_commands; do
  words="no allocation is recorded there, so there is nothing to $command"
  for file in nothing.csv empty.csv; do
    # shellcheck disable=SC2046 # options are words
    refuses 1 "clpool $command: $file: $words" "$command" "$file" $(outputs "$command")
  done
done

# A program that was killed as it wrote a row.
{ echo $header && row allocate 0x1 5 && row free 0x1 5 && row allocate 0x2 55555 | head -c 37; } \
  >killed.csv
for command in $trace_commands; do
  # shellcheck disable=SC2046 # options are words
  run 0 "$command" killed.csv --json $(outputs "$command" | sed 's/-o.*/-o page.html/')
  words='remark: killed.csv: line 4, the last one, has no end and is left out'
  [ "$(cat err)" = "clpool $command: $words" ] || fail "said $(cat err)"
done
rm page.html

# Columns in any order, of which some are unknown, and kinds of memory.
cat >columns.csv <<'END'
# recorded by hand
Size,Kind,Context,Device,Pointer,Action,Flags
#frame 1 0 main
1000,buffer,1,"a, b",0x1,allocate,0x1
1000,buffer,1,,0x1,free,0x1
1000,image,1,,0x2,allocate,0x1
1000,image,1,,0x2,free,0x1
1000,image,2,,0x3,allocate,0x1
1000,buffer,1,,0x3,free,0x1
END
accepts replay columns.csv --json
has pools 3
has allocations 3
has hits 0
accepts report columns.csv --json
accepts tune columns.csv --json

# What is unusual and no error: lines that end as on Windows, a pipe, and sizes past 2^63, which no
# device has, so that they are refused there.
printf '%s\r\n' $header "$(row allocate 0x1 5)" "$(row free 0x1 5)" >windows.csv
{
  echo $header
  row allocate 0x1 9223372036854775809
  row allocate 0x2 18446744073709551615
  row allocate 0x3 5
} >huge.csv
for trace in windows.csv huge.csv; do
  for command in $trace_commands; do
    # shellcheck disable=SC2046 # options are words
    run 0 "$command" $trace --limit=1G $(outputs "$command")
    [ ! -s err ] || fail "clpool $command $trace: said $(cat err)"
    # shellcheck disable=SC2046 # options are words
    cat $trace | "$clpool" "$command" - --limit=1G $(outputs "$command") >out 2>err ||
      fail "$trace into clpool $command: $(cat err)"
    rm -f page.html page.json
  done
done
accepts replay huge.csv --json
has allocations 2
has failures 1
accepts replay huge.csv --limit=1G --json
has failures 2

# --- replay: results

accepts replay "$resnet" --allocator=simulated --leading-bits=4 --json
valid_json
has allocations 8662
has hits 7427
has misses 1235
has device_allocations 1235
has failures 0
has recorded_failures 0
has frees 8659
has peak_active_bytes 8631411487
has peak_managed_bytes 25909273321
has peak_device_bytes 25909273321
has allocator '"simulated"'
has leading_bits 4
has limit 0
has scale 1
[ "$(printf %.2f "$(member footprint)")" = 3.00 ] || fail "the footprint is $(member footprint)"
[ -n "$(member ns_per_operation)" ] || fail "ns_per_operation is missing"
figures expected
accepts replay "$resnet" --leading-bits=1 --json
has misses 1092

# An arena: the segments are what is taken from the device.
accepts replay "$resnet" --arena --json
valid_json
has arena true
has slack 0.016
has passes 1
has device_allocations "$(member misses)"
has peak_active_bytes 8631411487
has hits $((8662 - $(member misses)))
[ "$(member peak_device_bytes)" -lt $((8631411487 * 105 / 100)) ] ||
  fail "an arena takes $(member peak_device_bytes) bytes"
figures an_arena
segments=$(member device_allocations)
accepts replay "$resnet" --arena --leading-bits=6 --json
figures found
sed 's/"leading_bits": 6/"leading_bits": 4/' found | cmp -s - an_arena ||
  fail "leading bits change an arena's figures: $(cat found)"
accepts replay "$resnet" --arena --slack=0.2 --json
has slack 0.2
accepts replay "$resnet" --arena=0.2 --json
has slack 0.2
[ "$(member device_allocations)" -lt "$segments" ] || fail "more slack makes no fewer calls"
accepts replay "$resnet" --arena --no-pool --json
has peak_active_bytes 8631411487
has device_allocations "$(member device_allocations)"
accepts replay "$resnet" --arena
grep -q ' on an arena of simulated$' out || fail "the arena is not named"
grep -q '^with a pool$' out || fail "leading bits are said to matter: $(cat out)"
says 'served from its segments (hits)'
accepts replay "$resnet" --passes=3 --json
has allocations $((3 * 8662))
has misses 1235
accepts replay "$resnet" --passes=3
grep -q ', 3 times over, the last one timed$' out || fail "the passes are not named"

gunzip -c "$resnet" >plain.csv
sed 's/$/\r/' plain.csv >windows.csv
for trace in plain.csv windows.csv; do
  accepts replay $trace --json
  figures found
  cmp -s found expected || fail "$trace gives other figures"
done
for input in plain.csv "$resnet"; do
  cat "$input" | "$clpool" replay - --json >out || fail "$input does not go through a pipe"
  figures found
  cmp -s found expected || fail "$input through a pipe gives other figures"
done

accepts replay "$resnet" --no-pool --json
has hits 0
has misses 8662
has device_allocations 8662
has footprint 1
has pooled false
accepts replay "$resnet" --compare --json
valid_json
[ "$(grep -cE '^  "(pooled|bare)": \{$' out)" -eq 2 ] || fail "not pooled and bare: $(cat out)"
[ "$(grep -c '"misses": \(1235\|8662\),' out)" -eq 2 ] || fail "not 1235 and 8662: $(cat out)"
simulated_note="note: the simulated device's calls cost nothing"
accepts replay "$resnet" --compare --allocator=host
! grep -q "$simulated_note" out || fail "host memory is no simulated device: $(cat out)"
accepts replay "$resnet"
fits_80_columns
accepts replay "$resnet" --compare
fits_80_columns
says 'with pool'
says 'time per allocation or free'
says "$simulated_note"
grep -qE '^ *footprint .* 3\.00 +1\.00 +0\.33$' out || fail "no footprint: $(cat out)"
accepts replay "$resnet"
says 'served from held memory (hits)'
accepts replay --json "$resnet" --limit=10G
has limit 10737418240
[ "$(member failures)" = 0 ] || fail "10G were not enough: $(member failures) failures"
accepts replay --json "$resnet" --limit=2000M
[ "$(member failures)" -gt 0 ] || fail "2000M were enough"
accepts replay "$resnet" --limit=4G
says 'allocations refused'
run 1 replay "$resnet" --limit=1
says 'allocations refused'
[ "$(cat err)" = "clpool replay: $resnet: every allocation was refused" ] || fail "said $(cat err)"
run 1 replay "$resnet" --limit=1 --json
valid_json
accepts replay --json "$resnet" --scale=0.5
has peak_active_bytes 4315705744
accepts replay --json "$resnet" --scale=auto
has scale 1
"$clpool" replay - --scale=auto --compare --json <"$resnet" >out ||
  fail "a file as standard input is not read"
has scale 1
accepts replay "$resnet" --allocator=host --scale=0.001 --json
has allocations 8662

# A pipe is read once, whatever needs it several times: what is counted is as of a file.
for words in --compare --scale=auto --passes=2; do
  "$clpool" replay "$resnet" --json $words | grep -v '"ns_\|"trace"' >expected ||
    fail "$words: exit code $?"
  cat "$resnet" | "$clpool" replay - --json $words | grep -v '"ns_\|"trace"' >out ||
    fail "$words on a pipe: exit code $?"
  cmp -s expected out || fail "$words on a pipe: $(diff expected out)"
done

CLPOOL_MEMORY_LIMIT=lots
export CLPOOL_MEMORY_LIMIT
run 2 replay "$resnet"
grep -q '^clpool replay: .*CLPOOL_MEMORY_LIMIT' err || fail "said $(cat err)"
CLPOOL_MEMORY_LIMIT=
run 2 replay "$resnet" --limit=1G
grep -q '^clpool replay: .*CLPOOL_MEMORY_LIMIT is ""' err || fail "said $(cat err)"
CLPOOL_MEMORY_LIMIT=40%
run 1 replay "$resnet"
grep -q '^clpool replay: .*CLPOOL_MEMORY_LIMIT is "40%"' err || fail "said $(cat err)"
CLPOOL_MEMORY_LIMIT=0.5
run 2 replay "$resnet"
grep -q '^clpool replay: CLPOOL_MEMORY_LIMIT is "0\.5".*50%' err || fail "said $(cat err)"
unset CLPOOL_MEMORY_LIMIT

# What says how a program's pools are is nothing to those of the replay.
CLPOOL_LEADING_BITS=1 CLPOOL_ARENA=1 CLPOOL_HOLD=0 accepts replay "$resnet" --json
has device_allocations 1235
has device_frees 0

# Names that JSON must escape: quote, backslash, control characters, UTF-8 and what is none.
name=$(printf 'a"\\\001\303\244\377.csv')
if cp plain.csv "$name" 2>/dev/null; then
  accepts replay "$name" --json
  valid_json
  has trace "$(printf '"a\\"\\\\\\u0001\303\244\\ufffd.csv"')"
fi

if [ -w /dev/full ]; then
  code=0
  "$clpool" replay "$resnet" >/dev/full 2>err || code=$?
  [ "$code" -eq 1 ] || fail "a full device: exit code $code"
  [ "$(cat err)" = 'clpool replay: cannot write to standard output: No space left on device' ] ||
    fail "a full device: said $(cat err)"
  code=0
  "$clpool" --help >/dev/full 2>err || code=$?
  [ "$code" -eq 1 ] || fail "help to a full device: exit code $code"
fi

# --- replay: OpenCL

if [ "$opencl" = false ]; then
  for name in cl-deferred cl-immediate cl-svm; do
    words="the allocator $name is missing: this clpool was built without OpenCL"
    refuses 2 "clpool replay: $words" replay "$resnet" --allocator=$name
  done
elif [ "$devices" -gt 0 ]; then
  accepts replay "$resnet" --scale=0.001 --json
  figures expected
  accepts replay "$resnet" --allocator=cl-immediate --scale=0.001 --device=0.0 --json
  has allocator '"cl-immediate"'
  figures found
  cmp -s found expected || fail "OpenCL gives other figures than a simulated device"
  run 0 replay "$resnet" --allocator=cl-deferred --scale=auto --compare --json
  grep -q '^clpool replay: warning: ' err || fail "no warning of a pool on a deferred allocator"
  [ "$(wc -l <err)" -le 2 ] || fail "more than a warning a pool: $(cat err)"
  valid_json
  if [ "$svm" = true ]; then
    accepts replay "$resnet" --allocator=cl-svm --scale=0.001 --device=0.0 --json
    has allocator '"cl-svm"'
    figures found
    cmp -s found expected || fail "shared virtual memory gives other figures"
    accepts replay "$resnet" --allocator=cl-svm --scale=0.001 --no-pool
  else
    run 1 replay "$resnet" --allocator=cl-svm --scale=0.001 --device=0.0
    grep -q '^clpool replay: .*shared virtual memory' err || fail "said $(cat err)"
  fi
  for device in 99.0 0.99 0. 1.2.3 99999999999999999999.0; do
    refuses 2 "clpool replay: there is no OpenCL device \"$device\" (see clpool info)" \
      replay "$resnet" --allocator=cl-immediate --device=$device
  done
fi
if [ "$opencl" = true ]; then
  # The loader finds drivers in this folder, and there are none.
  mkdir vendors
  OCL_ICD_VENDORS=$house_tmp/vendors/
  export OCL_ICD_VENDORS
  accepts info
  if grep -q '^OpenCL: none: there is no OpenCL driver on this machine' out; then
    accepts info --json
    valid_json
    refuses 1 'clpool replay: there is no OpenCL driver on this machine' \
      replay "$resnet" --allocator=cl-immediate
  fi
  unset OCL_ICD_VENDORS
fi
# PoCL without a folder that it can write to.
(
  POCL_CACHE_DIR=/dev/null/pocl
  export POCL_CACHE_DIR
  accepts info
)
if grep -q '^platform .*: Portable Computing Language' out && grep -q '^  no devices' out; then
  grep -q '^  no devices (PoCL has none without .*: POCL_CACHE_DIR)$' out ||
    fail "no word of POCL_CACHE_DIR: $(cat out)"
fi

# --- CUDA: without a driver, and on the fake one of the tests

CLPOOL_CUDA_LIBRARY=/no/such/driver.so
export CLPOOL_CUDA_LIBRARY
accepts info
says 'CUDA: none: there is no CUDA driver: /no/such/driver.so: '
accepts info --json
valid_json
grep -q '"missing": "there is no CUDA driver' out || fail "info --json does not say why: $(cat out)"
run 1 replay "$resnet" --allocator=cuda-async
grep -q '^clpool replay: there is no CUDA driver: /no/such/driver.so: ' err ||
  fail "said $(cat err)"

CLPOOL_CUDA_LIBRARY=$top_builddir/tests/fakecuda/.libs/libfakecuda.so
if [ -e "$CLPOOL_CUDA_LIBRARY" ]; then
  accepts info
  says '  device 1: '
  says '    memory pools          yes'
  accepts info --json
  valid_json
  grep -q '"memory_pools": true' out || fail "info --json lacks the CUDA devices: $(cat out)"
  accepts replay "$resnet" --scale=0.001 --json
  figures expected
  accepts replay "$resnet" --allocator=cuda-async --scale=0.001 --device=1 --json
  has allocator '"cuda-async"'
  [ "$(member peak_reserved_bytes)" -ge "$(member peak_device_bytes)" ] ||
    fail "the driver's pool: $(cat out)"
  figures found
  cmp -s found expected || fail "CUDA gives other figures than a simulated device"
  accepts replay "$resnet" --allocator=cuda-async --scale=0.001 --arena --json
  accepts replay "$resnet" --allocator=cuda-async --scale=0.001 --no-pool
  says "  peak taken by the driver's own pool"
  accepts replay "$resnet" --allocator=cuda-async --scale=0.001 --compare --json
  ! grep -q peak_reserved_bytes out || fail "the two replays of --compare have one peak: $(cat out)"
  # A part of the device's memory, and a scale that fits into it.
  accepts replay "$resnet" --allocator=cuda-async --scale=auto --limit=25% --json
  [ "$(member limit)" -gt 0 ] || fail "--limit=25% is none: $(cat out)"
  [ "$(member peak_managed_bytes)" -le "$(member limit)" ] || fail "more than a quarter: $(cat out)"
  has failures 0
  has scale 0.0078125
  refuses 2 'clpool replay: there is no CUDA device "2" (see clpool info)' \
    replay "$resnet" --allocator=cuda-async --device=2
fi
unset CLPOOL_CUDA_LIBRARY

# --- replay: a long trace through a pipe, in less memory than it has bytes

rows=2500000
[ "${clp_sanitized:-no}" = no ] || rows=100000
long_trace() {
  awk -v rows=$rows -v header=$header 'BEGIN {
    print header
    for (i = 0; i < rows / 2; i++) {
      printf "1,00:00:00.000000,allocate,0x%x,%d,0\n", 4096 + i, 1000 + i % 5000
      if (i >= 100)
        printf "1,00:00:00.000000,free,0x%x,%d,0\n", 4096 + i - 100, 1000 + (i - 100) % 5000
    }
  }'
}
limited_replay() (
  # The trace has 40 bytes a row; a sanitizer reserves address space without end.
  # shellcheck disable=SC3045 # dash and bash have it
  [ "${clp_sanitized:-no}" != no ] || ulimit -v 65536
  exec "$clpool" replay - --json
)
long_trace | limited_replay >out 2>err || fail "a trace of $rows rows: $(cat err)"
has allocations $((rows / 2))
has frees $((rows / 2 - 100))

# --- The progress bar: on a terminal, after half a second, and gone at the end

slow_trace() {
  echo $header
  sleep 1
  echo 1,00:00:00.000000,allocate,0x1,5,0
}
slow_trace | "$clpool" replay - >out 2>err || fail "a slow trace: $(cat err)"
[ ! -s err ] || fail "a progress bar in a file: $(cat err)"
if script --version 2>/dev/null | grep -q util-linux &&
  script -qec true no-terminal </dev/null >/dev/null 2>&1; then
  SHELL=/bin/sh script -qec "(head -n 1 plain.csv; sleep 1; sed -n 2p plain.csv) |
    '$clpool' replay - >out" terminal </dev/null >/dev/null || fail "no run in a terminal"
  grep -q '1 operations: replay with a pool' terminal || fail "no progress: $(cat terminal)"
  [ "$(tail -c 100 terminal | grep -c "$(printf '\r\033\\[K')")" -gt 0 ] ||
    fail "the progress bar stays: $(cat terminal)"
  # A narrow terminal: no line is too long for it.
  SHELL=/bin/sh script -qec "stty cols 20; (head -n 1 plain.csv; sleep 1; sed -n 2p plain.csv) |
    '$clpool' replay - >out" terminal </dev/null >/dev/null || fail "no run in a narrow terminal"
  grep -q "$(printf '\r1 operations: repla\033')" terminal || fail "20 columns: $(cat terminal)"
fi

echo "$checks runs, and those from pipes"
