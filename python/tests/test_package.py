# SPDX-License-Identifier: MIT
"""What is installed besides the pools: versions, metadata, the licence, types."""

from __future__ import annotations

import importlib.metadata
import re
import subprocess
import sys

import clpool


def test_version():
    assert clpool.__version__ == importlib.metadata.version("clpool")
    assert re.fullmatch(r"\d+\.\d+\.\d+", clpool.__version__)


def test_the_library_is_not_older_than_the_package():
    package, library = (
        tuple(map(int, text.split("."))) for text in (clpool.__version__, clpool.library_version)
    )
    assert library >= package


def test_metadata():
    metadata = importlib.metadata.metadata("clpool")
    assert "MIT" in (metadata["License-Expression"], metadata["License"])
    assert not [c for c in metadata.get_all("Classifier") if c.startswith("License ::")]
    assert metadata["Project-URL"].startswith("Homepage, https://")
    assert {"cupy", "pyopencl", "test"} <= set(metadata.get_all("Provides-Extra"))


def test_files():
    names = {path.name for path in importlib.metadata.files("clpool")}
    assert {"COPYING", "py.typed", "_clpool.pyi"} <= names


def test_import_loads_no_driver():
    """A machine without OpenCL and CUDA can import it, and so can one without PyOpenCL."""
    program = (
        "import sys; sys.modules['pyopencl'] = None\n"
        "import clpool\n"
        "maps = open('/proc/self/maps').read()\n"
        "assert not [name for name in ('libOpenCL', 'libcuda') if name in maps], maps\n"
        "assert memoryview(clpool.MemoryPool(clpool.HostAllocator())(5)).nbytes == 5"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
