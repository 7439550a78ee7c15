#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds the package against the library of a build folder, the current one, installs it in a
# virtual environment there, with PyOpenCL and libraries on it from the package registry, and runs a
# program of Python's in it: check.sh SOURCES ARGUMENT...
set -eu

sources=$1
shift
build=$PWD
: "${PYTHON:=python3}"

[ -x python-venv/bin/python ] || "$PYTHON" -m venv python-venv
python=$build/python-venv/bin/python
"$python" -m pip install --quiet "setuptools>=64" wheel numpy mako mypy pytest pyopencl \
  loopy arraycontext hypothesis

# A copy, since the sources may be read-only, and a build leaves files beside them.
rm -rf python-sources
cp -R "$sources/python" python-sources
chmod -R u+w python-sources
CLPOOL_BUILD=$build CFLAGS="${CFLAGS:-} -I$sources/include" \
  "$python" -m pip install --quiet --no-build-isolation --no-deps --force-reinstall ./python-sources

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
