# SPDX-License-Identifier: MIT
"""Traces of a program's allocations, and what the program ``clpool`` makes of them."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from typing import TextIO

from clpool import _clpool, _errors


class trace:
    """Writes what the thread does with pools to a file, in RMM's CSV format::

        with clpool.trace("run.csv"):
            program()

    With ``pool``, what all threads do with that pool. For a whole process without a line of code
    there is the environment variable CLPOOL_TRACE. Raises clpool.RuntimeError where the file cannot
    be written.
    """

    _trace: _clpool.Trace | None = None

    def __init__(self, path: str | os.PathLike, pool=None):
        self.path = os.fspath(path)
        self.pool = pool

    def __enter__(self):
        pools = _clpool.MemoryPool, _clpool.SVMPool, _clpool.PoolOnQueue
        if self.pool is not None and not isinstance(self.pool, pools):
            raise TypeError(f"pool must be a clpool.MemoryPool, not {type(self.pool).__name__}")
        # Where it cannot be registered, a file that is there must not be emptied.
        stand_in = _clpool.Hook("trace", (None,) * 8)
        self._register(stand_in)
        self._unregister(stand_in)
        made = _clpool.Trace(self.path)
        self._register(made)
        self._trace = made
        return self

    def __exit__(self, *exception) -> None:
        self._unregister(self._trace)
        self._trace.close()

    def flush(self) -> None:
        """Has the file contain all operations that have returned."""
        if self._trace is not None:
            self._trace.flush()

    def _register(self, hook: _clpool.Hook | _clpool.Trace) -> None:
        if self.pool is None:
            _clpool.push_hook(hook)
        else:
            self.pool._add_hook(hook)

    def _unregister(self, hook: _clpool.Hook | _clpool.Trace) -> None:
        if self.pool is None:
            _clpool.pop_hook(hook)
        else:
            self.pool._remove_hook(hook)


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
