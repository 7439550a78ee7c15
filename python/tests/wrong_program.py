# SPDX-License-Identifier: MIT
"""Lines that type checkers must refuse, each with the kind of mypy's error: test_typing.py has
mypy read it. It is not run."""

from __future__ import annotations

import pyopencl as cl

import clpool


class Misnamed(clpool.MemoryHook):
    def malloc_postprocess(self, *, size: int) -> None:  # override
        pass


def program(queue: cl.CommandQueue, pool: clpool.MemoryPool[clpool.PooledBuffer]) -> None:
    clpool.ImmediateAllocator(5)  # arg-type
    clpool.ImmediateAllocator(queue.context)  # arg-type
    clpool.DeferredAllocator(queue)  # arg-type
    clpool.CudaAsyncAllocator(device="cuda:0")  # arg-type
    clpool.ArenaAllocator(pool)  # arg-type
    clpool.MemoryPool(queue)  # arg-type
    clpool.MemoryPool(pool.allocator, limit="50%")  # arg-type
    clpool.MemoryPool(pool.allocator, 4, True)  # call-arg
    clpool.MemoryPool(pool.allocator, sizes=3)  # call-arg
    clpool.MemoryPool(pool.allocator, on_out_of_memory=len)  # arg-type
    clpool.SVMPool(clpool.ImmediateAllocator(queue))  # arg-type
    clpool.PooledBuffer(queue.context)  # arg-type
    pool("10")  # arg-type
    pool(1.5)  # arg-type
    pool.limit = "1G"  # assignment
    pool.stats = pool.stats  # misc
    pool.held_blocks = 0  # misc
    pool.free()  # attr-defined
    pool(10).record_use(pool)  # arg-type
    pool(10).buf  # attr-defined
    clpool.trace(5)  # arg-type
    clpool.report("run.csv")  # call-arg
    clpool.tune("run.csv").recommendation  # attr-defined
    clpool.tune("run.csv").recommended["arena"]  # index
    clpool.LineProfileHook().print_report(view="most")  # arg-type
    clpool.MemoryPool(clpool.HostAllocator())(5)[0]  # misc
    clpool.set_allocator(5)  # arg-type
    clpool.LogicError("no").status.value  # attr-defined
