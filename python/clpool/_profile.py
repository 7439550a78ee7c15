# SPDX-License-Identifier: MIT
"""Which lines of Python use memory (cupy.cuda.memory_hooks.LineProfileHook)."""

from __future__ import annotations

import os
import sys
from typing import TextIO

from clpool._hooks import MemoryHook

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep


class _Frame:
    """A line that was reached on one way, and the bytes of all that it led to."""

    __slots__ = ("acquired", "callees", "used", "where")

    def __init__(self, where):
        self.where = where  # (file, line, function)
        self.used = 0
        self.acquired = 0
        self.callees: dict = {}


def _human(size: int) -> str:
    amount = float(size)
    for unit in ("B", "KB", "MB", "GB"):
        if amount < 1024:
            return f"{amount:.2f}{unit}"
        amount /= 1024
    return f"{amount:.2f}TB"


class LineProfileHook(MemoryHook):
    """Counts bytes along the stack of Python's frames: ``used``, what was retrieved from pools, and
    ``acquired``, what was new from the device. ``max_depth`` frames are kept, the outermost, the
    root being one of them; 0 for all.

        with clpool.LineProfileHook() as profile:
            program()
        profile.print_report()
    """

    name = "LineProfileHook"

    def __init__(self, max_depth: int = 0):
        self.max_depth = max_depth
        self._root = _Frame(None)

    def malloc_preprocess(self, **kwargs) -> None:
        for frame in self._way():
            frame.used += kwargs["mem_size"]

    def alloc_preprocess(self, **kwargs) -> None:
        for frame in self._way():
            frame.acquired += kwargs["mem_size"]

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

    def print_report(self, file: TextIO | None = None) -> None:
        """Prints the tree, ``file:line:function (used, acquired)`` a line, two blanks a level."""
        file = sys.stdout if file is None else file
        pending = [(0, self._root)]
        while pending:
            depth, frame = pending.pop()
            where = "_root" if frame.where is None else "{}:{}:{}".format(*frame.where)
            sizes = f"({_human(frame.used)}, {_human(frame.acquired)})"
            print(f"{'  ' * depth}{where} {sizes}", file=file)
            pending.extend((depth + 1, callee) for callee in reversed(frame.callees.values()))
        file.flush()

    def write_folded(self, file: TextIO) -> None:
        """Writes folded stacks, ``outermost;...;innermost bytes`` a line, for flame graphs and
        speedscope: the used bytes of just that stack."""
        pending = [((), self._root)]
        while pending:
            stack, frame = pending.pop()
            if frame.where is not None:
                stack += ("{}:{}:{}".format(*frame.where).replace(";", ":"),)
            own = frame.used - sum(callee.used for callee in frame.callees.values())
            if own > 0:
                print(";".join(stack) or "_root", own, file=file)
            pending.extend((stack, callee) for callee in reversed(frame.callees.values()))
        file.flush()
