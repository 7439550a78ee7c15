#!/bin/sh
# SPDX-License-Identifier: MIT
# The line profile of tests/support/profiled.c, built in the ways in which programs are. The figures
# are the same always, and none of the library's frames ever shows.
# shellcheck source=../support/house.sh
. "${top_srcdir:=$(cd "$(dirname "$0")/../.." && pwd)}/tests/support/house.sh"
: "${clp_libdw:?yes or no: whether there are names}"
cd "$top_srcdir"
source=tests/support/profiled.c program=$house_tmp/profiled folder=$top_builddir/.libs
export LD_LIBRARY_PATH="$folder${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
shared="-L$folder -lclpool" inside=$folder/libclpool-internal.a
static="$inside -ldw -lelf -lz -lbz2 -llzma"

# A row: what is known of the frames, and flags.
cat >"$house_tmp/rows" <<END
lines -g -O0 $shared
lines -g -O2 -fno-pie -no-pie $shared
lines -g -O2 -flto $shared
lines -g -O2 -gsplit-dwarf $shared
names -g0 -O2 $shared
offsets -g0 -O2 -s $shared
lines -g -O2 -fno-pie -no-pie $inside ${LIBDW_LIBS-}
names -g0 -O2 $inside ${LIBDW_LIBS-}
offsets -g0 -O2 -s $inside ${LIBDW_LIBS-}
lines -g -O2 -static $static
lines -g -O2 -static-pie $static
names -g0 -O2 -static-pie $static
END
[ "$clp_libdw" = yes ] || sed -i '/-static/d; s/^[a-z]*/offsets/' "$house_tmp/rows"

# The marks of the source are its lines; a sanitizer has a frame of its own in each thread.
awk -v file="$source" 'match($0, /@[a-z0-9]+/) {
    printf "s|%s:|%s:%d:|g\n", substr($0, RSTART, RLENGTH), file, NR
}' "$source" >"$house_tmp/marks"
sed -f "$house_tmp/marks" >"$house_tmp/lines" <<'END'
@main:main;@axpy1:axpy;@temporary:temporary 1024
@main:main;@axpy2:axpy;@temporary:temporary 2048
@thread:run_thread;@axpy1:axpy;@temporary:temporary 1024
@thread:run_thread;@axpy2:axpy;@temporary:temporary 2048
END
alone=
[ "${clp_sanitized-}" != yes ] || { alone=alone; sed -i /thread/d "$house_tmp/lines"; }
sed "s|$source:[0-9]*|profiled+|g; s/;[^;]*temporary//" "$house_tmp/lines" >"$house_tmp/names"
sed 's/:[a-z_]*//g' "$house_tmp/names" >"$house_tmp/offsets"
while read -r known flags; do
  rm -f "$house_tmp"/*.gcda # what another program of the name counted
  # shellcheck disable=SC2086 # lists of words
  if $CC ${CLP_BUILD_FLAGS-} -pthread -Iinclude -I"$top_builddir/include" -o "$program" "$source" \
    $flags >"$house_tmp/out" 2>&1; then
    "$program" $alone >"$house_tmp/out" 2>&1 || fail "$flags: $(cat "$house_tmp/out")"
    sed 's/+0x[0-9a-f]*/+/g' "$house_tmp/out" | diff "$house_tmp/$known" - ||
      fail "$flags: not the profile that it must be"
  else
    case $flags in
    *-static* | *-flto* | *-gsplit-dwarf*) echo "not tried: $flags" ;;
    *) fail "$flags: $(cat "$house_tmp/out")" ;;
    esac
  fi
done <"$house_tmp/rows"
