# SPDX-License-Identifier: MIT
"""MemoryPool, with PyOpenCL's names and meanings."""

from __future__ import annotations

import gc
import json
import signal
import subprocess
import sys
import weakref

import numpy as np
import pyopencl as cl
import pyopencl.array as cla
import pytest

import clpool


def test_arrays_live_on_a_pool(queue, pool):
    x = cla.arange(queue, 1000, dtype=np.float32, allocator=pool)
    y = (2 * x + 1).get()
    assert (y == 2 * np.arange(1000, dtype=np.float32) + 1).all()
    assert isinstance(x.data, clpool.PooledBuffer)
    assert isinstance(x.data, cl.Buffer)


def test_a_released_block_comes_again(pool):
    first = pool(1000)
    address = first.int_ptr
    del first
    assert pool.held_blocks == 1
    again = pool(1000)
    assert again.int_ptr == address
    assert pool.stats.hits == 1


def test_figures(pool):
    kept = pool(1000)
    pool(300)
    assert (pool.active_blocks, pool.held_blocks) == (1, 1)
    assert pool.active_bytes == 1000
    assert pool.managed_bytes == sum(pool.alloc_size(pool.bin_number(n)) for n in (1000, 300))
    assert pool.held_bytes == pool.alloc_size(pool.bin_number(300))
    pool.free_held()
    assert (pool.active_blocks, pool.held_blocks) == (1, 0)
    in_one_segment = pool.allocator.name == "arena"
    assert pool.stats.device_frees == (0 if in_one_segment else 1)
    del kept
    pool.stop_holding()
    pool(500)
    assert pool.managed_bytes == 0


def test_bins_are_pyopencls(queue, pool):
    own = cl.tools.MemoryPool(cl.tools.ImmediateAllocator(queue))
    for size in (1, 2, 15, 16, 17, 1000, 1 << 20, (1 << 20) + 1):
        number = own.bin_number(size)
        assert pool.bin_number(size) == number
        assert pool.alloc_size(number) == own.alloc_size(number)


def test_release_is_once(pool):
    buffer = pool(100)
    buffer.release()
    assert pool.held_blocks == 1
    with pytest.raises(cl.LogicError) as caught:
        buffer.release()
    assert caught.value.status == "CLP_ALREADY_RELEASED"
    with pytest.raises(cl.LogicError):
        buffer.record_use(None)
    del buffer
    assert pool.active_blocks == 0


def test_memory_whose_queue_is_refused_stays_its_owners(queue, host_pool):
    memory = host_pool(100)
    with pytest.raises(clpool.NotSupported):
        memory.release(queue)
    assert host_pool.active_blocks == 1
    memory.release()
    assert host_pool.active_blocks == 0


def test_an_object_comes_out_clean(pool):
    first = pool(100)
    first.note = "of the first user"
    del first
    assert not hasattr(pool(100), "note")


def test_attributes_end_with_their_object(pool):
    """Even where their end uses the pool."""

    class Ending:
        def __del__(self):
            pool(100)

    first = pool(100)
    first.note = Ending()
    del first
    assert (pool.active_blocks, pool.held_blocks) == (0, 2)


def test_weak_references(pool):
    first = pool(100)
    try:
        weak = weakref.ref(first)
    except TypeError:
        pytest.skip("this pyopencl's buffers have none")
    del first
    again = pool(100)
    assert weak() is None
    del again


def test_zero_bytes(queue, pool):
    assert pool(0) is not None
    assert clpool.ImmediateAllocator(queue)(0) is None


@pytest.mark.parametrize("size", [1000, np.int64(1000), np.uint32(1000)])
def test_sizes(pool, size):
    assert pool(size).requested_size == 1000
    assert pool.allocate(size).requested_size == 1000


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda pool: pool(-1), OverflowError),
        (lambda pool: pool(1.5), TypeError),
        (lambda pool: pool(), TypeError),
        (lambda pool: pool(1, 2), TypeError),
        (lambda pool: pool(bytes=1), TypeError),
        (lambda pool: pool(1 << 62), cl.LogicError),
        (lambda pool: pool.on(None), TypeError),
        (lambda pool: pool.on(pool.allocator.queue.context), TypeError),
        (lambda pool: clpool.ImmediateAllocator(pool.allocator.queue.context), TypeError),
        (lambda pool: clpool.DeferredAllocator(pool.allocator.queue), TypeError),
        (lambda pool: clpool.MemoryPool(None), TypeError),
        (lambda pool: clpool.MemoryPool(pool.allocator, leading_bits_in_bin_id=17), cl.LogicError),
        (lambda pool: clpool.MemoryPool(pool.allocator, limit=1.5), cl.LogicError),
        (lambda pool: clpool.MemoryPool(pool.allocator, 2**32 + 4), cl.LogicError),
        (lambda pool: clpool.MemoryPool(pool.allocator, -1), OverflowError),
        (lambda pool: clpool.MemoryPool(pool.allocator, on_out_of_memory=5), TypeError),
        (lambda pool: clpool.MemoryPool(pool.allocator, name=5), TypeError),
        (lambda pool: clpool.MemoryPool(pool.allocator, name="a\0b"), ValueError),
        (lambda pool: clpool.memory_summary(pool.allocator), TypeError),
        (lambda pool: clpool.StatisticsHook().add_to(pool.allocator), TypeError),
        (lambda pool: clpool.SimulatedAllocator(-1), OverflowError),
        (lambda pool: clpool.HostAllocator(-64), OverflowError),
        (lambda pool: clpool.ArenaAllocator(clpool.HostAllocator(), 0.1, -1), OverflowError),
        (lambda pool: clpool.ArenaAllocator(clpool.HostAllocator()).reserve(-1), OverflowError),
        (lambda pool: pool(100)[:64].record_use(pool.allocator.queue), cl.LogicError),
        (lambda pool: clpool.SVMPool(pool.allocator), TypeError),
        (lambda pool: clpool.PoolOnQueue(), TypeError),
        (lambda pool: clpool.Memory(), TypeError),
        (lambda pool: clpool.Allocator(), TypeError),
    ],
)
def test_refusals(pool, call, error):
    with pytest.raises(error):
        call(pool)
    assert pool.active_blocks == 0


def test_slices_keep_the_whole(queue, pool):
    align = queue.device.mem_base_addr_align // 8
    whole = pool(4 * align)
    part = whole[align : 2 * align]
    assert part.size == align
    del whole
    assert pool.active_blocks == 1
    cl.enqueue_fill_buffer(queue, part, np.uint8(7), 0, align)
    seen = np.zeros(align, np.uint8)
    cl.enqueue_copy(queue, seen, part)
    assert (seen == 7).all()
    del part
    assert pool.active_blocks == 0


def test_buffers_map_and_copy(queue, pool):
    buffer = pool(4000)
    mapped, _ = cl.enqueue_map_buffer(
        queue, buffer, cl.map_flags.WRITE, 0, (1000,), np.float32
    )
    mapped[:] = 3
    mapped.base.release(queue)
    seen = np.zeros(1000, np.float32)
    cl.enqueue_copy(queue, seen, buffer)
    assert (seen == 3).all()


RECTANGLES = """
import sys, numpy as np, pyopencl as cl, clpool
queue = cl.CommandQueue(cl.create_some_context(interactive=False))
pool = clpool.MemoryPool(clpool.ImmediateAllocator(queue), arena=sys.argv[1] == "arena")
n, lengths = 64, dict(region=(32, 16, 1), buffer_origin=(0, 0, 0), host_origin=(0, 0, 0))
plain = dict(buffer_pitches=(n,), host_pitches=(n,))
first, second = pool(n * n), pool(n * n)
there = np.arange(n * n, dtype=np.uint8).reshape(n, n)
back = np.zeros_like(there)
cl.enqueue_copy(queue, first, there, **lengths, **plain)
if sys.argv[2] == "copied":
    cl.enqueue_copy(queue, second, first, region=(32, 16, 1), src_origin=(0, 0, 0),
                    dst_origin=(0, 0, 0), src_pitches=(n,), dst_pitches=(n,))
    first = second
cl.enqueue_copy(queue, back, first, **lengths, **plain)
queue.finish()
assert (back[:16, :32] == there[:16, :32]).all() and not back[16:].any()
"""


@pytest.mark.parametrize("how", ["written and read", "copied"])
@pytest.mark.parametrize("kind", ["plain", "arena"])
def test_rectangles(queue, kind, how):
    """PoCL 3.1 crashes where it copies them from sub-buffers to others: doc/queues-and-order.md."""
    ended = subprocess.run([sys.executable, "-W", "ignore", "-c", RECTANGLES, kind, how],
                           capture_output=True, text=True, timeout=60, check=False)  # fmt: skip
    driver = queue.device.platform.version
    crashes = how == "copied" and kind == "arena" and "PoCL 3.1" in driver
    assert (ended.returncode, ended.stderr) == (-signal.SIGSEGV if crashes else 0, "")


def test_a_pool_outlives_its_names(queue):
    buffer = clpool.MemoryPool(clpool.ImmediateAllocator(queue))(1000)
    gc.collect()
    assert buffer.pool.active_blocks == 1
    buffer.release()


def test_many_blocks(pool):
    held = [pool(n) for n in range(1, 2000)]
    addresses = {buffer.int_ptr for buffer in held}
    assert len(addresses) == len(held)
    del held[::2]
    held += [pool(n) for n in range(1, 2000)]
    assert len({buffer.int_ptr for buffer in held}) == len(held)
    pool.free_held()
    held.clear()
    assert pool.active_blocks == 0


def test_memory_goes_back_where_the_driver_sees_it(queue):
    """Parked objects do not keep what free_held gave back."""
    pool = clpool.MemoryPool(clpool.ImmediateAllocator(queue))
    buffer = pool(1000)
    queue.finish()
    assert buffer.reference_count == 2
    del buffer
    assert clpool._clpool.drop_parked() == 1
    pool(1000)
    pool.free_held()
    assert clpool._clpool.drop_parked() == 0


def test_memory_beyond_the_bound_goes_back(queue):
    """Nor what is held beyond hold_bytes, of which a release looks at 64 at most."""
    clpool._clpool.drop_parked()
    pool = clpool.MemoryPool(clpool.ImmediateAllocator(queue), hold_bytes=0)
    buffers = [pool(1000) for _ in range(200)]
    buffers.clear()
    assert pool.held_blocks <= 64
    assert clpool._clpool.drop_parked() <= 64


def test_allocators_alone(queue, context):
    for allocator in (clpool.ImmediateAllocator(queue), clpool.DeferredAllocator(context)):
        buffer = allocator(1000)
        queue.finish()
        assert type(buffer) is cl.Buffer
        assert (buffer.size, buffer.reference_count) == (1000, 1)
    assert not clpool.ImmediateAllocator(queue).is_deferred


def test_bin_stats_and_peaks(pool):
    pool(1000)
    (bin_of_it,) = pool.bin_stats()
    assert bin_of_it["bin"] == pool.bin_number(1000)
    assert bin_of_it["misses"] == 1
    assert pool.stats.peak_active_bytes == 1000
    pool.reset_peaks()
    assert pool.stats.peak_active_bytes == 0


def test_trim(pool):
    blocks = [pool(1000 << n) for n in range(3)]
    while blocks:
        blocks.pop(0)
    assert pool.held_blocks == 3
    pool.trim_to(pool.alloc_size(pool.bin_number(4000)))
    assert pool.held_blocks == 1
    assert pool.held_bytes == pool.managed_bytes == pool.alloc_size(pool.bin_number(4000))


def test_trim_idle():
    pool = clpool.MemoryPool(clpool.HostAllocator())
    pool(1000)
    pool.trim_idle(0)
    pool(5000)
    pool.trim_idle(10**9)
    assert pool.held_blocks == 2
    pool.trim_idle(0)
    assert pool.held_bytes == pool.alloc_size(pool.bin_number(5000))
    for wrong in (-1, 1.5, "1", None):
        with pytest.raises((TypeError, OverflowError)):
            pool.trim_idle(wrong)


def test_hold_bytes():
    pool = clpool.MemoryPool(clpool.HostAllocator(), hold_bytes=0)
    blocks = [pool(1000) for _ in range(1000)]
    blocks.clear()
    assert pool.held_blocks <= 64


def test_free_all_held(pool):
    other = clpool.MemoryPool(clpool.HostAllocator())
    pool(1000), other(1000)
    clpool.free_all_held()
    assert (pool.held_blocks, other.held_blocks) == (0, 0)


def test_free_all_held_in_a_callback(host_pool):
    class Freeing(clpool.MemoryHook):
        def malloc_preprocess(self, **kwargs):
            clpool.free_all_held()

    host_pool(1000)
    with Freeing():
        kept = host_pool(1000)
    assert (host_pool.stats.misses, host_pool.held_blocks) == (2, 0)
    del kept


def test_a_callback_that_asks_its_own_pool():
    calls = []

    def ask(pool, size):
        calls.append(size)
        return pool.allocate(size) is None

    pool = clpool.MemoryPool(clpool.SimulatedAllocator(1 << 20), on_out_of_memory=ask)
    with pytest.raises(clpool.MemoryError):
        pool.allocate(2 << 20)
    assert len(calls) == 1


def test_a_callback_that_only_promises():
    pool = clpool.MemoryPool(clpool.SimulatedAllocator(1 << 20), on_out_of_memory=lambda *_: True)
    with pytest.raises(clpool.MemoryError, match="64 times"):
        pool.allocate(2 << 20)


def test_a_pool_that_holds_nothing():
    """Host memory is an address: on an arena of it, blocks go to the arena at once."""
    pool = clpool.MemoryPool(clpool.HostAllocator(), arena=True)
    blocks = [pool(1024 << n) for n in range(4)]
    kept = blocks.pop()
    blocks.clear()
    assert (pool.held_blocks, pool.held_bytes, pool.managed_bytes) == (0, 0, 8192)
    pool.trim_to(0)
    assert (pool.active_blocks, pool.managed_bytes) == (1, 8192)
    arena = pool.allocator.get_stats()
    assert (arena["used_bytes"], arena["used_blocks"], arena["repeated_blocks"]) == (8192, 1, 0)
    stats = pool.stats
    assert (stats.hits, stats.misses) == (4 - arena["segments_taken"], arena["segments_taken"])
    del kept
    assert pool.managed_bytes == 0


def test_the_environment_counts_where_arguments_do_not(monkeypatch):
    host = clpool.HostAllocator()

    def figures(**arguments):
        pool = clpool.MemoryPool(host, **arguments)
        return pool.bin_number(1 << 10) >> 1, pool.allocator.name

    usual = figures()
    monkeypatch.setenv("CLPOOL_LEADING_BITS", "0")
    monkeypatch.setenv("CLPOOL_ARENA", "1")
    assert figures() == figures(leading_bits_in_bin_id=None, arena=None) == (5, "arena")
    assert isinstance(clpool.MemoryPool(host).allocator, clpool.ArenaAllocator)
    assert figures(leading_bits_in_bin_id=4, arena=False) == usual
    assert figures(leading_bits_in_bin_id=4) == (usual[0], "arena")
    monkeypatch.setenv("CLPOOL_HOLD", "0.5")
    assert figures(hold_bytes=0) == (5, "arena")
    with pytest.raises(cl.LogicError, match="CLPOOL_HOLD.*50%"):
        figures()


def test_a_part_is_told_in_per_cent(monkeypatch):
    monkeypatch.setenv("CLPOOL_MEMORY_LIMIT", "0.5")
    with pytest.raises(cl.LogicError, match="CLPOOL_MEMORY_LIMIT.*50%"):
        clpool.MemoryPool(clpool.SimulatedAllocator(10000))
    monkeypatch.setenv("CLPOOL_MEMORY_LIMIT", "50%")
    assert clpool.MemoryPool(clpool.SimulatedAllocator(10000)).limit == 5000


def test_dump_of_an_arena():
    pool = clpool.MemoryPool(clpool.HostAllocator(), arena=True)
    kept = [pool(size) for size in (1000, 5000, 300)]
    kept[1].release()
    dump, stats = json.loads(pool.allocator.dump()), pool.allocator.get_stats()
    assert dump.pop("fragmentation") == pytest.approx(stats.pop("fragmentation"), abs=1e-6)
    segments = dump.pop("map")
    assert dump == stats
    assert len(segments) == stats["segments"]
    ranges = [one for segment in segments for one in segment["ranges"]]
    assert sum(one["bytes"] for one in ranges if one["used"]) == stats["used_bytes"]
    assert sum(one["bytes"] for one in ranges) == stats["reserved_bytes"]


@pytest.mark.parametrize("make", [clpool.HostAllocator, clpool.SimulatedAllocator])
def test_initial_pool_size(make):
    pool = clpool.MemoryPool(make(), initial_pool_size=1 << 20, limit=1 << 21)
    assert pool.allocator.get_stats()["reserved_bytes"] == 1 << 20
    memory = pool(900_000)
    assert pool.stats.device_allocations == 0
    memory.release()
    pool.free_held()
    assert pool.allocator.get_stats()["reserved_bytes"] == 1 << 20


def test_initial_pool_sizes_that_cannot_be():
    scarce = clpool.SimulatedAllocator(1 << 20)
    with pytest.raises(clpool.MemoryError):
        clpool.MemoryPool(scarce, initial_pool_size=2 << 20)
    clpool.MemoryPool(scarce, initial_pool_size=1 << 20)  # nothing was kept
    with pytest.raises(ValueError, match="arena=False"):
        clpool.MemoryPool(scarce, initial_pool_size=1, arena=False)
    with pytest.raises(ValueError, match="reserve_bytes"):
        clpool.MemoryPool(clpool.ArenaAllocator(scarce), initial_pool_size=1)
    with pytest.raises(ValueError, match="2000 bytes, above the limit of 1000"):
        clpool.MemoryPool(scarce, initial_pool_size=2000, limit=1000)
    for nothing in 0, None:
        assert clpool.MemoryPool(scarce, arena=False, initial_pool_size=nothing).managed_bytes == 0


def cells(summary, name):
    """The line of a table's that begins with a name, in words."""
    (line,) = [line for line in summary.splitlines() if line.startswith(name + " ")]
    return line.split()[1:]


def test_memory_summary(queue):
    pool = clpool.MemoryPool(clpool.ImmediateAllocator(queue), limit=1 << 30, arena=False)
    kept = [pool(1000 * 2**i) for i in range(12)]
    kept += [pool(3 << 20), pool(3 << 20)]
    kept.pop().release()
    summary = clpool.memory_summary(pool)
    assert clpool.memory_summary(pool.on(queue)) == summary
    assert max(map(len, summary.splitlines())) <= 80
    assert summary.isascii()
    assert "allocator cl-immediate, limit 1 GiB" in summary.splitlines()
    assert cells(summary, "active") == ["6.905", "MiB", "9.905", "MiB", "13"]
    size = f"{pool.held_bytes / (1 << 20):.4g}"
    assert cells(summary, "held") == [size, "MiB", "1"]
    assert cells(summary, size + " MiB") == ["MiB", "1", "1", size, "MiB", "0", "2"]
    assert cells(summary, "14") == ["0", "14", "0.0%"]
    assert summary.splitlines()[-1] == "and 3 more"
    assert "segments" not in summary


def test_memory_summary_of_an_arena():
    pool = clpool.MemoryPool(clpool.HostAllocator(), initial_pool_size=5 << 20)
    empty = clpool.memory_summary(pool)
    assert cells(empty, "segments") == ["5", "MiB", "5", "MiB", "1"]
    memory = pool(1 << 20)
    summary = clpool.memory_summary(pool)
    assert cells(summary, "used") == ["1", "MiB", "1", "MiB", "1"]
    assert cells(summary, "largest free") == ["free", "4", "MiB"]
    assert cells(summary, "reserve") == ["5", "MiB"]
    assert "limit none" in summary
