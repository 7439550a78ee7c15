# SPDX-License-Identifier: MIT
"""StatisticsHook and profiler, with RMM's names."""

from __future__ import annotations

import asyncio
import concurrent.futures
import dataclasses
import gc
import sys
import threading

import pytest
from test_process import run_on_thread

import clpool
from clpool.statistics import ProfilerRecords, Statistics, profiler


def test_counts(host_pool):
    with clpool.StatisticsHook() as hook:
        kept = [host_pool(1000), host_pool(500)]
        host_pool(100)
        with pytest.raises(clpool.LogicError):
            kept[0].release() or kept[0].release()
    host_pool(7)  # outside
    assert hook.allocation_counts == Statistics(500, 1, 1600, 3, 1600, 3)


def test_refused_requests_are_not_counted():
    pool = clpool.MemoryPool(clpool.SimulatedAllocator(1000), on_out_of_memory=None)
    with clpool.StatisticsHook() as hook, pytest.raises(clpool.MemoryError):
        pool(2000)
    assert hook.allocation_counts == Statistics()


def test_outer_counters_include_inner_ones(host_pool):
    with clpool.StatisticsHook() as hook:
        first = host_pool(100)
        assert hook.push_counters() == Statistics(100, 1, 100, 1, 100, 1)
        assert hook.allocation_counts == Statistics()
        second = host_pool(200)
        first.release()
        hook.push_counters()
        third = host_pool(50)
        third.release()
        second.release()
        assert hook.pop_counters() == Statistics(-200, -1, 50, 1, 50, 1)
        assert hook.pop_counters() == Statistics(-100, -1, 200, 1, 250, 2)
        assert hook.allocation_counts == Statistics(0, 0, 300, 2, 350, 3)
    with pytest.raises(IndexError, match="push_counters"):
        hook.pop_counters()


def test_threads_of_a_pool(host_pool):
    hook = clpool.StatisticsHook()
    hook.add_to(host_pool)
    barrier = threading.Barrier(4)

    def work():
        kept = [host_pool(10) for _ in range(100)]
        barrier.wait(30)
        kept.clear()

    with concurrent.futures.ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda _: work(), range(4)))
    hook.remove_from(host_pool)
    assert hook.allocation_counts == Statistics(0, 0, 4000, 400, 4000, 400)


@pytest.mark.skipif(sys.version_info < (3, 10), reason="its collector cannot wait for callbacks")
def test_releases_by_the_collector_are_counted(host_pool):
    """Wherever the collector runs, inside of callbacks too."""

    class Cycle:
        def __init__(self):
            self.me = self
            self.memory = host_pool(10)

    threshold = gc.get_threshold()
    gc.collect()
    gc.set_threshold(2, 2, 2)
    try:
        with clpool.StatisticsHook() as hook:
            for _ in range(300):
                Cycle()
            gc.collect()
    finally:
        gc.set_threshold(*threshold)
    counts = hook.allocation_counts
    assert (counts.current_bytes, counts.current_count, counts.total_count) == (0, 0, 300)


def figures(records):
    return {name: dataclasses.astuple(record) for name, record in records.records.items()}


def test_profiler(host_pool):
    records = ProfilerRecords()

    @profiler(records=records)
    def inner(size):
        """Documented."""
        host_pool(size)
        return size

    @profiler(records=records, name="outer")
    def outer():
        kept = host_pool(100)
        inner(30)
        inner(20)
        kept.release()

    outer()
    assert inner(5) == 5
    name = f"{__file__}:{inner.__wrapped__.__code__.co_firstlineno}:{inner.__qualname__}"
    assert figures(records) == {name: (3, 55, 30), "outer": (1, 150, 130)}
    assert inner.__doc__ == "Documented."
    heading, first, second = records.report().splitlines()
    assert heading.split() == ["calls", "peak", "total", "name"]
    assert first.split() == ["1", "130.00B", "150.00B", "outer"]
    assert second.split() == ["3", "30.00B", "55.00B", name]
    assert records.report("num_calls").splitlines()[1].split()[0] == "3"
    assert str(records) == records.report()
    with pytest.raises(ValueError, match="'size'"):
        records.report("size")


def test_a_block_ends_by_an_exception(host_pool):
    records = ProfilerRecords()
    block = profiler(records=records, name="block")
    for _ in range(2):
        with pytest.raises(ZeroDivisionError), block:
            host_pool(10)
            raise ZeroDivisionError
    with block, block:
        host_pool(1)
    host_pool(1000)
    assert figures(records) == {"block": (4, 22, 10)}
    with pytest.raises(ValueError, match="name"):
        profiler(records=records).__enter__()


def test_what_was_in_use_before_does_not_count(host_pool):
    records = ProfilerRecords()
    for name in "outermost", "nested":
        before = host_pool(100)
        with profiler(records=records, name=name), profiler(records=records, name=name + " too"):
            before.release()
            host_pool(150)
    assert set(figures(records).values()) == {(1, 150, 50)}


def test_recursion(host_pool):
    records = ProfilerRecords()

    @profiler(records=records, name="recursive")
    def recursive(depth):
        kept = host_pool(10)
        if depth > 1:
            recursive(depth - 1)
        kept.release()

    recursive(20)
    assert figures(records) == {"recursive": (20, 10 * sum(range(21)), 200)}


def test_profilers_of_threads(host_pool):
    records = ProfilerRecords()
    block = profiler(records=records, name="block")
    barrier = threading.Barrier(4)

    def work():
        for _ in range(50):
            with block:
                kept = host_pool(10)
                barrier.wait(30)
                kept.release()

    with concurrent.futures.ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda _: work(), range(4)))
    assert figures(records) == {"block": (200, 2000, 10)}


def test_functions_that_a_call_does_not_run(host_pool):
    records = ProfilerRecords()

    def generator():
        yield

    async def coroutine():
        pass

    async def asynchronous_generator():
        yield

    for function in generator, coroutine, asynchronous_generator:
        with pytest.raises(TypeError, match="inside it"):
            profiler(records=records)(function)

    async def task(name, size):
        with profiler(records=records, name=name):
            kept = host_pool(size)
            await asyncio.sleep(0)
            kept.release()

    async def tasks():  # whose blocks overlap, and end in the order in which they began
        await asyncio.gather(task("first", 100), task("second", 10))

    asyncio.run(tasks())
    assert figures(records) == {"first": (1, 110, 110), "second": (1, 10, 10)}


def test_a_generator_that_ends_on_another_thread(host_pool):
    records = ProfilerRecords()

    def generator():
        with profiler(records=records, name="generator"):
            yield host_pool(10)

    running = generator()
    next(running)
    run_on_thread(running.close)
    with profiler(records=records, name="block"):
        host_pool(20)
    assert figures(records) == {"generator": (1, 10, 10), "block": (1, 20, 20)}


def test_inside_of_on_out_of_memory():
    records = ProfilerRecords()
    kept = []

    @profiler(records=records, name="spill")
    def spill(pool, size):
        kept.clear()
        return len(kept) < pool.active_blocks

    pool = clpool.MemoryPool(clpool.SimulatedAllocator(1000), on_out_of_memory=spill)
    with pytest.raises(clpool.RuntimeError, match="callback"):
        pool(2000)
    with profiler(records=records, name="outer"), pytest.raises(clpool.MemoryError):
        pool(2000)
    assert figures(records) == {"spill": (1, 0, 0), "outer": (1, 0, 0)}
