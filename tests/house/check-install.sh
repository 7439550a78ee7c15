#!/bin/sh
# SPDX-License-Identifier: MIT
# What `make install` leaves behind serves other projects: a program that asks pkg-config, one whose
# configure uses clpool.m4, one of Meson's, one that CMake finds it for, wherever the installation
# was moved to, the code that README.md shows, and the examples, compiled as their README and the
# guide say. What the installed guides link is there. CMake's FetchContent builds the sources.
# shellcheck source=../support/house.sh
. "${top_srcdir:=$(cd "$(dirname "$0")/../.." && pwd)}/tests/support/house.sh"

for program in "${PKG_CONFIG:=pkg-config}" cmake meson aclocal autoconf; do
  command -v "$program" >/dev/null || skip "$program is missing"
done
log=$house_tmp/log
# try WHAT COMMAND...: it succeeds.
try() {
  what=$1
  shift
  "$@" >"$log" 2>&1 || { cat "$log"; fail "$what"; }
}

# The make that runs this check has its own targets, flags and jobs.
unset MAKEFLAGS MFLAGS MAKELEVEL
root=$house_tmp/root
try "make install" "${MAKE:=make}" -C "$top_builddir" install DESTDIR="$root"

libdir=$(cd "$(dirname "$(find "$root" -name clpool.pc)")/.." && pwd)
PKG_CONFIG_LIBDIR=$libdir/pkgconfig:$("$PKG_CONFIG" --variable=pc_path pkg-config)
PKG_CONFIG_SYSROOT_DIR=$root
LD_LIBRARY_PATH=$libdir${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
ACLOCAL_PATH=$(dirname "$(find "$root" -name clpool.m4)")
CFLAGS=${CLP_BUILD_FLAGS-}
export PKG_CONFIG PKG_CONFIG_LIBDIR PKG_CONFIG_SYSROOT_DIR LD_LIBRARY_PATH ACLOCAL_PATH CC CFLAGS
version=$("$PKG_CONFIG" --modversion clpool)
flags="-Wall -Wextra -Werror $CFLAGS"
cflags="$flags $("$PKG_CONFIG" --cflags clpool)"
project=$house_tmp/project
sources=$(cd "$top_srcdir" && pwd)
cp -R "$top_srcdir/tests/house/install" "$project"
chmod -R u+w "$project"
cd "$project"

# serves WHAT PROGRAM: a program of that project runs with this clpool.
serves() { [ "$("$2")" = "clpool $version" ] || fail "$1: the program does not run"; }

# shellcheck disable=SC2086,SC2046 # the compiler and its flags are lists of words
try pkg-config $CC $cflags -o consumer consumer.c $("$PKG_CONFIG" --libs clpool)
serves pkg-config ./consumer

sed -i "s/@VERSION@/$version/" configure.ac
try clpool.m4 sh -c "aclocal && autoconf && ./configure && rm consumer && '$MAKE'"
serves clpool.m4 ./consumer

try Meson sh -c 'meson setup of-meson && meson compile -C of-meson'
serves Meson of-meson/consumer

cp -R "$root" "$house_tmp/moved here"
for place in "$libdir" "$house_tmp/moved here${libdir#"$root"}"; do
  LD_LIBRARY_PATH=$place
  rm -rf of-cmake
  try CMake cmake -S . -B of-cmake -Dclpool_DIR="$place/cmake/clpool" -Dversion="$version"
  try CMake cmake --build of-cmake
  for consumer in of-cmake/consumer*; do serves "CMake, in $place" "$consumer"; done
done
for wrong in 999 0.1; do
  ! cmake -S . -B "not-$wrong" -Dclpool_DIR="$libdir/cmake/clpool" -Dversion=$wrong >"$log" 2>&1 ||
    fail "find_package found a clpool $wrong"
  grep -q compatible "$log" || broken "clpool $wrong is refused for another reason"
done

try FetchContent cmake -S . -B of-sources -Dsource="$sources"
try FetchContent cmake --build of-sources --parallel 2
serves FetchContent of-sources/consumer

# The C in README.md is a source file of a user's, whole but for main().
awk '/^```/ { on = /^```c$/; next } on' "$top_srcdir/README.md" >readme.c
[ -s readme.c ] || broken "README.md has no block of C"
if [ -e "$(find "$root" -name opencl.h)" ]; then
  # shellcheck disable=SC2086
  try "the code of README.md" $CC $cflags -DCL_TARGET_OPENCL_VERSION=300 -c -o readme.o readme.c
fi

# The commands of the examples' README, but for those of programs that were not built here, for want
# of OpenCL, CLBlast or a compiler of C++; and getting-started's.
docs=$(dirname "$(find "$root" -path '*/examples/README')")/..
cp -R "$docs/examples" "$house_tmp/examples"
chmod -R u+w "$house_tmp/examples"
cd "$house_tmp/examples"
{
  awk '/^    cc / { on = 1 } on { on = sub(/\\$/, ""); printf "%s%s", $0, on ? "" : "\n" }' README
  sed -n 's/^\$ \(cc -o first_pool .*\)/\1/p' "$docs/doc/getting-started.md"
} >commands
grep -q first_pool commands || broken "the guides do not say how to compile examples"
while read -r command; do
  program=${command#*-o }
  program=${program%% *}
  [ -e "$top_builddir/examples/$program" ] || continue
  with=$(echo "$command" | sed "s|^cc|$CC $flags|; s| c++ | ${HOUSE_CXX-} $flags |")
  try "the guides: $command" sh -c "$with"
done <commands
try tune_bins ./tune_bins
try arena ./arena

for guide in $(cd "$docs" && find . -name '*.md'); do
  links=$(sed 's/\](/\n](/g' "$docs/$guide" | sed -n 's/^\](\([^)#: ]*\)[#)].*/\1/p')
  for link in $links; do
    [ -e "$(dirname "$docs/$guide")/$link" ] || fail "$guide links $link, which is not installed"
  done
done
echo "other projects use clpool $version, and the examples compile"
