# SPDX-License-Identifier: MIT
"""Traces of a program's allocations, and what the program ``clpool`` makes of them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess

from clpool import _clpool, _errors


class trace:
    """Writes what the thread does with pools to a file, in RMM's CSV format::

        with clpool.trace("run.csv"):
            program()

    With ``pool``, what all threads do with that pool. For a whole process without a line of code
    there is the environment variable CLPOOL_TRACE. Raises clpool.RuntimeError where the file cannot
    be written.
    """

    def __init__(self, path: str | os.PathLike, pool=None):
        self.path = os.fspath(path)
        self.pool = pool

    def __enter__(self):
        made = _clpool.Trace(self.path)
        if self.pool is None:
            _clpool.push_hook(made)
        else:
            self.pool._add_hook(made)
        self._trace = made
        return self

    def __exit__(self, *exception) -> None:
        if self.pool is None:
            _clpool.pop_hook(self._trace)
        else:
            self.pool._remove_hook(self._trace)
        self._trace.close()


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
    return ended.stdout


def tune(path: str | os.PathLike, *more: str | os.PathLike) -> dict:
    """Tries settings of pools on a trace, prints their table and the lines of C and Python to
    paste, and returns what was found, as ``clpool tune --json`` names it. ``more`` are further
    traces of the same program, and options of ``clpool tune``. Raises clpool.RuntimeError with what
    the program says is wrong, and FileNotFoundError without the program."""
    words = [os.fspath(argument) for argument in (path, *more)]
    print(_run("tune", *words), end="")
    return json.loads(_run("tune", "--json", *words))


def report(path: str | os.PathLike, output: str | os.PathLike, *options: str) -> None:
    """Writes a page about a trace, with its timeline, bins and largest blocks, to ``output``, an
    HTML file. ``options`` are those of ``clpool report``. Raises as :func:`tune` does."""
    _run("report", *options, "-o", os.fspath(output), os.fspath(path))
