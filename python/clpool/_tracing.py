# SPDX-License-Identifier: MIT
"""Traces of a program's allocations, and what the program ``clpool`` makes of them."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from typing import TextIO

from clpool import _clpool, _errors, _hooks


class trace(_hooks.Session):
    """Writes what the thread does with pools to a file, in RMM's CSV format::

        with clpool.trace("run.csv"):
            program()

    or from :meth:`start` to :meth:`stop`. With ``pool``, what all threads do with that pool. The
    file is made, or emptied, at the start, and complete after the end, or when the interpreter
    exits. For a whole process without a line of code there is the environment variable
    CLPOOL_TRACE.
    """

    _running: set[trace] = set()  # which keeps them

    def __init__(self, path: str | os.PathLike, pool=None):
        self.path = os.fspath(path)
        self.pool = pool

    def __repr__(self) -> str:
        return f"<clpool.trace {self.path!r}>"

    def start(self) -> trace:
        """Begins to write, and returns the trace. Raises clpool.RuntimeError where the file cannot
        be written, the trace is started already, or another one is on this thread."""
        self._begin(self.pool)
        self._running.add(self)
        return self

    def stop(self) -> None:
        """Completes the file. clpool.RuntimeError: the trace is not started, or was started without
        a pool on another thread, which is still running."""
        self._end()
        self._running.discard(self)
        self._trace.close()

    def __enter__(self) -> trace:
        return self.start()

    def __exit__(self, *exception: object) -> None:
        self.stop()

    def _register(self, pool) -> None:
        # Where it cannot be registered, a file that is there must not be emptied.
        stand_in = _clpool.Hook("trace", (None,) * 8)
        _add(stand_in, pool)
        _remove(stand_in, pool)
        made = _clpool.Trace(self.path)
        _add(made, pool)
        self._trace = made

    def _unregister(self, pool) -> None:
        _remove(self._trace, pool)


def _add(hook: _clpool.Hook | _clpool.Trace, pool) -> None:
    if pool is None:
        _clpool.push_hook(hook)
    else:
        pool._add_hook(hook)


def _remove(hook: _clpool.Hook | _clpool.Trace, pool) -> None:
    if pool is None:
        _clpool.pop_hook(hook)
    else:
        pool._remove_hook(hook)


@atexit.register
def _complete() -> None:
    """Other threads may still be writing, so that nothing can be closed."""
    for running in list(trace._running):
        with contextlib.suppress(_errors.Error):  # of which set_log has been told
            running._trace.flush()


@contextlib.contextmanager
def whole_file(path: str | os.PathLike) -> Iterator[TextIO]:
    """A file to write that becomes ``path`` when it is complete: after an exception, what was there
    before is still there. A pipe or a device is written directly."""
    path = os.path.realpath(path)
    if os.path.exists(path) and not os.path.isfile(path):
        with open(path, "w", encoding="utf-8") as file:
            yield file
        return
    partial = f"{path}.{os.getpid()}.part"
    try:
        with open(partial, "w", encoding="utf-8") as file:
            if os.path.exists(path):
                shutil.copymode(path, partial)
            yield file
        os.replace(partial, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(partial)
        raise


def program() -> str:
    """The program ``clpool``: that of the environment's CLPOOL_PROGRAM, or else on the PATH."""
    found = os.environ.get("CLPOOL_PROGRAM") or shutil.which("clpool")
    if found is None:
        raise FileNotFoundError("the program clpool is not on the PATH; CLPOOL_PROGRAM may name it")
    return found


def _run(*arguments: str) -> str:
    ended = subprocess.run([program(), *arguments], capture_output=True, text=True, check=False)
    if ended.returncode != 0:
        said = ended.stderr.strip() or f"{arguments[0]} ended with {ended.returncode}"
        raise _errors.RuntimeError(said)
    print(ended.stderr, end="", file=sys.stderr)
    return ended.stdout


def tune(path: str | os.PathLike, *more: str | os.PathLike) -> dict:
    """Tries settings of pools on a trace, prints their table and the lines of C and Python to
    paste, and returns the same, as ``clpool tune --json`` names it. ``more`` are further
    traces of the same program, and options of ``clpool tune``. Raises clpool.RuntimeError with what
    the program says is wrong, and FileNotFoundError without the program."""
    words = [os.fspath(argument) for argument in (path, *more)]
    found = json.loads(_run("tune", "--json", *words))
    print(found.pop("text"), end="")
    return found


def report(path: str | os.PathLike, output: str | os.PathLike, *options: str) -> None:
    """Writes a page about a trace, with its timeline, bins and largest blocks, to ``output``, an
    HTML file. ``options`` are those of ``clpool report``. Raises as :func:`tune` does."""
    _run("report", *options, "-o", os.fspath(output), os.fspath(path))
