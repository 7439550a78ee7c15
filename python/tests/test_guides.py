# SPDX-License-Identifier: MIT
"""What the guides show: programs run, and commands print what is beside them. CLPOOL_TREE names the
repository."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys

import pytest

TREE = pathlib.Path(os.environ.get("CLPOOL_TREE", ""))
if not (TREE / "doc").is_dir():
    pytest.skip("CLPOOL_TREE does not name the repository", allow_module_level=True)


def test_from_pyopencl(tmp_path):
    """The blocks of code are one program, in their order, and there are no others."""
    text = (TREE / "doc/from-pyopencl.md").read_text()
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert {language for language, _ in blocks} == {"python"}
    program = tmp_path / "guide.py"
    program.write_text("".join(code for _, code in blocks))
    # A program of one's own, for the block that patches.
    own = tmp_path / "own.py"
    own.write_text(
        "import pyopencl.tools, clpool\n"
        "assert pyopencl.tools.PooledBuffer is clpool.PooledBuffer\n"
    )
    command = [sys.executable, "-W", "error::UserWarning:__main__", program, own]
    subprocess.run(command, cwd=tmp_path, check=True)


@pytest.mark.parametrize("guide, count", [("README.md", 1), ("doc/python.md", 2)])
def test_first_blocks(guide, count):
    """The first blocks of Python are a program that runs."""
    text = (TREE / guide).read_text()
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    program = "".join(blocks[:count])
    subprocess.run([sys.executable, "-c", program], stdin=subprocess.DEVNULL, check=True)


def test_convert_prints_what_the_guide_shows(tmp_path):
    text = (TREE / "doc/from-cupy-and-rmm.md").read_text()
    command = re.search(r"^    python (-m clpool convert \S+\.json .*)", text, re.MULTILINE)[1]
    shown = re.search(r"(^    \d+ allocations, .*\n)(^    .*\n)*", text, re.MULTILINE)[0]
    arguments = command.replace(" run.csv", f" {tmp_path}/run.csv").split()
    done = subprocess.run(
        [sys.executable, *arguments], cwd=TREE, check=True, stderr=subprocess.PIPE, text=True
    )
    assert done.stderr.splitlines() == [line.strip() for line in shown.splitlines()]
