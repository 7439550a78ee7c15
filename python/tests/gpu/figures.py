# SPDX-License-Identifier: MIT
"""An array expression of PyOpenCL's on each device of the machine: microseconds without a pool, on
PyOpenCL's pool, and on clpool's, without and with an arena."""

from __future__ import annotations

import statistics
import time

import numpy as np
import pyopencl as cl
import pyopencl.array as cla
import pyopencl.tools

import clpool

ROUNDS = 9
TIMES = {1 << 10: 300, 1 << 20: 100, 1 << 24: 20}  # how often, for each number of elements


def microseconds(queue, allocator, n: int, times: int) -> float:
    x = cla.arange(queue, n, dtype=np.float32, allocator=allocator)
    y = cla.zeros(queue, n, np.float32, allocator=allocator)

    def some(times: int) -> None:
        for _ in range(times):
            (2 * x + y) * (x - y) + 1
        queue.finish()

    some(10)
    start = time.perf_counter()
    some(times)
    return (time.perf_counter() - start) / times * 1e6


def main() -> None:
    for platform in cl.get_platforms():
        for device in platform.get_devices():
            queue = cl.CommandQueue(cl.Context([device]))
            immediate = clpool.ImmediateAllocator(queue)
            own = pyopencl.tools
            allocators = {
                "no pool": None,
                "pyopencl": own.MemoryPool(own.ImmediateAllocator(queue)),
                "clpool": clpool.MemoryPool(immediate),
                "clpool, arena": clpool.MemoryPool(immediate, arena=True),
            }
            for n, often in TIMES.items():
                times = {name: [] for name in allocators}
                for _ in range(ROUNDS):
                    for name, allocator in allocators.items():
                        times[name].append(microseconds(queue, allocator, n, often))
                medians = ", ".join(f"{k} {statistics.median(v):.1f}" for k, v in times.items())
                print(f"{device.name}: 4 * {n} bytes: {medians} us", flush=True)


if __name__ == "__main__":
    main()
