#!/bin/sh
# SPDX-License-Identifier: MIT
# clpool run and record on a program whose OpenCL loader has no layers: it gets one that has,
# however it asks for it. Drivers that are named as a loader, loaders with layers and other auditors
# stay. Where no layer began, one line says why.
command=run layer=layer
# shellcheck source=layer.sh
. "${top_srcdir:=$(cd "$(dirname "$0")/../.." && pwd)}/tests/layer/layer.sh"
auditor=$builddir/.libs/libclpool-audit.so
export TMPDIR="$house_tmp/tmp"
[ -e "$auditor" ] || skip "this C library has no auditors"

# compile FILE FLAG...: a program or library of the C on standard input.
compile() {
  # shellcheck disable=SC2086 # the compiler is a list of words
  $CC -o "$@" -x c - -ldl 2>err || broken "$1: $(cat err)"
}

# A loader of old, which tells of 77 platforms; with no name of its drivers' directory, a driver.
mkdir old driver new tmp
for kind in old driver; do
  compile "$kind/libOpenCL.so.1" -shared -fPIC -D$kind <<'END'
#ifdef old
const char clpt_drivers[] = "/etc/OpenCL/vendors";
#endif
int clGetPlatformIDs(unsigned room, void **platforms, unsigned *count)
{
  *count = 77;
  return 0;
}
END
  ln -s libOpenCL.so.1 "$kind/libOpenCL.so"
done

# Prints how many platforms a loader tells of, which file it is, and what the children get.
# shellcheck disable=SC2086 # a list of words
compile opens ${CLP_BUILD_FLAGS-} <<'END'
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int count, char **names)
{
  unsigned platforms = 0;
  void *loader = count > 1 ? dlopen(names[1], RTLD_NOW) : NULL;
  void *ask = loader ? dlsym(loader, "clGetPlatformIDs") : NULL;
  if (!ask)
    return 4;
  (*(int (**)(unsigned, void **, unsigned *))&ask)(0, NULL, &platforms);
  char line[8192], *path = NULL;
  FILE *maps = fopen("/proc/self/maps", "r");
  while (maps && !path && fgets(line, sizeof(line), maps))
    path = strstr(line, "/libOpenCL") ? strchr(line, '/') : NULL;
  printf("%s %s", platforms == 77 ? "old" : "new", path ? path : "no file\n");
  const char *auditors = getenv("LD_AUDIT"), *unused = getenv("CLPOOL_LAYER_UNUSED");
  if (auditors || unused)
    fprintf(stderr, "%s%s\n", auditors ? auditors : "", unused ? unused : "");
  return 5;
}
END

# is WHICH FILE: the loader that was opened.
is() { [ "$(cat out)" = "$1 $2" ] || fail "printed \"$(cat out)\", not \"$1 $2\": $(cat all)"; }

# opens LOADER WHICH FILE [LAST LINE]: with the variables $with, it is that one, and says so.
opens() {
  clpool 5 run ./opens "$1"
  is "$2" "$3"
  [ $# -lt 4 ] || [ "$(tail -n 1 err)" = "clpool run: ./opens $4" ] || fail "$1 said: $(cat err)"
  with=
}

clpool 5 run ./opens libOpenCL.so.1
loader=$(sed -n 's/^new //p' out)
[ -e "$loader" ] || broken "this machine's loader is not found: $(cat out)"
cp "$loader" new/libOpenCL.so.1
cp "$CLPOOL_LAYER_LIBRARY" "$auditor" new

# --- Loaders without layers

# first FOLDER: how a program finds the loader there before others.
first() { echo "LD_LIBRARY_PATH=$house_tmp/$1${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"; }
env "$(first old)" ./opens libOpenCL.so.1 >out || :
is old "$house_tmp/old/libOpenCL.so.1"
for name in libOpenCL.so.1 libOpenCL.so "$house_tmp/old/libOpenCL.so.1" old/libOpenCL.so; do
  clpool 5 run env "$(first old)" ./opens "$name"
  is new "$loader"
  says ''
done
clpool 0 run --report env "$(first old)" "$program" leaves
[ "$(head -n 1 err)" = \
  'clpool run: buffers: 0 from held memory, 1 from new memory, 0 not pooled' ] || fail "$(cat err)"

# The loader that the user names, from any directory, or the one beside the layer.
with=CLPOOL_LOADER=new/libOpenCL.so.1
clpool 5 run sh -c 'cd old && ../opens ./libOpenCL.so'
is new "$house_tmp/new/libOpenCL.so.1"
with=CLPOOL_LAYER_LIBRARY=new/libclpool-layer.so
opens old/libOpenCL.so new "$house_tmp/new/libOpenCL.so.1"

# --- What stays

refused='did not use OpenCL, or its loader cannot be replaced: nothing was pooled'
opens driver/libOpenCL.so old "$house_tmp/driver/libOpenCL.so.1" "$refused"
with=CLPOOL_LOADER=
opens old/libOpenCL.so old "$house_tmp/old/libOpenCL.so.1" "$refused"
with=CLPOOL_LOADER=old/libOpenCL.so.1
opens old/libOpenCL.so old "$house_tmp/old/libOpenCL.so.1" \
  "$refused. $house_tmp/old/libOpenCL.so.1 has no layers: install ocl-icd-libopencl1 (2.3 or later)"
clpool 5 run env "$(first new)" ./opens libOpenCL.so.1
is new "$house_tmp/new/libOpenCL.so.1"
# Larger than loaders are.
truncate -s 1T old/libOpenCL-huge.so 2>/dev/null || : >old/libOpenCL-huge.so
clpool 4 run ./opens old/libOpenCL-huge.so

# Another auditor sees the program, and its children.
compile other.so -shared -fPIC <<'END'
#include <fcntl.h>
unsigned la_version(unsigned version)
{
  return creat("seen", 0666) < 0 ? 0 : version;
}
END
with=LD_AUDIT=$house_tmp/other.so
opens old/libOpenCL.so new "$loader"
says "$house_tmp/other.so"
[ -e seen ] || fail "the other auditor is gone"
rmdir tmp || fail "files are left"
