# SPDX-License-Identifier: MIT
"""Random programs of calls to pools, against a model of what a pool says and does.

A failure prints the shortest program that was found, and a line that repeats it.
"""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

import numpy as np
import pyopencl as cl
import pytest

import clpool

hypothesis = pytest.importorskip("hypothesis")
from hypothesis import stateful  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

KIB = 1 << 10
CAPACITY = 256 * KIB  # of the simulated device

SETTINGS = hypothesis.settings(
    derandomize=True, print_blob=True, deadline=None, database=None, stateful_step_count=40,
    suppress_health_check=list(hypothesis.HealthCheck), max_examples=40,
)  # fmt: skip

SIZES = st.one_of(
    st.integers(0, 300), st.integers(1, 40 * KIB), st.sampled_from([64, 4096, 4097, 100 * KIB])
)
NUMBERS = st.integers(0, 99)


class Host:
    """Memory that this program can read and write."""

    alignment = 64

    def __init__(self):
        self.queues = []

    def allocator(self):
        return clpool.HostAllocator()

    def address(self, memory) -> int:
        return memory.ptr

    def fill(self, memory, queue, value: int) -> None:
        np.frombuffer(memory, np.uint8)[:] = value

    def content(self, memory, queue) -> bytes:
        return bytes(memoryview(memory))

    def part(self, memory, queue, begin: int, end: int) -> bytes:
        return bytes(memoryview(memory)[begin:end])


class Simulated(Host):
    """Addresses alone."""

    alignment = 256

    def allocator(self):
        return clpool.SimulatedAllocator(CAPACITY)

    def fill(self, memory, queue, value: int) -> None:
        pass

    content = part = None


class OpenCL(Host):
    def __init__(self):
        context = cl.create_some_context(interactive=False)
        self.queues = [cl.CommandQueue(context) for _ in range(2)]
        self.alignment = max(128, self.queues[0].device.mem_base_addr_align // 8)

    def allocator(self):
        return clpool.ImmediateAllocator(self.queues[0])

    def address(self, memory) -> int:
        return memory.int_ptr

    def fill(self, memory, queue, value: int) -> None:
        cl.enqueue_fill_buffer(queue or self.queues[0], memory, np.uint8(value), 0, memory.size)

    def content(self, memory, queue) -> bytes:
        content = np.empty(memory.size, np.uint8)
        cl.enqueue_copy(queue or self.queues[0], content, memory)
        return content.tobytes()

    def part(self, memory, queue, begin: int, end: int) -> bytes:
        begin -= begin % self.alignment
        return self.content(memory[begin:end], queue) if end > begin else b""


class Block(NamedTuple):
    memory: Any
    size: int
    queue: cl.CommandQueue | None
    value: int
    address: int


class PoolMachine(stateful.RuleBasedStateMachine):
    """One thread. What the pool must say follows from the calls alone, except for what it holds."""

    device = Host
    arena = False

    def __init__(self):
        super().__init__()
        self.on = self.device()
        self.pool = clpool.MemoryPool(self.on.allocator(), arena=self.arena, on_out_of_memory=None)
        self.live: list[Block] = []
        self.active_bytes = self.peak = self.allocations = self.capacity = 0
        self.limit = None
        self.holding = True
        self.values = 0

    def _pick(self, number: int) -> int:
        return number % len(self.live)

    def _taken(self) -> int:
        stats = self.pool.stats
        return stats.managed_bytes - stats.held_bytes

    # --- Calls ---

    @stateful.rule(size=SIZES, number=NUMBERS, on_queue=st.booleans())
    def allocate(self, size, number, on_queue):
        queues = self.on.queues if on_queue else []
        queue = queues[number % len(queues)] if queues else None
        allocator = self.pool if queue is None else self.pool.on(queue)
        rounded = -(-max(size, 1) // self.on.alignment) * self.on.alignment
        before = self._taken()
        try:
            memory = allocator(size)
        except clpool.LimitExceeded:
            assert self.limit is not None
            assert self.arena or before + rounded > self.limit
            return
        except clpool.MemoryError:
            assert self.device is Simulated
            assert self.arena or before + rounded > CAPACITY
            return
        size = max(size, 1)
        assert memory.size == size
        if not self.arena:
            taken = self._taken() - before
            assert size <= taken <= self.pool.alloc_size(self.pool.bin_number(size))
        assert self.limit is None or self.pool.managed_bytes <= self.limit
        self.values += 1
        self.live.append(Block(memory, size, queue, self.values % 256, self.on.address(memory)))
        self.on.fill(memory, queue, self.values % 256)
        self.active_bytes += size
        self.allocations += 1
        self.peak = max(self.peak, self.active_bytes)

    def _forget(self, number: int) -> Block:
        block = self.live.pop(self._pick(number))
        if self.on.content is not None:
            assert set(self.on.content(block.memory, block.queue)) == {block.value}
        self.active_bytes -= block.size
        return block

    @stateful.precondition(lambda self: self.live)
    @stateful.rule(number=NUMBERS)
    def release(self, number):
        block = self._forget(number)
        block.memory.release()
        with pytest.raises(clpool.LogicError):
            block.memory.release()
        if self.on.content is not None:
            with pytest.raises((cl.LogicError, TypeError, BufferError)):
                self.on.content(block.memory, block.queue)

    @stateful.precondition(lambda self: self.live)
    @stateful.rule(number=NUMBERS)
    def drop(self, number):
        self._forget(number)

    @stateful.precondition(lambda self: self.live and self.on.part is not None)
    @stateful.rule(number=NUMBERS, begin=st.floats(0, 1), end=st.floats(0, 1))
    def part(self, number, begin, end):
        block = self.live[self._pick(number)]
        begin, end = sorted((int(begin * block.size), int(end * block.size)))
        content = self.on.part(block.memory, block.queue, begin, end)
        assert len(content) >= end - begin
        assert set(content) <= {block.value}

    @stateful.precondition(lambda self: self.live and self.device is Host)
    @stateful.rule(number=NUMBERS)
    def release_under_a_view(self, number):
        block = self.live[self._pick(number)]
        view = memoryview(block.memory)
        with pytest.raises(BufferError):
            block.memory.release()
        assert view[0] == block.value

    @stateful.precondition(lambda self: self.live and self.on.queues)
    @stateful.rule(number=NUMBERS, other=st.booleans())
    def record_use(self, number, other):
        block = self.live[self._pick(number)]
        block.memory.record_use(self.on.queues[other])

    @stateful.rule()
    def free_held(self):
        self.pool.free_held()
        assert self.pool.held_blocks == 0

    @stateful.rule(size=st.integers(0, 300 * KIB))
    def trim_to(self, size):
        self.pool.trim_to(size)
        assert self.arena or self.pool.managed_bytes <= size or self.pool.held_blocks == 0

    @stateful.rule(milliseconds=st.integers(0, 1))
    def trim_idle(self, milliseconds):
        self.pool.trim_idle(milliseconds)

    @stateful.rule(limit=st.one_of(st.none(), st.integers(1, 300 * KIB)))
    def set_limit(self, limit):
        self.pool.limit = self.limit = limit
        assert self.pool.limit == limit

    @stateful.rule(really=st.sampled_from([False] * 9 + [True]))
    def stop_holding(self, really):
        if really:
            self.pool.stop_holding()
            self.holding = False

    @stateful.rule()
    def reset_peaks(self):
        self.pool.reset_peaks()
        self.peak = self.active_bytes
        assert self.pool.stats.peak_managed_bytes == self.pool.managed_bytes

    # --- What is so between calls ---

    @stateful.invariant()
    def figures(self):
        stats = self.pool.stats
        assert (stats.active_blocks, stats.active_bytes) == (len(self.live), self.active_bytes)
        assert (stats.allocations, stats.peak_active_bytes) == (self.allocations, self.peak)
        assert (stats.held_blocks == 0) == (stats.held_bytes == 0)
        assert stats.peak_managed_bytes >= stats.managed_bytes >= stats.held_bytes
        assert stats.hits + stats.misses >= stats.allocations >= stats.hits
        if not self.holding or (self.arena and self.device is not OpenCL):
            assert stats.held_blocks == 0
        if not self.arena:
            blocks = stats.device_allocations - stats.device_frees
            assert blocks == stats.active_blocks + stats.held_blocks
            assert stats.managed_bytes - stats.held_bytes >= self.active_bytes
        else:
            arena = self.pool.allocator.get_stats()
            assert arena["used_blocks"] == stats.active_blocks + stats.held_blocks
            assert arena["segments"] == stats.device_allocations - stats.device_frees
            assert arena["reserved_bytes"] >= arena["used_bytes"] >= self.active_bytes
        bins = self.pool.bin_stats()
        assert sum(one["active_blocks"] for one in bins) == stats.active_blocks
        assert sum(one["held_bytes"] for one in bins) == stats.held_bytes

    @stateful.invariant()
    def no_overlap(self):
        addresses = [block.address for block in self.live]
        assert len(set(addresses)) == len(addresses)
        if self.device is not OpenCL:
            ranges = sorted((block.address, block.address + block.size) for block in self.live)
            assert all(end <= begin for (_, end), (begin, _) in zip(ranges, ranges[1:]))

    def teardown(self):
        while self.live:
            self._forget(0)
        self.figures()
        self.pool.free_held()
        assert self.pool.held_blocks == 0
        assert self.arena or self.pool.managed_bytes == 0


@pytest.mark.parametrize("arena", [False, True])
@pytest.mark.parametrize("device", [Host, Simulated, OpenCL])
def test_one_thread(device, arena):
    machine = type("Machine", (PoolMachine,), {"device": device, "arena": arena})
    stateful.run_state_machine_as_test(machine, settings=SETTINGS)


CALLS = st.one_of(
    st.tuples(st.just("allocate"), st.integers(1, 20 * KIB)),
    st.tuples(st.just("allocate"), st.sampled_from([500, 1000, 2000])),
    st.tuples(st.sampled_from(["release", "drop", "check"]), NUMBERS),
    st.tuples(st.sampled_from(["free_held", "stats"]), st.none()),
    st.tuples(st.just("trim_to"), st.integers(0, 200 * KIB)),
    st.tuples(st.just("limit"), st.one_of(st.none(), st.integers(1 << 20, 1 << 22))),
)


class Worker(threading.Thread):
    """Runs the calls; the blocks that are left stay its own."""

    def __init__(self, pool, on, queue, calls, value: int, start: threading.Barrier):
        super().__init__()
        self.pool, self.device, self.queue, self.calls = pool, on, queue, calls
        self.value, self.begin = value, start
        self.live: list = []
        self.allocations = 0
        self.failure: BaseException | None = None

    def run(self):
        try:
            self.begin.wait(30)
            for name, argument in self.calls * 3:
                self.call(name, argument)
        except BaseException as failure:
            self.failure = failure

    def call(self, name, argument):
        if name == "allocate":
            allocator = self.pool if self.queue is None else self.pool.on(self.queue)
            self.live.append(allocator(argument))
            self.allocations += 1
            self.device.fill(self.live[-1], self.queue, self.value)
        elif name in ("release", "drop", "check"):
            if self.live:
                number = argument % len(self.live)
                memory = self.live[number]
                assert set(self.device.content(memory, self.queue)) == {self.value}
                if name != "check":
                    del self.live[number]
                if name == "release":
                    memory.release()
        elif name == "limit":
            self.pool.limit = argument
        elif name == "stats":
            stats = self.pool.stats
            assert stats.active_blocks >= len(self.live)
            assert stats.managed_bytes >= stats.held_bytes
        elif name == "trim_to":
            self.pool.trim_to(argument)
        else:
            self.pool.free_held()


@pytest.mark.parametrize("arena", [False, True])
@pytest.mark.parametrize("device", [Host, OpenCL])
def test_several_threads(device, arena):
    """Each thread's memory keeps its content, and the figures are right at rest."""

    @hypothesis.settings(SETTINGS, max_examples=30)
    @hypothesis.given(st.lists(st.lists(CALLS, max_size=40), min_size=2, max_size=3))
    def run(programs):
        on = device()
        pool = clpool.MemoryPool(on.allocator(), arena=arena, on_out_of_memory=None)
        start = threading.Barrier(len(programs))
        workers = [
            Worker(pool, on, on.queues[i % 2] if on.queues else None, calls, i + 1, start)
            for i, calls in enumerate(programs)
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join(60)
        for worker in workers:
            if worker.failure is not None:
                raise worker.failure
        live = [memory for worker in workers for memory in worker.live]
        stats = pool.stats
        assert stats.active_blocks == len(live)
        assert stats.active_bytes == sum(memory.size for memory in live)
        assert stats.allocations == sum(worker.allocations for worker in workers)
        if not arena:
            blocks = stats.device_allocations - stats.device_frees
            assert blocks == stats.active_blocks + stats.held_blocks
        del live
        for worker in workers:
            while worker.live:
                worker.call("drop", 0)
        assert (pool.active_blocks, pool.active_bytes) == (0, 0)
        pool.free_held()
        assert pool.held_blocks == 0
        assert arena or pool.managed_bytes == 0

    run()
