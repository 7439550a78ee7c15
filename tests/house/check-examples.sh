#!/bin/sh
# SPDX-License-Identifier: MIT
# The examples run, and what they print is right as far as it is the same on every machine.
# shellcheck source=../support/house.sh
. "${top_srcdir:=$(cd "$(dirname "$0")/../.." && pwd)}/tests/support/house.sh"
set -eu

out=$house_tmp/out
skipped=

# run NAME [ARGUMENT...]: its output goes to $out. False where it has no device.
run() {
  name=$1
  shift
  code=0
  "$top_builddir/examples/$name" "$@" >"$out" 2>"$house_tmp/err" || code=$?
  [ "$code" != 77 ] || { skipped="$skipped $name"; return 1; }
  [ "$code" = 0 ] || { cat "$out" "$house_tmp/err"; fail "$name exited with $code"; }
  [ ! -s "$house_tmp/err" ] || { cat "$house_tmp/err"; fail "$name wrote to stderr"; }
}

# expect NAME PATTERN [COUNT]: so many lines of the output match, one unless told.
expect() {
  found=$(grep -cE -- "$2" "$out" || :)
  [ "$found" = "${3-1}" ] || { cat "$out"; fail "$1: $found lines, not ${3-1}, match: $2"; }
}

first_pool() {
  run first_pool || return 0
  expect first_pool '^allocations: +100$'
  expect first_pool '^device allocations: +1$'
}

pooled_buffers() {
  run pooled_buffers || return 0
  expect pooled_buffers '^allocations: +100$'
  expect pooled_buffers '^hits: +99$'
  expect pooled_buffers '^device allocations: +1$'
}

# Its block is that of both queues, too, where the pool can make one wait for the other.
pooled_buffers_cpp() {
  run pooled_buffers_cpp || return 0
  expect pooled_buffers_cpp '^allocations: +102$'
  expect pooled_buffers_cpp '^hits: +101$'
  expect pooled_buffers_cpp '^device allocations: +1$'
  expect pooled_buffers_cpp '^over the limit: +CLP_LIMIT_EXCEEDED$'
  expect pooled_buffers_cpp "^without exceptions: the pool's memory limit is exceeded\$"
}

# Every frame is as it was drawn, and blocks are used again. Only the memory of a plain cl_mem may
# come back late, with some drivers.
two_queues() {
  run two_queues || return 0
  frames=' +16 frames, blocks: +'
  ways='on one queue|from queue to queue|on both queues|bound'
  expect two_queues "^($ways)${frames}1, wrong words: 0\$" 4
  expect two_queues "^one frame ahead${frames}2, wrong words: 0\$"
  expect two_queues "^as plain cl_mem${frames}[0-9]+, wrong words: 0\$"
}

# A row: elements, KiB, four times with their ratios, the last of which is to itself.
array_expressions() {
  row='( +[0-9.]+ \( *[0-9.]+ x\)){3} +[0-9.]+ \( 1\.00 x\)$'
  run array_expressions --repeat=2 || return 0
  expect array_expressions "^ +(1024 +4|65536 +256|4194304 +16384)$row" 3
  expect array_expressions "^All results agree with the host's\.$"
  # For each of 3 sizes: 2 arguments, 3 temporaries up to the root, which is compared element by
  # element, and 5 of each of 3 sums, one compared and two timed. Of these, 4 of each size are alive
  # at once; the last two temporaries are of the same sizes always.
  expect array_expressions '^pool on (deferred|immediate): 60 arrays, 14 device allocations$' 2
  run array_expressions --elements=1001 --repeat=1
  expect array_expressions "^ +1001 +3$row"
  expect array_expressions "^All results agree with the host's\.$"
  refuse array_expressions --elements=0
  refuse array_expressions --repeat=many
}

# Small products need nothing of CLBlast's; in larger ones, what it needs is from the pool, too, so
# that it gets more than the two links of each of 3 chains.
clblast_chain() {
  times='( +[0-9]+ \([0-9. ]+ x\)){3} +[0-9.]+ +[0-9.]+$'
  run clblast_chain --rows=64 --repeat=2 || return 0
  expect clblast_chain "^ +64$times"
  expect clblast_chain "^All results agree with the host's\.$"
  expect clblast_chain '^all pooled: 24 buffers, [1-5] device allocations$'
  run clblast_chain --rows=1000 --links=2 --repeat=2
  expect clblast_chain "^ +1000$times"
  expect clblast_chain '^all pooled: ([7-9]|1[0-2]) buffers, [3-4] device allocations$'
  refuse clblast_chain --rows=0
  refuse clblast_chain --links=65
}

# shows_commands GUIDE VERBS: the guide shows what commands print here, in blocks that begin with
# "$ clpool VERB" or a loop, except for lines with a time or a device. The current directory has
# their files.
shows_commands() {
  awk -v verbs="$2" '
    /^```/ { inside = !inside; n += inside; next }
    !inside { next }
    /^[$] / && !(n in is_run) { is_run[n] = $0 ~ "^[$] (clpool (" verbs ")|for )" }
    !is_run[n] { next }
    /^[$>] / { print substr($0, 3) >("block-" n ".sh"); next }
    { print >("block-" n ".txt") }' "$1"
  for block in block-*.sh; do
    touch "${block%.sh}.txt"
    PATH=$clp_path sh "$block" >printed 2>&1 || fail "$1: $(cat "$block"): $(cat printed)"
    for file in printed "${block%.sh}.txt"; do
      grep -v -e ' time per ' -e '^Device: ' -e '^$' "$file" >"$file.left" || :
    done
    diff "${block%.sh}.txt.left" printed.left || fail "$1 shows something else: $(cat "$block")"
  done
}

# What it prints of the pool, and what commands make of its trace, is what the guide shows.
where_memory_goes() {
  guide=$top_srcdir/doc/where-memory-goes.md
  CLPOOL_TRACE=$house_tmp/stacks.csv CLPOOL_TRACE_STACKS=1
  export CLPOOL_TRACE CLPOOL_TRACE_STACKS
  code=0
  run where_memory_goes "$house_tmp/memory.csv" "$house_tmp/memory.folded" || code=$?
  unset CLPOOL_TRACE CLPOOL_TRACE_STACKS
  [ "$code" = 0 ] || return 0
  expect where_memory_goes '^_root \(81\.82MB, 20\.45MB\)$'
  expect where_memory_goes '^_root \(3\.12MB\)$'
  expect where_memory_goes '^peak managed +21446883 bytes$'
  begin=allocations # a tree that is built with -g, and in place, has the guide's lines of source
  ! grep -q '^  examples/where_memory_goes\.c:145:main' "$out" || begin=_root
  sed -n "/^$begin/,\$p" "$out" >"$house_tmp/shown"
  ! grep -vxF -f "$guide" "$house_tmp/shown" || fail "$guide does not show these lines"
  if [ "${clp_tool-yes}" = yes ]; then
    clp_path=$(cd "$top_builddir" && pwd)/tools:$PATH
    (cd "$house_tmp" && shows_commands "$guide" 'replay|report|tune')
  fi
  bytes=$(awk '{ sum += $NF } END { printf "%.2f", sum / 1048576 }' "$house_tmp/memory.folded")
  [ "$bytes" = 81.82 ] || fail "where_memory_goes: the folded stacks sum up to $bytes MB"
  refuse where_memory_goes "$house_tmp/memory.csv"
}

# Under the layers, too, whose library is named here since they are not installed.
without_pools() {
  run without_pools || return 0
  expect without_pools '^1000 steps, 2000 buffers, 0 wrong words$'
  libs=$(cd "$top_builddir" && pwd)/.libs
  if [ "${clp_tool-yes}" != yes ] || [ ! -e "$libs/libclpool-layer.so" ]; then return 0; fi
  ln -s "$libs/../examples/without_pools" "$house_tmp/without_pools"
  mkdir "$house_tmp/bin"
  cat >"$house_tmp/bin/clpool" <<EOF
#!/bin/sh
layer=layer
[ "\$1" != record ] || layer=record
CLPOOL_LAYER_LIBRARY=$libs/libclpool-\$layer.so exec "$libs/../tools/clpool" "\$@"
EOF
  chmod +x "$house_tmp/bin/clpool"
  clp_path=$house_tmp/bin:$PATH
  rm -f "$house_tmp"/block-*
  (cd "$house_tmp" && shows_commands "$top_srcdir/doc/any-program.md" 'run|record|tune|report')
}

# refuse NAME ARGUMENT: it says what is wrong, and exits with 2.
refuse() {
  code=0
  "$top_builddir/examples/$1" "$2" >"$out" 2>"$house_tmp/err" || code=$?
  [ "$code" = 2 ] || fail "$1 $2 exited with $code, not 2"
  [ -s "$house_tmp/err" ] || fail "$1 $2 does not say what is wrong"
}

# A row for each number of bits, padding falls from row to row, and is little at the end.
tune_bins() {
  run tune_bins
  expect tune_bins '^ +[0-8] +[0-9.]+ % +[0-9]+ +[0-9.]+ % +[0-9.]+ MiB +[0-9.]+ MiB +[0-9.]+$' 9
  awk '/^ +[0-8] / {
      if ($1 > 0 && ($5 >= padding || $4 < device || $9 != active)) wrong = 1
      device = $4; padding = $5; active = $9
    }
    END { exit wrong || padding > 1 }' "$out" || {
    cat "$out"
    fail 'tune_bins: padding must fall, device allocations grow, active bytes stay the same'
  }
}

# All that it prints is what the guide shows.
arena() {
  guide=$top_srcdir/doc/arena.md
  run arena
  expect arena '^on (the device|an arena) +156\.1 MiB ' 2
  ! grep -vxF -f "$guide" "$out" || fail "$guide does not show these lines"
}

# on_each_driver NAME CHECK: on the fake driver, where tests were built, and on the machine's own.
# Skipped where there is neither.
on_each_driver() {
  fake=$top_builddir/tests/fakecuda/.libs/libfakecuda.so
  skipped_before=$skipped
  has_run=
  for CLPOOL_CUDA_LIBRARY in "$fake" ''; do
    export CLPOOL_CUDA_LIBRARY
    [ "$CLPOOL_CUDA_LIBRARY" != "$fake" ] || [ -e "$fake" ] || continue
    run "$1" || continue
    has_run=yes
    "$2"
  done
  [ -z "$has_run" ] || skipped=$skipped_before
}

# Every frame is as it was drawn. One block does for the archive, and one for all frames.
cuda_async() { on_each_driver cuda_async film; }
film() {
  expect cuda_async '^frames: +64$'
  expect cuda_async '^wrong bytes: +0$'
  expect cuda_async '^device allocations: +2$'
}

cuda_share() { on_each_driver cuda_share share; }
share() {
  expect cuda_share '^the second process found what the first wrote$'
  expect cuda_share '^the first process found what the second wrote$'
}

# How an example is called: it tells when it is asked, and refuses what it does not know.
usage() {
  run "$1" --help
  expect "$1" "^usage: $1( |\$)"
  refuse "$1" --no-such-option
  refuse "$1" junk
}

: "${clp_examples:?the list of the examples that were built}"
for example in $clp_examples; do
  case ${example##*/} in
    first_pool | without_pools) ;; # have no options
    *) usage "${example##*/}" ;;
  esac
  ${example##*/}
done
[ -z "$skipped" ] || skip "no device for$skipped"
