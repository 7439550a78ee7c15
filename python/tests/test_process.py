# SPDX-License-Identifier: MIT
"""Threads, forks, subinterpreters, and the end of the interpreter."""

from __future__ import annotations

import concurrent.futures
import gc
import os
import signal
import subprocess
import sys
import textwrap
import threading
import traceback
from collections.abc import Callable

import pytest

import clpool


def run_python(text: str, **environment: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-X", "faulthandler", "-c", textwrap.dedent(text)],
        capture_output=True, text=True, timeout=60, check=False, env={**os.environ, **environment},
    )  # fmt: skip


def run_on_thread(work: Callable[[], object]) -> None:
    """Calls a function on another thread, which has ended afterwards. What it raises is raised."""
    with concurrent.futures.ThreadPoolExecutor(1) as thread:
        thread.submit(work).result()


def run_in_child(work: Callable[[], object]) -> None:
    """Calls a function in a forked child. What it raises is printed, and a failure."""
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        status = 1
        try:
            work()
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


SET_UP = """
import gc, clpool, pyopencl as cl, pyopencl.array as cla
context = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(context)
pool = clpool.MemoryPool(clpool.ImmediateAllocator(queue))
a, b = pool(1000), pool(2000)
del b
"""

ENDS = {
    "nothing": "",
    "the pool first": "del pool; gc.collect(); del a",
    "the buffer first": "del a, pool",
    "PyOpenCL's objects first": "del queue, context; gc.collect(); del pool; del a",
    "in a cycle": "cycle = [pool, a]; cycle.append(cycle); del pool, a, cycle",
    "in a module": "import json; json.kept = (pool, a)",
    "in an exit function": "import atexit; atexit.register(lambda kept=(pool, a): kept[0](5000))",
    "a use that stays": "clpool.use(queue); x = cla.empty(queue, 100, 'f'); y = x + 1",
    "a hook that stays": "class H(clpool.MemoryHook):\n"
    "    def free_preprocess(self, **kw): pass\n"
    "H().__enter__()",
    "a hook of a pool that stays": "class H(clpool.MemoryHook):\n"
    "    def device_free_preprocess(self, **kw): pass\n"
    "H().add_to(pool)",
    "a hook that was started": "class H(clpool.MemoryHook):\n"
    "    def free_preprocess(self, **kw): pass\n"
    "H().start(); H().start(pool)",
    "a pool of a pool": "on = pool.on(cl.CommandQueue(context)); c = on(100); del pool, on",
    "a thread that goes on": "import threading\n"
    "def work():\n"
    "    while True: pool(1000)\n"
    "threading.Thread(target=work, daemon=True).start()",
}


@pytest.mark.parametrize("how", ENDS)
def test_the_end(how):
    ended = run_python(SET_UP + ENDS[how])
    assert (ended.returncode, ended.stderr) == (0, "")


def test_threads(pool):
    def work(seed):
        kept = {}
        for i in range(3000):
            size = 1 + (i * 7919 + seed) % 50 * 100
            kept[i % 8] = pool(size)
            assert kept[i % 8].requested_size == size
        assert len({buffer.int_ptr for buffer in kept.values()}) == 8

    with concurrent.futures.ThreadPoolExecutor(8) as threads:
        list(threads.map(work, range(8)))
    assert pool.active_blocks == 0


def test_hooks_and_threads_never_wait_for_each_other(host_pool):
    """A hook wants the interpreter's lock while other threads wait for the pool's."""

    class Busy(clpool.MemoryHook):
        def device_free_preprocess(self, **kwargs):
            host_pool(64)

    hook = Busy()
    hook.add_to(host_pool)
    host_pool.limit = 1 << 20

    def work():
        for i in range(300):
            host_pool(100_000 + i * 500)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert not any(thread.is_alive() for thread in threads)
    hook.remove_from(host_pool)


def test_a_forked_child_drops_what_it_inherited(queue, pool):
    kept = [pool(n) for n in (1000, 2000, 3000)]
    part = kept[0][:100]
    del kept[1]

    def drop():
        nonlocal part
        kept.clear()
        del part
        with pytest.raises(clpool.NotSupported):
            pool(1000)
        own = clpool.MemoryPool(clpool.HostAllocator())
        own(100)
        gc.collect()

    run_in_child(drop)
    assert pool(2000) is not None


def test_a_forked_child_ends_as_programs_do():
    ended = run_python(
        SET_UP
        + """
import multiprocessing
def work(n): return n + 1
if __name__ == "__main__":
    with multiprocessing.get_context("fork").Pool(2) as workers:
        assert workers.map(work, range(20)) == list(range(1, 21))
"""
    )
    assert (ended.returncode, ended.stderr) == (0, "")


def test_the_package_may_be_reloaded():
    ended = run_python("import clpool, importlib; importlib.reload(clpool)")
    assert (ended.returncode, ended.stderr) == (0, "")


def test_subinterpreters_are_refused():
    ended = run_python(
        """
        try:
            import _xxsubinterpreters as interpreters
        except ImportError:
            import _interpreters as interpreters
        text = (
            "import importlib.util, sys\\n"
            "try: import clpool._clpool\\n"
            "except ImportError as error: assert 'interpreter' in str(error), error\\n"
            "else: raise AssertionError\\n"
        )
        failed = interpreters.run_string(interpreters.create(), text)
        assert failed is None, failed
        """
    )
    assert ended.returncode == 0, ended.stderr


def test_without_pyopencl():
    ended = run_python(
        """
        import sys
        sys.modules["pyopencl"] = None
        import clpool
        pool = clpool.MemoryPool(clpool.HostAllocator())
        memory = pool(8)
        memoryview(memory)[:] = b"12345678"
        for allocator in (
            clpool.ImmediateAllocator, clpool.DeferredAllocator, clpool.SVMAllocator
        ):
            try:
                allocator(1)
            except ImportError:
                continue
            raise AssertionError(allocator)
        try:
            clpool.MemoryPool(clpool.SimulatedAllocator(10))(100)
        except clpool.MemoryError as error:
            print(error.status)
        """
    )
    assert (ended.returncode, ended.stdout) == (0, "CLP_OUT_OF_DEVICE_MEMORY\n"), ended.stderr
