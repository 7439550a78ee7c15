# SPDX-License-Identifier: MIT
"""Arrays that are given no allocator, on a pool: use() and set_allocator()."""

from __future__ import annotations

import concurrent.futures
import functools
import gc
import importlib
import itertools
import sys

import numpy as np
import pyopencl as cl
import pyopencl.array as cla
import pyopencl.clmath
import pyopencl.clrandom
import pyopencl.tools
import pytest

import clpool

N = 1 << 16


@pytest.fixture(autouse=True)
def all_undone():
    """After each test, PyOpenCL's own is there again."""

    def now():
        return cla.Array.__init__, cl.Kernel.__call__, cl.enqueue_copy, cl.enqueue_fill_buffer

    own = now()
    yield
    assert now() == own
    assert clpool.get_allocator() is None


@pytest.fixture
def stranger(queue):
    """A queue of another context."""
    return cl.CommandQueue(cl.Context([queue.device]))


def is_pooled(array) -> bool:
    return isinstance(array.data, clpool.PooledBuffer)


def program(queue) -> list[np.ndarray]:
    """What a program of PyOpenCL's makes: all results."""
    x = cla.arange(queue, 0, 3000, 1, dtype=np.float32)
    y = cla.to_device(queue, np.linspace(-1, 1, 3000, dtype=np.float32))
    z = cla.zeros(queue, 3000, np.float32) + 3
    made = [x, y, z, x + y * 2, (x - y) / z, -x, abs(y), x**2, x.copy(), x.astype(np.int32)]
    made += [y.reshape(30, 100), y[100:2000] + 1]
    made += [cla.empty_like(x).fill(5), cla.zeros_like(y), cla.maximum(x, y), x > y]
    made += [cla.if_positive(y, x, z), cla.concatenate([x, y]), cla.take(x, cla.arange(
        queue, 0, 100, 3, dtype=np.int32))]  # fmt: skip
    made += [pyopencl.clmath.sin(x), cla.sum(x), cla.max(y), cla.dot(x, y), cla.cumsum(z)]
    made.append(pyopencl.clrandom.PhiloxGenerator(queue.context, seed=1).uniform(queue, 999, "f"))
    return [array.get() for array in made]


@pytest.mark.parametrize("options", [{}, {"arena": True}, {"limit": 1 << 30}])
def test_results_are_the_same(queue, options):
    wanted = program(queue)
    with clpool.use(queue, **options) as used:
        for _ in range(2):
            found = program(queue)
            assert all(np.array_equal(a, b) for a, b in zip(found, wanted))
    stats = used.pool.stats
    assert stats.allocations > 2 * 25
    assert stats.hits > stats.allocations / 2
    assert stats.active_blocks == 0
    assert [np.array_equal(a, b) for a, b in zip(program(queue), wanted)] == [True] * len(wanted)
    assert used.pool.stats.allocations == stats.allocations


def test_which_arrays(context, queue, stranger):
    before = cla.zeros(queue, N, np.float32)
    other = cl.CommandQueue(context)
    own = pyopencl.tools.MemoryPool(pyopencl.tools.ImmediateAllocator(queue))
    buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, 400)
    used = clpool.use(queue)
    assert used.pool.allocator.queue == queue
    x, y = cla.zeros(queue, N, np.float32), cla.zeros(other, N, np.float32)
    assert is_pooled(x) and is_pooled(before + 1) and is_pooled(x[10:] + 1)
    assert (x.data.pool.queue, y.data.pool.queue) == (queue, other)
    assert x.data.pool.pool is y.data.pool.pool is used.pool
    assert x.allocator is None and y.allocator is None
    for not_ours in (
        cla.zeros(stranger, N, np.float32),
        cla.zeros(queue, N, np.float32, allocator=own),
        cla.Array(context, N, np.float32),
        cla.Array(queue, 100, np.float32, data=buffer),
        cla.Array(queue, 0, np.float32),
        before,
    ):
        assert not is_pooled(not_ours)
    explicit = clpool.MemoryPool(clpool.ImmediateAllocator(queue))
    z = cla.zeros(queue, N, np.float32, allocator=explicit)
    assert z.data.pool is (z + 1).data.pool is (z + 1).allocator is explicit
    used.stop()
    assert not is_pooled(x + 1)
    assert used.pool.active_blocks == 2
    assert ((x + before).get() == 0).all()
    del x, y
    assert used.pool.active_blocks == 0
    used.stop()


def test_a_pool_that_exists(queue):
    pool = clpool.MemoryPool(clpool.ImmediateAllocator(queue), arena=True)
    with clpool.use(pool) as used:
        assert used.pool is pool
        assert cla.zeros(queue, N, np.float32).data.pool.pool is pool
    deferred = clpool.MemoryPool(clpool.DeferredAllocator(queue.context))
    with clpool.use(deferred):
        assert cla.zeros(queue, N, np.float32).data.pool.pool is deferred


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("arena", [False, True])
def test_shared_virtual_memory(queue, arena):
    wanted = (cla.arange(queue, 0, N, 1, dtype=np.int32) * 2).get()
    pool = clpool.SVMPool(clpool.SVMAllocator(queue.context, queue=queue), arena=arena)
    with clpool.use(pool):
        x = cla.arange(queue, 0, N, 1, dtype=np.int32) * 2
        assert isinstance(x.data, clpool.PooledSVM)
        assert (x.get() == wanted).all()
    assert pool.stats.allocations == 2


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_undone_in_any_order(queue, order):
    """The last one that was not stopped counts."""
    uses = [clpool.use(queue) for _ in range(3)]
    left = list(range(3))
    for which in order:
        uses[which].stop()
        left.remove(which)
        x = cla.zeros(queue, N, np.float32)
        if left:
            assert x.data.pool.pool is uses[left[-1]].pool
        else:
            assert not is_pooled(x)


def test_uses_of_two_contexts(queue, stranger):
    with clpool.use(queue) as first, clpool.use(stranger) as second:
        for q, used in ((queue, first), (stranger, second)):
            assert cla.zeros(q, N, np.float32).data.pool.pool is used.pool


def test_with_other_replacements(queue):
    """What another program puts in the same place stays, and does what it does."""
    own = cla.Array.__init__
    calls = []

    def counting(plain):
        @functools.wraps(plain)
        def count(*arguments, **keywords):
            calls.append(1)
            plain(*arguments, **keywords)

        return count

    used = clpool.use(queue)
    ours = cla.Array.__init__
    theirs = cla.Array.__init__ = counting(ours)
    assert is_pooled(cla.empty(queue, N, np.float32))
    used.stop()
    assert cla.Array.__init__ is theirs
    assert not is_pooled(cla.empty(queue, N, np.float32))
    with clpool.use(queue) as again:
        assert cla.empty(queue, N, np.float32).data.pool.pool is again.pool
        cla.Array.__init__ = own  # theirs is undone on top of ours, which it does not know
        with clpool.use(queue) as inner:
            assert cla.empty(queue, N, np.float32).data.pool.pool is inner.pool
    assert len(calls) == 3


def test_reload(queue):
    with clpool.use(queue) as used:
        importlib.reload(clpool)
        assert cla.zeros(queue, N, np.float32).data.pool.pool is used.pool
        with clpool.use(queue) as other:
            assert cla.zeros(queue, N, np.float32).data.pool.pool is other.pool
        assert cla.zeros(queue, N, np.float32).data.pool.pool is used.pool


@pytest.mark.parametrize("arena", [False, True])
def test_two_queues(context, queue, arena):
    """Memory goes from a queue that has not run yet to an array on another one."""
    other = cl.CommandQueue(context)
    with clpool.use(queue, arena=arena):
        cla.empty(queue, N, np.int32)
        gate = cl.UserEvent(context)
        first = cla.empty(queue, N, np.int32)
        cl.enqueue_fill_buffer(queue, first.data, np.int32(1), 0, 4 * N, wait_for=[gate])
        del first
        second = cla.empty(other, N, np.int32).fill(2)
        other.flush()
        gate.set_status(cl.command_execution_status.COMPLETE)
        assert (second.get() == 2).all()
        queue.finish()
        assert (second.get() == 2).all()


@pytest.mark.parametrize("others", [1, 2])
@pytest.mark.parametrize("arena", [False, True])
def test_an_array_on_several_queues(context, queue, arena, others):
    """with_queue: the first use there comes behind what the first queue has to do yet, and the next
    use of the memory behind what all of them have."""
    sharers = [cl.CommandQueue(context) for _ in range(others)]
    with clpool.use(queue, arena=arena):
        cla.empty(queue, N, np.int32)
        first, last = cl.UserEvent(context), cl.UserEvent(context)
        former = cla.empty(queue, N, np.int32)
        cl.enqueue_fill_buffer(queue, former.data, np.int32(1), 0, 4 * N, wait_for=[first])
        del former
        x = cla.empty(queue, N, np.int32)
        shared = [x.with_queue(sharer) for sharer in sharers]
        shared[0].fill(2)
        cl.enqueue_barrier(sharers[0], wait_for=[last])
        read = shared[0] + 1
        del x, shared
        again = cla.empty(queue, N, np.int32).fill(7)
        for each in (queue, *sharers):
            each.flush()
        first.set_status(cl.command_execution_status.COMPLETE)
        last.set_status(cl.command_execution_status.COMPLETE)
        assert (read.get() == 3).all()
        assert (again.get() == 7).all()


COPY = """kernel void copy(global int *to, global const int *from) {
  size_t i = get_global_id(0);
  to[i] = from[i];
}"""


def by_a_kernel(queue, destination, source):
    kernel = cl.Kernel(cl.Program(queue.context, COPY).build(), "copy")
    kernel(queue, (N,), None, destination.data, source.data)


def by_a_copy(queue, destination, source):
    cl.enqueue_copy(queue, destination.data, source.data, byte_count=4 * N)


def by_keywords(queue, destination, source):
    cl.enqueue_copy(queue=queue, dest=destination.data, src=source.data, byte_count=4 * N)


def by_arithmetic(queue, destination, source):
    """Of arrays without a queue, which kernels take on any."""
    cla.Array._copy(destination, source.with_queue(None), queue=queue)


def by_loopy(queue, destination, source):
    import loopy

    kernel = loopy.make_kernel(
        "{[i]: 0 <= i < n}", "destination[i] = source[i]", lang_version=(2018, 2)
    ).executor(queue.context)
    kernel(queue, destination=destination.with_queue(queue), source=source)


@pytest.mark.parametrize("copy", [by_a_kernel, by_a_copy, by_keywords, by_arithmetic, by_loopy])
@pytest.mark.parametrize("arena", [False, True])
def test_another_queues_arrays(context, queue, arena, copy):
    """A call comes behind what the other queue has to do yet, and the next use of the memory comes
    behind the call."""
    if copy is by_loopy:
        pytest.importorskip("loopy")
    other = cl.CommandQueue(context)
    with clpool.use(queue, arena=arena):
        x = cla.zeros(queue, N, np.int32)
        cla.empty(other, N, np.int32).fill(1)
        first, last = cl.UserEvent(context), cl.UserEvent(context)
        former = cla.empty(other, N, np.int32)
        cl.enqueue_fill_buffer(other, former.data, np.int32(3), 0, 4 * N, wait_for=[first])
        del former
        y = cla.empty(other, N, np.int32)  # which that is going to fill
        cl.enqueue_barrier(queue, wait_for=[last])
        copy(queue, x, y)
        del y
        again = [cla.empty(other, N, np.int32).fill(7) for _ in range(2)]
        queue.flush()
        other.flush()
        first.set_status(cl.command_execution_status.COMPLETE)
        last.set_status(cl.command_execution_status.COMPLETE)
        assert (x.get() == 3).all()
        assert all((array.get() == 7).all() for array in again)


def test_queues_out_of_order(context):
    properties = cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE
    queues = [cl.CommandQueue(context, properties=properties) for _ in range(2)]
    with clpool.use(queues[0]) as used:
        for round in range(20):
            for queue in queues:
                x = cla.zeros(queue, N, np.int32) + round
                assert (x.get() == round).all()
    assert used.pool.stats.allocations == 80


def test_many_queues(context, queue):
    with clpool.use(queue) as used:
        for number in range(200):
            each = cl.CommandQueue(context)
            assert ((cla.zeros(each, 100, np.int32) + number).get() == number).all()
        del each
        gc.collect()
    assert used.pool.stats.allocations == 400


def test_threads(context, queue):
    def work(number):
        own = cl.CommandQueue(context)
        for i in range(50):
            x = cla.zeros(own, 1000 + 10 * number, np.int32) + i
            assert ((x * 2).get() == 2 * i).all(), (number, i)

    def toggle():
        for _ in range(50):
            with clpool.use(queue, arena=True):
                cla.zeros(queue, 100, np.int32)

    with clpool.use(queue) as used, concurrent.futures.ThreadPoolExecutor(4) as threads:
        toggling = threads.submit(toggle)
        list(threads.map(work, range(3)))
        toggling.result()
    assert used.pool.stats.allocations > 0 == used.pool.active_blocks


def test_the_context_goes_first():
    context = cl.create_some_context(interactive=False)
    queue = cl.CommandQueue(context)
    used = clpool.use(queue)
    x = cla.zeros(queue, N, np.int32)
    del context, queue
    gc.collect()
    assert ((x + 1).get() == 1).all()
    pool = used.pool
    used.stop()
    del used, x
    gc.collect()
    assert pool.active_blocks == 0


def test_no_memory(queue):
    with clpool.use(queue, limit=1 << 20) as used:
        x = cla.zeros(queue, 1 << 17, np.int32)
        with pytest.raises(cl.MemoryError, match="limit"):
            cla.zeros(queue, 1 << 18, np.int32)
        del x
        assert used.pool.active_blocks == 0
        cla.zeros(queue, 1 << 17, np.int32)


def test_derived_arrays(queue):
    class Mine(cla.Array):
        def __init__(self, *arguments, **keywords):
            super().__init__(*arguments, **keywords)
            self.mine = True

    with clpool.use(queue):
        x = Mine(queue, (100,), np.int32).fill(1)
        assert is_pooled(x) and is_pooled(x + 1) and (x + 1).mine


@pytest.mark.parametrize("is_late", [False, True])
def test_loopy(queue, is_late, monkeypatch):
    """Kernels that are given no allocator; their results have none, too. It may be imported after
    use(), before the first array on a queue."""
    loopy = pytest.importorskip("loopy")
    kernel = loopy.make_kernel(
        "{[i, j]: 0 <= i, j < n}",
        ["<> t = sum(j, a[i, j] * x[j]) {id=t}", "out[i] = t {dep=t}"],
        lang_version=(2018, 2),
    ).executor(queue.context)
    a, x = np.random.default_rng(1).random((2, 100, 100), np.float32)
    _, (wanted,) = kernel(queue, a=cla.to_device(queue, a), x=cla.to_device(queue, x[0]))
    own = type(kernel).__call__
    other = cl.CommandQueue(queue.context)
    with monkeypatch.context() as patched:
        if is_late:
            patched.delitem(sys.modules, "loopy")
        used = clpool.use(queue)
    assert (type(kernel).__call__ is own) == is_late
    with used:
        for q in (queue, other):
            _, (out,) = kernel(q, a=cla.to_device(q, a), x=cla.to_device(q, x[0]))
            assert np.array_equal(out.get(), wanted.get())
            assert out.data.pool.pool is used.pool and out.data.pool.queue == q
            assert out.allocator is None and is_pooled(out + 1)
        given = clpool.MemoryPool(clpool.ImmediateAllocator(queue))
        _, (out,) = kernel(
            queue, allocator=given, a=cla.to_device(queue, a), x=cla.to_device(queue, x[0])
        )
        assert out.data.pool is out.allocator is given
    assert type(kernel).__call__ is own


def test_arraycontext(queue):
    arraycontext = pytest.importorskip("arraycontext")

    def results():
        context = arraycontext.PyOpenCLArrayContext(queue)
        x = np.linspace(0, 1, 1000)
        y = context.np.sin(context.from_numpy(x)) + 2 * context.from_numpy(x)
        frozen = context.freeze(y)
        return y, context.to_numpy(context.thaw(frozen) + 1)

    wanted = results()
    with clpool.use(queue):
        y, found = results()
        assert is_pooled(y)
    assert np.array_equal(found, wanted[1])


@pytest.mark.parametrize(
    "wrong",
    {
        "context": lambda queue: queue.context,
        "type": lambda queue: clpool.MemoryPool,
        "none": lambda queue: None,
        "number": lambda queue: 5,
        "allocator": clpool.ImmediateAllocator,
        "on": lambda queue: clpool.MemoryPool(clpool.ImmediateAllocator(queue)).on(queue),
        "theirs": lambda queue: pyopencl.tools.MemoryPool(
            pyopencl.tools.ImmediateAllocator(queue)
        ),
        "host": lambda queue: clpool.MemoryPool(clpool.HostAllocator()),
        "host arena": lambda queue: clpool.MemoryPool(clpool.HostAllocator(), arena=True),
        "simulated": lambda queue: clpool.MemoryPool(clpool.SimulatedAllocator()),
    }.values(),
)
def test_nonsense(queue, wrong):
    with pytest.raises(TypeError, match=r"clpool\.(MemoryPool\(clpool\.)?ImmediateAllocator\("):
        clpool.use(wrong(queue))


def test_options_of_a_pool_that_exists(queue):
    pool = clpool.MemoryPool(clpool.ImmediateAllocator(queue))
    with pytest.raises(TypeError, match="arena"):
        clpool.use(pool, arena=True)
    with pytest.raises(TypeError, match="areena"):
        clpool.use(queue, areena=True)


def test_set_allocator(queue, stranger):
    pool, second = (clpool.MemoryPool(clpool.ImmediateAllocator(queue)) for _ in range(2))
    clpool.set_allocator(pool)
    assert clpool.get_allocator() is pool
    assert cla.zeros(queue, N, np.int32).data.pool.pool is pool
    assert not is_pooled(cla.zeros(stranger, N, np.int32))
    clpool.set_allocator(second)
    assert cla.zeros(queue, N, np.int32).data.pool.pool is second
    with clpool.use(queue) as used:
        assert cla.zeros(queue, N, np.int32).data.pool.pool is used.pool
    for wrong in (5, "pool", clpool.MemoryPool, queue, pool.on(queue), pool.allocator.queue,
                  clpool.ArenaAllocator(pool.allocator), clpool.HostAllocator(),
                  clpool.MemoryPool(clpool.HostAllocator())):  # fmt: skip
        with pytest.raises(TypeError):
            clpool.set_allocator(wrong)
    assert clpool.get_allocator() is second
    clpool.set_allocator(None)
    assert not is_pooled(cla.zeros(queue, N, np.int32))
    clpool.set_allocator(None)


def test_set_a_function(queue, stranger):
    """As CuPy's: for all arrays."""
    sizes = []
    plain = pyopencl.tools.ImmediateAllocator(queue)

    def allocate(size):
        sizes.append(size)
        return plain(size)

    clpool.set_allocator(allocate)
    x = cla.zeros(queue, 100, np.int32) + 1
    assert sizes == [400, 400] and x.allocator is None
    clpool.set_allocator(clpool.ImmediateAllocator(queue))
    assert ((cla.zeros(stranger, 100, np.int32) + 1).get() == 1).all()
    clpool.set_allocator(None)
    assert sizes == [400, 400]


def test_patched_programs_can_be_used(queue):
    with clpool.patch(arena=True), clpool.use(pyopencl.tools.MemoryPool(
        pyopencl.tools.ImmediateAllocator(queue)
    )) as used:  # fmt: skip
        assert cla.zeros(queue, N, np.int32).data.pool.pool is used.pool
        assert used.pool.allocator.name == "arena"
