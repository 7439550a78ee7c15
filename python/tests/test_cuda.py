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


def run_on_fake(text: str, **environment: str) -> None:
    if not FAKE.exists():
        pytest.skip("the stand-in for CUDA's driver was not built")
    ended = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SET_UP + textwrap.dedent(text)],
        capture_output=True, text=True, timeout=60, check=False,
        env={**os.environ, **environment, "CLPOOL_CUDA_LIBRARY": str(FAKE)},
    )  # fmt: skip
    assert ended.returncode == 0 and not ended.stderr, ended.stderr


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

def fails(exception, function, *arguments, **named):
    try:
        function(*arguments, **named)
    except exception as error:
        return error
    raise AssertionError((function, arguments, named))

pool = clpool.MemoryPool(clpool.CudaAsyncAllocator())
assert pool.allocator.device == 0

device, current = 0, types.SimpleNamespace(ptr=0)  # what CuPy says
cupy = types.ModuleType("cupy")
cupy.cuda = types.SimpleNamespace(
    runtime=types.SimpleNamespace(getDevice=lambda: device),
    get_current_stream=lambda: current,
    UnownedMemory=lambda ptr, size, owner, device: (ptr, size, owner, device),
    MemoryPointer=lambda memory, offset: (memory, offset),
)

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
        fails(BufferError, memoryview, memory)
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
        sys.modules["cupy"] = cupy
        allocate = clpool.cupy_allocator(pool)
        (ptr, size, owner, of), offset = allocate(1000)
        assert (size, of, offset) == (1000, 0, 0) and ptr == owner.ptr
        del owner
        current = Stream()
        (other, _, owner, _), _ = allocate(1000)
        assert pool.active_blocks == 1 and owner.pool.queue is current
        device = 1
        fails(ValueError, allocate, 10)
        fails(ValueError, clpool.cupy_allocator, clpool.MemoryPool(clpool.HostAllocator()))
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


def test_cupys_pool_without_cupy():
    run_on_fake(
        """
        import copy
        sys.modules["cupy"] = None  # as where it is not installed
        pool = clpool.MemoryAsyncPool()
        assert pool.memoryAsyncHasStat and pool.get_limit() == 0
        memory, nothing = pool.malloc(1000), pool.malloc(size=0)
        assert memory.ptr > 0 and memory.size == 1000 and memory.stream is None
        assert (nothing.ptr, nothing.size) == (0, 0)
        try:
            copy.copy(memory)
        except TypeError:
            pass
        else:
            raise AssertionError
        assert driver.fakecuda_live_allocations() == 1
        assert pool.used_bytes() >= 1000
        assert pool.total_bytes() == pool.used_bytes() + pool.free_bytes()
        del memory
        assert driver.fakecuda_live_allocations() == 0
        pool.free_all_blocks()
        assert pool.total_bytes() == 0
        assert isinstance(fails(NotImplementedError, pool.n_free_blocks), clpool.NotSupported)

        pool.set_limit(1 << 20)
        assert pool.get_limit() == 1 << 20
        fails(clpool.LimitExceeded, pool.malloc, 1 << 21)
        pool.set_limit(fraction=0.5)
        assert pool.get_limit() == 1 << 29
        pool.set_limit()
        assert pool.get_limit() == 0
        fails(clpool.LogicError, pool.set_limit, size=1, fraction=0.5)
        error = fails(clpool.MemoryError, pool.malloc, 1 << 40)
        assert error.status == "CLP_OUT_OF_DEVICE_MEMORY"
        """
    )


def test_which_memory_pools_cupys_pool_takes_from():
    run_on_fake(
        """
        sys.modules["cupy"] = None
        mine = clpool.CudaMemPool()
        default = clpool.CudaMemPool.default()

        def takes_from(mempool, pool_handles):
            pool = clpool.MemoryAsyncPool(pool_handles)
            memory = pool.malloc(1000)
            return mempool.used_bytes > 0

        for handles in (mine, mine.handle, [mine, "default"], (mine.handle, "current")):
            assert takes_from(mine, handles) and not takes_from(default, handles), handles
        for handles in ("current", "default", ["default", "current"]):
            assert takes_from(default, handles) and not takes_from(mine, handles), handles
        mine.set_current()
        assert takes_from(mine, "current") and takes_from(default, "default")
        assert clpool.CudaMemPool.current().handle == mine.handle
        del mine
        assert clpool.CudaMemPool.current().handle == default.handle

        new = clpool.MemoryAsyncPool("create")
        memory = new.malloc(1000)
        assert default.used_bytes == 0 and new.used_bytes() >= 1000
        ptr = memory.ptr
        del new
        assert memory.ptr == ptr and driver.fakecuda_live_allocations() == 1
        del memory
        assert driver.fakecuda_live_allocations() == 0

        for wrong, exception in (
            ("managed", ValueError), (["default"], ValueError), (["default", "x"], ValueError),
            (0, TypeError), ([None, None], TypeError), (1.5, TypeError), (True, TypeError),
            (-1, OverflowError),
        ):
            fails(exception, clpool.MemoryAsyncPool, wrong)
        """
    )


def test_cupys_pool_with_cupy():
    run_on_fake(
        """
        current = Stream()
        sys.modules["cupy"] = cupy
        pool = clpool.MemoryAsyncPool(pool_handles="default")
        (ptr, size, owner, device), offset = pool.malloc(1000)
        assert (size, device, offset) == (1000, 0, 0) and ptr == owner.ptr > 0
        assert owner.stream is current

        # It is freed in the order of its stream, whichever is current by then.
        stream = current
        current = types.SimpleNamespace(ptr=0)
        driver.fakecuda_hold(ctypes.c_void_p(stream.ptr))
        del owner
        assert driver.fakecuda_commands_left(ctypes.c_void_p(stream.ptr)) > 0
        driver.fakecuda_go_on(ctypes.c_void_p(stream.ptr))
        pool.free_all_blocks(stream)
        assert pool.used_bytes() == 0
        pool.free_all_blocks()
        """
    )


def test_hooks_see_cupys_pool():
    run_on_fake(
        """
        sys.modules["cupy"] = None
        pool = clpool.MemoryAsyncPool()

        class Hook(clpool.MemoryHook):
            def __init__(self):
                self.seen = []

            def malloc_postprocess(self, size, mem_size, mem_ptr, **_):
                self.seen.append(("malloc", size, mem_size, mem_ptr))

            def alloc_postprocess(self, mem_size, mem_ptr, **_):
                self.seen.append(("alloc", mem_size, mem_ptr))

            def free_postprocess(self, mem_size, mem_ptr, **_):
                self.seen.append(("free", mem_size, mem_ptr))

            def device_free_postprocess(self, mem_size, mem_ptr, **_):
                self.seen.append(("device_free", mem_size, mem_ptr))

        with Hook() as hook:
            memory = pool.malloc(1000)
            ptr = memory.ptr
            del memory
        pool.malloc(1000)
        assert hook.seen == [
            ("alloc", 1024, ptr), ("malloc", 1000, 1024, ptr),
            ("device_free", 1024, ptr), ("free", 1024, ptr),
        ]

        class Failing(clpool.MemoryHook):
            def malloc_postprocess(self, **_):
                raise ZeroDivisionError

        with Failing():
            fails(ZeroDivisionError, pool.malloc, 1000)
        assert driver.fakecuda_live_allocations() == 0
        """
    )


def test_memory_pools_of_the_driver():
    run_on_fake(
        """
        mempool = clpool.CudaMemPool(0, max_bytes=64 << 20)
        assert mempool.release_threshold == 0
        mempool.release_threshold = 2**64 - 1
        assert mempool.release_threshold == 2**64 - 1
        names = [n for n in dir(mempool) if n.startswith("reuse_")]
        assert len(names) == 3
        for name in names:
            assert getattr(mempool, name) is True
            setattr(mempool, name, False)
            assert [getattr(mempool, n) for n in names].count(False) == 1
            setattr(mempool, name, True)

        pool = clpool.MemoryPool(clpool.CudaAsyncAllocator(mempool=mempool))
        memory = pool(1 << 20)
        assert 1 << 20 <= mempool.used_bytes <= mempool.reserved_bytes
        fails(clpool.MemoryError, pool, 128 << 20)
        memory.release()
        pool.free_held()
        assert mempool.peak_used_bytes >= 1 << 20 and mempool.peak_reserved_bytes > 0
        Stream()  # and a current context
        driver.cuCtxSynchronize()
        mempool.trim_to(0)
        mempool.reset_peaks()
        figures = (mempool.used_bytes, mempool.reserved_bytes, mempool.peak_used_bytes,
                   mempool.peak_reserved_bytes)
        assert figures == (0, 0, 0, 0)

        assert (mempool.get_access(0), mempool.get_access(1)) == ("rw", "")
        mempool.set_access(1, "rw")
        assert mempool.get_access(1) == "rw"
        mempool.set_access(1, "")
        assert mempool.get_access(1) == ""
        assert repr(mempool) == f"<clpool.CudaMemPool {mempool.handle:#x}>"

        host = clpool.CudaMemPool(numa_node=0)
        assert host.get_access(0) == ""
        host.set_access(0, "rw")
        assert clpool.MemoryPool(clpool.CudaAsyncAllocator(mempool=host))(1000).ptr > 0

        fails(clpool.LogicError, clpool.CudaMemPool, 7)
        fails(clpool.LogicError, clpool.CudaMemPool, handle_types=1 << 20)
        fails(OverflowError, clpool.CudaMemPool, handle_types=1 << 32)
        fails(OverflowError, clpool.CudaMemPool, numa_node=1 << 32)
        fails(ValueError, mempool.set_access, 0, "w")
        fails(clpool.NotSupported, mempool.set_access, 0, "")
        fails(clpool.LogicError, mempool.get_access, 9)
        fails(clpool.LogicError, mempool.export_fd)
        fails(clpool.LogicError, mempool.set_current, 1)
        fails(TypeError, delattr, mempool, "release_threshold")
        fails(TypeError, clpool.CudaMemPool.from_handle, None)
        fails(TypeError, clpool.CudaAsyncAllocator, mempool="mine")
        fails(ValueError, mempool.import_pointer, b"short")
        fails(ValueError, clpool.CudaMemPool.import_fabric, b"")
        """
    )


def test_a_memory_pool_lives_as_long_as_what_takes_from_it():
    run_on_fake(
        """
        for arena in (False, True):
            allocator = clpool.CudaAsyncAllocator(mempool=clpool.CudaMemPool())
            pool = clpool.MemoryPool(allocator, arena=arena)
            del allocator
            assert driver.fakecuda_calls(b"cuMemPoolDestroy") == arena
            memory = pool(1000)
            del pool
            assert memory.ptr > 0
            del memory
        assert driver.fakecuda_calls(b"cuMemPoolDestroy") == 2
        current = clpool.CudaAsyncAllocator(mempool="current")
        assert clpool.MemoryPool(current)(1000).ptr > 0
        """
    )


IMPORTER = """
mempool = clpool.CudaMemPool.import_fd(int(sys.argv[1]))
pointer = mempool.import_pointer(bytes.fromhex(sys.argv[2]))
stream = Stream()
handle, bytes_here = ctypes.c_void_p(stream.ptr), ctypes.create_string_buffer(100)
driver.cuMemcpyDtoHAsync_v2(bytes_here, ctypes.c_uint64(pointer), ctypes.c_size_t(100), handle)
clpool.CudaMemPool.free_pointer(pointer, stream)
driver.cuStreamSynchronize(handle)
assert bytes_here.raw == b"x" * 100
"""


def test_sharing_between_processes():
    run_on_fake(
        """
        import subprocess
        sys.modules["cupy"] = None
        mempool = clpool.CudaMemPool(handle_types=clpool.CudaMemPool.POSIX_FD)
        memory = clpool.MemoryAsyncPool(mempool).malloc(100)
        stream = Stream()
        driver.cuMemsetD8Async(ctypes.c_uint64(memory.ptr), ord("x"), ctypes.c_size_t(100), None)
        driver.cuCtxSynchronize()
        fd = mempool.export_fd()
        shared = mempool.export_pointer(memory.ptr).hex()
        command = [sys.executable, "-c", os.environ["IMPORTER"], str(fd), shared]
        subprocess.run(command, pass_fds=[fd], check=True)
        os.close(fd)
        """,
        IMPORTER=SET_UP + IMPORTER,
    )


DLPACK = """
class Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p), ("device", ctypes.c_int32 * 2), ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64), ("manager", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    ]

get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
get_pointer.restype = ctypes.c_void_p
get_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
set_name = ctypes.pythonapi.PyCapsule_SetName
set_name.argtypes = [ctypes.py_object, ctypes.c_char_p]
USED = b"used_dltensor"

def consume(capsule):
    tensor = Tensor.from_address(get_pointer(capsule, b"dltensor"))
    set_name(capsule, USED)
    return tensor
"""


def test_dlpack():
    run_on_fake(
        DLPACK
        + """
import threading
memory = pool(1000)
assert memory.__dlpack_device__() == (2, 0)
capsule = memory.__dlpack__()
fails(BufferError, memory.release)
tensor = consume(capsule)
assert (tensor.data, tuple(tensor.device), tensor.ndim) == (memory.ptr, (2, 0), 1)
assert (tensor.code, tensor.bits, tensor.lanes, tensor.byte_offset) == (1, 8, 1, 0)
assert (tensor.shape[0], tensor.strides[0]) == (1000, 1)

# The consumer ends after capsule and memory, on a thread without the interpreter's lock.
del capsule, memory
assert pool.active_blocks == 1
deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(tensor.deleter)
thread = threading.Thread(target=deleter, args=(ctypes.addressof(tensor),))
thread.start()
thread.join()
assert pool.active_blocks == 0

# Nobody takes it.
memory = pool(1000)
memory.__dlpack__(max_version=(1, 0), stream=1)
memory.__dlpack__(max_version=(0, 8), dl_device=(2, 0), copy=False)
memory.release()
fails(clpool.LogicError, memory.__dlpack__)
fails(clpool.LogicError, memory.__dlpack_device__)

memory = pool(1000)
fails(BufferError, memory.__dlpack__, copy=True)
fails(BufferError, memory.__dlpack__, dl_device=(1, 0))
fails(BufferError, memory.__dlpack__, stream=2)
fails(ValueError, memory.__dlpack__, stream=0)
fails(ValueError, memory.__dlpack__, stream=-2)
fails(TypeError, memory.__dlpack__, stream="1")
fails(TypeError, memory.__dlpack__, max_version=1)
fails(TypeError, memory.__dlpack__, 1)
memory.release()
"""
    )


def test_dlpack_orders_the_consumers_stream():
    run_on_fake(
        DLPACK
        + """
ours, theirs, third = Stream(), Stream(), Stream()

def left(stream):
    return driver.fakecuda_commands_left(ctypes.c_void_p(stream.ptr))

def fill(stream):
    handle = ctypes.c_void_p(stream.ptr)
    assert driver.cuMemsetD8Async(pointer, 1, ctypes.c_size_t(1000), handle) == 0

memory = pool.on(ours)(1000)
pointer = ctypes.c_uint64(memory.ptr)
held = ctypes.c_void_p(ours.ptr)
driver.fakecuda_hold(held)
fill(ours)
memory.__dlpack__(stream=-1)
memory.__dlpack__(stream=ours.ptr)
assert left(theirs) == 0
capsule = memory.__dlpack__(stream=theirs.ptr)
fill(theirs)  # a violation, which aborts, unless it waits
assert left(theirs) >= 2  # the wait and this
del capsule
memory.release()

# The next owner, on a third stream, waits for the consumer too.
driver.fakecuda_hold(ctypes.c_void_p(theirs.ptr))
driver.fakecuda_go_on(held)
again = pool.on(third)(1000)
if again.ptr == pointer.value:
    fill(third)
driver.fakecuda_go_on(ctypes.c_void_p(theirs.ptr))
again.release()

# What the memory was bound to is what a consumer waits for.
memory = pool(1000)
pointer = ctypes.c_uint64(memory.ptr)
memory.bind_to_queue(ours)
driver.cuCtxSynchronize()
driver.fakecuda_hold(held)
fill(ours)
capsule = memory.__dlpack__()
driver.fakecuda_go_on(held)
assert driver.cuMemsetD8Async(pointer, 1, ctypes.c_size_t(1000), ctypes.c_void_p(1)) == 0
"""
    )


def test_cuda_array_interface():
    run_on_fake(
        """
        stream = Stream()
        memory, other = pool(1000), pool.on(stream)(2000)
        assert memory.__cuda_array_interface__ == {
            "version": 3, "typestr": "|u1", "shape": (1000,), "data": (memory.ptr, False),
            "stream": 1,
        }
        assert other.__cuda_array_interface__["stream"] == stream.ptr
        memory.bind_to_queue(stream)
        assert memory.__cuda_array_interface__["stream"] == stream.ptr
        memory.unbind_from_queue()
        assert memory.__cuda_array_interface__["stream"] == 1
        at_home = clpool.MemoryPool(clpool.CudaAsyncAllocator(stream=stream), arena=True)(10)
        assert at_home.__cuda_array_interface__["stream"] == stream.ptr
        assert not hasattr(clpool.MemoryPool(clpool.HostAllocator())(10),
                           "__cuda_array_interface__")
        """
    )
