# SPDX-License-Identifier: MIT
"""Nanoseconds that an allocation and its release take from Python, on clpool's pools and on
PyOpenCL's, measured in turns. Prints one line a pool, with the ratio of the medians to PyOpenCL's
pool of the same kind of memory."""

from __future__ import annotations

import statistics
import timeit

import pyopencl as cl
import pyopencl.tools

import clpool

ROUNDS = 15
PAIRS = 200_000
SIZE = 4000


def nanoseconds(pool, statement: str) -> float:
    return timeit.timeit(statement, globals={"pool": pool, "n": SIZE}, number=PAIRS) / PAIRS * 1e9


def main() -> None:
    queue = cl.CommandQueue(cl.create_some_context(interactive=False))
    other = cl.CommandQueue(queue.context)
    ours = clpool.MemoryPool(clpool.ImmediateAllocator(queue))
    shared = clpool.SVMPool(clpool.SVMAllocator(queue.context, queue=queue))
    tools = pyopencl.tools
    pools = {
        "pyopencl.tools.MemoryPool": tools.MemoryPool(tools.ImmediateAllocator(queue)),
        "clpool.MemoryPool": ours,
        "clpool, arena=True": clpool.MemoryPool(ours.allocator, arena=True),
        "clpool, pool.on(other)": ours.on(other),
        "pyopencl.tools.SVMPool": tools.SVMPool(tools.SVMAllocator(queue.context, queue=queue)),
        "clpool.SVMPool": shared,
        "clpool.SVMPool, arena=True": clpool.SVMPool(shared.allocator, arena=True),
        "clpool.SVMPool, pool.on(other)": shared.on(other),
    }
    times = {name: [] for name in pools}
    for _ in range(ROUNDS):
        for name, pool in pools.items():
            times[name].append(nanoseconds(pool, "pool(n)"))
    for name, measured in times.items():
        middle = statistics.median(measured)
        if name.startswith("pyopencl"):
            reference = middle
        print(f"{name:30} {middle:7.1f} ns  {middle / reference:5.2f}")


if __name__ == "__main__":
    main()
