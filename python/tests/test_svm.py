# SPDX-License-Identifier: MIT
"""Shared virtual memory: SVMAllocator, SVMPool, PooledSVM."""

from __future__ import annotations

import gc

import numpy as np
import pyopencl as cl
import pyopencl.array as cla
import pytest

import clpool

pytestmark = pytest.mark.skipif(
    not hasattr(cl, "SVMPointer"), reason="this pyopencl has no SVM pointers"
)


@pytest.fixture(params=[False, True])
def svm_pool(context, queue, request):
    try:
        allocator = clpool.SVMAllocator(context, queue=queue)
    except clpool.NotSupported:
        pytest.skip("the device has no shared virtual memory")
    return clpool.SVMPool(allocator, arena=request.param)


def test_arrays(queue, svm_pool):
    x = cla.arange(queue, 1000, dtype=np.float32, allocator=svm_pool)
    assert ((x + 1).get() == np.arange(1000, dtype=np.float32) + 1).all()
    assert isinstance(x.base_data, cl.SVMPointer)
    assert x.base_data._queue == queue


def test_a_block_comes_again(svm_pool):
    first = svm_pool(1000)
    pointer = first.svm_ptr
    assert (first.size, svm_pool.active_blocks) == (1000, 1)
    del first
    assert svm_pool(1000).svm_ptr == pointer


def test_release_is_once(svm_pool):
    memory = svm_pool(100)
    memory.release()
    with pytest.raises(cl.LogicError):
        memory.release()
    memory = svm_pool(100)
    memory.enqueue_release()
    assert svm_pool.active_blocks == 0


def test_memory_whose_queue_is_refused_stays_its_owners(queue, svm_pool):
    memory = svm_pool(100)
    with pytest.raises(cl.LogicError):
        memory.enqueue_release(cl.CommandQueue(cl.Context([queue.device])))
    assert svm_pool.active_blocks == 1
    memory.enqueue_release(queue)
    assert svm_pool.active_blocks == 0


def test_bind_and_unbind(context, queue, svm_pool):
    memory = svm_pool(1000)
    other = cl.CommandQueue(context)
    memory.bind_to_queue(other)
    assert memory._queue is other
    memory.unbind_from_queue()
    assert memory._queue is None
    memory.record_use(other)


def test_map(queue, svm_pool):
    memory = svm_pool(4000)
    with memory.map_rw(queue) as mapped:
        mapped.view(np.float32)[:] = 2
    seen = np.zeros(1000, np.float32)
    cl.enqueue_copy(queue, seen, memory)
    assert (seen == 2).all()


def test_without_a_pool(context, queue):
    allocator = clpool.SVMAllocator(context, alignment=64, queue=queue)
    assert isinstance(allocator(100), cl.SVMAllocation)
    if cl.VERSION >= (2024,):  # older ones have no SVMAllocation of no bytes
        allocator(0).release()


def test_zero_bytes(svm_pool):
    svm_pool(0).release()


def test_a_pool_that_its_callback_keeps_ends(context, queue):
    """Through the SVM that the callback keeps, which PyOpenCL holds twice."""
    ended = []

    class Ended:
        def __del__(self):
            ended.append(True)

    def make():
        kept, mark = [], Ended()
        pool = clpool.SVMPool(
            clpool.SVMAllocator(context, queue=queue),
            on_out_of_memory=lambda pool, size: bool(kept and mark),
        )
        kept.append(pool(100))
        kept.append(pool)

    make()
    gc.collect()
    assert ended == [True]


def test_an_object_comes_out_clean(context, queue):
    pool = clpool.SVMPool(clpool.SVMAllocator(context, queue=queue))
    other = cl.CommandQueue(context)
    first = pool(1000)
    identity, first.note = id(first), "of the first user"
    first.bind_to_queue(other)
    del first
    second = pool(1000)
    assert id(second) == identity
    assert not hasattr(second, "note")
    assert second._queue is queue and second.mem.pool is pool
    assert second == second and len({second, second}) == 1


@pytest.mark.parametrize("size", [999, 1, 1023])
def test_a_block_that_comes_again_in_another_size(svm_pool, size):
    first = svm_pool(1000)
    del first
    second = svm_pool(size)
    assert second.size == second.mem.size == size
    assert len(memoryview(second.mem)) == size
    assert svm_pool.active_bytes == size


def test_memory_outlives_its_svm(svm_pool):
    memory = svm_pool(1000).mem
    assert svm_pool.active_blocks == 1
    other = svm_pool(1000)
    assert other.mem.ptr != memory.ptr
    memory.release()
    assert svm_pool.active_blocks == 1
    kept = other.mem
    del other
    assert svm_pool.active_blocks == 1 and kept.ptr
    del kept, memory
    assert svm_pool.active_blocks == 0


def test_many(svm_pool):
    for _ in range(20):
        kept = [svm_pool(n) for n in range(1, 300)]
        assert len({one.svm_ptr for one in kept}) == len(kept)
        assert [one.size for one in kept] == list(range(1, 300))
        for one in kept[::3]:
            one.release()
        held = [one.mem for one in kept[1::3]]
        assert svm_pool.active_blocks == 199
        del kept, one, held
    assert svm_pool.active_blocks == 0


def test_none_is_made_without_a_pool():
    memory = clpool.MemoryPool(clpool.HostAllocator())(100)
    with pytest.raises(TypeError, match="SVMPool"):
        clpool.PooledSVM(memory)
    memory.release()


def test_memory_goes_back_to_the_device(context, queue):
    pool = clpool.SVMPool(clpool.SVMAllocator(context, queue=queue))
    for n in range(100):
        pool(1000 + n)
    pool.free_held()
    assert (pool.managed_bytes, clpool._clpool.drop_parked()) == (0, 0)
