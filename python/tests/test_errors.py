# SPDX-License-Identifier: MIT
"""Exceptions: what they are, and that they reach other processes as they are."""

from __future__ import annotations

import builtins
import concurrent.futures
import copy
import multiprocessing
import os
import pickle
import subprocess
import sys

import pyopencl as cl
import pytest
from test_process import run_in_child

import clpool


def fail(name: str):
    """Raises a failure by its name; at the top of the module, for other processes."""
    pool = clpool.MemoryPool(clpool.SimulatedAllocator(100), on_out_of_memory=None)
    if name == "memory":
        pool(1000)
    if name == "limit":
        pool.limit = 10
        pool(50)
    if name == "argument":
        clpool.MemoryPool(pool.allocator, leading_bits_in_bin_id=17)
    if name == "released":
        memory = pool(10)
        memory.release()
        memory.release()
    if name == "busy":
        with clpool.trace(os.devnull), clpool.trace(os.devnull):
            pass
    if name == "file":
        clpool.trace("/nowhere/run.csv").__enter__()
    if name == "by hand":
        raise clpool.LimitExceeded("of the program's own")
    if name == "derived":
        raise Derived("of the program's own", 3)


class Derived(clpool.RuntimeError):
    def __init__(self, text: str, number: int):
        super().__init__(text, number)
        self.number = number


NAMES = {
    "memory": (clpool.MemoryError, "requested 1000 bytes"),
    "limit": (clpool.LimitExceeded, "limit of 10 bytes"),
    "argument": (clpool.LogicError, "17"),
    "released": (clpool.LogicError, "released"),
    "busy": (clpool.RuntimeError, "trace"),
    "file": (clpool.RuntimeError, "/nowhere/run.csv"),
    "by hand": (clpool.LimitExceeded, "of the program's own"),
    "derived": (Derived, "of the program's own"),
}


def raised(name: str) -> clpool.Error:
    with pytest.raises(clpool.Error) as caught:
        fail(name)
    return caught.value


def check_same(error: BaseException, name: str) -> None:
    one = raised(name)
    kind, text = NAMES[name]
    assert type(error) is kind
    assert text in str(error) and str(error) == str(one)
    assert text in repr(error)
    for attribute in ("status", "native_code", "message", "code", "routine"):
        assert getattr(error, attribute) == getattr(one, attribute), attribute
    assert error.is_out_of_memory() == one.is_out_of_memory() == isinstance(one, cl.MemoryError)
    assert error.what.what() == one.what.what() and error.what.code() == one.code


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickled(name, protocol):
    error = raised(name)
    error.note = ["the program's"]
    again = pickle.loads(pickle.dumps(error, protocol))
    check_same(again, name)
    assert again.note == error.note
    check_same(copy.copy(error), name)
    check_same(copy.deepcopy(error), name)


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_from_other_processes(start):
    how = multiprocessing.get_context(start)
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=how) as workers:
        for name, future in [(name, workers.submit(fail, name)) for name in NAMES]:
            check_same(future.exception(timeout=60), name)
    with how.Pool(1) as workers:
        for name in NAMES:
            with pytest.raises(clpool.Error) as caught:
                workers.apply_async(fail, (name,)).get(60)
            check_same(caught.value, name)


def test_what_is_out_of_memory():
    expected = {"memory", "limit", "by hand"}
    assert {name for name in NAMES if raised(name).is_out_of_memory()} == expected
    assert {name for name in NAMES if raised(name).what.is_out_of_memory()} == expected
    for kind in (clpool.Error, clpool.LogicError, clpool.RuntimeError, clpool.NotSupported):
        assert kind().is_out_of_memory() is False and kind("x").code == 0
    assert clpool.MemoryError().code == clpool.MemoryError("x").code == -4
    assert isinstance(raised("busy"), builtins.RuntimeError)


WITHOUT = """
import pickle, sys
sys.modules["pyopencl"] = None
import clpool
try:
    clpool.MemoryPool(clpool.SimulatedAllocator(10))(100)
except clpool.Error as error:
    for one in (error, pickle.loads(pickle.dumps(error))):
        assert one.is_out_of_memory() and "requested 100 bytes" in str(one), one
        assert (one.code, one.routine, one.what.what()) == (-4, "clpool", str(one))
assert not clpool.LogicError("x").is_out_of_memory()
"""


def test_without_pyopencl():
    ended = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True,
                           timeout=60, check=False)  # fmt: skip
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.parametrize("kind", ["buffers", "arena", "on a queue", "svm", "host"])
def test_after_a_fork_the_call_itself_is_named(context, queue, kind):
    if kind == "svm":
        pool = clpool.SVMPool(clpool.SVMAllocator(context, queue=queue))
    elif kind == "host":
        pool = clpool.MemoryPool(clpool.HostAllocator())
    else:
        pool = clpool.MemoryPool(clpool.ImmediateAllocator(queue), arena=kind == "arena")
    pool = pool.on(queue) if kind == "on a queue" else pool
    kept = [pool(100), pool(1000)]

    def allocate():
        for size in 5000, 1000:
            with pytest.raises(clpool.NotSupported, match="clp_pool_allocate.*fork"):
                pool(size)

    run_in_child(allocate)
    kept.clear()
