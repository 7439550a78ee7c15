# SPDX-License-Identifier: MIT
"""Which lines of Python use memory (cupy.cuda.memory_hooks.LineProfileHook)."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Literal, NamedTuple, TextIO

from clpool._hooks import MemoryHook

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep


class OutstandingAllocations(NamedTuple):
    """What one line of Python has in use: ``bytes`` as the pool rounds them, in so many
    ``blocks``."""

    file: str
    line: int
    function: str
    bytes: int
    blocks: int


class _Frame:
    """A line that was reached on one way, and the bytes of all that it led to."""

    __slots__ = ("acquired", "at_peak", "blocks", "callees", "in_use", "peak", "used", "where")

    def __init__(self, where: tuple[str, int, str] | None):
        self.where = where  # (file, line, function)
        self.used = 0
        self.acquired = 0
        self.in_use = 0
        self.blocks = 0  # whose bytes in_use has
        # What in_use and blocks were when the root's in_use was `peak`.
        self.at_peak: tuple[int, int] = (0, 0)
        self.peak = 0
        self.callees: dict[tuple[str, int, str], _Frame] = {}

    def own(self, figures: Callable[[_Frame], tuple[int, ...]]) -> tuple[int, ...]:
        """The figures of just this line."""
        return tuple(
            total - sum(of_callees)
            for total, *of_callees in zip(figures(self), *map(figures, self.callees.values()))
        )


def human(size: int) -> str:
    amount = float(size)
    for unit in ("B", "KB", "MB", "GB", "TB", "PB", "EB"):
        if amount < 1024:
            return f"{amount:.2f}{unit}"
        amount /= 1024
    return f"{amount:.2f}ZB"


def _check(view: str) -> None:
    if view not in ("sums", "now", "peak"):
        raise ValueError(f"view is {view!r}; expected 'sums', 'now' or 'peak'")


class LineProfileHook(MemoryHook):
    """Counts bytes along the stack of Python's frames. ``max_depth`` frames are kept, the
    outermost, the root being one of them; 0 for all.

        with clpool.LineProfileHook() as profile:
            program()
        profile.print_report()

    Reports show one of three views, all in bytes as the pool rounds them:

    - ``"sums"``: ``used``, what pools were asked for, each request once, and ``acquired``, what the
      device gave
    - ``"now"``: what is in use now
    - ``"peak"``: what was in use when the sum over all lines was highest, for the first time

    Memory is in use from its allocation to its release, if the hook sees both. In a ``with``
    statement it sees those of the thread; :meth:`add_to` shows it all threads. If it does not see
    a release, the memory stays in use until the pool hands out the same ``pmem_id`` again.
    """

    name: str = "LineProfileHook"

    def __init__(self, max_depth: int = 0):
        self.max_depth = max_depth
        self._root = _Frame(None)
        self._peak = 0
        # By thread: the frames of the request that it is in.
        self._requests: dict[int, list[_Frame]] = {}
        # By pmem_id: frames and bytes of what is in use.
        self._buffers: dict[int, tuple[list[_Frame], int]] = {}
        self._lock = threading.RLock()

    def malloc_preprocess(self, **kwargs: int) -> None:
        with self._lock:
            way = self._requests[threading.get_ident()] = self._way()
            for frame in way:
                frame.used += kwargs["mem_size"]

    def malloc_postprocess(self, **kwargs: int) -> None:
        with self._lock:
            # Not there after a request inside this one.
            way = self._requests.pop(threading.get_ident(), None) or self._way()
            if kwargs["pmem_id"]:
                self._end_use(kwargs["pmem_id"])
                self._buffers[kwargs["pmem_id"]] = way, kwargs["mem_size"]
                self._change_in_use(way, kwargs["mem_size"], 1)

    def alloc_postprocess(self, **kwargs: int) -> None:
        with self._lock:
            for frame in self._way() if kwargs["mem_ptr"] else ():
                frame.acquired += kwargs["mem_size"]

    def free_preprocess(self, **kwargs: int) -> None:
        with self._lock:
            self._end_use(kwargs["pmem_id"])

    def _end_use(self, pmem_id: int) -> None:
        way, size = self._buffers.pop(pmem_id, ([], 0))
        self._change_in_use(way, -size, -1)

    def _change_in_use(self, way: Iterable[_Frame], change: int, blocks: int) -> None:
        for frame in way:
            if frame.peak != self._peak:
                frame.at_peak, frame.peak = (frame.in_use, frame.blocks), self._peak
            frame.in_use += change
            frame.blocks += blocks
        self._peak = max(self._peak, self._root.in_use)

    def _way(self) -> list[_Frame]:
        """The frames from the root to the line that is running now."""
        stack = []
        # The callback's own caller, which is none on a thread that Python did not start.
        frame = sys._getframe(1).f_back
        while frame is not None:
            code = frame.f_code
            if not code.co_filename.startswith(_PACKAGE):
                stack.append((code.co_filename, frame.f_lineno, code.co_name))
            frame = frame.f_back
        stack.reverse()
        if self.max_depth > 0:
            del stack[self.max_depth - 1 :]
        way = [self._root]
        for where in stack:
            callees = way[-1].callees
            if where not in callees:
                callees[where] = _Frame(where)
            way.append(callees[where])
        return way

    def _figures(self, frame: _Frame, view: str) -> tuple[int, ...]:
        if view == "sums":
            return frame.used, frame.acquired
        return self._in_use(frame, view)[:1]

    def _in_use(self, frame: _Frame, view: str) -> tuple[int, int]:
        """Bytes and blocks."""
        has_changed = view == "peak" and frame.peak == self._peak
        return frame.at_peak if has_changed else (frame.in_use, frame.blocks)

    def _frames(self) -> Iterator[tuple[tuple[str, ...], _Frame]]:
        """Each frame with the stack that leads to it, callers first."""
        pending: list[tuple[tuple[str, ...], _Frame]] = [((), self._root)]
        while pending:
            stack, frame = pending.pop()
            if frame.where is not None:
                stack += ("{}:{}:{}".format(*frame.where),)
            yield stack, frame
            pending.extend((stack, callee) for callee in reversed(frame.callees.values()))

    def print_report(
        self, file: TextIO | None = None, view: Literal["sums", "now", "peak"] = "sums"
    ) -> None:
        """Prints the tree, ``file:line:function (used, acquired)`` a line, two blanks a level. In
        the views ``"now"`` and ``"peak"``, a line has the bytes in use alone, and lines without any
        are left out. ValueError: another view."""
        _check(view)
        text = ""
        with self._lock:
            for stack, frame in self._frames():
                figures = self._figures(frame, view)
                if not stack or view == "sums" or any(figures):
                    where = stack[-1] if stack else "_root"
                    text += f"{'  ' * len(stack)}{where} ({', '.join(map(human, figures))})\n"
        print(text, end="", file=file, flush=True)

    def write_folded(self, file: TextIO, view: Literal["sums", "now", "peak"] = "sums") -> None:
        """Writes folded stacks, ``outermost;...;innermost bytes`` a line, for flame graphs and
        speedscope: the bytes of just that stack, used or, in the other views, in use.
        ValueError: another view."""
        _check(view)
        text = ""
        with self._lock:
            for stack, frame in self._frames():
                own = frame.own(lambda one: self._figures(one, view))[0]
                if own > 0:
                    names = (name.replace(";", ":") for name in stack)
                    text += f"{';'.join(names) or '_root'} {own}\n"
        print(text, end="", file=file, flush=True)

    def outstanding_allocations(
        self, view: Literal["now", "peak"] = "now"
    ) -> list[OutstandingAllocations]:
        """What each line has in use, now or at the peak, the most bytes first. A line is the
        innermost one of the frames that are kept; ``("_root", 0, "")`` stands for allocations
        without any. ValueError: another view."""
        if view not in ("now", "peak"):
            raise ValueError(f"view is {view!r}; expected 'now' or 'peak'")
        of_lines: dict[tuple[str, int, str] | None, tuple[int, int]] = {}
        with self._lock:
            for _, frame in self._frames():
                own = frame.own(lambda one: self._in_use(one, view))
                if own[1]:
                    size, blocks = of_lines.get(frame.where, (0, 0))
                    of_lines[frame.where] = size + own[0], blocks + own[1]
        lines = [
            OutstandingAllocations(*(where or ("_root", 0, "")), *figures)
            for where, figures in of_lines.items()
        ]
        return sorted(lines, key=lambda line: -line.bytes)

    def get_outstanding_allocations_str(self, view: Literal["now", "peak"] = "now") -> str:
        """The same as text, ``file:line:function (bytes, blocks)`` a line
        (rmm.mr.TrackingResourceAdaptor)."""
        return "".join(
            f"{line.file}:{line.line}:{line.function} ({human(line.bytes)}, {line.blocks})\n"
            for line in self.outstanding_allocations(view)
        )
