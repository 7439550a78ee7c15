#!/bin/sh
# SPDX-License-Identifier: MIT
# Stands in for libtool where automake links a test: runs the linker that libtool would run, without
# the 0.4 processor seconds that libtool takes to find out which.
#
#   link.sh [LIBTOOL-OPTION]... --mode=link COMPILER ARGUMENT...
while [ $# -gt 0 ] && [ "$1" != --mode=link ]; do
  shift
done
[ $# -gt 1 ] || { echo "usage: link.sh [OPTION]... --mode=link COMPILER ARGUMENT..." >&2; exit 2; }
shift
exec "$@"
