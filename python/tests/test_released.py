# SPDX-License-Identifier: MIT
"""Released memory: views forbid a release, and what was released is of no use any more."""

from __future__ import annotations

import ctypes

import numpy as np
import pyopencl as cl
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
