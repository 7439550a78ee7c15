# SPDX-License-Identifier: MIT
"""Released memory: views forbid a release, and what was released is of no use any more."""

from __future__ import annotations

import concurrent.futures
import ctypes
import gc
import random

import numpy as np
import pyopencl as cl
import pyopencl.array
import pytest

import clpool

# --- Views ----------------------------------------------------------------------------------------


@pytest.fixture(params=["host", "host arena", "svm", "svm arena"])
def address_pool(context, queue, request):
    """A pool whose memory the host can reach."""
    kind, *arena = request.param.split()
    if kind == "host":
        return clpool.MemoryPool(clpool.HostAllocator(), arena=bool(arena))
    return clpool.SVMPool(clpool.SVMAllocator(context, queue=queue), arena=bool(arena))


def memory_of(given):
    return given.mem if isinstance(given, clpool.PooledSVM) else given


VIEWS = {
    "frombuffer": lambda given: np.frombuffer(memory_of(given), np.uint8),
    "slice of an array": lambda given: np.frombuffer(memory_of(given), np.uint8)[3:7],
    "asarray": lambda given: np.asarray(memory_of(given)),
    "memoryview": lambda given: memoryview(memory_of(given)),
    "slice of a view": lambda given: memoryview(memory_of(given))[1:2],
    "cast": lambda given: memoryview(memory_of(given)).cast("I"),
    "ctypes": lambda given: (ctypes.c_char * 8).from_buffer(memory_of(given)),
    "svm": lambda given: cl.SVM(memory_of(given)),
    "buf": lambda given: given.buf if hasattr(given, "buf") else memoryview(memory_of(given)),
    "two": lambda given: [memoryview(memory_of(given)), np.asarray(memory_of(given))],
}
RELEASES = {
    "release": lambda given: given.release(),
    "memory": lambda given: memory_of(given).release(),
    "enqueue": lambda given: getattr(given, "enqueue_release", given.release)(),
}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("release", RELEASES)
def test_a_view_forbids_the_release(address_pool, view, release):
    given = address_pool(4096)
    made = VIEWS[view](given)
    with pytest.raises(BufferError, match="view"):
        RELEASES[release](given)
    address_pool.free_held()
    assert address_pool.active_blocks == 1
    other = address_pool(4096)
    assert memory_of(other).ptr != memory_of(given).ptr
    np.asarray(memory_of(given))[:] = 7
    del made
    RELEASES[release](given)
    assert address_pool.active_blocks == 1
    with pytest.raises(cl.LogicError):
        given.release()


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_keeps_the_memory(address_pool, view):
    made = VIEWS[view](address_pool(4096))
    assert address_pool.active_blocks == 1
    del made
    assert address_pool.active_blocks == 0
    assert address_pool(4096) is not None


def test_a_released_view_is_none(address_pool):
    given = address_pool(4096)
    with memoryview(memory_of(given)) as view:
        assert view.nbytes == 4096
    given.release()
    assert address_pool.active_blocks == 0


def test_a_map_is_a_view(context, queue):
    pool = clpool.SVMPool(clpool.SVMAllocator(context, queue=queue))
    given = pool(4096)
    with given.map_rw(queue) as mapped:
        mapped[:] = 1
        with pytest.raises(BufferError):
            given.release()
    with pytest.raises(BufferError):
        given.release()
    del mapped
    given.release()
    assert pool.active_blocks == 0


# --- What was released ----------------------------------------------------------------------------

KERNEL = "__kernel void fill(__global uchar *x) { x[get_global_id(0)] = 9; }"


@pytest.fixture(scope="session")
def fill(context):
    return cl.Program(context, KERNEL).build().fill


@pytest.fixture(params=["buffers", "arena", "on a queue", "no holding"])
def taker(context, queue, request):
    """Gives buffers, and the next owner has the block of what was released."""
    pool = clpool.MemoryPool(clpool.ImmediateAllocator(queue), arena=request.param == "arena")
    if request.param == "no holding":
        pool.stop_holding()
    return pool.on(queue) if request.param == "on a queue" else pool


def common_uses(queue, fill, bad, good):
    """Those of buffers and of shared virtual memory."""
    data = np.full(64, 9, np.uint8)
    return {
        "kernel": lambda: fill(queue, (64,), None, bad),
        "set_arg": lambda: fill.set_arg(0, bad),
        "write": lambda: cl.enqueue_copy(queue, bad, data),
        "read": lambda: cl.enqueue_copy(queue, data, bad),
        "copy to": lambda: cl.enqueue_copy(queue, bad, good),
        "copy from": lambda: cl.enqueue_copy(queue, good, bad),
        "array": lambda: cl.array.Array(queue, (64,), np.uint8, data=bad).fill(np.uint8(9)),
        "size": lambda: bad.size,
        "record_use": lambda: bad.record_use(queue),
        "again": lambda: bad.release(),
        "attribute": lambda: setattr(bad, "note", 1),
    }


def uses(queue, fill, bad, good):
    """Ways to use memory, by name. All of them would write to it, or tell what is in it."""
    return {
        **common_uses(queue, fill, bad, good),
        "fill": lambda: cl.enqueue_fill_buffer(queue, bad, np.uint8(9), 0, 64),
        "map": lambda: cl.enqueue_map_buffer(
            queue, bad, cl.map_flags.WRITE, 0, (64,), np.uint8
        ),
        "handle": lambda: bad.int_ptr,
        "info": lambda: bad.get_info(cl.mem_info.SIZE),
        "class": lambda: cl.Buffer.get_info(bad, cl.mem_info.SIZE),
        "migrate": lambda: cl.enqueue_migrate_mem_objects(queue, [bad]),
        "slice": lambda: bad[0:64],
        "region": lambda: bad.get_sub_region(0, 64),
        "pool": lambda: bad.pool,
    }


USES = list(uses(None, None, None, None))


@pytest.mark.parametrize("use", USES)
def test_a_released_buffer_is_of_no_use(queue, fill, taker, use):
    released = taker(4096)
    released.note = "of the first owner"
    released.release()
    next_one, other = taker(4096), taker(4096)
    for owned in (next_one, other):
        cl.enqueue_fill_buffer(queue, owned, np.uint8(1), 0, 4096)
    with pytest.raises((TypeError, cl.LogicError, RuntimeError)):
        uses(queue, fill, released, other)[use]()
        queue.finish()
    seen = np.zeros(4096, np.uint8)
    for owned in (next_one, other):
        cl.enqueue_copy(queue, seen, owned)
        assert (seen == 1).all()
    assert isinstance(released, clpool.PooledBuffer) and "released" in repr(released)


def test_methods_that_were_there_before(queue, taker):
    buffer = taker(4096)
    calls = [
        lambda f=buffer.get_sub_region: f(0, 64),
        lambda f=buffer.record_use: f(queue),
        lambda f=buffer.bind_to_queue: f(queue),
        buffer.unbind_from_queue,
        buffer.release,
        lambda f=buffer.get_info: f(cl.mem_info.SIZE),
    ]
    buffer.release()
    for call in calls:
        with pytest.raises((TypeError, cl.LogicError)):
            call()


@pytest.mark.parametrize("use", USES)
def test_a_released_part_is_of_no_use(queue, fill, taker, use):
    whole, other = taker(4096), taker(4096)
    part = whole[0:2048]
    part.release()
    with pytest.raises((TypeError, cl.LogicError, RuntimeError)):
        uses(queue, fill, part, other)[use]()
    cl.enqueue_fill_buffer(queue, whole, np.uint8(1), 0, 4096)


def test_parts_keep_the_block_of_a_released_whole(queue, fill, taker):
    pool = getattr(taker, "pool", taker)
    whole = taker(4096)
    first, second = whole[0:1024], whole[1024:2048]
    whole.release()
    with pytest.raises(cl.LogicError):
        whole.release()
    with pytest.raises((TypeError, cl.LogicError)):
        fill(queue, (64,), None, whole)
    assert pool.active_blocks == 1
    other = taker(4096)
    cl.enqueue_fill_buffer(queue, other, np.uint8(1), 0, 4096)
    fill(queue, (1024,), None, first)
    seen = np.zeros(4096, np.uint8)
    cl.enqueue_copy(queue, seen, other)
    assert (seen == 1).all()
    first.release()
    assert pool.active_blocks == 2
    del second
    assert pool.active_blocks == 1
    del whole, first
    assert pool.active_blocks == 1


def test_released_objects_end(queue, taker):
    pool = getattr(taker, "pool", taker)
    for _ in range(100):
        buffers = [taker(100 * n + 1) for n in range(10)]
        for buffer in buffers:
            buffer.cycle = buffer
            buffer.release()
    del buffer, buffers
    gc.collect()
    assert pool.active_blocks == 0
    kept = taker(100)
    kept.release()
    pool.free_held()
    del kept
    assert pool.managed_bytes == 0


def test_an_exception_of_a_callback_does_not_keep_the_buffer(queue, fill):
    class Refusing(clpool.MemoryHook):
        def free_preprocess(self, **kwargs):
            raise ZeroDivisionError

    pool = clpool.MemoryPool(clpool.ImmediateAllocator(queue))
    buffer = pool(100)
    with Refusing(), pytest.raises(ZeroDivisionError):
        buffer.release()
    assert pool.active_blocks == 0
    with pytest.raises((TypeError, cl.LogicError)):
        fill(queue, (64,), None, buffer)


def test_released_host_memory_has_no_address(host_pool):
    memory = host_pool(100)
    memory.release()
    with pytest.raises(cl.LogicError):
        memory.ptr  # noqa: B018
    with pytest.raises(cl.LogicError):
        np.frombuffer(memory, np.uint8)


def svm_uses(queue, fill, bad, good):
    return {
        **common_uses(queue, fill, bad, good),
        "fill": lambda: cl.enqueue_svm_memfill(queue, bad, np.uint8(9)),
        "map": lambda: bad.map_rw(queue),
        "pointer": lambda: bad.svm_ptr,
        "mem": lambda: bad.mem,
        "buf": lambda: bad.buf,
        "as_buffer": lambda: bad.as_buffer(queue.context),
        "class": lambda: cl.SVM.map_rw(bad, queue),
        "bind": lambda: bad.bind_to_queue(queue),
        "enqueue_release": lambda: bad.enqueue_release(),
    }


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("arena", [False, True])
@pytest.mark.parametrize("use", list(svm_uses(None, None, None, None)))
def test_released_svm_is_of_no_use(context, queue, fill, use, arena, release):
    pool = clpool.SVMPool(clpool.SVMAllocator(context, queue=queue), arena=arena)
    released = pool(4096)
    memory = released.mem
    released.note = released
    RELEASES[release](released)
    next_one, other = pool(4096), pool(4096)
    for owned in (next_one, other):
        cl.enqueue_svm_memfill(queue, owned, np.uint8(1))
    with pytest.raises((TypeError, cl.LogicError, RuntimeError, AssertionError)):
        svm_uses(queue, fill, released, other)[use]()
    queue.finish()
    seen = np.zeros(4096, np.uint8)
    for owned in (next_one, other):
        cl.enqueue_copy(queue, seen, owned)
        assert (seen == 1).all()
    assert isinstance(released, clpool.PooledSVM) and "released" in repr(released)
    with pytest.raises(cl.LogicError):
        memory.release()
    del released, memory
    gc.collect()
    assert pool.active_blocks == 2


def test_threads(context, queue):
    """Objects, their memory, views and slices end in any order, and all blocks come back."""
    other = cl.CommandQueue(context)
    svm, buffers = clpool.SVMAllocator(context, queue=queue), clpool.ImmediateAllocator(queue)
    pools = [
        make(allocator, arena=arena, hold_bytes=hold_bytes)
        for make, allocator in ((clpool.SVMPool, svm), (clpool.MemoryPool, buffers))
        for arena in (False, True)
        for hold_bytes in (None, 20_000)
    ]

    def one_of(given, choice):
        """What is kept of it, which may be nothing."""
        if choice == 0:
            return given.release()
        if choice == 1:
            given.note = [given]
            return given
        if isinstance(given, clpool.PooledSVM):
            return (given.mem, memoryview(given.mem), given)[choice - 2]
        part = given[:60]
        if choice == 2:
            given.release()
        return part[:50] if choice == 3 else part

    def work(seed):
        choose, kept = random.Random(seed), []
        for _ in range(2000):
            pool, size = choose.choice(pools), choose.choice((100, 1000, 1001, 5000, 40_000))
            taker = choose.choice((pool, pool, pool.on(other)))
            kept.append(one_of(taker(size), choose.randrange(5)))
            if choose.random() < 0.01:
                pool.free_held()
            if len(kept) > 30:
                choose.shuffle(kept)
                del kept[:20]

    with concurrent.futures.ThreadPoolExecutor(6) as threads:
        list(threads.map(work, range(6)))
    gc.collect()
    assert [pool.active_blocks for pool in pools] == [0] * len(pools)
    for pool in pools:
        pool.free_held()
    assert [pool.managed_bytes for pool in pools] == [0] * len(pools)
    assert clpool._clpool.drop_parked() == 0
