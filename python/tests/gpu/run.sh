#!/bin/sh
# SPDX-License-Identifier: MIT
# The package on a machine with a GPU, where no registry of Python's packages need be in reach:
# run.sh WHEELS [PYTHON]
# installs it, and from the folder WHEELS what of its tests' needs is there, in an empty folder,
# tests CuPy's and PyTorch's arrays, and prints the figures of PyOpenCL's. What is missing is
# skipped.
#
# On a machine of the same architecture, `pip download --dest=WHEELS --only-binary=:all:
# --python-version=VERSION setuptools wheel pytest numpy mako pyopencl` fills the folder.
set -eu

[ $# -ge 1 ] || {
  echo "usage: run.sh WHEELS [PYTHON]" >&2
  exit 2
}
wheels=$(cd "$1" && pwd)
python=${2:-python3}
here=$(cd "$(dirname "$0")" && pwd)
tree=$(cd "$here/../../.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/clpool-gpu.XXXXXX")
trap 'rm -rf "$work"' EXIT

install() {
  "$python" -m pip install --quiet --no-index --find-links="$wheels" --no-deps \
    --target="$work/packages" --upgrade "$@"
}

# has MODULE: whether Python can import it.
has() {
  PYTHONPATH="$work/packages" "$python" -c "import $1" 2>"$work/missing"
}

for wheel in "$wheels"/*.whl; do
  install "$wheel"
done
# As on a machine that has no libclpool; the build is in a copy, so that the tree stays as it is.
cp -a "$tree" "$work/tree"
export PYTHONPATH="$work/packages"
PKG_CONFIG=false install --no-build-isolation "$work/tree/python"

cd "$work"
if has pytest; then
  # Status 5: all is skipped.
  "$python" -m pytest -q -rsP -p no:cacheprovider --confcutdir="$here" "$here" || [ $? -eq 5 ]
else
  echo "no tests of CuPy and PyTorch: pytest is missing"
fi
if has pyopencl.array; then
  "$python" "$here/figures.py"
else
  echo "no figures: $(tail -n 1 missing)"
fi
