# SPDX-License-Identifier: MIT
"""set_log: the library's messages in Python."""

from __future__ import annotations

import logging
import sys
import threading

import pytest
from test_process import run_python

import clpool


@pytest.fixture(autouse=True)
def silence():
    yield
    clpool.set_log(None)


def cause(context) -> None:
    """Makes the library warn: a pool on a deferred allocator."""
    clpool.MemoryPool(clpool.DeferredAllocator(context))


def test_a_function(context):
    seen = []
    clpool.set_log(lambda *message: seen.append(message))
    cause(context)
    ((level, text),) = seen
    assert level == logging.WARNING and "deferred" in text
    clpool.set_log(None)
    cause(context)
    assert len(seen) == 1


def test_a_logger(context, caplog):
    clpool.set_log(logging.getLogger("pools"))
    cause(context)
    (record,) = caplog.records
    assert (record.name, record.levelno) == ("pools", logging.WARNING)
    assert "deferred" in record.getMessage()


def test_levels(context):
    seen = []
    for level, count in (logging.INFO, 1), (logging.WARNING, 1), (logging.ERROR, 0):
        seen.clear()
        clpool.set_log(lambda *message: seen.append(message), level)
        cause(context)
        assert len(seen) == count


def test_exceptions_are_printed(context, monkeypatch):
    unraisable = []
    monkeypatch.setattr(sys, "unraisablehook", lambda told: unraisable.append(told.exc_type))

    def fail(level, message):
        raise ZeroDivisionError

    clpool.set_log(fail)
    cause(context)
    assert unraisable == [ZeroDivisionError]


def test_a_message_while_an_exception_is_on_its_way(tmp_path):
    """A trace whose file takes no more tells the log, at a release too."""
    seen = []
    clpool.set_log(lambda level, text: seen.append((level, sorted(text) and text)))
    pool = clpool.MemoryPool(clpool.HostAllocator())
    trace = clpool.trace("/dev/full").start()
    with pytest.raises(ValueError):
        for _ in range(5000):
            pool(10)
        print(pool(10), int("no number"))
    with pytest.raises(clpool.RuntimeError):
        trace.stop()
    ((level, _),) = seen
    assert level == logging.WARNING


def test_the_receiver_may_use_the_library(context):
    seen = []

    def receive(level, message):
        pool = clpool.MemoryPool(clpool.HostAllocator())
        seen.append(pool(10).size)
        clpool.set_log(None)

    clpool.set_log(receive)
    cause(context)
    cause(context)
    assert seen == [10]


def test_threads(context):
    """Messages of several threads, while others change where they go."""
    counts = [0, 0]

    def receive(which, level, message):
        counts[which] += 1

    def work():
        for _ in range(50):
            cause(context)

    threads = [threading.Thread(target=work) for _ in range(3)]
    clpool.set_log(lambda *message: receive(0, *message))
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        clpool.set_log(lambda *message: receive(1, *message))
        clpool.set_log(lambda *message: receive(0, *message))
    assert sum(counts) == 150


def test_nonsense():
    for wrong in (5, "log", logging):
        with pytest.raises(TypeError, match="logging.Logger"):
            clpool.set_log(wrong)
    for wrong in ("WARNING", True, 1.5, None):
        with pytest.raises(TypeError, match=r"logging\.WARNING"):
            clpool.set_log(print, wrong)


def test_the_end():
    ended = run_python(
        """
        import atexit, clpool, logging, pyopencl as cl
        context = cl.create_some_context(interactive=False)
        def end():
            clpool.MemoryPool(clpool.DeferredAllocator(context))
        class Late:
            def __del__(self):
                self.end()
        late = Late()
        late.end = end
        def receive(level, text):
            print("told")
        clpool.set_log(receive)
        end()
        atexit.register(end)
        """
    )
    assert (ended.returncode, ended.stderr, ended.stdout) == (0, "", "told\n" * 2)
