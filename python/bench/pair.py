# SPDX-License-Identifier: MIT
"""Nanoseconds that an allocation and its release take from Python, on clpool's pool and on
PyOpenCL's, measured in turns. Prints one line a pool, and the ratio of the medians."""

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
    pools = {
        "pyopencl.tools.MemoryPool": pyopencl.tools.MemoryPool(
            pyopencl.tools.ImmediateAllocator(queue)
        ),
        "clpool.MemoryPool": ours,
        "clpool, arena=True": clpool.MemoryPool(ours.allocator, arena=True),
        "clpool, pool.on(other)": ours.on(other),
    }
    times = {name: [] for name in pools}
    for _ in range(ROUNDS):
        for name, pool in pools.items():
            times[name].append(nanoseconds(pool, "pool(n)"))
    reference = statistics.median(times["pyopencl.tools.MemoryPool"])
    for name, measured in times.items():
        middle = statistics.median(measured)
        print(f"{name:28} {middle:7.1f} ns  {middle / reference:5.2f}")


if __name__ == "__main__":
    main()
