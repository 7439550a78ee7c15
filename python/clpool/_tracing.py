# SPDX-License-Identifier: MIT
"""Traces of a program's allocations, and what the program ``clpool`` makes of them."""

from __future__ import annotations

import atexit
import contextlib
import html
import json
import os
import shutil
import subprocess
import sys
import urllib.parse
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, TextIO, TypedDict

from clpool import _clpool, _errors, _hooks, _show

if TYPE_CHECKING:
    from typing_extensions import Self

_MOST_SHOWN = 4 << 20  # characters of a page within a notebook


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

    def __init__(
        self, path: str | os.PathLike[str], pool: _hooks.AnyPool | None = None
    ) -> None:
        self.path = os.fspath(path)
        self.pool = pool

    def __repr__(self) -> str:
        state = ": recording" if self._started is not None else ""
        return f"<clpool.trace {self.path!r}{state}>"

    def start(self) -> Self:
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

    def flush(self) -> None:
        """Has the file contain all operations that have returned."""
        if self._started is not None:
            self._trace.flush()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *exception: object) -> None:
        self.stop()

    def _register(self, pool: _hooks.AnyPool | None) -> None:
        # Where it cannot be registered, a file that is there must not be emptied.
        stand_in = _clpool.Hook("trace", (None,) * 8)
        try:
            _add(stand_in, pool)
        except _errors.RuntimeError as error:
            if error.status != "CLP_BUSY":
                raise
            where = "on this thread" if pool is None else "with this pool"
            message = f"another trace is already started {where}: call its stop() first"
            raise _errors.misuse("CLP_BUSY", message) from error
        _remove(stand_in, pool)
        made = _clpool.Trace(self.path)
        _add(made, pool)
        self._trace = made

    def _unregister(self, pool: _hooks.AnyPool | None) -> None:
        _remove(self._trace, pool)


def _add(hook: _clpool.Hook | _clpool.Trace, pool: _hooks.AnyPool | None) -> None:
    if pool is None:
        _clpool.push_hook(hook)
    else:
        pool._add_hook(hook)


def _remove(hook: _clpool.Hook | _clpool.Trace, pool: _hooks.AnyPool | None) -> None:
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
def whole_file(path: str | os.PathLike[str]) -> Iterator[TextIO]:
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
        raise FileNotFoundError("clpool is not on the PATH: set CLPOOL_PROGRAM to its path")
    return found


def _run(*arguments: str) -> str:
    ended = subprocess.run([program(), *arguments], capture_output=True, text=True, check=False)
    if ended.returncode != 0:
        said = ended.stderr.strip() or f"{arguments[0]} ended with {ended.returncode}"
        raise _errors.RuntimeError(said)
    print(ended.stderr, end="", file=sys.stderr)
    return ended.stdout


class Recommended(TypedDict):
    """Settings of a pool, and the lines that make it."""

    leading_bits: int | None
    arena: bool
    slack: float | None
    code: str
    python: str
    environment: str


@dataclass(frozen=True, repr=False)
class TuneResult:
    """What ``clpool tune --json`` says. ``print(result)`` prints the table and the lines to paste;
    a notebook shows it. Members are attributes, and items as of the JSON's object. ``recommended``
    is None if no setting is."""

    traces: list[str]
    allocations: int
    frees: int
    peak_active_bytes: int
    limit: int
    time: int
    costs: str
    settings: list[dict[str, Any]]
    reason: str
    notes: list[str]
    run: dict[str, int] | None
    recommended: Recommended | None
    text: str

    def __getitem__(self, name: str) -> Any:
        return vars(self)[name]

    def __repr__(self) -> str:
        return self.text.rstrip("\n")

    def _repr_html_(self) -> str:
        names = "leading_bits", "slack", "peak_device_bytes", "footprint", "ns_per_operation"
        best: dict[str, Any] = dict(self.recommended or {})
        marks = (
            "*" if all(one[name] == best.get(name) for name in ("leading_bits", "slack")) else ""
            for one in self.settings
        )
        rows = ([mark, *map(one.get, names)] for mark, one in zip(marks, self.settings))
        lines = html.escape(best.get("python", "nothing is recommended"))
        return f"{_show.table(', '.join(self.traces), ('', *names), rows)}<pre>{lines}</pre>"


def tune(path: str | os.PathLike[str], *more: str | os.PathLike[str]) -> TuneResult:
    """Tries settings of pools on a trace. Print what it returns: a table, and the lines of C and
    Python to paste. ``more`` are further traces of the same program, and options of ``clpool
    tune``. Raises clpool.RuntimeError with what the program says is wrong, and FileNotFoundError
    without the program."""
    found = json.loads(_run("tune", "--json", *[os.fspath(argument) for argument in (path, *more)]))
    return TuneResult(**{field.name: found[field.name] for field in fields(TuneResult)})


@dataclass(frozen=True, repr=False)
class Report:
    """A page, the HTML file at ``path``. A notebook shows it."""

    path: str

    def __fspath__(self) -> str:
        return self.path

    def __repr__(self) -> str:
        return f"<clpool.Report {self.path!r}>"

    def _repr_html_(self) -> str:
        try:
            with open(self.path, encoding="utf-8") as file:
                page = file.read(_MOST_SHOWN + 1)
        except OSError:
            page = ""
        if page and len(page) <= _MOST_SHOWN:
            size = 'width="100%" height="700"'
            return f'<iframe {size} srcdoc="{html.escape(page)}"></iframe>'
        address = html.escape(urllib.parse.quote(self.path))
        return f'<a href="{address}">{html.escape(self.path)}</a>'


def report(
    path: str | os.PathLike[str], output: str | os.PathLike[str], *options: str
) -> Report:
    """Writes a page about a trace, with its timeline, bins and largest blocks, to ``output``, an
    HTML file. ``options`` are those of ``clpool report``. Raises as :func:`tune` does."""
    _run("report", *options, "-o", os.fspath(output), os.fspath(path))
    return Report(os.fspath(output))
