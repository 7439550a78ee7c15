# SPDX-License-Identifier: MIT
"""A program that uses every public name of clpool's as a user would, for type checkers:
test_typing.py has them read it. It is not run."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import numpy as np
import pyopencl as cl
import pyopencl.array as cla
from typing_extensions import assert_type

import clpool

OurError = clpool.Error


class Total(clpool.MemoryHook):
    name = "Total"
    used: int = 0

    def malloc_postprocess(
        self, *, device_id: int, size: int, mem_size: int, mem_ptr: int, pmem_id: int
    ) -> None:
        self.used += size

    def alloc_postprocess(self, *, device_id: int, mem_size: int, mem_ptr: int) -> None:
        print(device_id, mem_size, mem_ptr)


class Frees(clpool.MemoryHook):
    def free_preprocess(self, **kwargs: int) -> None:
        print(kwargs["mem_size"])

    def device_free_postprocess(self, **kwargs: Any) -> None:
        print(kwargs)


def react(pool: clpool.MemoryPool, size: int) -> bool:
    return pool.held_bytes > size and clpool.collect_garbage(pool, size)


class Labelled(clpool.MemoryPool[clpool.PooledBuffer]):
    def __init__(self, queue: cl.CommandQueue, label: str) -> None:
        super().__init__(clpool.ImmediateAllocator(queue), arena=True, name=label)
        self.label = label


class Shared(clpool.SVMPool):
    def double(self, size: int) -> clpool.PooledSVM:
        return self.allocate(2 * size)


def buffers(queue: cl.CommandQueue, other: cl.CommandQueue) -> None:
    pool = clpool.MemoryPool(
        clpool.ImmediateAllocator(queue, cl.mem_flags.READ_WRITE),
        4,
        arena=False,
        limit=0.5,
        on_out_of_memory=react,
        hold_bytes=np.int64(1 << 20),
        name="work",
    )
    clpool.MemoryPool(clpool.DeferredAllocator(queue.context), on_out_of_memory=None)
    x = cla.zeros(queue, 1000, np.float32, allocator=pool)
    y = cla.zeros(other, 1000, np.float32, allocator=pool.on(other))
    cla.zeros(queue, 1000, np.float32, allocator=clpool.ImmediateAllocator(queue))
    print(x + 1, y)
    buffer = pool(100)
    assert_type(buffer, clpool.PooledBuffer)
    assert_type(pool.allocate(np.int32(5)), clpool.PooledBuffer)
    assert_type(buffer[0:10], cl.Buffer)
    assert_type(buffer.get_sub_region(0, buffer.size - 8), cl.Buffer)
    assert_type(buffer.requested_size + buffer.allocated_size + buffer.int_ptr, int)
    cl.enqueue_copy(queue, buffer, np.zeros(25, np.float32))
    cl.enqueue_fill_buffer(queue, buffer, np.zeros(1, np.float32), 0, buffer.size)
    buffer.record_use(other)
    buffer.bind_to_queue(other)
    buffer.unbind_from_queue()
    print(buffer.pool.held_blocks, buffer.pool.queue)
    buffer.release()
    labelled = Labelled(queue, "mine")
    assert_type(labelled(10), clpool.PooledBuffer)
    assert_type(labelled.label, str)


def pools(pool: clpool.MemoryPool, queue: cl.CommandQueue) -> None:
    assert_type(pool.limit, int | None)
    pool.limit = 0.4
    pool.limit = 1 << 30
    pool.limit = None
    assert_type(pool.stats, clpool.PoolStats)
    assert_type(pool.stats.peak_active_bytes, int)
    assert_type(pool.bin_stats()[0]["hits"], int)
    assert_type(pool.alloc_size(pool.bin_number(1000)), int)
    assert_type(pool.name, str | None)
    total = pool.managed_bytes + pool.active_bytes + pool.held_bytes + pool.active_blocks
    print(total, pool.held_blocks, pool.allocator.name, pool.allocator.is_deferred)
    pool.free_held()
    pool.stop_holding()
    pool.trim_to(1 << 20)
    pool.trim_idle(1000)
    pool.reset_peaks()
    pool.forget_queue(queue)
    on: clpool.PoolOnQueue = pool.on(queue)
    assert_type(on.pool, clpool.MemoryPool)
    print(on.queue, on.on(queue), clpool.memory_summary(pool))
    clpool.free_all_held()


def shared(queue: cl.CommandQueue) -> None:
    pool = clpool.SVMPool(clpool.SVMAllocator(queue.context, queue=queue))
    svm = pool(1000)
    assert_type(svm, clpool.PooledSVM)
    assert_type(svm.mem, clpool.Memory)
    assert_type(Shared(clpool.SVMAllocator(queue.context)).double(5), clpool.PooledSVM)
    print(np.frombuffer(svm.buf, np.float32), svm.size, svm.mem.ptr)
    svm.bind_to_queue(queue)
    svm.record_use(queue)
    svm.unbind_from_queue()
    svm.enqueue_release(queue)
    pool(5).release()
    cla.zeros(queue, 10, np.float32, allocator=pool)


def views(memory: clpool.Memory) -> None:
    print(np.frombuffer(memory, np.uint8), {memory: memoryview(memory)})


def host() -> None:
    pool = clpool.MemoryPool(clpool.ArenaAllocator(clpool.HostAllocator(64), slack=0.1))
    memory = pool(100)
    assert_type(memory, clpool.Memory)
    views(memory)
    print(memory.size, memory.pool)
    memory.release()
    arena = clpool.ArenaAllocator(clpool.SimulatedAllocator(1 << 30), reserve_bytes=1 << 20)
    assert_type(clpool.MemoryPool(arena, initial_pool_size=None)(5), clpool.Memory)
    own = clpool.CallbackAllocator(bytearray, lambda memory, size: None, kind="host")
    assert_type(clpool.MemoryPool(own)(5), clpool.Memory)
    arena.reserve(0)
    print(arena.get_stats()["segments"], arena.dump())
    allocators: list[clpool.Allocator] = [arena, clpool.HostAllocator()]
    print(allocators)


def hooks(pool: clpool.MemoryPool) -> None:
    with Total() as total:
        assert_type(total, Total)
    frees = Frees()
    frees.add_to(pool)
    frees.remove_from(pool)
    assert_type(frees.start(pool), Frees)
    frees.stop()
    with clpool.DebugPrintHook(flush=False), clpool.LineProfileHook(max_depth=4) as profile:
        assert_type(profile, clpool.LineProfileHook)
    profile.print_report(view="peak")
    lines = profile.outstanding_allocations()
    assert_type(lines, list[clpool.OutstandingAllocations])
    with clpool.StatisticsHook() as counts:
        print(counts.push_counters().peak_bytes, counts.pop_counters().current_count)

    @clpool.statistics.profiler()
    def step(size: int) -> float:
        return size / 2

    assert_type(step(3), float)


def tools(pool: clpool.MemoryPool) -> None:
    with clpool.trace("run.csv", pool=pool) as trace:
        assert_type(trace, clpool.trace)
    clpool.trace("run.csv").start().stop()
    tuned = clpool.tune("run.csv", "--time=0")
    assert_type(tuned, clpool.TuneResult)
    if tuned.recommended is not None:
        assert_type(tuned.recommended["python"], str)
    assert_type(tuned.settings[0]["footprint"], Any)
    page: clpool.Report = clpool.report("run.csv", "run.html")
    with open(page) as file:
        print(file.read(), page.path)


def whole_programs(queue: cl.CommandQueue, pool: clpool.MemoryPool) -> None:
    with clpool.patch(arena=True):
        pass
    clpool.patch().undo()
    with clpool.use(queue, arena=True) as used:
        assert_type(used.pool, clpool.MemoryPool)
    clpool.set_allocator(pool)
    print(clpool.get_allocator())
    clpool.set_allocator(None)
    clpool.set_log(logging.getLogger("clpool"), logging.WARNING)
    clpool.set_log(None)


def frameworks() -> None:
    pool = clpool.MemoryPool(clpool.CudaAsyncAllocator(device=0, stream=None))
    assert_type(pool(10), clpool.Memory)
    default = clpool.CudaMemPool.default(0)
    print(clpool.library_version)
    assert_type(default.handle + default.used_bytes, int)
    clpool.CudaAsyncAllocator(mempool=default)
    asynchronous = clpool.MemoryAsyncPool(["create", default])
    memory: clpool.MemoryAsync = asynchronous.malloc(100)
    print(memory.ptr, memory.size, asynchronous.total_bytes(), np.from_dlpack(pool(5)))
    asynchronous.free_all_blocks()
    of_cupy: Callable[[int], Any] = clpool.cupy_allocator(pool)
    print(of_cupy, clpool.torch_allocator(pool))


def errors(pool: clpool.MemoryPool[clpool.PooledBuffer]) -> None:
    try:
        pool(10)
    except clpool.LimitExceeded as error:
        assert_type(error.status, str)
        assert_type(error.code, int)
        assert_type(error.native_code, int)
    except (clpool.NotSupported, clpool.LogicError, clpool.RuntimeError) as error:
        print(error.routine, error.what, error.is_out_of_memory())
    except clpool.MemoryError as error:
        raise OurError(str(error)) from error
    except cl.MemoryError:
        pass
