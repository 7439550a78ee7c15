#!/bin/sh
# SPDX-License-Identifier: MIT
# The one table of allocators (tools/allocators.c): each name that clpool info tells is taken by
# --allocator, and is in the help, the completion and the man pages of what has that option. A name
# that is not in this build, or has no device on this machine, is refused with that reason.
# shellcheck source=../support/house.sh
. "${top_srcdir:=$(cd "$(dirname "$0")/../.." && pwd)}/tests/support/house.sh"
set -eu

PATH=$(cd "$top_builddir" && pwd)/tools:$PATH
[ "$(command -v clpool)" = "${PATH%%:*}/clpool" ] || broken "tools/clpool is missing"
fake_cuda=$top_builddir/tests/fakecuda/.libs/libfakecuda.so
if [ -e "$fake_cuda" ]; then CLPOOL_CUDA_LIBRARY=$fake_cuda; export CLPOOL_CUDA_LIBRARY; fi
no_device='missing: this clpool was built without OpenCL$|there is no (OpenCL|CUDA) (driver|device)'
no_device="$no_device|has no shared virtual memory"
printf '%s\n' Thread,Time,Action,Pointer,Size,Stream 1,00:00:00.000000,allocate,0x10,5000,0 \
  1,00:00:00.000001,free,0x10,5000,0 >"$house_tmp/trace.csv"

# names WHERE: an allocator's name is a word of standard input.
names() {
  sed 's/\\-/-/g' | grep -qE "(^|[^a-z-])$name([^a-z-]|\$)" || fail "$1: $name is missing"
}

# takes REASON COMMAND...: succeeds, or says that reason in one line.
takes() {
  reason=$1
  shift
  if clpool "$@" >"$house_tmp/out" 2>"$house_tmp/err"; then return 0; fi
  [ "$(wc -l <"$house_tmp/err")" -eq 1 ] || fail "clpool $*: said $(cat "$house_tmp/err")"
  grep -qE "$reason" "$house_tmp/err" || fail "clpool $*: said $(cat "$house_tmp/err")"
}

# What bash completes of "clpool COMMAND --allocator=".
completed() {
  # shellcheck disable=SC2016,SC2154 # bash expands them
  bash --norc -c '. "$1"; COMP_WORDS=(clpool "$2" --allocator=) COMP_CWORD=2; _clpool
    printf "%s\n" "${COMPREPLY[@]}"' - "$top_srcdir/tools/clpool.bash" "$1"
}

clpool info >"$house_tmp/info" || fail "clpool info fails"
if grep -n '(null)' "$house_tmp/info"; then fail "clpool info tells of nothing"; fi
sed -n '/^allocators:/,/^$/s/^  \([^ ]*\) *.*/\1/p' "$house_tmp/info" >"$house_tmp/names"
[ "$(wc -l <"$house_tmp/names")" -gt 1 ] || broken "clpool info names no allocators"
while read -r name; do
  grep -qE "^  $name +[a-zA-Z]" "$house_tmp/info" || fail "clpool info: $name is what?"
  takes "$no_device" replay "$house_tmp/trace.csv" --allocator="$name"
  takes "there are no costs of $name in it" tune "$house_tmp/trace.csv" --allocator="$name"
  commands='replay tune bench'
  if [ "$name" = simulated ]; then
    commands=replay # it is no memory that costs anything
  else # its name is looked at before the file, and the file before anything is measured
    takes 'cannot write to' bench --allocator="$name" -o "$house_tmp/no/such/folder"
  fi
  for command in $commands; do
    clpool "$command" --help | names "clpool $command --help"
    names "clpool-$command.1" <"$top_srcdir/doc/clpool-$command.1"
    ! command -v bash >/dev/null || completed "$command" | names "the completion of $command"
  done
done <"$house_tmp/names"
for command in 'replay trace.csv' 'tune trace.csv' bench; do
  # shellcheck disable=SC2086 # words
  ! clpool $command --allocator=none-such >"$house_tmp/out" 2>"$house_tmp/err" ||
    fail "clpool $command takes any name"
  grep -q 'there is no allocator "none-such"' "$house_tmp/err" ||
    fail "clpool $command: said $(cat "$house_tmp/err")"
done

echo "$(wc -l <"$house_tmp/names") allocators"
