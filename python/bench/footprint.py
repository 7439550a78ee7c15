# SPDX-License-Identifier: MIT
"""What a program of PyOpenCL's takes from the device, over what it uses at most, with its arrays on
PyOpenCL's pool, on clpool's, and on that with an arena.

    python footprint.py PROGRAM.py [MOST_ALLOCATIONS]

Arrays that the program gives no allocator get a pool, and the program ends after so many
allocations. It runs in an empty folder, and what it prints is left out.
"""

from __future__ import annotations

import contextlib
import gc
import os
import runpy
import sys
import tempfile

import pyopencl as cl
import pyopencl.array as cla
import pyopencl.tools

import clpool

MIB = 1 << 20


class Enough(BaseException):
    """The program has allocated as often as it may."""


class Default:
    """Is the allocator of arrays that have none: a pool on the queue of the first one."""

    def __init__(self, make, most: int):
        self.make = make
        self.left = most
        self.pool = None

    def __call__(self, size: int):
        self.left -= 1
        if self.left < 0:
            raise Enough
        return self.pool(size)

    @contextlib.contextmanager
    def in_place(self):
        plain = cla.Array.__init__

        def with_default(array, cq, shape, dtype, order="C", allocator=None, data=None, **others):
            if allocator is None and data is None and isinstance(cq, cl.CommandQueue):
                if self.pool is None:
                    self.pool = self.make(cq)
                allocator = self
            plain(array, cq, shape, dtype, order, allocator, data, **others)

        cla.Array.__init__ = with_default
        try:
            yield
        finally:
            cla.Array.__init__ = plain


def run(program: str, make, most: int):
    """The pool that a run of the program used."""
    default = Default(make, most)
    here, program = os.getcwd(), os.path.abspath(program)
    with tempfile.TemporaryDirectory() as empty, open(os.devnull, "w") as nowhere:
        os.chdir(empty)
        with default.in_place(), contextlib.redirect_stdout(nowhere):
            with contextlib.suppress(Enough, SystemExit):
                runpy.run_path(program, run_name="__main__")
        os.chdir(here)
    gc.collect()
    if default.pool is None:
        raise SystemExit(f"{program} has made no array without an allocator")
    return default.pool


def main(program: str, most: str = "20000") -> None:
    tools = pyopencl.tools
    makers = {
        "PyOpenCL's pool": lambda q: tools.MemoryPool(tools.ImmediateAllocator(q)),
        "clpool": lambda q: clpool.MemoryPool(clpool.ImmediateAllocator(q)),
        "on an arena": lambda q: clpool.MemoryPool(clpool.ImmediateAllocator(q), arena=True),
    }
    pools = {name: run(program, make, int(most)) for name, make in makers.items()}
    used = pools["clpool"].stats.peak_active_bytes
    taken = {
        # A pool of PyOpenCL's has no peak, and gives nothing back unless it is told to.
        "PyOpenCL's pool": pools["PyOpenCL's pool"].managed_bytes,
        "clpool": pools["clpool"].stats.peak_managed_bytes,
        "on an arena": pools["on an arena"].allocator.get_stats()["peak_reserved_bytes"],
    }
    for name, most_taken in taken.items():
        print(f"{name:16} {used / MIB:6.1f} MiB in use, {most_taken / MIB:6.1f} MiB taken, "
              f"footprint {most_taken / used:.2f}")  # fmt: skip


if __name__ == "__main__":
    main(*sys.argv[1:])
