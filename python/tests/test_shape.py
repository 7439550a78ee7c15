# SPDX-License-Identifier: MIT
"""What objects look like, and classes that are derived from pools."""

from __future__ import annotations

import copy
import gc
import html.parser
import pickle
import weakref

import numpy as np
import pyopencl as cl
import pyopencl.array as cla
import pyopencl.tools
import pytest
from test_process import run_in_child

import clpool


class Text(html.parser.HTMLParser):
    """The cells of a page, row by row, and the names of its elements."""

    def __init__(self, page):
        super().__init__()
        self.rows, self.tags = [], set()
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        if tag == "tr":
            self.rows.append([])

    def handle_data(self, data):
        if self.rows:
            self.rows[-1].append(data)


# --- Printed --------------------------------------------------------------------------------------


def test_reprs(queue):
    pool = clpool.MemoryPool(clpool.ImmediateAllocator(queue), name="work", arena=False)
    kept = [pool(size) for size in (1000, 2000, 12_000_000)]
    managed = f"{pool.managed_bytes / (1 << 20):.4g} MiB"
    assert repr(pool) == f"<clpool.MemoryPool 'work': 3 active, {managed} managed>"
    assert repr(pool.on(queue)) == repr(pool).replace("MemoryPool", "PoolOnQueue")
    pool.limit = 64 << 20
    assert repr(pool).endswith(f"{managed} of at most 64 MiB managed>")
    assert repr(kept[0]) == f"<clpool.PooledBuffer: 1000 bytes, cl_mem {kept[0].int_ptr:#x}>"
    assert repr(kept[0][0:100]).startswith("<clpool.PooledBuffer: 100 bytes, ")
    kept[0].release()
    assert "released" in repr(kept[0])
    assert repr(clpool.MemoryPool(clpool.HostAllocator())) == (
        "<clpool.MemoryPool: 0 active, 0 B managed>"
    )


def test_only_pools_make_their_buffers(queue):
    for kind in clpool.PooledBuffer, clpool.PooledSVM:
        with pytest.raises(TypeError, match="cannot be constructed"):
            kind(queue.context, cl.mem_flags.READ_WRITE, 100)
        with pytest.raises(TypeError):
            kind()


def test_reprs_of_memory(queue):
    memory = clpool.MemoryPool(clpool.HostAllocator())(100)
    assert repr(memory) == f"<clpool.Memory: 100 bytes at {memory.ptr:#x}>"
    memory.release()
    assert repr(memory) == "<clpool.Memory: released>"
    svm = clpool.SVMPool(clpool.SVMAllocator(queue.context))(100)
    assert repr(svm) == f"<clpool.PooledSVM: 100 bytes at {svm.svm_ptr:#x}>"
    svm.release()
    assert "released" in repr(svm)


def test_reprs_of_the_rest(queue, tmp_path):
    assert repr(clpool.ImmediateAllocator(queue)) == "<clpool.ImmediateAllocator>"
    pool = clpool.MemoryPool(clpool.HostAllocator(), initial_pool_size=1 << 20)
    memory = pool(1024)
    assert repr(pool.allocator) == "<clpool.ArenaAllocator: 1 KiB used of 1 MiB>"
    memory.release()
    with clpool.use(queue) as used:
        assert repr(used) == f"<clpool.use: {used.pool!r}>"
    assert repr(used) == f"<clpool.use (stopped): {used.pool!r}>"
    with clpool.patch() as patch:
        assert repr(patch) == "<clpool.patch>"
    assert repr(patch) == "<clpool.patch (undone)>"
    assert repr(clpool.DebugPrintHook()) == "<clpool.DebugPrintHook 'DebugPrintHook'>"
    trace = clpool.trace(tmp_path / "run.csv")
    with trace:
        assert repr(trace) == f"<clpool.trace {str(tmp_path / 'run.csv')!r}: recording>"
    assert repr(trace) == f"<clpool.trace {str(tmp_path / 'run.csv')!r}>"


def test_reprs_in_a_child(queue):
    """They neither raise nor touch the device."""
    pool = clpool.MemoryPool(clpool.ImmediateAllocator(queue), name="work", arena=True)
    svm = clpool.SVMPool(clpool.SVMAllocator(queue.context))(100)
    kept = [pool, pool.on(queue), pool(100), pool.allocator, svm, svm.mem, pool.stats]

    def show():
        texts = [repr(one) for one in kept]
        assert all(text.startswith("<clpool.") for text in texts[:-1])
        assert texts[0].startswith("<clpool.MemoryPool 'work': ")
        assert "clpool.MemoryPool" in pool._repr_html_()

    run_in_child(show)


def test_tables_of_notebooks():
    pool = clpool.MemoryPool(clpool.HostAllocator(), name="<b>bold</b>", arena=False)
    memory = pool(3000)
    for page in pool._repr_html_(), pool.stats._repr_html_():
        shown = Text(page)
        assert shown.tags == {"table", "caption", "tr", "td"}
        rows = dict(shown.rows)
        assert rows["active blocks"] == "1"
        assert rows["active bytes"] == "2.93 KiB"
    memory.release()


# --- Derived classes ------------------------------------------------------------------------------


class Counting(clpool.MemoryPool):
    def __init__(self, queue, label, **options):
        super().__init__(clpool.ImmediateAllocator(queue), **options)
        self.label = label
        self.calls = 0

    def __call__(self, size):
        self.calls += 1
        return super().__call__(size)

    def allocate(self, size):
        return super().allocate(2 * size)


class ByNew(clpool.MemoryPool):
    def __new__(cls, queue):
        return super().__new__(cls, clpool.ImmediateAllocator(queue), name="new")


class Seen(clpool.MemoryHook):
    def free_postprocess(self, **kwargs):
        pass


def test_a_derived_class(queue):
    pool = Counting(queue, label="mine", arena=True, name="work")
    assert isinstance(pool, clpool.MemoryPool)
    x = cla.zeros(queue, 100, np.float32, allocator=pool) + 1
    assert (x.get() == 1).all()
    assert (pool.calls, pool.label, pool.allocator.name) == (2, "mine", "arena")
    assert isinstance(x.base_data, clpool.PooledBuffer)
    assert x.base_data.pool is pool
    assert pool.allocate(10).requested_size == 20
    assert pool.on(queue)(10).requested_size == 10
    assert repr(pool).startswith(f"<{__name__}.Counting 'work': ")
    assert ByNew(queue).name == "new"
    with pytest.raises(TypeError, match="already initialized"):
        pool.__init__(queue, "again")
    assert pool(10) is not None


def test_a_derived_class_of_shared_memory(queue):
    class Shared(clpool.SVMPool):
        pass

    pool = Shared(clpool.SVMAllocator(queue.context, queue=queue))
    assert isinstance(pool, clpool.SVMPool)
    assert (cla.zeros(queue, 10, "f", allocator=pool).get() == 0).all()
    with pytest.raises(TypeError, match="cannot be used with"):
        Shared(clpool.ImmediateAllocator(queue))
    with pytest.raises(TypeError):
        Counting(queue, "mine", limit="1G")


def test_a_pool_that_init_did_not_complete(queue, tmp_path):
    class Incomplete(clpool.MemoryPool):
        def __init__(self):
            pass

    pool = Incomplete()
    assert repr(pool).endswith("Incomplete: __init__ was not called>")
    pool._repr_html_()
    hook = clpool.DebugPrintHook()
    for use in (
        lambda: pool(1),
        lambda: pool.allocate(1),
        lambda: pool.on(queue),
        lambda: pool.stats,
        lambda: pool.held_blocks,
        lambda: pool.limit,
        lambda: setattr(pool, "limit", 1),
        lambda: pool.allocator,
        lambda: pool.name,
        lambda: pool.bin_number(1),
        lambda: pool.alloc_size(1),
        lambda: pool.bin_stats(),
        lambda: pool.free_held(),
        lambda: pool.stop_holding(),
        lambda: pool.trim_to(0),
        lambda: pool.trim_idle(0),
        lambda: pool.reset_peaks(),
        lambda: pool.forget_queue(queue),
        lambda: hook.add_to(pool),
        lambda: clpool.trace(tmp_path / "run.csv", pool=pool).start(),
        lambda: clpool.torch_allocator(pool),
    ):
        with pytest.raises((TypeError, ImportError), match="super\\(\\).__init__|torch"):
            use()
    # A failed one may be tried again.
    with pytest.raises(clpool.LogicError):
        clpool.MemoryPool.__init__(pool, clpool.HostAllocator(), 99)
    clpool.MemoryPool.__init__(pool, clpool.HostAllocator(), 4)
    assert pool(10).size == 10


@pytest.mark.parametrize("kind", [clpool.MemoryPool, Counting, ByNew])
def test_cycles_and_weak_references(queue, kind):
    arguments = {clpool.MemoryPool: [clpool.ImmediateAllocator(queue)], Counting: [queue, "x"]}
    pool = kind(*arguments.get(kind, [queue]))
    buffer = pool(100)
    if kind is not clpool.MemoryPool:
        pool.kept = [pool, buffer]

        hook = Seen()
        hook.pool = pool
        hook.add_to(pool)
        del hook
    ended = weakref.ref(pool)
    del pool, buffer
    gc.collect()
    assert ended() is None


def test_pickling_is_refused(queue):
    pool = Counting(queue, "mine")
    host = clpool.MemoryPool(clpool.HostAllocator())
    for one in pool, pool.on(queue), pool(10), pool.allocator, host, host(10):
        for refused in pickle.dumps, copy.copy, copy.deepcopy:
            with pytest.raises(TypeError, match=f"{type(one).__name__} cannot be pickled"):
                refused(one)


def test_derived_from_what_patch_puts_in_place(queue):
    with clpool.patch(arena=True, leading_bits_in_bin_id=6):

        class Mine(pyopencl.tools.MemoryPool):
            def __init__(self, queue, **options):
                super().__init__(pyopencl.tools.ImmediateAllocator(queue), **options)
                self.mark = 5

        class Plain(pyopencl.tools.MemoryPool):
            pass

        mine = Mine(queue)
        plain = Plain(pyopencl.tools.ImmediateAllocator(queue), 5)
        unlike = clpool.MemoryPool(clpool.ImmediateAllocator(queue))
        assert (mine.mark, mine.allocator.name, mine.bin_number(1 << 10)) == (5, "arena", 10 << 6)
        assert plain.bin_number(1 << 10) == 10 << 5
        assert Mine(queue, arena=False).allocator.name == "cl-immediate"
        for kind, whole in (Mine, mine), (Plain, plain):
            assert isinstance(whole, kind) and isinstance(whole, pyopencl.tools.MemoryPool)
            assert issubclass(kind, clpool.MemoryPool) and isinstance(whole, clpool.MemoryPool)
            assert not isinstance(unlike, kind)
        assert isinstance(unlike, pyopencl.tools.MemoryPool)
        assert type(pyopencl.tools.MemoryPool(clpool.HostAllocator())) is clpool.MemoryPool
        assert (cla.zeros(queue, 10, "f", allocator=mine).get() == 0).all()
    with clpool.patch():

        class Own(pyopencl.tools.MemoryPool):
            pass

        assert isinstance(Own(pyopencl.tools.ImmediateAllocator(queue))(10), cl.Buffer)
    assert mine(100).pool is mine
