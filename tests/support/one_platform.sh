# SPDX-License-Identifier: MIT
# Makes CLPT_PLATFORM a name: loaders have orders of their own, and clpool may replace a program's.
# $clpool is the program.
# shellcheck shell=sh disable=SC2154
case ${CLPT_PLATFORM:=0} in
  *[!0-9]*) ;;
  *) CLPT_PLATFORM=$("$clpool" info 2>&1 | sed -n "s/^platform $CLPT_PLATFORM: //p") ;;
esac
export CLPT_PLATFORM
