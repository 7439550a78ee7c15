# SPDX-License-Identifier: MIT
"""Two queues and queues out of order: no work sees another one's memory."""

from __future__ import annotations

import numpy as np
import pyopencl as cl
import pyopencl.array as cla
import pytest

import clpool

N = 1 << 16
OUT_OF_ORDER = cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE


@pytest.mark.parametrize("arena", [False, True])
def test_two_queues(context, queue, arena):
    """pyopencl issue 447: a block goes from a queue that has not run yet to another one."""
    pool = clpool.MemoryPool(clpool.ImmediateAllocator(queue), arena=arena)
    other = cl.CommandQueue(context)
    pool(4 * N)
    gate = cl.UserEvent(context)
    first = cla.empty(queue, N, np.int32, allocator=pool)
    cl.enqueue_fill_buffer(queue, first.data, np.int32(1), 0, 4 * N, wait_for=[gate])
    del first
    second = cla.empty(other, N, np.int32, allocator=pool.on(other))
    filled = cl.enqueue_fill_buffer(other, second.data, np.int32(2), 0, 4 * N)
    other.flush()
    gate.set_status(cl.command_execution_status.COMPLETE)
    filled.wait()
    queue.finish()
    assert (second.get(queue=other) == 2).all()


def test_the_same_queue_takes_its_block_at_once(context, queue):
    pool = clpool.MemoryPool(clpool.ImmediateAllocator(queue))
    other = pool.on(cl.CommandQueue(context))
    address = other(100).int_ptr
    assert other(100).int_ptr == address
    assert pool.stats.misses == 1
    assert other.queue.int_ptr and other.pool is pool
    assert other.on(queue).pool is pool


def test_record_use(context, queue):
    pool = clpool.MemoryPool(clpool.ImmediateAllocator(queue))
    other = cl.CommandQueue(context)
    gate = cl.UserEvent(context)
    buffer = pool(4 * N)
    queue.finish()
    cl.enqueue_fill_buffer(other, buffer, np.int32(1), 0, 4 * N, wait_for=[gate])
    buffer.record_use(other)
    del buffer
    again = pool(4 * N)
    filled = cl.enqueue_fill_buffer(queue, again, np.int32(2), 0, 4 * N)
    queue.flush()
    gate.set_status(cl.command_execution_status.COMPLETE)
    filled.wait()
    other.finish()
    seen = np.zeros(N, np.int32)
    cl.enqueue_copy(queue, seen, again)
    assert (seen == 2).all()


@pytest.mark.parametrize("arena", [False, True])
def test_out_of_order_home(context, arena):
    queue = cl.CommandQueue(context, properties=OUT_OF_ORDER)
    pool = clpool.MemoryPool(clpool.ImmediateAllocator(queue), arena=arena)
    pool(4 * N)
    gate = cl.UserEvent(context)
    first = pool(4 * N)
    cl.enqueue_fill_buffer(queue, first, np.int32(1), 0, 4 * N, wait_for=[gate])
    del first
    second = pool(4 * N)
    filled = cl.enqueue_fill_buffer(queue, second, np.int32(2), 0, 4 * N)
    queue.flush()
    gate.set_status(cl.command_execution_status.COMPLETE)
    filled.wait()
    queue.finish()
    seen = np.zeros(N, np.int32)
    cl.enqueue_copy(queue, seen, second)
    assert (seen == 2).all()


def test_bind_and_unbind(context, queue, pool):
    other = cl.CommandQueue(context)
    buffer = pool(1000)
    buffer.bind_to_queue(other)
    buffer.unbind_from_queue()
    del buffer
    assert pool.active_blocks == 0


@pytest.mark.parametrize("kind", ["buffers", "svm"])
def test_bind_what_is_on_a_queue(context, queue, kind):
    """The new queue waits for the one that the memory is on, and the next use for both."""
    if kind == "svm":
        pool = clpool.SVMPool(clpool.SVMAllocator(context, queue=queue))
    else:
        pool = clpool.MemoryPool(clpool.ImmediateAllocator(queue))
    other = cl.CommandQueue(context)
    on, seen = pool.on(queue), np.zeros(N, np.int32)

    def fill(q, memory, value, event):
        source = np.full(N, value, np.int32)
        return cl.enqueue_copy(q, memory, source, is_blocking=False, wait_for=event), source

    former = on(4 * N)
    first, second = cl.UserEvent(context), cl.UserEvent(context)
    kept = [fill(queue, former, 1, [first])]
    del former
    memory = on(4 * N)
    memory.bind_to_queue(other)
    kept.append(fill(other, memory, 2, None))
    read = cl.enqueue_copy(other, seen, memory, is_blocking=False, wait_for=[second])
    del memory
    again = on(4 * N)
    kept.append(fill(queue, again, 3, None))
    queue.flush()
    other.flush()
    first.set_status(cl.command_execution_status.COMPLETE)
    second.set_status(cl.command_execution_status.COMPLETE)
    read.wait()
    queue.finish()
    assert pool.stats.misses == 1
    assert (seen == 2).all()


def test_a_queue_of_another_context(pool, queue):
    stranger = cl.CommandQueue(cl.Context([queue.device]))
    with pytest.raises(cl.LogicError):
        pool.on(stranger)(100)
