# SPDX-License-Identifier: MIT
"""A plugin for pytest: gives each pyopencl.array.Array that was given no allocator one of
CLPOOL_TEST_ALLOCATOR: "none", PyOpenCL's own pool ("pyopencl"), or clpool's ("clpool", and with an
arena "clpool-arena")."""

from __future__ import annotations

import os

import pyopencl as cl
import pyopencl.array
import pyopencl.tools

_pools: dict = {}


def _pool_of(queue, kind: str):
    """The pool of the queue's context."""
    key = queue.context
    if key not in _pools:
        if kind == "pyopencl":
            tools = pyopencl.tools
            _pools[key] = tools.MemoryPool(tools.ImmediateAllocator(cl.CommandQueue(key)))
        else:
            import clpool

            # From then on, before this plugin is asked.
            _pools[key] = clpool.use(cl.CommandQueue(key), arena=kind == "clpool-arena").pool
    pool = _pools[key]
    return pool if kind == "pyopencl" else pool.on(queue)


def pytest_configure(config) -> None:
    kind = os.environ.get("CLPOOL_TEST_ALLOCATOR", "none")
    if kind == "none":
        return
    if kind.startswith("clpool"):
        import clpool

        clpool.patch()
    plain = pyopencl.array.Array.__init__

    def with_pool(self, cq, shape, dtype, order="C", allocator=None, data=None, **keywords):
        if allocator is None and data is None and isinstance(cq, cl.CommandQueue):
            allocator = _pool_of(cq, kind)
        plain(self, cq, shape, dtype, order, allocator, data, **keywords)

    pyopencl.array.Array.__init__ = with_pool
