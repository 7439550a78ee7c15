# SPDX-License-Identifier: MIT
"""Which lines of Python use memory (cupy.cuda.memory_hooks.LineProfileHook)."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterable
from typing import Literal, TextIO

from clpool._hooks import MemoryHook

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep


class _Frame:
    """A line that was reached on one way, and the bytes of all that it led to."""

    __slots__ = ("acquired", "at_peak", "callees", "in_use", "peak", "used", "where")

    def __init__(self, where):
        self.where = where  # (file, line, function)
        self.used = 0
        self.acquired = 0
        self.in_use = 0
        self.at_peak = self.peak = 0  # what in_use was when the root's was `peak`
        self.callees: dict = {}


def _human(size: int) -> str:
    amount = float(size)
    for unit in ("B", "KB", "MB", "GB", "TB", "PB", "EB"):
        if amount < 1024:
            return f"{amount:.2f}{unit}"
        amount /= 1024
    return f"{amount:.2f}ZB"


def _check(view: str) -> None:
    if view not in ("sums", "now", "peak"):
        raise ValueError(f"view is {view!r}: none of 'sums', 'now' and 'peak'")


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

    name = "LineProfileHook"

    def __init__(self, max_depth: int = 0):
        self.max_depth = max_depth
        self._root = _Frame(None)
        self._peak = 0
        self._requests: dict = {}  # by thread: the frames of the request that it is in
        self._buffers: dict = {}  # by pmem_id: frames and bytes of what is in use
        self._lock = threading.RLock()

    def malloc_preprocess(self, **kwargs) -> None:
        with self._lock:
            way = self._requests[threading.get_ident()] = self._way()
            for frame in way:
                frame.used += kwargs["mem_size"]

    def malloc_postprocess(self, **kwargs) -> None:
        with self._lock:
            # Not there after a request inside this one.
            way = self._requests.pop(threading.get_ident(), None) or self._way()
            if kwargs["pmem_id"]:
                self._end_use(kwargs["pmem_id"])
                self._buffers[kwargs["pmem_id"]] = way, kwargs["mem_size"]
                self._change_in_use(way, kwargs["mem_size"])

    def alloc_postprocess(self, **kwargs) -> None:
        with self._lock:
            for frame in self._way() if kwargs["mem_ptr"] else ():
                frame.acquired += kwargs["mem_size"]

    def free_preprocess(self, **kwargs) -> None:
        with self._lock:
            self._end_use(kwargs["pmem_id"])

    def _end_use(self, pmem_id: int) -> None:
        way, size = self._buffers.pop(pmem_id, ((), 0))
        self._change_in_use(way, -size)

    def _change_in_use(self, way: Iterable[_Frame], change: int) -> None:
        for frame in way:
            if frame.peak != self._peak:
                frame.at_peak, frame.peak = frame.in_use, self._peak
            frame.in_use += change
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
        has_changed = view == "peak" and frame.peak == self._peak
        return (frame.at_peak if has_changed else frame.in_use,)

    def print_report(
        self, file: TextIO | None = None, view: Literal["sums", "now", "peak"] = "sums"
    ) -> None:
        """Prints the tree, ``file:line:function (used, acquired)`` a line, two blanks a level. In
        the views ``"now"`` and ``"peak"``, a line has the bytes in use alone, and lines without any
        are left out. ValueError: another view."""
        _check(view)
        text = ""
        pending = [(0, self._root)]
        with self._lock:
            while pending:
                depth, frame = pending.pop()
                where = "_root" if frame.where is None else "{}:{}:{}".format(*frame.where)
                figures = self._figures(frame, view)
                if depth == 0 or view == "sums" or any(figures):
                    text += f"{'  ' * depth}{where} ({', '.join(map(_human, figures))})\n"
                pending.extend((depth + 1, callee) for callee in reversed(frame.callees.values()))
        print(text, end="", file=file, flush=True)

    def write_folded(self, file: TextIO, view: Literal["sums", "now", "peak"] = "sums") -> None:
        """Writes folded stacks, ``outermost;...;innermost bytes`` a line, for flame graphs and
        speedscope: the bytes of just that stack, used or, in the other views, in use.
        ValueError: another view."""
        _check(view)
        text = ""
        pending = [((), self._root)]
        with self._lock:
            while pending:
                stack, frame = pending.pop()
                if frame.where is not None:
                    stack += ("{}:{}:{}".format(*frame.where).replace(";", ":"),)
                own = self._figures(frame, view)[0]
                own -= sum(self._figures(callee, view)[0] for callee in frame.callees.values())
                if own > 0:
                    text += f"{';'.join(stack) or '_root'} {own}\n"
                pending.extend((stack, callee) for callee in reversed(frame.callees.values()))
        print(text, end="", file=file, flush=True)
