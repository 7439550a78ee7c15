#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds the package with libclpool's sources, in the current build folder, installs it in a virtual
# environment there, with PyOpenCL and libraries on it from the package registry, and runs a program
# of Python's in it: check.sh SOURCES ARGUMENT...
set -eu

sources=$1
shift
build=$PWD
: "${PYTHON:=python3}"

[ -x python-venv/bin/python ] || "$PYTHON" -m venv python-venv
python=$build/python-venv/bin/python
"$python" -m pip install --quiet "setuptools>=77" numpy mako mypy "pyright[nodejs]" \
  pytest pyopencl loopy arraycontext hypothesis

# A copy, since the sources may be read-only, and a build leaves files beside them.
rm -rf python-sources
cp -RL "$sources/python" python-sources
mkdir python-sources/lib python-sources/include
cp -R "$sources/lib/." python-sources/lib
cp -R "$sources/include/." python-sources/include
chmod -R u+w python-sources
PKG_CONFIG=false \
  "$python" -m pip install --quiet --no-build-isolation --no-deps --force-reinstall ./python-sources

export CLPOOL_TREE="$sources"
export CLPOOL_FAKE_CUDA="$build/tests/fakecuda/.libs/libfakecuda.so"
: "${POCL_CACHE_DIR:=$build/pocl-cache}"
export POCL_CACHE_DIR
mkdir -p "$POCL_CACHE_DIR"
. "$sources/tests/support/no_sysfs.sh"
[ ! -x tools/clpool ] || export CLPOOL_PROGRAM="$build/tools/clpool"
# Away from the sources, so that what is imported is what was installed.
rm -rf python-sources/clpool
cd python-sources
"$python" "$@"
