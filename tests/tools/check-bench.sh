#!/bin/sh
# SPDX-License-Identifier: MIT
# clpool bench: its options and errors, the cost file, tables and JSON, on the host, on the OpenCL
# device and on the stand-in for CUDA's driver. What takes how long is nobody's business here.
# shellcheck source=../support/house.sh
. "${top_srcdir:=$(cd "$(dirname "$0")/../.." && pwd)}/tests/support/house.sh"
set -eu

command=bench
# shellcheck source=../support/command.sh
. "$top_srcdir/tests/support/command.sh"
fake_cuda=$top_builddir/tests/fakecuda/.libs/libfakecuda.so
header=Allocator,Operation,Bytes,Nanoseconds

# cost_file FILE ALLOCATOR SIZES OPERATION...: has each operation of the allocator and no other one,
# with a number for each of that many sizes, or one alone for what takes as long for any size.
cost_file() {
  file=$1
  allocator=$2
  sizes=$3
  shift 3
  grep -v '^#' "$file" | awk -F, -v header=$header -v allocator="$allocator" -v sizes="$sizes" \
    -v operations="$*" '
    NR == 1 && $0 != header { print "the header is " $0; exit 1 }
    NR == 1 { next }
    NF != 4 || $3 !~ /^[1-9][0-9]*$/ || $4 !~ /^[0-9]+([.][0-9]+)?$/ { print "row " $0; exit 1 }
    $1 == allocator { found[$2]++; all++ }
    END {
      count = split(operations, names, " ")
      for (i = 1; i <= count; i++) {
        wanted = names[i] ~ /pair$|^sub-buffer$/ ? 1 : sizes
        total += wanted
        if (found[names[i]] != wanted) { print found[names[i]] + 0 " times " names[i]; exit 1 }
      }
      if (all != total) { print all + 0 " figures"; exit 1 }
    }' || fail "$file is not what was to be measured of $allocator: $(cat "$file")"
}

# tune_reads SOURCE ALLOCATOR: clpool tune takes the costs.
tune_reads() {
  printf '%s\n' Thread,Time,Action,Pointer,Size,Stream \
    1,00:00:00.000000,allocate,0x10,5000,0 >"$house_tmp/trace.csv"
  "$clpool" tune "$house_tmp/trace.csv" --cost="$1" --allocator="$2" >"$out" 2>"$err" ||
    fail "clpool tune does not take $1: $(cat "$err")"
  grep -q "^costs: $2, $1" "$out" || fail "clpool tune took no costs from $1: $(cat "$out")"
}

# --- Arguments

refuses 2 'there is no option "--play" (see clpool bench --help)' --play
refuses 2 'there is no argument "x" (see clpool bench --help)' x
refuses 2 '--output needs a value (see clpool bench --help)' --output
refuses 2 'there is no allocator "malloc" (see clpool info)' --allocator=malloc
refuses 2 'the simulated allocator has no device, so nothing can be measured on it' \
  --allocator=simulated
refuses 2 '--device: expected a device of OpenCL, such as 0.0, or of CUDA, such as 0, found "x"' \
  --device=x
refuses 2 'one CUDA device at a time, but there is "1", too' --device=0 --device=1
words='--device=0 is of CUDA: it needs an --allocator of CUDA (see clpool info)'
refuses 2 "$words" --device=0
refuses 2 "$words" --device=0 --allocator=host
refuses 2 'only one output can have standard output' -o - --json
refuses 1 'cannot write to no/such/costs.csv: No such file or directory' -o no/such/costs.csv
refuses 1 'cannot write to .: Is a directory' -o .
if [ -w /dev/full ]; then
  refuses 1 'cannot write to /dev/full: No space left on device' -o /dev/full --allocator=host
fi
accepts --help
says 'Usage: clpool bench'
[ "$(ls -A)" = '' ] || fail "files are left: $(ls -A)"

# --- The host

accepts --allocator=host -o costs.csv
for title in 'size ' 'allocate' 'fill-fresh' 'fill-reused' 'free' 'pool-pair' 'arena-pair'; do
  says "$title"
done
says '        size    256 bytes     4.00 KiB     1.00 MiB     4.00 MiB    64.00 MiB'
cost_file costs.csv host 5 allocate free fill-fresh fill-reused pool-pair arena-pair
! grep -q '^# device' costs.csv || fail "the host is a device: $(cat costs.csv)"
tune_reads costs.csv host
accepts --allocator=host --allocator=host -o -
cost_file "$out" host 5 allocate free fill-fresh fill-reused pool-pair arena-pair
accepts --allocator=host --json --output=costs.csv
valid_json
says '"bytes": 67108864'
says '"sub_buffer_ns": null'
cost_file costs.csv host 5 allocate free fill-fresh fill-reused pool-pair arena-pair
[ "$(ls -A)" = costs.csv ] || fail "files are left: $(ls -A)"

# The program's pools are not those that the limit is for.
CLPOOL_MEMORY_LIMIT=1K
export CLPOOL_MEMORY_LIMIT
accepts --allocator=host
unset CLPOOL_MEMORY_LIMIT

# Memory that runs out: the file that was there stays.
if [ "${clp_sanitized:-no}" = no ]; then
  cp costs.csv before.csv
  (
    # shellcheck disable=SC3045 # dash and bash have it
    ulimit -v 100000
    run 1 --allocator=host -o costs.csv
  )
  [ "$(wc -l <"$err")" -eq 1 ] || fail "out of memory: said $(cat "$err")"
  grep -q '^clpool bench: .* 67108864 bytes' "$err" || fail "said $(cat "$err")"
  cmp -s costs.csv before.csv || fail "a failed measurement is in the file"
  rm before.csv
fi
[ "$(ls -A)" = costs.csv ] || fail "files are left: $(ls -A)"

# --- OpenCL

"$clpool" info --json >"$house_tmp/info"
if grep -q '"opencl": false' "$house_tmp/info"; then
  refuses 2 'the allocator cl-deferred is missing: this clpool was built without OpenCL' \
    --device=0.0
  run 0
  says 'host:'
else
  words='it needs an --allocator of OpenCL (see clpool info)'
  refuses 2 "--device=0.0 is of OpenCL: $words" --device=0.0 --allocator=host
  refuses 2 'one OpenCL device at a time, but there is "1.0", too' --device=0.0 --device=1.0
  # The loader finds drivers in this folder, and there are none.
  (
    mkdir "$house_tmp/vendors"
    OCL_ICD_VENDORS=$house_tmp/vendors/
    export OCL_ICD_VENDORS
    "$clpool" info >"$house_tmp/none"
    grep -q '^OpenCL: none: there is no OpenCL driver' "$house_tmp/none" || exit 0
    run 0
    says 'host:'
    grep -q '^clpool bench: remark: there is no OpenCL driver on this machine, ' "$err" ||
      fail "said $(cat "$err")"
    refuses 1 'there is no OpenCL driver on this machine' --device=0.0
  )
fi
if grep -q '"driver":' "$house_tmp/info"; then
  refuses 2 'there is no OpenCL device "99.0" (see clpool info)' --device=99.0 \
    --allocator=cl-immediate
  run 0 -o costs.csv
  [ "$(wc -l <"$err")" -le 1 ] || fail "said $(cat "$err")"
  cost_file costs.csv host 5 allocate free fill-fresh fill-reused pool-pair arena-pair
  for allocator in cl-deferred cl-immediate; do
    cost_file costs.csv $allocator 5 allocate free fill-fresh fill-reused sub-buffer pool-pair \
      arena-pair
  done
  if grep -q '"coarse-grain buffer"' "$house_tmp/info"; then
    cost_file costs.csv cl-svm 5 allocate free fill-fresh fill-reused pool-pair arena-pair
  fi
  tune_reads costs.csv cl-immediate
  grep -q '^# device: ' costs.csv || fail "the device has no name: $(cat costs.csv)"
  accepts --json --allocator=cl-immediate --device=0.0
  valid_json
  ! grep -q 'null' "$out" || fail "something was not measured: $(cat "$out")"
fi

# --- CUDA

CLPOOL_CUDA_LIBRARY=/no/such/driver.so
export CLPOOL_CUDA_LIBRARY
run 1 --allocator=cuda-async
grep -q '^clpool bench: there is no CUDA driver: /no/such/driver.so: ' "$err" ||
  fail "said $(cat "$err")"
CLPOOL_CUDA_LIBRARY=$fake_cuda
if [ -e "$CLPOOL_CUDA_LIBRARY" ]; then
  accepts --allocator=cuda-async --allocator=host --device=1 -o costs.csv
  cost_file costs.csv cuda-async 5 allocate free pool-pair arena-pair
  cost_file costs.csv host 5 allocate free fill-fresh fill-reused pool-pair arena-pair
  tune_reads costs.csv cuda-async
  refuses 2 'there is no CUDA device "2" (see clpool info)' --allocator=cuda-async --device=2
fi
unset CLPOOL_CUDA_LIBRARY

# --- The files that come with the program

names=
for file in "$top_srcdir"/tools/costs/*.csv; do
  grep -v '^#' "$file" | sed -n '2,$s/,.*//p' | sort -u | while read -r allocator; do
    operations=$(sed -n "s/^$allocator,\\([a-z-]*\\),.*/\\1/p" "$file" | sort -u)
    sizes=$(grep -c "^$allocator,allocate," "$file")
    # shellcheck disable=SC2086 # a list
    cost_file "$file" "$allocator" "$sizes" $operations
  done
  name=$(basename "$file" .csv)
  names="$names$name, "
  "$clpool" tune "$house_tmp/trace.csv" --cost="$name" >"$out" || fail "$name is not known"
  grep -q "^costs: .*, $name " "$out" || fail "no costs of $name: $(cat "$out")"
done
code=0
"$clpool" tune "$house_tmp/trace.csv" --cost=no-such-machine 2>"$err" || code=$?
[ "$code" -eq 2 ] || fail "an unknown machine: exit code $code"
for name in $names; do
  grep -q "expected .*${name%,}, .*found \"no-such-machine\"" "$err" || fail "said $(cat "$err")"
done
