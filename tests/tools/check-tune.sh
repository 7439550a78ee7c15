#!/bin/sh
# SPDX-License-Identifier: MIT
# clpool tune: that its figures are those of replays and its recommendation the best of them,
# limits, costs, the C that it prints, the plot, and what it refuses.
# shellcheck source=../support/house.sh
. "${top_srcdir:=$(cd "$(dirname "$0")/../.." && pwd)}/tests/support/house.sh"
set -eu

command=tune
# shellcheck source=../support/command.sh
. "$top_srcdir/tests/support/command.sh"
resnet=$top_srcdir/examples/data/resnet50_train.csv.gz
header=Thread,Time,Action,Pointer,Size,Stream

# values KEY [FILE]: the members of JSON with that name, a line each.
values() { sed -n "s/^ *\"$1\": \\(.*[^,]\\),*\$/\\1/p" "${2-$out}"; }

# --- Arguments

refuses 2 'the trace is missing (see clpool tune --help)'
refuses 2 'one trace at a time, but there is "b", too' a b
refuses 2 '--leading-bits: expected a number or a range from 0 to 16, such as 0-10, found "17"' \
  a --leading-bits=17
for range in '' 1- -1 5-4 0-17 1-2-3 a 000000000000000000001; do
  refuses 2 "--leading-bits: expected a number or a range from 0 to 16, such as 0-10, found \
\"$range\"" a --leading-bits="$range"
done
refuses 2 '--objective: expected time, memory or balanced, found "speed"' a --objective=speed
refuses 2 '--threads: expected a number from 1 to 1024, found "0"' a --threads=0
refuses 2 '--plot: expected a file whose name ends in .svg, .png or .pdf, found "a.gif"' \
  a --plot=a.gif
refuses 2 '--plot: expected a file whose name ends in .svg, .png or .pdf, found ".svg"' \
  a --plot=.svg
refuses 2 '--arena and --no-arena leave no setting to try' a --arena --no-arena
refuses 2 '--slack is of the arena: it cannot go with --no-arena' a --slack=0.1 --no-arena
refuses 2 '--leading-bits is of the pool: it cannot go with --no-pool' a --no-pool --leading-bits=4
refuses 2 '--limit is of the pool: it cannot go with --no-pool' a --no-pool --limit=1G
refuses 2 '--plot shows leading bits, which are of the pool: it cannot go with --no-pool' \
  a --no-pool --plot=a.svg
refuses 2 '--capacity needs --allocator=simulated' a --allocator=host --capacity=1G
refuses 2 '--limit: expected bytes, such as 1073741824, 512M or 1.5GiB, found "5MB"' a --limit=5MB
refuses 2 'only one of the trace and --cost can be standard input' - --cost=-
ln -s /dev/stdout stdout.svg
refuses 2 '--plot cannot go to standard output, which has the figures' a --plot=stdout.svg
refuses 2 'missing.csv: No such file or directory' missing.csv --cost=pocl-cpu
refuses 2 './missing.csv: No such file or directory' "$resnet" --cost=./missing.csv
accepts --help
grep -q '^Usage: clpool tune' "$out" || fail "--help prints $(cat "$out")"

# --- Figures and recommendation, by replays

# What a replay of each setting comes to: bits, arena, peak of the device.
for arena in '' --arena; do
  bits=0
  while [ $bits -le 10 ]; do
    "$clpool" replay "$resnet" --json --leading-bits=$bits $arena >"$house_tmp/replay"
    echo "$bits $([ $arena ] && echo true || echo false)" \
      "$(values peak_device_bytes "$house_tmp/replay")" \
      "$(values device_allocations "$house_tmp/replay") $(values hits "$house_tmp/replay")"
    bits=$((bits + 1))
  done
done >"$house_tmp/replays"

# rows: the same of tune's JSON, but for what has no pool.
rows() {
  for key in leading_bits arena peak_device_bytes device_allocations hits; do
    values $key >"$house_tmp/$key"
  done
  (
    cd "$house_tmp"
    paste -d ' ' leading_bits arena peak_device_bytes device_allocations hits | grep -v '^null' |
      head -n 22
  )
}

# recommended KEY: what is recommended, of JSON.
recommended() {
  sed -n '/"recommended": {/,/}/p' "$out" >"$house_tmp/best"
  values "$1" "$house_tmp/best"
}

for threads in 1 3; do
  accepts "$resnet" --json --cost=pocl-cpu --objective=memory --threads=$threads
  rows >"$house_tmp/rows"
  cmp -s "$house_tmp/rows" "$house_tmp/replays" ||
    fail "with $threads threads, other figures than replays: $(diff "$house_tmp/rows" \
      "$house_tmp/replays")"
done
best=$(sort -k3n,3 "$house_tmp/replays" | head -n 1 | cut -d ' ' -f 1,2)
[ "$(recommended leading_bits) $(recommended arena)" = "$best" ] ||
  fail "recommends $(recommended leading_bits) $(recommended arena), replays say $best"
valid_json

# The best of an objective has the least of what that wants least of.
for objective in time balanced; do
  accepts "$resnet" --json --cost=pocl-cpu --objective=$objective
  for key in ns_per_operation peak_device_bytes leading_bits arena; do
    values $key >"$house_tmp/$key"
  done
  best=$(
    cd "$house_tmp"
    paste -d ' ' leading_bits arena ns_per_operation peak_device_bytes | grep -v '^null' |
      head -n 22 | awk -v objective=$objective '{
        print $1, $2, objective == "time" ? $3 : $3 * $4 }' | sort -s -k3g,3 | head -n 1 |
      cut -d ' ' -f 1,2
  )
  [ "$(recommended leading_bits) $(recommended arena)" = "$best" ] ||
    fail "$objective: recommends $(recommended leading_bits) $(recommended arena), not $best"
done

accepts "$resnet" --cost=pocl-cpu
[ "$(grep -c '<- recommended' "$out")" -eq 1 ] || fail "not one recommendation: $(cat "$out")"
says 'objective: balanced'
zcat "$resnet" | accepts - --leading-bits=3-4 --no-arena --cost=pocl-cpu
[ "$(grep -cE '^ +([34]|none) ' "$out")" -eq 3 ] || fail "not three rows: $(cat "$out")"
accepts "$resnet" --no-pool --cost=pocl-cpu
grep -q 'recommended: no pool, ' "$out" || fail "without pools: $(cat "$out")"
accepts "$resnet" --leading-bits=4 --scale=0.5 --passes=2 --cost=pocl-cpu
says 'sizes times 0.5, 2 times over'
if zcat "$resnet" | "$clpool" tune - --passes=2 >"$out" 2>"$err"; then
  fail "--passes on a pipe succeeds"
fi
grep -q 'cannot be read twice, as --passes needs' "$err" || fail "a pipe: $(cat "$err")"

# --- Limits

{
  echo $header
  echo 1,00:00:00.000000,allocate,0x10,4000,0
  echo 1,00:00:00.000001,allocate,0x20,4000,0
  echo 1,00:00:00.000002,free,0x10,4000,0
} >two.csv
accepts two.csv --limit=6000 --leading-bits=4 --no-arena --cost=pocl-cpu
says 'out of memory at event 2, refused 1'
says 'nothing is recommended. Every setting runs out of memory, the last at event 2 of the trace.'
! grep -q '<- recommended' "$out" || fail "a row is recommended: $(cat "$out")"
accepts two.csv --limit=8010 --leading-bits=2-4 --no-arena --cost=pocl-cpu --json
[ "$(values first_failure_event | tr '\n' ' ')" = "2 2 2 null " ] ||
  fail "the events of failures are $(values first_failure_event | tr '\n' ' ')"
accepts two.csv --capacity=6000 --leading-bits=4 --no-arena --cost=pocl-cpu
says 'out of memory at event 2'

# A device's memory is a bound, too: what a replay is refused there, tune does not recommend. Which
# requests that are depends on how the driver rounds.
small=$top_builddir/tests/fakecuda/.libs/libfakecuda.so
if [ -e "$small" ]; then
  export CLPOOL_CUDA_LIBRARY="$small"
  set -- "$resnet" --allocator=cuda-async --scale=0.13 --leading-bits=0 --json
  "$clpool" replay "$@" >"$house_tmp/replay"
  [ "$(values failures "$house_tmp/replay")" -gt 0 ] || fail "the device is not small"
  accepts "$@" --no-arena --cost=nvidia-h200
  [ "$(values failures | head -n 1)" -gt 0 ] || fail "a small device has room for all"
  grep -q '"recommended": null' "$out" || fail "recommends what fails: $(cat "$out")"
  unset CLPOOL_CUDA_LIBRARY
fi

# --- Code

{
  echo '#include <clpool/clpool.h>'
  echo 'clp_status make(clp_allocator *allocator, clp_pool **pool);'
  echo 'clp_status make(clp_allocator *allocator, clp_pool **pool) {'
  accepts "$resnet" --objective=memory --slack=0.05 --cost=pocl-cpu >/dev/null
  sed -n '/^clp_/p' "$out"
  echo 'return clp_pool_create(arena, &options, pool); }'
} >code.c
grep -q leading_bits_in_bin_id code.c || fail "no line of C: $(cat "$out")"
${CC:-cc} -std=c11 -Wall -Werror -I"$top_srcdir/include" -I"$top_builddir/include" -c code.c ||
  fail "the C does not compile: $(cat code.c)"

# --- The plot

path=$house_tmp/work
run 1 "$resnet" --plot=plot.svg --cost=pocl-cpu
[ "$(cat "$err")" = \
  'clpool tune: cannot plot: there is no gnuplot in PATH (Debian: gnuplot-nox)' ] ||
  fail "without gnuplot: said $(cat "$err")"
[ ! -e plot.svg ] || fail "without gnuplot: there is a plot"
cp two.csv trace.svg
refuses 2 '--plot names the trace itself, "./trace.svg"' trace.svg --plot=./trace.svg
printf '#!/bin/sh\nexit 3\n' >gnuplot
chmod +x gnuplot
path=$house_tmp/work:$PATH
run 1 two.csv --plot=plot.svg --cost=pocl-cpu
path=$PATH
grep -q 'gnuplot could not draw: it ended with status 3' "$err" || fail "said $(cat "$err")"
[ ! -e plot.svg ] || fail "of a gnuplot that failed there is a plot"
printf '#!/bin/sh\nexit 0\n' >gnuplot
path=$house_tmp/work:$PATH
run 1 two.csv --plot=plot.svg --cost=pocl-cpu
path=$PATH
grep -q 'gnuplot drew nothing' "$err" || fail "said $(cat "$err")"
[ ! -e plot.svg ] || fail "of a gnuplot that drew nothing there is a plot"
rm gnuplot
if command -v gnuplot >/dev/null; then
  for ending in svg png pdf; do
    accepts "$resnet" --plot=plot.$ending --cost=pocl-cpu
    [ -s plot.$ending ] || fail "plot.$ending is empty"
  done
  grep -q '</svg>' plot.svg || fail "plot.svg is no whole picture"
  says_in_plot() { grep -q "$1" plot.svg || fail "plot.svg lacks $1"; }
  says_in_plot 'leading_bits_in_bin_id, bits'
  says_in_plot 'footprint (times the most in use)'
  says_in_plot 'hit rate, %'
  says_in_plot 'recommended'
  head -c 8 plot.png | od -An -c | grep -q 'P   N   G' || fail "plot.png is no PNG"
  head -c 5 plot.pdf | grep -q '%PDF-' || fail "plot.pdf is no PDF"
  odd="it''s \"odd\" \`\$@\\name.csv"
  cp two.csv "$odd"
  accepts "$odd" --plot=odd.svg --cost=pocl-cpu
  grep -qF 'odd&quot;' odd.svg || grep -qF '"odd"' odd.svg || fail "no name: $(grep odd odd.svg)"
  ln -s /dev/full full.svg
  run 1 two.csv --plot=full.svg --cost=pocl-cpu
  grep -q 'cannot write to full.svg: ' "$err" || fail "a full disk: said $(cat "$err")"
  echo $header >empty.csv
  run 1 empty.csv --plot=none.svg --cost=pocl-cpu
  grep -q 'nothing to plot: the trace asks for no memory' "$err" || fail "said $(cat "$err")"
  run 1 two.csv --limit=10 --plot=none.svg --cost=pocl-cpu
  grep -q 'nothing to plot: every setting runs out of memory' "$err" || fail "said $(cat "$err")"
  [ ! -e none.svg ] || fail "of nothing there is a plot"
fi
[ -z "$(find . -name '.clpool-*')" ] || fail "there is left $(find . -name '.clpool-*')"
