#!/bin/sh
# SPDX-License-Identifier: MIT
# clpool tune: the same traces give the same bytes; its figures are those of replays, and what it
# recommends follows its rule; too short traces, several traces, limits, costs; that the lines of C,
# Python and the environment work as they are printed; the picture; and what it refuses.
# shellcheck source=../support/house.sh
. "${top_srcdir:=$(cd "$(dirname "$0")/../.." && pwd)}/tests/support/house.sh"
set -eu

command=tune
# shellcheck source=../support/command.sh
. "$top_srcdir/tests/support/command.sh"
header=Thread,Time,Action,Pointer,Size,Stream

# values KEY [FILE]: the members of JSON with that name, a line each.
values() { sed -n "s/^ *\"$1\": \\(.*[^,]\\),*\$/\\1/p" "${2-$out}"; }

# of_settings KEY: the same, of the settings alone.
of_settings() { sed '/"recommended": {/,$d' "$out" | values "$1" -; }

# --- Arguments

refuses 2 'the trace is missing (see clpool tune --help)'
refuses 2 'there is no option "--objective=memory" (see clpool tune --help)' a --objective=memory
for time in '' -1 1e3 1000000001; do
  refuses 2 "--time: expected a number from 0 to 1000000000, found \"$time\"" \
    a --time="$time"
done
for file in a.pdf a.png .svg; do
  refuses 2 "--plot draws SVG, so name it FILE.svg, not \"$file\" (rsvg-convert makes PNG and PDF \
of it)" a -o $file
done
refuses 2 '--limit: expected bytes, such as 1073741824, 512M or 1.5GiB, found "5MB"' a --limit=5MB
refuses 2 "--limit: expected bytes, because the device's memory is unknown here, found \"40%\"" \
  a --limit=40%
refuses 2 'only one of the traces and --cost can be standard input' - --cost=-
refuses 2 'only one of the traces and --cost can be standard input' - a -
refuses 2 'pocl-cpu: there are no costs of cuda-async in it' \
  a --cost=pocl-cpu --allocator=cuda-async
refuses 2 'there is no allocator "malloc" (see clpool info)' a --allocator=malloc
refuses 2 'nvidia-h200: there are no costs of simulated in it' a --allocator=simulated
refuses 2 '--plot: the name is empty' a --plot=
refuses 2 '--cost: expected nvidia-h200, pocl-cpu, or a file of clpool bench, found "measure"' \
  a --cost=measure
ln -s /dev/stdout stdout.svg
refuses 2 'only one output can have standard output' a --plot=stdout.svg
refuses 2 'missing.csv: No such file or directory' missing.csv
refuses 2 'missing.csv: No such file or directory' "$resnet" missing.csv
refuses 2 './missing.csv: No such file or directory' "$resnet" --cost=./missing.csv
accepts --help
grep -q '^Usage: clpool tune' "$out" || fail "--help prints $(cat "$out")"

# --- The same bytes

accepts "$resnet"
cp "$out" first
zcat "$resnet" >part.csv
accepts "$resnet"
cmp -s "$out" first || fail "another run, other output: $(diff first "$out")"
accepts part.csv
sed 1d first >rest
sed 1d "$out" | cmp -s - rest || fail "not compressed, other output: $(diff first "$out")"
accepts - <part.csv
sed 1d "$out" | cmp -s - rest || fail "from a pipe, other output: $(diff first "$out")"
accepts "$resnet" --json
valid_json
[ "$(of_settings slack | wc -l)" -eq 10 ] || fail "not ten settings: $(cat "$out")"
! sed 1d first | grep -E '^.{81}' || fail "a line is longer than 80 columns"

# --- Figures, by replays

# Memory is an address here, as on the simulated device of replays, so that leading bits do not
# matter on an arena, and settings that differ by them alone are one.
printf 'Allocator,Operation,Bytes,Nanoseconds\nhost,allocate,1,100\n' >addresses.csv
accepts part.csv --json --cost=./addresses.csv
for key in leading_bits arena slack peak_device_bytes device_allocations hits; do
  of_settings $key >"$house_tmp/$key"
done
(
  cd "$house_tmp"
  paste -d ' ' leading_bits arena slack peak_device_bytes device_allocations hits
) >rows
[ "$(wc -l <rows)" -eq 8 ] || fail "other settings: $(cat rows)"
while read -r bits arena slack figures; do
  set -- --json --passes=2
  [ "$bits" = null ] || set -- "$@" --leading-bits="$bits"
  if [ "$arena" = true ]; then set -- "$@" --arena="$slack"; fi
  "$clpool" replay part.csv "$@" >replay.json
  replayed=$(for key in peak_device_bytes device_allocations hits; do
    values $key replay.json
  done | paste -sd ' ')
  [ "$figures" = "$replayed" ] || fail "$bits bits, slack $slack: $figures, replayed $replayed"
done <rows

# --- The rule

# least NS: by the rule of JSON's settings, the bytes of the one that is recommended.
least() {
  of_settings ns_per_operation >"$house_tmp/times"
  of_settings peak_device_bytes | paste -d ' ' "$house_tmp/times" - | awk -v ns="$1" '
    { time[NR] = $1; bytes[NR] = $2; if (NR == 1 || $1 < quickest) quickest = $1 }
    END {
      for (i = 1; i <= NR; i++)
        if (time[i] <= quickest + ns && (!best || bytes[i] < best))
          best = bytes[i]
      printf "%.0f\n", best
    }'
}

# recommended_bytes: what the recommended setting takes.
recommended_bytes() {
  best=$(sed -n '/"recommended": {/,/}/p' "$out" |
    sed -n 's/^ *"\(leading_bits\|slack\)": \(.*\),/\2/p' | paste -sd ' ')
  of_settings leading_bits >"$house_tmp/bits"
  of_settings slack | paste -d ' ' "$house_tmp/bits" - >"$house_tmp/named"
  of_settings peak_device_bytes | paste -d : "$house_tmp/named" - | sed -n "s/^$best://p"
}

for time in 0 100 500 5000 1000000000; do
  for cost in nvidia-h200 pocl-cpu; do
    accepts "$resnet" --json --time=$time --cost=$cost
    [ "$(recommended_bytes)" = "$(least $time)" ] ||
      fail "--time=$time: recommends $(recommended_bytes) bytes, not $(least $time): $(cat "$out")"
    accepts "$resnet" --time=$time --cost=$cost
    [ "$(grep -c '^\* .*[0-9] ' "$out")" -eq 2 ] || fail "not one recommendation: $(cat "$out")"
    says "the least memory within $time ns an operation of the quickest"
  done
done
accepts "$resnet"
grep -q '^- ' "$out" || fail "no setting is marked as the best in something: $(cat "$out")"

# --- Too short

{
  echo $header
  echo 24192,02:15:10.379965,allocate,0x55ab26798f70,4456447,0
} >one_allocation.csv
zcat "$top_srcdir/tests/trace/short_loop.csv.gz" >short_loop.csv
for trace in one_allocation short_loop; do
  accepts $trace.csv
  says 'nothing is recommended:'
  says 'too few to tell settings apart: record 1000 or more'
  ! grep -qE '^\* .*MiB|clp_pool_create' "$out" || fail "$trace: recommends: $(cat "$out")"
  cp "$out" first
  accepts $trace.csv
  cmp -s "$out" first || fail "$trace: another run, other output: $(diff first "$out")"
  accepts $trace.csv --json
  says '"recommended": null'
done

# pairs COUNT: rows of a block that comes and goes.
pairs() {
  awk -v header=$header -v count="$1" 'BEGIN {
    print header
    for (i = 0; i < count; i++)
      print "1,00:00:00.0,allocate,0x1000,5000,0\n1,00:00:00.0,free,0x1000,5000,0"
  }'
}

pairs 999 >999.csv
accepts 999.csv --json
says '"recommended": null'
pairs 1000 >1000.csv
accepts 1000.csv --json
says '"recommended": {'
echo $header >empty.csv
words='empty.csv: no allocation is recorded there, so there is nothing to tune'
refuses 1 "$words" empty.csv
refuses 1 "$words" empty.csv --json
refuses 1 'no allocation is recorded in any of the traces, so there is nothing to tune' \
  empty.csv empty.csv

# --- Notes

accepts "$resnet"
says "of the first pass's time is warming up"
! grep -q 'never freed' 1000.csv || fail "what is freed is said not to be"
accepts 1000.csv
! grep -q 'never freed' "$out" || fail "what is freed is said not to be: $(cat "$out")"
{ cat 1000.csv && echo 1,00:00:00.0,allocate,0x2000,1048576,0; } >kept.csv
accepts kept.csv
says 'note: 1.00 MiB are never freed'
{ cat 1000.csv && echo '1,00:00:00.0,allocate failure,(nil),5000,0'; } >failed.csv
accepts failed.csv
says 'note: 1 allocation failed when recorded, and is left out'
{ cat 1000.csv && echo 1,00:00:00.0,free,0x9000,5000,0; } >late.csv
words='expected a pointer that is live, found 0x9000 (--lenient leaves such frees out)'
refuses 2 "late.csv:2002:19: $words" late.csv
run 0 late.csv --lenient

# --- Limits

{
  pairs 1000
  echo 1,00:00:00.000000,allocate,0x10,4000,0
  echo 1,00:00:00.000001,allocate,0x20,4000,0
} >two.csv
accepts two.csv --limit=6000
says 'out of memory at event 2002, refused 2'
says 'every setting runs out of memory: try a larger --limit'
! grep -q '^\* .*KiB' "$out" || fail "a row is recommended: $(cat "$out")"
accepts 1000.csv two.csv --limit=6000
says 'out of memory at event 2002 of two.csv, refused 2'
accepts two.csv --limit=8191 --json
[ "$(of_settings failures | sort -un | tr '\n' ' ')" = "0 2 " ] ||
  fail "failures are $(of_settings failures)"
says '"recommended": {'
CLPOOL_LEADING_BITS=12
CLPOOL_ARENA=1
export CLPOOL_MEMORY_LIMIT CLPOOL_LEADING_BITS CLPOOL_ARENA
for CLPOOL_MEMORY_LIMIT in 100 50% x; do
  accepts "$resnet"
  sed 1d "$out" | cmp -s - rest || fail "the environment changes the output: $(diff rest "$out")"
done
unset CLPOOL_MEMORY_LIMIT CLPOOL_LEADING_BITS CLPOOL_ARENA

# --- Several traces

accepts "$resnet" 1000.csv
says '2 traces: '
[ "$(grep -cE '^[-* ] .* GiB .*resnet50_train.csv.gz$' "$out")" -eq 10 ] ||
  fail "the trace that takes most is not told: $(cat "$out")"
accepts "$resnet" --json
of_settings peak_device_bytes >alone
for traces in "$resnet 1000.csv" "1000.csv empty.csv $resnet"; do
  # shellcheck disable=SC2086 # words
  accepts $traces --json
  of_settings peak_device_bytes | cmp -s - alone || fail "$traces: other bytes: $(cat "$out")"
done
says '"allocations": 2430'
accepts 999.csv 1000.csv --json
says '"recommended": {'
printf '%s\n' $header 1,00:00:00.0,allocate,0x1000,100,0 >tiny.csv
accepts 1000.csv tiny.csv
! grep -q 'never freed' "$out" || fail "a tenth of a small trace is told: $(cat "$out")"

# --- Names

hostile=$(printf 'a\033[31m\n\302\233\303\251.csv')
shown="a\\x1b[31m\\x0a\\xc2\\x9b$(printf '\303\251').csv"
cp two.csv "$hostile"
sed 's/^# device: .*/&'"$(printf '\033')"'/' "$top_srcdir/tools/costs/pocl-cpu.csv" >costs.csv
accepts "$hostile" --cost=./costs.csv
says "$shown: 1002 allocations"
accepts "$hostile" 1000.csv --cost=./costs.csv
! grep -q "$(printf '\033')" "$out" || fail "a control character: $(cat "$out")"
accepts "$hostile" -o hostile.svg
! grep -q "$(printf '\033')" hostile.svg || fail "a control character: $(cat hostile.svg)"
cp two.csv 'a<b>&c.csv'
accepts 'a<b>&c.csv' -o odd.svg
grep -qF '<title>a&lt;b&gt;&amp;c.csv</title>' odd.svg || fail "the title: $(grep title odd.svg)"
rm "$hostile"
refuses 2 "$shown: No such file or directory" "$hostile"

# --- Host memory

# A setting's pools at a time: all at once would take ten times as much. Sanitizers take memory of
# their own.
if [ "${clp_sanitized:-no}" = no ]; then
  awk -v header=$header 'BEGIN {
    print header ",Pool"
    for (i = 1; i <= 2000; i++)
      printf "1,00:00:00.000000,allocate,0x%x0,%d,0,p%d\n", i, i * 7919 % 1003 + 1, i
  }' >pools.csv
  (
    # shellcheck disable=SC3045 # dash and bash have it
    ulimit -v 500000
    accepts pools.csv --json
  )
  says '"pools": 2000'
  TMPDIR=/nowhere
  export TMPDIR
  run 2 1000.csv
  unset TMPDIR
  words='No such file or directory (TMPDIR names another directory for it)'
  [ "$(cat "$err")" = "clpool tune: cannot make a temporary file: $words" ] ||
    fail "without a place for temporary files: said $(cat "$err")"
fi

# --- The lines that are printed

# lines HEADING: what is printed below it, up to the next heading.
lines() {
  awk -v heading="$1" '
    index($0, heading) == 1 { inside = 1; getline; next }
    inside && $0 == "" { exit }
    inside' "$out"
}

# works TRACE ARGUMENT...: the C makes a pool of the setting that is in JSON, and the variables make
# a program that knows nothing of it have one.
works() {
  accepts "$@" --json
  sed -n '/"recommended": {/,/}/p' "$out" >best
  accepts "$@"
  {
    cat <<'END'
#include <clpool/clpool.h>
#include <stdio.h>
static clp_pool *by_environment(clp_allocator *allocator)
{
  clp_pool *pool = NULL;
  clp_pool_create(allocator, NULL, &pool);
  return pool;
}
static clp_pool *by_code(clp_allocator *allocator)
{
END
    lines 'In C:'
    cat <<'END'
  return pool;
}
int main(int argc, char **argv)
{
  (void)argv;
  clp_allocator *allocator = NULL;
  clp_arena_stats stats = CLP_ARENA_STATS_INIT;
  clp_simulated_allocator_create(0, &allocator);
  clp_pool *pool = argc > 1 ? by_environment(allocator) : by_code(allocator);
  size_t bytes = clp_pool_alloc_size(pool, clp_pool_bin_number(pool, 600000));
  printf("%zu %d\n", bytes, clp_arena_get_stats(clp_pool_allocator(pool), &stats) == CLP_SUCCESS);
  return 0;
}
END
  } >program.c
  ${CC:-cc} -std=c11 -Wall -Werror -Wno-unused-but-set-variable \
    -I"$top_srcdir/include" -I"$top_builddir/include" -o program program.c \
    -L"$top_builddir/.libs" -lclpool -Wl,-rpath,"$top_builddir/.libs" ||
    fail "the C does not build: $(cat program.c)"
  by_code=$(CLPOOL_ARENA=1 ./program)
  by_environment=$(sh -c "$(lines 'In the environment' | sed 's/$/ -/')")
  [ "$by_code" = "$by_environment" ] ||
    fail "the C makes a pool of $by_code, the environment one of $by_environment: $(cat "$out")"
  [ "${by_code#* }" = "$(grep -c '"arena": true' best)" ] || fail "another arena: $by_code"
}

# A setting without an arena, and some with one, where leading bits matter and where not. Sanitizers
# have libraries of their own.
if [ "${clp_sanitized:-no}" = no ] && [ -e "$top_builddir/.libs/libclpool.so" ]; then
  works "$resnet" --time=0
  grep -q '"arena": false' best || fail "the quickest setting has an arena: $(cat best)"
  works "$resnet" --time=1000000000
  grep -q '"arena": true' best || fail "the smallest setting has no arena: $(cat best)"
  works "$resnet" --cost=./addresses.csv
  grep -q '"leading_bits": null' best || fail "leading bits matter on an arena: $(cat best)"
fi

# Python, as far as its module is there, or in the virtual environment of make check-python.
python=python3
[ ! -x "$top_builddir/python-venv/bin/python" ] || python=$top_builddir/python-venv/bin/python
if "$python" -c 'import clpool' 2>/dev/null; then
  for arguments in --time=0 --time=1000000000 --cost=./addresses.csv; do
    accepts "$resnet" $arguments
    "$python" -c "import clpool; allocator = clpool.HostAllocator()
pool = $(lines 'In Python:'); pool.allocate(600000)" || fail "the Python fails: $(cat "$out")"
  done
fi

accepts "$resnet" --cost=pocl-cpu --allocator=cl-svm
says 'clpool.SVMPool('

# For a program that is recorded, the pools of clpool run: their figures are tests/layer's.
awk -v header=$header 'BEGIN {
  print header ",Context,Kind,Flags"
  for (i = 0; i < 1000; i++) {
    print "1,00:00:00.0,allocate,0x1000,5000,0,1,buffer,0x1"
    print "1,00:00:00.0,free,0x1000,5000,0,1,buffer,0x1"
  }
}' >recorded.csv
accepts recorded.csv
says 'clpool run --leading-bits=8 ./program'
says 'which then takes 4.89 KiB'
cp "$out" printed
accepts recorded.csv --json
if command -v python3 >/dev/null; then
  python3 -c 'import json, sys; sys.stdout.write(json.load(open(sys.argv[1]))["text"])' "$out" |
    cmp -s - printed || fail "the text in JSON is another: $(cat "$out")"
fi
grep -A 2 '"run": {' "$out" | grep -q '"peak_device_bytes": 5007' || fail "run: $(cat "$out")"
accepts recorded.csv --limit=1M
says 'clpool run --leading-bits=8 --limit=1048576 ./program'
accepts 1000.csv
! grep -q 'clpool run' "$out" || fail "it is not known whether that is OpenCL's: $(cat "$out")"
accepts recorded.csv 1000.csv
! grep -q 'clpool run' "$out" || fail "it is not known whether that is OpenCL's: $(cat "$out")"

# --- The picture

cp two.csv trace.svg
refuses 2 '--plot names the trace itself, "./trace.svg"' trace.svg --plot=./trace.svg
refuses 2 '--plot names the trace itself, "trace.svg"' 1000.csv trace.svg -o trace.svg
accepts "$resnet" --plot=plot.svg
[ "$(grep -c '<circle ' plot.svg)" -eq 10 ] || fail "not ten points: $(cat plot.svg)"
[ "$(grep -c ': recommended</text>' plot.svg)" -eq 1 ] || fail "not one recommendation"
cp plot.svg first.svg
accepts "$resnet" -o plot.svg
cmp -s plot.svg first.svg || fail "another run, another picture"
if command -v python3 >/dev/null; then
  for trace in "$resnet" 1000.csv recorded.csv; do
    accepts "$trace" -o plot.svg
    python3 "$top_srcdir/tests/support/tune_plot.py" plot.svg || fail "$trace: see above"
  done
fi
ln -s /dev/full full.svg
run 1 two.csv --plot=full.svg
[ "$(cat "$err")" = 'clpool tune: cannot write to full.svg: No space left on device' ] ||
  fail "a full disk: said $(cat "$err")"
printf '%s\n' $header 1,00:00:00.000000,allocate,0x0,0,0 >zero.csv
run 1 zero.csv --plot=none.svg
says 'nothing is recommended'
words='there is nothing to plot: no setting takes any memory, or all run out of it'
[ "$(cat "$err")" = "clpool tune: $words" ] || fail "said $(cat "$err")"
run 1 two.csv --limit=10 --plot=none.svg
[ "$(cat "$err")" = "clpool tune: $words" ] || fail "said $(cat "$err")"
[ ! -e none.svg ] || fail "of nothing there is a picture"
[ -z "$(find . -name '.clpool-*')" ] || fail "there is left $(find . -name '.clpool-*')"
