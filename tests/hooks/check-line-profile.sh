#!/bin/sh
# SPDX-License-Identifier: MIT
# The line profile of tests/support/profiled.c, built in the ways in which programs are. The figures
# are the same always, and none of the library's frames ever shows.
# shellcheck source=../support/house.sh
. "${top_srcdir:=$(cd "$(dirname "$0")/../.." && pwd)}/tests/support/house.sh"
set -eu
: "${clp_libdw:?yes or no: whether there are names}"
cd "$top_srcdir"
source=tests/support/profiled.c program=$house_tmp/profiled folder=$top_builddir/.libs
LD_LIBRARY_PATH=$folder${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH

# A row: what is known of the frames, how the library is linked, flags.
cat >"$house_tmp/rows" <<'END'
lines shared -g -O0
lines shared -g -O2
lines shared -g -O2 -fno-pie -no-pie
lines shared -g -O2 -flto
lines shared -g -O2 -gsplit-dwarf
names shared -g0 -O2
offsets shared -g0 -O2 -s
lines inside -g -O2 -fno-pie -no-pie
names inside -g0 -O2
offsets inside -g0 -O2 -s
lines static -g -O2 -static
lines static -g -O2 -static-pie
names static -g0 -O2 -static-pie
END

# The marks of the source are its lines; a sanitizer has a frame of its own in each thread.
awk -v file="$source" 'match($0, /@[a-z0-9]+/) {
    printf "s|%s:|%s:%d:|g\n", substr($0, RSTART, RLENGTH), file, NR
}' "$source" >"$house_tmp/marks"
cat >"$house_tmp/stacks" <<'END'
@main:main;@axpy1:axpy;@temporary:temporary 1024
@main:main;@axpy2:axpy;@temporary:temporary 2048
@thread:run_thread;@axpy1:axpy;@temporary:temporary 1024
@thread:run_thread;@axpy2:axpy;@temporary:temporary 2048
END
alone=
[ "${clp_sanitized-}" != yes ] || { alone=alone; sed -i /thread/d "$house_tmp/stacks"; }
checks=0
while read -r known library flags; do
  case $library in
  shared) libraries="-L$folder -lclpool" ;;
  inside) libraries="$folder/libclpool-internal.a ${LIBDW_LIBS-}" ;;
  static) libraries="$folder/libclpool-internal.a -ldw -lelf -lz -lbz2 -llzma" ;;
  esac
  rm -f "$house_tmp"/*.gcda # what another program of the name counted
  # shellcheck disable=SC2086 # lists of words
  if [ "$library$clp_libdw" = staticno ] || ! $CC ${CLP_BUILD_FLAGS-} -pthread -Iinclude \
    -I"$top_builddir/include" -o "$program" "$source" $flags $libraries >"$house_tmp/out" 2>&1; then
    case $flags in
    *-static* | *-flto | *-gsplit-dwarf) echo "not tried: $flags" ;;
    *) fail "$flags: $(cat "$house_tmp/out")" ;;
    esac
    continue
  fi
  [ "$clp_libdw" = yes ] || known=offsets
  edit=''
  case $known in
  names) edit='s/@[a-z0-9]*:/profiled+:/g; s/;[^;]*temporary//' ;;
  offsets) edit='s/@[a-z0-9]*:[a-z_]*/profiled+/g; s/;[^;]*\( [0-9]*\)$/\1/' ;;
  esac
  sed -e "$edit" -f "$house_tmp/marks" "$house_tmp/stacks" >"$house_tmp/expected"
  "$program" $alone >"$house_tmp/out" 2>&1 || fail "$flags: $(cat "$house_tmp/out")"
  sed 's/+0x[0-9a-f]*/+/g' "$house_tmp/out" | diff "$house_tmp/expected" - ||
    fail "$library $flags: not the profile that it must be"
  checks=$((checks + 1))
done <"$house_tmp/rows"
echo "$checks profiles, each as it must be"
