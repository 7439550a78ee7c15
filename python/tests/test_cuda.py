# SPDX-License-Identifier: MIT
"""CuPy's and PyTorch's memory, on the stand-in for CUDA's driver that the tree has, with stand-ins
for what is used of CuPy and PyTorch. tests/gpu has the same on the real ones."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import textwrap

import pytest

FAKE = pathlib.Path(
    os.environ.get(
        "CLPOOL_FAKE_CUDA",
        pathlib.Path(__file__).parents[2] / "tests" / "fakecuda" / ".libs" / "libfakecuda.so",
    )
)


def run_on_fake(text: str) -> None:
    if not FAKE.exists():
        pytest.skip("the stand-in for CUDA's driver was not built")
    ended = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SET_UP + textwrap.dedent(text)],
        capture_output=True, text=True, timeout=60, check=False,
        env={**os.environ, "CLPOOL_CUDA_LIBRARY": str(FAKE)},
    )  # fmt: skip
    assert (ended.returncode, ended.stderr) == (0, "")


SET_UP = """
import ctypes, os, sys, types
import clpool

driver = ctypes.CDLL(os.environ["CLPOOL_CUDA_LIBRARY"])

class Stream:
    def __init__(self):
        context, handle = ctypes.c_void_p(), ctypes.c_void_p()
        assert driver.cuInit(0) == 0
        assert driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
        assert driver.cuCtxPushCurrent_v2(context) == 0
        assert driver.cuStreamCreate(ctypes.byref(handle), 1) == 0
        self.ptr = handle.value

pool = clpool.MemoryPool(clpool.CudaAsyncAllocator())
assert pool.allocator.device == 0

class Pluggable:
    def __init__(self, path, malloc, free):
        library = ctypes.CDLL(path)
        self.malloc, self.free = getattr(library, malloc), getattr(library, free)
        self.malloc.restype = ctypes.c_void_p
        self.malloc.argtypes = [ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p]
        self.free.restype = None
        self.free.argtypes = [ctypes.c_void_p, *self.malloc.argtypes]

    def allocator(self):
        return self

    def set_record_stream_fn(self, address):
        kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
        self.record_stream = kind(address)

torch = types.ModuleType("torch")
torch.cuda = types.SimpleNamespace(
    memory=types.SimpleNamespace(CUDAPluggableAllocator=Pluggable)
)

def torch_allocator(pool):
    sys.modules["torch"] = torch
    return clpool.torch_allocator(pool)
"""


def test_a_pool():
    run_on_fake(
        """
        memory = pool(1000)
        assert memory.ptr > 0 and memory.size == 1000
        try:
            memoryview(memory)
        except BufferError:
            pass
        else:
            raise AssertionError
        stream = Stream()
        on = pool.on(stream)
        address = on(500).ptr
        assert on(500).ptr == address
        memory.record_use(stream)
        memory.release(stream)
        pool.forget_queue(stream)
        """
    )


def test_cupy():
    run_on_fake(
        """
        streams = [types.SimpleNamespace(ptr=0), Stream()]
        current = streams[0]
        device = 0
        cuda = types.SimpleNamespace(
            runtime=types.SimpleNamespace(getDevice=lambda: device),
            get_current_stream=lambda: current,
            UnownedMemory=lambda ptr, size, owner, device: (ptr, size, owner, device),
            MemoryPointer=lambda memory, offset: (memory, offset),
        )
        sys.modules["cupy"] = types.ModuleType("cupy")
        sys.modules["cupy"].cuda = cuda
        allocate = clpool.cupy_allocator(pool)
        (ptr, size, owner, of), offset = allocate(1000)
        assert (size, of, offset) == (1000, 0, 0) and ptr == owner.ptr
        del owner
        current = streams[1]
        (other, _, owner, _), _ = allocate(1000)
        assert pool.active_blocks == 1 and owner.pool.queue is streams[1]
        device = 1
        try:
            allocate(10)
        except ValueError:
            pass
        else:
            raise AssertionError
        try:
            clpool.cupy_allocator(clpool.MemoryPool(clpool.HostAllocator()))
        except ValueError:
            pass
        else:
            raise AssertionError
        """
    )


def test_torch():
    run_on_fake(
        """
        made = torch_allocator(pool)
        stream = Stream()
        first = made.malloc(1000, 0, None)
        assert first and pool.active_blocks == 1
        made.record_stream(first, stream.ptr)
        made.free(first, 1000, 0, None)
        second = made.malloc(3000, 0, stream.ptr)
        made.free(second, 3000, 0, stream.ptr)
        assert made.malloc(3000, 0, stream.ptr) == second
        assert made.malloc(0, 0, None) is None
        made.free(None, 0, 0, None)
        made.free(second, 3000, 0, stream.ptr)
        assert (pool.active_blocks, pool.stats.hits) == (0, 1)

        class Failing(clpool.MemoryHook):
            def malloc_preprocess(self, **kwargs):
                raise ZeroDivisionError

        # PyTorch is not told what a callback raises, and the next call of Python's neither.
        printed = []
        sys.unraisablehook = lambda told: printed.append(told.exc_type)
        hook = Failing()
        hook.add_to(pool)
        made.free(made.malloc(3000, 0, None), 3000, 0, None)
        hook.remove_from(pool)
        assert printed == [ZeroDivisionError]
        """
    )


def test_a_child_frees_beside_busy_threads_of_torch():
    run_on_fake(
        """
        import signal, threading
        made = torch_allocator(pool)
        kept = made.malloc(1000, 0, None)
        over = False

        def work():
            while not over:
                made.free(made.malloc(500, 0, None), 500, 0, None)

        threads = [threading.Thread(target=work, daemon=True) for _ in range(3)]
        for thread in threads:
            thread.start()
        for _ in range(50):
            child = os.fork()
            if child == 0:
                signal.alarm(20)
                made.free(kept, 1000, 0, None)
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0
        over = True
        for thread in threads:
            thread.join()
        """
    )


def test_torch_wants_a_pool_of_cuda():
    import clpool

    with pytest.raises(ValueError, match="CudaAsyncAllocator"):
        clpool._clpool.set_torch_pool(clpool.MemoryPool(clpool.HostAllocator()))
