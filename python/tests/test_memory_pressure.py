# SPDX-License-Identifier: MIT
"""Out of memory, limits, and the exceptions that say so."""

from __future__ import annotations

import gc
import weakref

import pyopencl as cl
import pytest

import clpool


def simulated(capacity=1 << 20, **options):
    return clpool.MemoryPool(clpool.SimulatedAllocator(capacity), **options)


def test_the_exception():
    pool = simulated(on_out_of_memory=None)
    with pytest.raises(cl.MemoryError) as caught:
        pool(2 << 20)
    error = caught.value
    assert isinstance(error, clpool.MemoryError)
    assert (error.status, error.native_code) == ("CLP_OUT_OF_DEVICE_MEMORY", 0)
    assert error.is_out_of_memory()
    assert str(2 << 20) in str(error)


def test_a_limit(pool):
    pool.limit = 1 << 20
    assert pool.limit == 1 << 20
    with pytest.raises(clpool.LimitExceeded) as caught:
        pool(2 << 20)
    assert isinstance(caught.value, cl.MemoryError)
    pool.limit = None
    assert pool.limit is None
    pool(2 << 20)


def test_a_limit_in_one_block(pool):
    pool.limit = 1 << 20
    pool(1 << 18)  # which is held
    assert pool(1 << 20).size == 1 << 20
    assert pool.managed_bytes <= 1 << 20


def test_a_limit_as_a_part(queue):
    allocator = clpool.ImmediateAllocator(queue)
    pool = clpool.MemoryPool(allocator, limit=0.5)
    assert pool.limit == queue.device.global_mem_size // 2


def test_held_blocks_make_room():
    pool = simulated()
    pool(900 << 10)
    pool(1000 << 10)
    assert pool.stats.out_of_memory_reactions == 1


def test_the_callback_frees():
    spare = []

    def free_spare(pool, size):
        asked.append((pool, size))
        return bool(spare) and spare.pop() is not None

    asked = []
    pool = simulated(on_out_of_memory=free_spare)
    spare.append(pool(900 << 10))
    pool(800 << 10)
    assert [(one is pool, size >= 800 << 10) for one, size in asked] == [(True, True)]


def test_the_callback_raises():
    def fail(pool, size):
        raise ZeroDivisionError

    pool = simulated(on_out_of_memory=fail)
    with pytest.raises(ZeroDivisionError):
        pool(2 << 20)


class Cycle:
    def __init__(self, memory):
        self.memory = memory
        self.myself = self


def test_garbage_is_collected():
    pool = simulated()
    for _ in range(100):
        Cycle(pool(300 << 10))


@pytest.mark.parametrize("arena", [False, True])
def test_garbage_under_a_limit(queue, arena):
    pool = clpool.MemoryPool(clpool.ImmediateAllocator(queue), arena=arena, limit=9 << 20)
    for _ in range(100):
        Cycle(pool(1 << 20))
    assert pool.managed_bytes <= 9 << 20


@pytest.mark.parametrize("kind", ["buffer", "slice", "on a queue", "address"])
def test_a_callback_that_keeps_memory_is_garbage_with_it(queue, kind):
    class Callback:
        def __call__(self, pool, size):
            return False

    callback = Callback()
    if kind == "address":
        pool = simulated(on_out_of_memory=callback)
    else:
        allocator = clpool.ImmediateAllocator(queue)
        pool = clpool.MemoryPool(allocator, on_out_of_memory=callback)
    memory = (pool.on(queue) if kind == "on a queue" else pool)(1000)
    callback.kept = memory[:100] if kind == "slice" else memory
    end = weakref.ref(callback)
    del pool, memory, callback
    gc.collect()
    assert end() is None


def test_the_collector_leaves_shared_virtual_memory_alone(context, queue):
    try:
        pool = clpool.SVMPool(clpool.SVMAllocator(context, queue=queue))
    except clpool.NotSupported:
        pytest.skip("the device has no shared virtual memory")
    kept = [pool(1000) for _ in range(10)]
    for _ in range(3):
        gc.collect()
        assert [memory.mem.size for memory in kept] == [1000] * 10
    cycle = [kept.pop()]
    cycle.append(cycle)
    del cycle
    gc.collect()
    assert pool.active_blocks == 9


def test_a_reserve_is_kept():
    device = clpool.SimulatedAllocator(1 << 20)
    arena = clpool.ArenaAllocator(device, reserve_bytes=600_000)
    pool = clpool.MemoryPool(arena)

    def figures():
        pool.free_held()
        stats = arena.get_stats()
        return stats["reserve_bytes"], stats["reserved_bytes"] >= 600_000, stats["segments_taken"]

    assert figures() == (600_000, True, 1)
    with pytest.raises(clpool.MemoryError):
        arena.reserve(2 << 20)
    assert figures() == (600_000, True, 1)
    arena.reserve(0)
    assert figures() == (0, False, 1)
    with pytest.raises(clpool.MemoryError):
        clpool.ArenaAllocator(device, reserve_bytes=2 << 20)
