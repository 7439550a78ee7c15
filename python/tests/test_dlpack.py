# SPDX-License-Identifier: MIT
"""The host's memory as DLPack's tensors, which numpy takes. CUDA's is in test_cuda.py."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import clpool


def test_numpy_writes_to_the_memory(host_pool):
    memory = host_pool(1000)
    assert memory.__dlpack_device__() == (1, 0)
    array = np.from_dlpack(memory)
    assert (array.dtype, array.shape) == (np.uint8, (1000,))
    assert array.__array_interface__["data"][0] == memory.ptr
    memoryview(memory)[:] = bytes(range(250)) * 4
    assert array.tobytes() == bytes(range(250)) * 4


def test_release_waits_for_the_arrays(host_pool):
    memory = host_pool(1000)
    array = np.from_dlpack(memory)
    view = memoryview(memory)
    with pytest.raises(BufferError, match="2 views of it exist"):
        memory.release()
    view.release()
    del array
    gc.collect()
    memory.release()
    with pytest.raises(clpool.LogicError):
        np.from_dlpack(memory)


def test_an_array_keeps_the_memory(host_pool):
    array = np.from_dlpack(host_pool(1000))
    assert host_pool.active_blocks == 1
    array = array[10:]
    assert host_pool.active_blocks == 1
    del array
    assert host_pool.active_blocks == 0


@pytest.mark.parametrize("version", [None, (0, 8), (1, 0), (2, 1)])
def test_what_nobody_takes_ends(host_pool, version):
    memory = host_pool(1000)
    name = "dltensor_versioned" if version and version >= (1, 0) else "dltensor"
    capsule = memory.__dlpack__(max_version=version)
    assert f'"{name}"' in repr(capsule)
    with pytest.raises(BufferError):
        memory.release()
    del capsule
    memory.release()


def test_a_copy_is_memory_of_its_own(host_pool):
    memory = host_pool(1000)
    memoryview(memory)[:] = b"x" * 1000

    class Copying:
        def __dlpack__(self, **wishes):
            return memory.__dlpack__(copy=True)

        def __dlpack_device__(self):
            return memory.__dlpack_device__()

    array = np.from_dlpack(Copying())
    assert host_pool.active_blocks == 2
    assert array.tobytes() == b"x" * 1000
    memory.release()
    assert array.tobytes() == b"x" * 1000
    del array
    assert host_pool.active_blocks == 0


def test_no_callback_releases_what_is_copied(host_pool):
    memory = host_pool(1000)

    class Releasing(clpool.MemoryHook):
        def malloc_preprocess(self, **figures):
            memory.release()

    with Releasing(), pytest.raises(BufferError, match="cannot be released"):
        memory.__dlpack__(copy=True)
    assert host_pool.active_blocks == 1
    memory.release()


def test_wishes_that_cannot_be_had(host_pool):
    memory = host_pool(1000)
    for wish in ({"stream": 1}, {"dl_device": (2, 0)}):
        with pytest.raises(BufferError):
            memory.__dlpack__(**wish)
    assert memory.__dlpack__(dl_device=(1, 0), copy=False) is not None
    simulated = clpool.MemoryPool(clpool.SimulatedAllocator())(10)
    with pytest.raises(BufferError):
        simulated.__dlpack__()
    with pytest.raises(BufferError):
        simulated.__dlpack_device__()


def test_shared_virtual_memory(context, queue):
    try:
        pool = clpool.SVMPool(clpool.SVMAllocator(context, queue=queue))
        svm = pool(1000)
    except clpool.NotSupported as error:
        pytest.skip(str(error))
    array = np.from_dlpack(svm.mem)
    assert array.__array_interface__["data"][0] == svm.mem.ptr
    with pytest.raises(BufferError):
        svm.release()
    with pytest.raises(BufferError):
        svm.mem.__dlpack__(copy=True)
    address = svm.mem.ptr
    del svm
    assert pool.active_blocks == 1
    del array
    assert pool.active_blocks == 0
    assert pool(1000).mem.ptr == address
