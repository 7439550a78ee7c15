# SPDX-License-Identifier: MIT
# What the house checks share; sourced, not run. Through `make check` the variables below come from
# the Makefile; by hand, `top_builddir=/where/you/built tests/check-x.sh` does.
# shellcheck shell=sh

set -eu
: "${top_builddir:=$top_srcdir}"
: "${CC:=cc}"

# Automake's exit statuses: 1 failed, 77 skipped, 99 the check itself is broken.
fail() { echo "${0##*/}: $*" >&2; exit 1; }
skip() { echo "${0##*/}: skipped: $*" >&2; exit 77; }
broken() { echo "${0##*/}: cannot check: $*" >&2; exit 99; }

# An empty folder that is gone at the end.
house_tmp=$(mktemp -d)
trap 'rm -rf "$house_tmp"' EXIT
trap 'exit 99' HUP INT TERM

# The tree's files with these endings, one a line, as paths from its top: list_files c h ...
list_files() {
  for ending in "$@"; do
    (cd "$top_srcdir" && find include lib layer tools python examples bench tests \
      -path python/build -prune -o -name "*.$ending" -type f -print)
  done | sort
}
