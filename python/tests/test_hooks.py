# SPDX-License-Identifier: MIT
"""MemoryHook and the hooks that come with the package, with CuPy's meanings."""

from __future__ import annotations

import _thread
import gc
import io
import json
import random
import sys
import threading
import weakref

import pytest
from test_process import run_on_thread

import clpool


class Recorder(clpool.MemoryHook):
    """Keeps what it is shown."""

    name = "recorder"

    def __init__(self, seen=None, name="recorder"):
        self.seen = [] if seen is None else seen
        self.name = name

    def malloc_preprocess(self, **kwargs):
        self.seen.append((self.name, "malloc", kwargs))

    def malloc_postprocess(self, **kwargs):
        self.seen.append((self.name, "malloced", kwargs))

    def alloc_preprocess(self, **kwargs):
        self.seen.append((self.name, "alloc", kwargs))

    def alloc_postprocess(self, **kwargs):
        self.seen.append((self.name, "alloced", kwargs))

    def free_preprocess(self, **kwargs):
        self.seen.append((self.name, "free", kwargs))

    def free_postprocess(self, **kwargs):
        self.seen.append((self.name, "freed", kwargs))

    def device_free_preprocess(self, **kwargs):
        self.seen.append((self.name, "device_free", kwargs))

    def device_free_postprocess(self, **kwargs):
        self.seen.append((self.name, "device_freed", kwargs))


def names(recorder):
    return [what for _, what, _ in recorder.seen]


def test_order_and_arguments(host_pool):
    hook = Recorder()
    rounded = host_pool.alloc_size(host_pool.bin_number(1000))
    with hook:
        memory = host_pool(1000)
        address = memory.ptr
        del memory
        host_pool.free_held()
    assert names(hook) == [
        "malloc", "alloc", "alloced", "malloced", "free", "freed", "device_free", "device_freed"
    ]
    told = {what: kwargs for _, what, kwargs in hook.seen}
    assert set(told["malloc"]) == {"device_id", "size", "mem_size"}
    assert (told["malloc"]["size"], told["malloc"]["mem_size"]) == (1000, rounded)
    assert set(told["alloced"]) == {"device_id", "mem_size", "mem_ptr"}
    assert set(told["malloced"]) == {"device_id", "size", "mem_size", "mem_ptr", "pmem_id"}
    assert told["malloced"]["mem_ptr"] == address
    assert told["free"]["pmem_id"] == told["malloced"]["pmem_id"] != 0


def test_nested_by_name_and_by_thread(host_pool):
    seen = []

    def mallocs():  # and not what the collector frees here, of other tests
        return [(name, what) for name, what, _ in seen if what.startswith("malloc")]

    with Recorder(seen, "outer"), Recorder(seen, "inner"):
        with pytest.raises(KeyError, match="outer"):
            Recorder(seen, "outer").__enter__()
        run_on_thread(lambda: host_pool(10))
        assert mallocs() == []
        host_pool(10)
    host_pool(10)
    assert mallocs() == [
        ("outer", "malloc"), ("inner", "malloc"), ("outer", "malloced"), ("inner", "malloced")
    ]


def test_of_a_pool(host_pool):
    hook = Recorder()
    hook.add_to(host_pool)
    run_on_thread(lambda: host_pool(10))
    hook.remove_from(host_pool)
    host_pool(10)
    assert names(hook).count("malloc") == 1


def test_start_and_stop(host_pool):
    hook = Recorder()
    assert hook.start() is hook
    host_pool(10)
    hook.stop()
    host_pool(10)
    assert names(hook).count("malloc") == 1
    hook.start()
    host_pool(10)
    hook.stop()
    assert names(hook).count("malloc") == 2


def test_start_with_a_pool(host_pool):
    """Then all threads are seen, and any of them may stop it."""
    hook = Recorder().start(pool=host_pool)

    def work():
        host_pool(10)
        hook.stop()

    run_on_thread(work)
    host_pool(10)
    assert names(hook).count("malloc") == 1
    hook.start(host_pool)
    hook.stop()


def test_stops_in_any_order(host_pool):
    first, second = Recorder(name="first").start(), Recorder(name="second").start()
    third = Recorder(name="third").start(host_pool)
    first.stop()
    host_pool(10)
    third.stop()
    second.stop()
    assert [names(hook).count("malloc") for hook in (first, second, third)] == [0, 1, 1]


def test_starts_and_stops_at_the_wrong_moment(host_pool):
    hook = Recorder()
    with pytest.raises(clpool.RuntimeError, match="not started: call start") as caught:
        hook.stop()
    assert caught.value.status == "CLP_NOT_FOUND"
    hook.start()
    for again in ([], [host_pool]):
        with pytest.raises(clpool.RuntimeError, match="already started: call stop") as caught:
            hook.start(*again)
        assert caught.value.status == "CLP_BUSY"
    with pytest.raises(KeyError, match="recorder"):
        Recorder().start()
    with pytest.raises(KeyError, match="recorder"):
        hook.__enter__()
    hook.stop()
    with pytest.raises(clpool.RuntimeError):
        hook.stop()
    for no_pool in (5, host_pool.allocator, host_pool.on):
        with pytest.raises(TypeError, match="pool must be"):
            hook.start(no_pool)
    host_pool(10)
    assert "malloc" not in names(hook)


def test_stop_belongs_to_the_thread_of_the_start(host_pool):
    hook = Recorder()
    started, end = threading.Event(), threading.Event()

    def work():
        hook.start()
        started.set()
        end.wait(30)
        host_pool(10)

    thread = threading.Thread(target=work, name="worker")
    thread.start()
    assert started.wait(30)
    with pytest.raises(clpool.RuntimeError, match="thread 'worker'"):
        hook.stop()
    end.set()
    thread.join()
    assert names(hook).count("malloc") == 1
    hook.stop()  # what that thread began has ended with it
    with hook:
        host_pool(10)
    assert names(hook).count("malloc") == 2


def test_a_started_hook_that_is_dropped(host_pool):
    seen = []
    Recorder(seen).start(host_pool)
    gc.collect()
    host_pool(10)
    pool = clpool.MemoryPool(clpool.HostAllocator())
    gone = weakref.ref(Recorder(seen).start(pool))
    pool(10)
    del pool
    gc.collect()
    assert gone() is None
    assert [what for _, what, _ in seen].count("malloc") == 2
    run_on_thread(lambda: (Recorder(seen).start(), host_pool(10)))
    gc.collect()
    assert [what for _, what, _ in seen].count("malloc") == 4


def test_a_profile_of_two_cells(host_pool):
    profile = clpool.LineProfileHook()
    profile.start()
    allocate_twice(host_pool)
    profile.stop()
    allocate_twice(host_pool)
    size = host_pool.alloc_size(host_pool.bin_number(1024)) / 1024
    assert reported(profile).startswith(f"_root ({2 * size:.2f}KB, {size:.2f}KB)\n")


def test_a_callback_may_use_pools(host_pool):
    class Nested(clpool.MemoryHook):
        calls = 0

        def malloc_preprocess(self, **kwargs):
            self.calls += 1
            host_pool(50)

    with Nested() as hook:
        host_pool(10)
    assert hook.calls == 1


@pytest.mark.parametrize("callback", ["malloc_preprocess", "alloc_postprocess"])
def test_an_exception_is_the_callers(host_pool, callback):
    def fail(self, **kwargs):
        raise ZeroDivisionError

    with type("Failing", (clpool.MemoryHook,), {callback: fail})():
        with pytest.raises(ZeroDivisionError):
            host_pool(10)
    assert host_pool.active_blocks == 0
    host_pool(10)


def test_an_exception_at_a_release(host_pool):
    class Failing(clpool.MemoryHook):
        def free_postprocess(self, **kwargs):
            raise ZeroDivisionError

    memory = host_pool(10)
    with Failing(), pytest.raises(ZeroDivisionError):
        memory.release()
    assert host_pool.active_blocks == 0


def test_an_exception_is_kept_apart_from_callbacks(host_pool):
    """Callbacks run while one is on its way, and what they raise then is printed."""
    unraisable = []

    class Failing(clpool.MemoryHook):
        def malloc_postprocess(self, **kwargs):
            raise ZeroDivisionError

        def free_preprocess(self, **kwargs):
            sorted(kwargs)
            raise KeyError

    with pytest.MonkeyPatch.context() as patched, Failing():
        patched.setattr(sys, "unraisablehook", lambda told: unraisable.append(told.exc_type))
        with pytest.raises(ZeroDivisionError):
            host_pool(10)
    assert unraisable == [KeyError]
    assert host_pool.active_blocks == 0
    host_pool.free_held()


@pytest.mark.parametrize("fails", [False, True])
def test_a_pool_ends_while_an_exception_is_on_its_way(fails, monkeypatch):
    unraisable = []
    monkeypatch.setattr(sys, "unraisablehook", lambda told: unraisable.append(told.exc_type))

    class Ending(clpool.MemoryHook):
        def device_free_preprocess(self, **kwargs):
            sorted(kwargs)
            if fails:
                raise ZeroDivisionError

    def make():
        pool = clpool.MemoryPool(clpool.HostAllocator())
        Ending().add_to(pool)
        pool(10)
        return pool

    with pytest.raises(ValueError):
        print(make(), int("no number"))
    assert unraisable == [ZeroDivisionError] * fails


def test_a_pool_and_its_hook_in_a_cycle():
    seen = []

    class Ending(clpool.MemoryHook):
        def device_free_preprocess(self, **kwargs):
            seen.append(self.pool[0].held_blocks)

    def make(hook):
        hook._native()  # so that the hook is older than the pool
        pool = clpool.MemoryPool(clpool.HostAllocator())
        pool(1000)
        hook.pool = [pool]
        hook.pool.append(hook.pool)
        hook.add_to(pool)

    for _ in range(3):
        make(Ending())
        gc.collect()
    assert len(seen) == 3


def test_a_pool_and_its_hook_in_a_cycle_that_is_collected_for_memory():
    """Inside of on_out_of_memory, where no hook can be taken from its pool."""

    class Ending(clpool.MemoryHook):
        def free_preprocess(self, **kwargs):
            pass

        def device_free_preprocess(self, **kwargs):
            pass

    def make():
        hook, pool = Ending(), clpool.MemoryPool(clpool.HostAllocator())
        hook.add_to(pool)
        hook.memory = [pool(1000), pool(2000)]
        return weakref.ref(hook)

    scarce = clpool.MemoryPool(clpool.SimulatedAllocator(1000))
    for _ in range(3):
        gone = make()
        with pytest.raises(clpool.MemoryError):
            scarce(2000)
        assert gone() is None


def test_debug_print(host_pool):
    text = io.StringIO()
    with clpool.DebugPrintHook(file=text):
        host_pool(500)
    lines = [json.loads(line) for line in text.getvalue().splitlines()]
    assert [line["hook"] for line in lines] == ["alloc", "malloc", "free"]
    assert list(lines[1]) == ["hook", "device_id", "size", "mem_size", "mem_ptr", "pmem_id"]


def allocate_twice(pool):
    pool(1024)
    pool(1024)


def test_line_profile(host_pool):
    line = allocate_twice.__code__.co_firstlineno
    size = host_pool.alloc_size(host_pool.bin_number(1024)) / 1024
    with clpool.LineProfileHook() as profile:
        allocate_twice(host_pool)
    lines = reported(profile).splitlines()
    assert lines[0] == f"_root ({2 * size:.2f}KB, {size:.2f}KB)"
    inner = [entry.strip() for entry in lines[-2:]]
    assert inner == [
        f"{__file__}:{line + 1}:allocate_twice ({size:.2f}KB, {size:.2f}KB)",
        f"{__file__}:{line + 2}:allocate_twice ({size:.2f}KB, 0.00B)",
    ]
    assert lines[-1].startswith("  " * (len(lines) - 2))


def test_line_profile_depth_and_folded(host_pool):
    with clpool.LineProfileHook(max_depth=2) as profile:
        allocate_twice(host_pool)
    assert len(reported(profile).splitlines()) == 2
    assert folded(profile) == [2 * host_pool.alloc_size(host_pool.bin_number(1024))]


def test_line_profile_of_a_thread_without_python(host_pool):
    """As PyTorch's, which has no frame that is Python's."""
    done = threading.Event()

    class Profile(clpool.LineProfileHook):
        def free_postprocess(self, **kwargs):
            done.set()

    profile = Profile()
    profile.add_to(host_pool)
    _thread.start_new_thread(host_pool.allocate, (1024,))
    assert done.wait(30)
    profile.remove_from(host_pool)
    size = host_pool.alloc_size(host_pool.bin_number(1024)) / 1024
    assert reported(profile) == f"_root ({size:.2f}KB, {size:.2f}KB)\n"


def reported(profile, view="sums"):
    text = io.StringIO()
    profile.print_report(text, view)
    return text.getvalue()


def folded(profile, view="sums"):
    text = io.StringIO()
    profile.write_folded(text, view)
    return [int(line.rpartition(" ")[2]) for line in text.getvalue().splitlines()]


def test_line_profile_views(host_pool):
    """A pool rounds 1024 bytes up to 1087, and 2048 up to 2175."""
    with clpool.LineProfileHook() as profile:
        first = host_pool(1024)
        second = host_pool(2048)
        run_on_thread(first.release)  # where the hook is not
        assert reported(profile, "now").startswith("_root (3.19KB)\n")
        again = host_pool(1024)  # what was released
        assert folded(profile, "now") == [2175, 1087]
        second.release()
        assert reported(profile, "now").startswith("_root (1.06KB)\n")
        assert folded(profile, "now") == [1087]
        again.release()
    assert reported(profile, "now") == "_root (0.00B)\n"
    assert folded(profile, "now") == []
    assert reported(profile, "peak").startswith("_root (3.19KB)\n")
    assert folded(profile) == [1087, 2175, 1087]
    assert len(folded(profile, "peak")) == 2
    for report in reported, folded:
        with pytest.raises(ValueError, match="'then'"):
            report(profile, "then")


def test_outstanding_allocations(host_pool):
    """A pool rounds 1024 bytes up to 1087, and 2048 up to 2175."""

    def allocate(size):
        return host_pool(size)

    line = allocate.__code__.co_firstlineno + 1
    with clpool.LineProfileHook() as profile:
        assert profile.outstanding_allocations() == []
        kept = [allocate(1024), allocate(1024), host_pool(2048), host_pool(2048)]
        del kept[3:]
        first, second = profile.outstanding_allocations()
        assert (first.file, first.bytes, first.blocks) == (__file__, 2175, 1)
        assert second == (__file__, line, "allocate", 2 * 1087, 2)
        at_peak = profile.outstanding_allocations("peak")
        assert [(one.bytes, one.blocks) for one in at_peak] == [(4350, 2), (2174, 2)]
        text = profile.get_outstanding_allocations_str()
        assert text.splitlines()[1] == f"{__file__}:{line}:allocate (2.12KB, 2)"
        kept.clear()
        assert profile.outstanding_allocations() == []
        assert profile.get_outstanding_allocations_str() == ""
    with pytest.raises(ValueError, match="'sums'"):
        profile.outstanding_allocations("sums")
    with clpool.LineProfileHook(max_depth=1) as shallow:
        kept.append(host_pool(1024))
        assert shallow.outstanding_allocations() == [("_root", 0, "", 1087, 1)]


def test_line_profile_of_refused_requests():
    pool = clpool.MemoryPool(clpool.SimulatedAllocator(1 << 30))
    with clpool.LineProfileHook(max_depth=1) as profile:
        with pytest.raises(clpool.MemoryError):
            pool(1 << 40)
        assert reported(profile) == "_root (1.06TB, 0.00B)\n"
        held = pool(1 << 30)  # which its bin's size passes
        assert reported(profile) == "_root (1.06TB, 1.00GB)\n"
        assert reported(profile, "now") == "_root (1.00GB)\n"
        held.release()
    assert reported(profile, "now") == "_root (0.00B)\n"


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (1023, "1023.00B"),
        (1024, "1.00KB"),
        (1048575, "1024.00KB"),
        (1 << 40, "1.00TB"),
        (1 << 50, "1.00PB"),
        (1 << 60, "1.00EB"),
        (1 << 70, "1.00ZB"),
        (1 << 80, "1024.00ZB"),
    ],
)
def test_line_profile_sizes_are_cupys(size, text):
    profile = clpool.LineProfileHook(max_depth=1)
    profile.malloc_preprocess(device_id=0, size=size, mem_size=size)
    assert reported(profile) == f"_root ({text}, 0.00B)\n"


def test_line_profile_against_a_model():
    chance = random.Random(1)
    profile = clpool.LineProfileHook()
    buffers: dict = {}
    peak: dict = {}

    def allocate(pmem_id, size):
        sizes = {"device_id": 0, "size": size, "mem_size": size}
        profile.malloc_preprocess(**sizes)
        profile.malloc_postprocess(**sizes, mem_ptr=pmem_id, pmem_id=pmem_id)

    def one(pmem_id, size):
        allocate(pmem_id, size)

    def other(pmem_id, size):
        allocate(pmem_id, size)

    def by_line(of):
        sums = [sum(size for line, size in of.values() if line is which) for which in (one, other)]
        return sorted(size for size in sums if size)

    for _ in range(3000):
        pmem_id, size = chance.randrange(1, 20), chance.randrange(1, 1000)
        which = chance.choice((one, other, None))
        if which:
            which(pmem_id, size)  # what had this ID was released elsewhere
            buffers[pmem_id] = which, size
        else:
            profile.free_preprocess(device_id=0, mem_size=size, mem_ptr=pmem_id, pmem_id=pmem_id)
            buffers.pop(pmem_id, None)
        if sum(by_line(buffers)) > sum(by_line(peak)):
            peak = dict(buffers)
        assert sorted(folded(profile, "now")) == by_line(buffers)
        assert sorted(folded(profile, "peak")) == by_line(peak)
        for view, of in ("now", buffers), ("peak", peak):
            lines = profile.outstanding_allocations(view)
            # All of them are of the one line in allocate().
            assert [line.bytes for line in lines] == [sum(by_line(of))] * bool(of)
            assert [line.blocks for line in lines] == [len(of)] * bool(of)
