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
for option in --arena --slack=0.1; do
  refuses 2 "${option%=*}: no arena is tried on cuda-async, where the driver's own pool takes less \
memory" a --allocator=cuda-async $option
done
refuses 2 '--capacity needs --allocator=simulated' a --allocator=host --capacity=1G
refuses 2 '--limit: expected bytes, such as 1073741824, 512M or 1.5GiB, found "5MB"' a --limit=5MB
refuses 2 'only one of the trace and --cost can be standard input' - --cost=-
ln -s /dev/stdout stdout.svg
refuses 2 '--plot cannot go to standard output, which has the figures' a --plot=stdout.svg
refuses 2 'missing.csv: No such file or directory' missing.csv --cost=pocl-cpu
refuses 2 './missing.csv: No such file or directory' "$resnet" --cost=./missing.csv
accepts --help
grep -q '^Usage: clpool tune' "$out" || fail "--help prints $(cat "$out")"

# What is printed for people has no longer lines, but for the name of the trace.
fits_80_columns() {
  ! sed 1d "$out" | grep -E '^.{81}' || fail "a line is longer than 80 columns"
}

# --- Figures and recommendation, by replays

# rows: of tune's JSON, whether a setting is pooled, its leading bits, whether it is on an arena and
# its slack; then the peak of the device, device allocations and hits.
rows() {
  for key in pooled leading_bits arena slack peak_device_bytes device_allocations hits; do
    sed '/"recommended": {/,$d' "$out" | values $key - >"$house_tmp/$key"
  done
  (
    cd "$house_tmp"
    paste -d ' ' pooled leading_bits arena slack peak_device_bytes device_allocations hits
  )
}

# What a replay of each of these settings comes to, in the same form.
replays() {
  while read -r pooled bits arena slack _; do
    set -- --json
    [ "$bits" = null ] || set -- "$@" --leading-bits="$bits"
    [ "$pooled" = true ] || set -- "$@" --no-pool
    if [ "$arena" = true ]; then set -- "$@" --arena --slack="$slack"; fi
    "$clpool" replay part.csv "$@" >"$house_tmp/replay"
    echo "$pooled $bits $arena $slack" \
      "$(for key in peak_device_bytes device_allocations hits; do
        values $key "$house_tmp/replay"
      done | paste -sd ' ')"
  done
}

# recommended: the setting that is, of JSON, as rows have it.
recommended() {
  sed -n '/"recommended": {/,/}/p' "$out" >"$house_tmp/best"
  for key in pooled leading_bits arena slack; do values $key "$house_tmp/best"; done | paste -sd ' '
}

# best COLUMN: the setting of the least value there, of rows on standard input.
best() { sort -s -k"$1g,$1" | head -n 1 | cut -d ' ' -f 1-4; }

# All leading bits without an arena, a pool on each of nine arenas, and the bare device. Memory is
# an address, as in a replay on the simulated device, so leading bits do not matter on an arena.
printf 'Allocator,Operation,Bytes,Nanoseconds\nhost,allocate,1,100\n' >addresses.csv
zcat "$resnet" >part.csv
for threads in 1 3; do
  accepts part.csv --json --cost=addresses.csv --objective=memory --threads=$threads
  rows >"$house_tmp/rows"
  [ "$(wc -l <"$house_tmp/rows")" -eq 21 ] || fail "other settings: $(cat "$house_tmp/rows")"
  [ -e "$house_tmp/replays" ] || replays <"$house_tmp/rows" >"$house_tmp/replays"
  cmp -s "$house_tmp/rows" "$house_tmp/replays" ||
    fail "with $threads threads, other figures than replays: $(diff "$house_tmp/rows" \
      "$house_tmp/replays")"
done
[ "$(recommended)" = "$(grep -v '^false null false' "$house_tmp/replays" | best 5)" ] ||
  fail "recommends $(recommended), not what has the least memory in $(cat "$house_tmp/replays")"
valid_json

# The best of an objective has the least of what that wants least of, as far as times can be told,
# and of what has that, the least memory.
for objective in time balanced; do
  accepts "$resnet" --json --cost=pocl-cpu --objective=$objective
  rows | cut -d ' ' -f 1-5 >"$house_tmp/rows"
  sed '/"recommended": {/,$d' "$out" | values ns_per_operation - |
    paste -d ' ' "$house_tmp/rows" - | grep -v '^false null false' | awk -v objective=$objective '{
      print $1, $2, $3, $4, objective == "time" ? $6 : $5 * $6 }' >"$house_tmp/values"
  best 5 <"$house_tmp/values" >"$house_tmp/least"
  sed '/"recommended": {/,$d' "$out" | values as_good - | paste -d ' ' "$house_tmp/rows" - |
    grep ' true$' | sort -g -s -k5,5 >"$house_tmp/as_good"
  [ "$(recommended)" = "$(head -n 1 "$house_tmp/as_good" | cut -d ' ' -f 1-4)" ] ||
    fail "$objective: recommends $(recommended), not the first of $(cat "$house_tmp/as_good")"
  grep -q "^$(cat "$house_tmp/least") " "$house_tmp/as_good" ||
    fail "$objective: $(cat "$house_tmp/least") is not as good as $(cat "$house_tmp/as_good")"
done

accepts "$resnet" --cost=pocl-cpu --leading-bits=3-5
[ "$(grep -c '^\* .*[0-9]' "$out")" -eq 1 ] || fail "not one recommendation: $(cat "$out")"
says 'objective: balanced'
zcat "$resnet" | accepts - --leading-bits=3-4 --no-arena --cost=pocl-cpu
[ "$(grep -cE '^[ *=] +([34]|none) +no ' "$out")" -eq 3 ] || fail "not three rows: $(cat "$out")"
accepts "$resnet" --no-pool --cost=pocl-cpu
[ "$(grep -cE '^[ *=] *none ' "$out")" -eq 14 ] || fail "not 13 arenas: $(cat "$out")"
grep -q 'recommended: no pool, ' "$out" || fail "without pools: $(cat "$out")"
accepts "$resnet" --arena --slack=0.3 --leading-bits=2-3 --cost=pocl-cpu
[ "$(grep -cE '^[ *=] *([23]|none) 0\.3 ' "$out")" -eq 3 ] || fail "other slacks: $(cat "$out")"
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
says 'nothing is recommended'
says 'Every setting with a pool runs out of memory, the last at event 2 of the trace.'
! grep -q '^\*' "$out" || fail "a row is recommended: $(cat "$out")"
accepts two.csv --limit=8010 --leading-bits=2-4 --no-arena --cost=pocl-cpu --json
[ "$(values first_failure_event | tr '\n' ' ')" = "2 2 2 null " ] ||
  fail "the events of failures are $(values first_failure_event | tr '\n' ' ')"
# Without a pool nothing keeps to the limit, though all has room here.
accepts "$resnet" --limit=100G --objective=memory --arena --leading-bits=2-6 --cost=pocl-cpu
says 'recommended: leading_bits_in_bin_id'
says 'Of 21 settings'
accepts two.csv --capacity=6000 --leading-bits=4 --no-arena --cost=pocl-cpu
says 'out of memory at event 2'

# A device's memory is a bound, too: what a replay is refused there, tune does not recommend. Which
# requests that are depends on how the driver rounds.
small=$top_builddir/tests/fakecuda/.libs/libfakecuda.so
if [ -e "$small" ]; then
  export CLPOOL_CUDA_LIBRARY="$small"
  set -- "$resnet" --allocator=cuda-async --scale=0.36 --leading-bits=0 --json
  "$clpool" replay "$@" >"$house_tmp/replay"
  [ "$(values failures "$house_tmp/replay")" -gt 0 ] || fail "the device is not small"
  accepts "$@" --no-arena --cost=nvidia-h200
  [ "$(values failures | head -n 1)" -gt 0 ] || fail "a small device has room for all"
  grep -q '"recommended": null' "$out" || fail "recommends what fails: $(cat "$out")"

  # There is a pool beneath: it is recommended for itself, and no arena is tried on it.
  accepts two.csv --allocator=cuda-async --objective=memory --cost=nvidia-h200
  says 'recommended: no pool, without an arena'
  says "No arena was tried: the driver's own pool takes less memory without one."
  fits_80_columns
  [ "$(grep -cE '^[ *=] *([0-9]+|none) no ' "$out")" -eq 12 ] || fail "an arena: $(cat "$out")"
  unset CLPOOL_CUDA_LIBRARY
fi

# --- Nothing to tune

echo $header >empty.csv
refuses 1 'empty.csv: no allocation is recorded there, so there is nothing to tune' empty.csv
refuses 1 'empty.csv: no allocation is recorded there, so there is nothing to tune' empty.csv --json

# --- Names

hostile=$(printf 'a\033[31m\n\302\233\303\251.csv')
shown="a\\x1b[31m\\x0a\\xc2\\x9b$(printf '\303\251').csv"
cp two.csv "$hostile"
sed 's/^# device: .*/&'"$(printf '\033')"'/' "$top_srcdir/tools/costs/pocl-cpu.csv" >costs.csv
accepts "$hostile" --cost=./costs.csv --leading-bits=4
says "$shown on simulated"
! grep -q "$(printf '\033')" "$out" || fail "a control character: $(cat "$out")"
rm "$hostile"
refuses 2 "$shown: No such file or directory" "$hostile"

# --- The host's memory

# Sanitizers take memory of their own.
if [ "${clp_sanitized:-no}" = no ]; then
  awk -v header=$header 'BEGIN {
    print header
    for (i = 1; i <= 30000; i++)
      printf "1,00:00:00.000000,allocate,0x%x0,%d,0\n", i, i * 7919 % 1000003
  }' >live.csv
  set -- --leading-bits=0-6 --no-arena --cost=pocl-cpu --objective=memory --json
  accepts live.csv --memory=0 "$@"
  grep -v '_ns\|ns_per_operation\|reason' "$out" >all-at-once
  accepts live.csv --memory=16M "$@"
  grep -v '_ns\|ns_per_operation\|reason' "$out" | cmp -s - all-at-once ||
    fail "in groups, other figures: $(diff all-at-once "$out")"
  words='are not enough for all settings at once'
  run 1 live.csv --memory=800K "$@"
  grep -qE "^clpool tune: live\.csv:[0-9]+: 819200 bytes of host memory are not enough for a \
replay: allow more with --memory\$" "$err" || fail "one setting too large: said $(cat "$err")"
  # shellcheck disable=SC2002 # a pipe is no file
  if cat live.csv | "$clpool" tune - --memory=16M "$@" >"$out" 2>"$err"; then
    fail "a pipe has room"
  fi
  grep -qE "^clpool tune: standard input:[0-9]+: 16777216 bytes of host memory $words" "$err" ||
    fail "a pipe: said $(cat "$err")"
fi
refuses 2 '--memory: expected bytes, such as 1073741824, 512M or 1.5GiB, found "much"' \
  a --memory=much

# --- Code

# code TRACE COSTS ARGUMENT...: what tune prints with these goes to code.c, and compiles.
code() {
  trace=$1
  costs=$2
  shift 2
  accepts "$trace" --cost="$costs" "$@"
  {
    echo '#include <clpool/clpool.h>'
    echo 'void make(clp_allocator *allocator, size_t bytes);'
    echo 'void make(clp_allocator *allocator, size_t bytes) { (void)allocator; (void)bytes;'
    sed -n '/^In C:$/,/^In Python:$/{/^In /d;p;}' "$out"
    echo '}'
  } >code.c
  ${CC:-cc} -std=c11 -Wall -Werror -Wno-unused-but-set-variable \
    -I"$top_srcdir/include" -I"$top_builddir/include" -c code.c ||
    fail "the C does not compile: $(cat code.c)"
}

# has WORDS...: each is in that code.
has() {
  for words; do grep -qF "$words" code.c || fail "the code lacks $words: $(cat code.c)"; done
}

code "$resnet" pocl-cpu --arena --slack=0.05 --leading-bits=4 --objective=time
has 'arena_options.slack = 0.05;' '&arena_options, &arena'
has "NVIDIA's OpenCL buffers need one_thread = true" 'arena_options.one_thread = false;'
says "On CUDA's memory, take no arena"
says ', on an arena of slack 0.05'
code "$resnet" pocl-cpu --no-arena --leading-bits=4
has 'leading_bits_in_bin_id = 4;'
says 'CLPOOL_LEADING_BITS=4'
says 'clpool.MemoryPool(allocator,'
code "$resnet" pocl-cpu --no-pool --objective=memory --no-arena
has 'clp_allocator_allocate(allocator, bytes, &memory);'
grep -q CLPOOL_ "$out" && fail "the environment without a pool: $(cat "$out")"
code "$resnet" pocl-cpu --no-pool --objective=memory --arena
has 'clp_allocator_allocate(arena, bytes, &memory);' 'arena_options.slack = 0;'

# Where memory is an address, leading bits do not matter on an arena: they are not recommended.
code "$resnet" addresses.csv --arena --slack=0.05 --objective=memory
has 'clp_pool_create(arena, NULL, &pool);'
says 'recommended: a pool on an arena of slack 0.05'
says 'clpool.MemoryPool(clpool.ArenaAllocator(allocator, slack=0.05))'
says 'CLPOOL_ARENA=1 CLPOOL_ARENA_SLACK=0.05'
! grep -q CLPOOL_LEADING_BITS "$out" || fail "leading bits are recommended: $(cat "$out")"

# One block again and again: a pool with bins is quicker than an arena alone.
awk 'BEGIN {
  print "Thread,Time,Action,Pointer,Size,Stream"
  for (i = 0; i < 1000; i++)
    print "1,00:00:00.0,allocate,0x1000,5000,0\n1,00:00:00.0,free,0x1000,5000,0"
}' >again.csv
set -- --arena --slack=0.5 --leading-bits=2 --objective=time
code again.csv nvidia-h200 "$@"
has 'clp_arena_allocator_create(allocator, &arena_options, &arena);'
has 'options.leading_bits_in_bin_id = 2;' 'clp_pool_create(arena, &options, &pool);'
says 'clpool.MemoryPool(clpool.ArenaAllocator(allocator, slack=0.5),'
says '                  leading_bits_in_bin_id=2)'
says 'CLPOOL_LEADING_BITS=2 CLPOOL_ARENA=1 CLPOOL_ARENA_SLACK=0.5'
fits_80_columns
accepts again.csv --cost=nvidia-h200 "$@" --json
for words in '"code": "clp_arena_options ' '"environment": "CLPOOL_LEADING_BITS=2 CLPOOL_ARENA=1 ' \
  '"python": "clpool.MemoryPool(clpool.ArenaAllocator(allocator, slack=0.5),'; do
  grep -qF "$words" "$out" || fail "the JSON lacks $words: $(cat "$out")"
done

# What `clpool run` can do, for a trace of `clpool record`, whatever is recommended.
sed 's/$/,1/; 1s/,1$/,Context/' again.csv >recorded.csv
for arena in '' --arena; do
  accepts recorded.csv --leading-bits=2 --objective=memory $arena
  [ -n "$arena" ] || says 'clpool run --leading-bits=2 PROGRAM'
  [ -z "$arena" ] || ! grep -q 'clpool run' "$out" || fail "clpool run has no arena: $(cat "$out")"
done
accepts again.csv --leading-bits=2
! grep -q 'clpool run' "$out" || fail "it is not known whether that is OpenCL's: $(cat "$out")"

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
printf '#!/bin/sh\ncat >script\n' >gnuplot
path=$house_tmp/work:$PATH
run 1 two.csv --plot=plot.svg --cost=pocl-cpu
path=$PATH
grep -q 'gnuplot drew nothing' "$err" || fail "said $(cat "$err")"
[ ! -e plot.svg ] || fail "of a gnuplot that drew nothing there is a plot"
# Each curve and what is recommended has a line style of its own, in either panel.
for panel in '1:2 with ' '1:3 with '; do
  grep "using $panel" script | grep -o ' ls [0-9]*' | sort >styles
  [ "$(wc -l <styles)" -eq 11 ] || fail "not ten curves and a ring: $(cat styles)"
  [ -z "$(uniq -d styles)" ] || fail "a line style is there twice: $(cat styles)"
  while read -r _ number; do
    grep -q "^set style line $number " script || fail "there is no line style $number"
  done <styles
done
rm gnuplot
if command -v gnuplot >/dev/null; then
  for ending in png pdf; do
    accepts two.csv --plot=plot.$ending --cost=pocl-cpu
    [ -s plot.$ending ] || fail "plot.$ending is empty"
  done
  accepts two.csv --plot=plot.png --cost=addresses.csv --leading-bits=0-3
  [ -s plot.png ] || fail "plot.png is empty where memory is an address"
  says_in_plot() { grep -q "$1" plot.svg || fail "plot.svg lacks $1"; }
  accepts "$resnet" --plot=plot.svg --cost=pocl-cpu --objective=memory
  grep -q 'recommended: no pool' "$out" || fail "a pool is recommended: $(cat "$out")"
  says_in_plot 'on an arena, slack 0.5'
  grep -q '</svg>' plot.svg || fail "plot.svg is no whole picture"
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
  [ "$(cat "$err")" = \
    'clpool tune: cannot write to full.svg: No space left on device' ] ||
    fail "a full disk: said $(cat "$err")"
  code=0
  (
    trap '' XFSZ
    ulimit -f 4
    exec "$clpool" tune two.csv --plot=full-disk.svg --cost=pocl-cpu >/dev/null 2>"$err"
  ) || code=$?
  [ "$code" -eq 1 ] || fail "a full disk: exit code $code"
  [ "$(cat "$err")" = 'clpool tune: cannot write to full-disk.svg: File too large' ] ||
    fail "a full disk: said $(cat "$err")"
  [ ! -e full-disk.svg ] || fail "a full disk: there is half a plot"
  {
    echo $header
    echo 1,00:00:00.000000,allocate,0x0,0,0
  } >zero.csv
  run 1 zero.csv --plot=none.svg --cost=pocl-cpu
  grep -q 'nothing to plot: the trace asks for no memory' "$err" || fail "said $(cat "$err")"
  run 1 two.csv --limit=10 --plot=none.svg --cost=pocl-cpu
  grep -q 'nothing to plot: every pool runs out of memory' "$err" || fail "said $(cat "$err")"
  [ ! -e none.svg ] || fail "of nothing there is a plot"
fi
[ -z "$(find . -name '.clpool-*')" ] || fail "there is left $(find . -name '.clpool-*')"
