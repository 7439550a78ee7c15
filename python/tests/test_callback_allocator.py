# SPDX-License-Identifier: MIT
"""CallbackAllocator: memory that functions in Python take and give back."""

from __future__ import annotations

import ctypes
import gc
import mmap
import os
import random
import sys
import threading
import types
import weakref

import numpy as np
import pyopencl as cl
import pyopencl.array as cla
import pytest
from test_process import run_in_child, run_python

import clpool


class Device:
    """Addresses without memory, of which so many bytes exist; each is checked when it is freed."""

    def __init__(self, capacity=1 << 40):
        self.capacity = capacity
        self.live = {}
        self.next = 1 << 20
        self.calls = 0
        self.lock = threading.Lock()

    def allocate(self, size):
        with self.lock:
            self.calls += 1
            if sum(self.live.values()) + size > self.capacity:
                raise MemoryError(f"no {size} bytes")
            address = self.next
            self.next += size + 4096
            self.live[address] = size
            return address

    def free(self, address, size):
        with self.lock:
            assert self.live.pop(address) == size

    def allocator(self, **options):
        return clpool.CallbackAllocator(self.allocate, self.free, **options)


@pytest.fixture
def device():
    return Device()


def test_a_pool_of_addresses(device):
    pool = clpool.MemoryPool(device.allocator())
    memory = pool(1000)
    assert device.live == {memory.ptr: pool.alloc_size(pool.bin_number(1000))}
    with pytest.raises(BufferError, match="host cannot reach"):
        memoryview(memory)
    memory.release()
    assert pool(1000).size == 1000
    assert device.calls == 1
    pool.free_held()
    assert device.live == {}
    assert pool.allocator.name == "callback"
    with pytest.raises(TypeError, match="make a clpool.MemoryPool"):
        pool.allocator(10)


def test_free_gets_the_object(device):
    """An object with the attribute ptr, as those of CuPy."""
    freed = []
    made = types.SimpleNamespace(ptr=4096)
    allocator = clpool.CallbackAllocator(lambda size: made, lambda *args: freed.append(args))
    pool = clpool.MemoryPool(allocator, arena=False)
    memory = pool(100)
    size = pool.managed_bytes
    assert memory.ptr == 4096
    memory.release()
    pool.free_held()
    assert freed == [(made, size)]


@pytest.mark.parametrize("make", [lambda size: mmap.mmap(-1, size), bytearray,
                                  lambda size: np.zeros(size, np.uint8)])  # fmt: skip
@pytest.mark.parametrize("arena", [False, True])
def test_memory_of_the_host(make, arena):
    made = []

    def allocate(size):
        memory = make(size)
        if not isinstance(memory, bytearray):  # which has no weak references
            made.append(weakref.ref(memory))
        return memory

    pool = clpool.MemoryPool(clpool.CallbackAllocator(allocate, kind="host"), arena=arena)
    array = np.frombuffer(pool(8000), np.float64)
    array[:] = np.arange(1000)
    assert array.sum() == 499500
    assert all(one() is not None for one in made)
    del array
    pool.free_held()
    assert pool.managed_bytes == 0
    assert all(one() is None for one in made)


def test_buffers(context, queue):
    allocator = clpool.CallbackAllocator(
        lambda size: cl.Buffer(context, cl.mem_flags.READ_WRITE, size), kind="buffer"
    )
    assert (allocator.context, allocator.queue, allocator.device) == (None, None, None)
    pool = clpool.MemoryPool(allocator)
    x = cla.arange(queue, 1000, dtype=np.float32, allocator=pool)
    assert ((2 * x).get() == 2 * np.arange(1000, dtype=np.float32)).all()
    assert isinstance(x.data, clpool.PooledBuffer)
    queue.finish()
    del x
    assert pool.stats.hits + pool.stats.misses == 2
    pool.free_held()
    assert pool.managed_bytes == 0
    with pytest.raises(clpool.NotSupported):
        clpool.MemoryPool(allocator, arena=True)
    with pytest.raises(clpool.NotSupported):
        pool.on(queue)(10)


def test_a_pool_of_a_pool(context, queue):
    outer = clpool.MemoryPool(clpool.ImmediateAllocator(queue))
    pool = clpool.MemoryPool(clpool.CallbackAllocator(outer, kind="buffer"))
    memory = pool(1000)
    assert outer.active_blocks == 1
    memory.release()
    pool.free_held()
    assert outer.active_blocks == 0


@pytest.mark.parametrize("arena", [False, True])
def test_out_of_memory(arena):
    device = Device(capacity=10_000)
    asked = []

    def react(pool, size):
        asked.append(size)
        clpool.MemoryPool(clpool.HostAllocator())(10).release()
        return False

    pool = clpool.MemoryPool(device.allocator(), arena=arena, on_out_of_memory=react)
    pool(4000).release()
    kept = pool(9000)  # for which the pool frees what it holds
    assert not asked
    with pytest.raises(clpool.MemoryError) as caught:
        pool(5000)
    assert asked
    assert type(caught.value.__cause__) is MemoryError
    assert "no 5" in str(caught.value.__cause__)
    assert caught.value.status == "CLP_OUT_OF_DEVICE_MEMORY"
    kept.release()
    again = pool(5000)
    assert again.size == 5000
    with pytest.raises(clpool.LogicError) as other:  # not caused by what was before
        kept.release()
    assert other.value.__cause__ is None


def test_other_exceptions_that_say_out_of_memory():
    limited = clpool.MemoryPool(clpool.HostAllocator(), limit=1)

    def pyopencls(size):
        raise cl.MemoryError("none")

    for allocate, cause in (pyopencls, cl.MemoryError), (limited, clpool.LimitExceeded):
        pool = clpool.MemoryPool(clpool.CallbackAllocator(allocate), on_out_of_memory=None)
        with pytest.raises(clpool.MemoryError) as caught:
            pool(10)
        assert type(caught.value.__cause__) is cause
        assert type(caught.value) is clpool.MemoryError


def test_limits(device):
    pool = clpool.MemoryPool(device.allocator(), limit=10_000)
    kept = pool(9000)
    with pytest.raises(clpool.LimitExceeded):
        pool(2000)
    assert len(device.live) == 1
    with pytest.raises(clpool.NotSupported, match="device's memory"):
        pool.limit = 0.5
    kept.release()


def test_initial_pool_size():
    device = Device(capacity=1 << 20)
    pool = clpool.MemoryPool(device.allocator(), initial_pool_size=1 << 20)
    assert list(device.live.values()) == [1 << 20]
    assert pool(900_000).size == 900_000
    assert device.calls == 1
    with pytest.raises(clpool.MemoryError) as caught:
        clpool.ArenaAllocator(device.allocator()).reserve(10)
    assert type(caught.value.__cause__) is MemoryError
    del pool
    assert device.live == {}


@pytest.mark.parametrize("arena", [False, True])
@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt, clpool.LogicError])
def test_exceptions_of_allocate(arena, error):
    raised = error("of mine")

    def allocate(size):
        raise raised

    reactions = []
    pool = clpool.MemoryPool(
        clpool.CallbackAllocator(allocate, print),
        arena=arena,
        on_out_of_memory=lambda *_: reactions.append(1),
    )
    with pytest.raises(error) as caught:
        pool(10)
    assert caught.value is raised
    assert reactions == []
    assert pool.active_blocks == 0


@pytest.mark.parametrize("arena", [False, True])
def test_exceptions_of_free(device, arena):
    """The memory stays, and the pool tries again."""
    is_failing = True

    def free(address, size):
        if is_failing:
            raise OSError("not now")
        device.free(address, size)

    pool = clpool.MemoryPool(clpool.CallbackAllocator(device.allocate, free), arena=arena)
    pool(1000).release()
    with pytest.raises(OSError, match="not now"):
        pool.free_held()
    assert len(device.live) == 1
    is_failing = False
    pool.free_held()
    assert device.live == {}


@pytest.mark.parametrize(
    ("kind", "result", "error"),
    [
        ("address", None, TypeError),
        ("address", True, TypeError),
        ("address", 1.5, TypeError),
        ("address", "4096", TypeError),
        ("address", 0, ValueError),
        ("address", -1, OverflowError),
        ("address", 1 << 70, OverflowError),
        ("address", types.SimpleNamespace(ptr="x"), TypeError),
        ("host", None, TypeError),
        ("host", bytes(4096), BufferError),
        ("host", bytearray(10), ValueError),
        ("host", types.SimpleNamespace(ptr=4096), TypeError),
        ("buffer", None, TypeError),
        ("buffer", bytearray(4096), TypeError),
    ],
)
def test_results_that_are_no_memory(kind, result, error):
    pool = clpool.MemoryPool(
        clpool.CallbackAllocator(lambda size: result, lambda *_: None, kind=kind)
    )
    with pytest.raises(error):
        pool(100)
    assert pool.managed_bytes == 0


def test_small_buffers(context):
    small = cl.Buffer(context, cl.mem_flags.READ_WRITE, 16)
    pool = clpool.MemoryPool(clpool.CallbackAllocator(lambda size: small, kind="buffer"))
    with pytest.raises(ValueError, match="returned 16"):
        pool(100)


def test_the_same_memory_twice():
    pool = clpool.MemoryPool(clpool.CallbackAllocator(lambda size: 4096, lambda *_: None))
    kept = pool(100)
    with pytest.raises(ValueError, match="in use"):
        pool(100)
    kept.release()


def test_arguments():
    with pytest.raises(TypeError, match="allocate must be a function"):
        clpool.CallbackAllocator(5)
    with pytest.raises(TypeError, match="free must be a function"):
        clpool.CallbackAllocator(print, 5)
    with pytest.raises(ValueError, match="'hosts'"):
        clpool.CallbackAllocator(print, print, kind="hosts")
    pool = clpool.MemoryPool(clpool.CallbackAllocator(lambda size: 4096))
    with pytest.raises(TypeError, match="without free"):
        pool(10)


@pytest.mark.parametrize("arena", [False, True])
@pytest.mark.parametrize("how", ["pool", "other", "reserve", "initial", "reserve_bytes"])
def test_callbacks_that_need_their_own_pool(device, arena, how):
    """A clear error, and neither a deadlock nor a recursion."""
    reached = []

    def allocate(size):
        reached.append(size)
        {
            "pool": lambda: pool(size),
            "other": lambda: clpool.MemoryPool(own)(size),
            "reserve": lambda: an_arena.reserve(size),
            "initial": lambda: clpool.MemoryPool(own, initial_pool_size=size),
            "reserve_bytes": lambda: clpool.ArenaAllocator(own, reserve_bytes=size),
        }[how]()

    own = clpool.CallbackAllocator(allocate, device.free)
    an_arena = clpool.ArenaAllocator(own)
    pool = clpool.MemoryPool(own, arena=arena)
    with pytest.raises(clpool.RuntimeError, match="callback of a CallbackAllocator") as caught:
        pool(1000)
    assert caught.value.status == "CLP_BUSY"
    assert len(reached) == 1


@pytest.mark.parametrize("arena", [False, True])
def test_callbacks_may_use_what_is_not_on_them(device, arena, host_pool):
    kept = []

    def allocate(size):
        kept.append(host_pool(size))
        if released:
            released.pop().release()  # of the pool that asks
            pool.free_held()
        assert pool.stats.active_blocks >= 0
        return device.allocate(size)

    released = []
    pool = clpool.MemoryPool(clpool.CallbackAllocator(allocate, device.free), arena=arena)
    released = [pool(1000), pool(5000)]
    big = pool(100_000)
    assert big.size == 100_000
    assert pool.active_blocks == 2
    assert kept


@pytest.mark.parametrize("arena", [False, True])
def test_threads(arena):
    device = Device(capacity=3_000_000)
    pool = clpool.MemoryPool(device.allocator(), arena=arena)
    failures = []

    def work(seed):
        chance = random.Random(seed)
        kept = []
        try:
            for _ in range(400):
                try:
                    kept.append(pool(chance.randrange(1, 100_000)))
                except clpool.MemoryError:
                    kept.clear()
                if len(kept) > 5 or chance.random() < 0.4:
                    del kept[: chance.randrange(1, 5)]
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not any(thread.is_alive() for thread in threads)
    assert failures == []
    assert pool.active_blocks == 0
    pool.free_held()
    assert device.live == {}


@pytest.mark.parametrize("arena", [False, True])
def test_lifetimes(device, arena):
    """Memory outlives the names of its pool and allocator."""
    memory = clpool.MemoryPool(device.allocator(), arena=arena)(1000)
    gc.collect()
    assert len(device.live) == 1
    memory.release()
    del memory
    assert device.live == {}


@pytest.mark.parametrize("arena", [False, True])
@pytest.mark.parametrize("kept", ["held", "active", "both"])
def test_cycles(arena, kept, monkeypatch):
    """A pool and memory of it in a cycle with the functions that free it, which run while what they
    use is whole."""
    unraisable = []
    monkeypatch.setattr(sys, "unraisablehook", unraisable.append)
    freed = []

    class Owner(Device):
        def __init__(self):
            super().__init__()
            self.pool = clpool.MemoryPool(self.allocator(), arena=arena)
            memory = [self.pool(1000), self.pool(3000)]
            if kept != "held":
                self.memory = memory.pop()

        def free(self, address, size):
            super().free(address, size)
            freed.append(self.live)

    for _ in range(4):
        owner = Owner()
        gone = weakref.ref(owner)
        del owner
        gc.collect()
        assert gone() is None
        assert freed
        assert freed[-1] == {}
        freed.clear()
    assert unraisable == []


def test_a_view_of_memory_in_a_cycle():
    """A finalizer can read the memory still."""
    read = []

    class Owner:
        def __init__(self):
            self.pool = clpool.MemoryPool(
                clpool.CallbackAllocator(self.allocate, self.free, kind="host")
            )
            self.view = memoryview(self.pool(100))
            self.view[:] = bytes(100 * [7])

        def allocate(self, size):
            return mmap.mmap(-1, size)

        def free(self, memory, size):
            memory.close()

        def __del__(self):
            read.append(sum(self.view))

    Owner()
    gc.collect()
    assert read == [700]


IMPORTS_ON_A_THREAD = """
import threading
thread = threading.Thread(target=__import__, args=("clpool",))
thread.start()
thread.join()
import clpool
"""


@pytest.mark.parametrize("arena", [False, True])
@pytest.mark.parametrize("imports", ["import clpool", IMPORTS_ON_A_THREAD])
def test_at_exit(arena, imports):
    """Functions run while the interpreter ends, and find what they use."""
    ended = run_python(
        f"""
{imports}
import threading
count = [0]
def allocate(size):
    count[0] += 1
    return 4096 * count[0] * 1000
def free(address, size):
    print("free", size, flush=True)
pool = clpool.MemoryPool(clpool.CallbackAllocator(allocate, free), arena={arena})
kept = pool(1000)
pool(50000).release()
print("end", flush=True)
"""
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    lines = ended.stdout.splitlines()
    assert lines.count("end") == 1
    assert lines[-1].startswith("free")


def test_after_fork(device):
    pool = clpool.MemoryPool(device.allocator())
    kept = pool(1000)

    def use_own():
        nonlocal pool, kept
        with pytest.raises(clpool.NotSupported):
            pool(1_000_000)
        calls = device.calls
        kept.release()
        del pool, kept
        gc.collect()
        own = clpool.MemoryPool(device.allocator())
        own(10).release()
        own.free_held()
        assert (device.calls, len(device.live)) == (calls + 1, 1)

    run_in_child(use_own)
    kept.release()
    pool.free_held()
    assert device.live == {}


def test_traces_with_stacks_and_threads():
    """Where an allocation keeps the interpreter's lock, a callback on another thread gets it."""
    ended = run_python(
        """
import clpool, threading, time
live = [0]
def allocate(size):
    time.sleep(0.001)
    if live[0] + size > 300_000:
        raise MemoryError
    live[0] += size
    return id(size) * 4096 + live[0]
seen = [1 << 30]
def address(size):
    allocate(size)
    seen[0] += 1 << 20
    return seen[0]
def free(address, size):
    time.sleep(0.001)
    live[0] -= size
pool = clpool.MemoryPool(clpool.CallbackAllocator(address, free), arena=True,
                         on_out_of_memory=None)
def work():
    for i in range(50):
        try:
            pool(20_000 + 1000 * i)
        except clpool.MemoryError:
            pass
threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print("done")
""",
        CLPOOL_TRACE=os.devnull,
        CLPOOL_TRACE_STACKS="1",
    )
    assert (ended.stdout, ended.stderr) == ("done\n", "")


def test_memory_of_c():
    """Addresses of the host as ints."""
    libc = ctypes.CDLL(None)
    libc.malloc.restype = ctypes.c_void_p
    libc.malloc.argtypes = [ctypes.c_size_t]
    libc.free.argtypes = [ctypes.c_void_p]
    allocator = clpool.CallbackAllocator(
        libc.malloc, lambda address, size: libc.free(address), kind="host"
    )
    pool = clpool.MemoryPool(allocator, arena=True)
    arrays = [np.frombuffer(pool(4096), np.uint8) for _ in range(20)]
    for i, array in enumerate(arrays):
        array[:] = i
    assert [int(array[0]) for array in arrays] == list(range(20))
    arrays.clear()
    del array
    pool.free_held()
    assert pool.allocator.get_stats()["segments"] == 0
