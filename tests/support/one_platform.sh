# SPDX-License-Identifier: MIT
# Makes CLPT_PLATFORM a name: loaders have orders of their own, and clpool may replace a program's.
# $clpool is the program.
# shellcheck shell=sh disable=SC2154
case ${CLPT_PLATFORM:=0} in
  *[!0-9]*) ;;
  *) CLPT_PLATFORM=$("$clpool" info 2>&1 | sed -n "s/^platform $CLPT_PLATFORM: //p") ;;
esac
export CLPT_PLATFORM

# own_loader_has_layers PROGRAM: not the loader that clpool gives it.
own_loader_has_layers() {
  ldd "$1" | awk '/libOpenCL/ { print $3 }' | xargs grep -q OPENCL_LAYERS
}
