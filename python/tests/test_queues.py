# SPDX-License-Identifier: MIT
"""What passes as a queue, a context or a stream. Drivers crash on anything else."""

from __future__ import annotations

import types

import numpy as np
import pyopencl as cl
import pyopencl.array as cla
import pytest
from test_cuda import run_on_fake

import clpool


# What is no queue, by name.
WRONG = {
    "int": lambda queue: 12345,
    "handle": lambda queue: queue.int_ptr,
    "zero": lambda queue: 0,
    "bool": lambda queue: True,
    "float": lambda queue: 1.0,
    "text": lambda queue: "queue",
    "memory": lambda queue: clpool.MemoryPool(clpool.HostAllocator())(100),
    "array": lambda queue: np.zeros(3),
    "stream": lambda queue: types.SimpleNamespace(ptr=queue.int_ptr, cuda_stream=queue.int_ptr),
    "disguise": lambda queue: types.SimpleNamespace(int_ptr=queue.int_ptr),
    "type": lambda queue: cl.CommandQueue,
    "context": lambda queue: queue.context,
    "device": lambda queue: queue.device,
    "buffer": lambda queue: cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, 64),
}


@pytest.fixture(params=["buffers", "svm", "host", "simulated", "arena"])
def any_pool(context, queue, request):
    make = {
        "buffers": lambda: clpool.MemoryPool(clpool.ImmediateAllocator(queue)),
        "svm": lambda: clpool.SVMPool(clpool.SVMAllocator(context, queue=queue)),
        "host": lambda: clpool.MemoryPool(clpool.HostAllocator()),
        "simulated": lambda: clpool.MemoryPool(clpool.SimulatedAllocator()),
        "arena": lambda: clpool.MemoryPool(clpool.ImmediateAllocator(queue), arena=True),
    }
    return make[request.param]()


@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_queue(queue, any_pool, name):
    bad = WRONG[name](queue)
    memory = any_pool(1000)
    calls = [any_pool.on, any_pool.forget_queue, memory.record_use,
             memory.bind_to_queue]  # fmt: skip
    if isinstance(memory, clpool.PooledSVM):
        calls += [memory.enqueue_release, memory.mem.release]
    elif isinstance(memory, clpool.Memory):
        calls.append(memory.release)
    for call in calls:
        with pytest.raises(TypeError, match="expected a pyopencl.CommandQueue"):
            call(bad)
    assert any_pool.active_blocks == 1
    memory.release()


def test_allocators_take_no_other(context, queue):
    for name, make in WRONG.items():
        bad = make(queue)
        with pytest.raises(TypeError):
            clpool.ImmediateAllocator(bad)
        with pytest.raises(TypeError):
            clpool.SVMAllocator(context, queue=bad)
        if name != "context":
            with pytest.raises(TypeError):
                clpool.DeferredAllocator(bad)
            with pytest.raises(TypeError):
                clpool.SVMAllocator(bad)


def test_derived_queues_are_queues(context):
    class Queue(cl.CommandQueue):
        pass

    class Unmade(cl.CommandQueue):
        def __init__(self):
            pass

    queue = Queue(context)
    pool = clpool.MemoryPool(clpool.ImmediateAllocator(queue))
    assert pool.on(queue)(10).pool.queue is queue
    assert (cla.zeros(queue, 9, np.int32, allocator=pool) + 1).get().sum() == 9
    with pytest.raises(TypeError):
        pool.on(Unmade())


def test_streams():
    run_on_fake(
        """
        class Derived(Stream):
            pass

        class Memory:
            ptr = 4096

        class Torch:
            cuda_stream = Stream().ptr

        for stream in (Stream(), Derived(), Torch()):
            pool.on(stream)(100)
            clpool.CudaAsyncAllocator(stream=stream)
        memory = pool(1000)
        bad = [12345, 0, True, "s", 1.0, memory, Memory(), Stream, object()]
        for call in (pool.on, pool.forget_queue, memory.release, memory.record_use,
                     memory.bind_to_queue, lambda s: clpool.CudaAsyncAllocator(stream=s)):
            for stream in bad:
                try:
                    call(stream)
                except TypeError as error:
                    assert "stream" in str(error)
                else:
                    raise AssertionError(stream)
        assert pool.active_blocks == 1
        """
    )


def test_what_on_gives_is_its_pool(context, pool, tmp_path):
    other = cl.CommandQueue(context)
    on = pool.on(other)
    with clpool.trace(tmp_path / "run.csv", pool=on) as trace:
        hook = clpool.StatisticsHook()
        hook.add_to(on)
        memory = on(1000)
        plain = pool(2000)
        trace.flush()
        lines = (tmp_path / "run.csv").read_text().splitlines()
        assert [line.split(",")[4] for line in lines] == ["Size", "1000", "2000"]
        hook.remove_from(pool)
    assert hook.allocation_counts.total_bytes == 3000
    assert on.stats == pool.stats
    assert (on.active_bytes, on.active_blocks) == (3000, 2)
    assert on.allocator is pool.allocator
    on.limit = 1 << 20
    assert pool.limit == 1 << 20
    memory.release()
    plain.release()
    assert on.held_bytes == pool.held_bytes > 0
    on.free_held()
    assert pool.held_bytes == 0
    on.stop_holding()
    on(1000).release()
    assert pool.held_bytes == 0
