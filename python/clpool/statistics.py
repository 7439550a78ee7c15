# SPDX-License-Identifier: MIT
"""How much a part of a program allocates (rmm.statistics)."""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

from clpool import _clpool, _errors
from clpool._hooks import MemoryHook
from clpool._profile import human

_Function = TypeVar("_Function", bound=Callable[..., Any])


@dataclass
class Statistics:
    """Bytes as asked for, and allocations: that are in use, were at the peak, and in all. What was
    in use before the counting began is not in ``current``, which is negative where more of that
    was released than was allocated since."""

    current_bytes: int = 0
    current_count: int = 0
    peak_bytes: int = 0
    peak_count: int = 0
    total_bytes: int = 0
    total_count: int = 0

    def _add(self, size: int) -> None:
        self.current_bytes += size
        self.current_count += 1
        self.peak_bytes = max(self.peak_bytes, self.current_bytes)
        self.peak_count = max(self.peak_count, self.current_count)
        self.total_bytes += size
        self.total_count += 1

    def _take_away(self, size: int) -> None:
        self.current_bytes -= size
        self.current_count -= 1


class StatisticsHook(MemoryHook):
    """Counts what it is shown: in a ``with`` statement what the thread does, by :meth:`add_to` what
    all threads do with one pool (rmm.mr.StatisticsResourceAdaptor). ::

        with clpool.StatisticsHook() as hook:
            program()
        print(hook.allocation_counts)
    """

    name = "StatisticsHook"
    _tells_size_of_frees = True

    def __init__(self) -> None:
        self._counters = [Statistics()]
        self._lock = threading.RLock()  # since memory may be released anywhere, here too

    @property
    def allocation_counts(self) -> Statistics:
        """What was counted since the last push that was not popped."""
        with self._lock:
            # Read in one step, during which the collector cannot release memory.
            return Statistics(**vars(self._counters[-1]))

    def push_counters(self) -> Statistics:
        """Begins new counters at zero, within those that there are, which go on counting. Returns
        the figures of the latter."""
        with self._lock:
            counts = self.allocation_counts
            self._begin_counters()
            return counts

    def pop_counters(self) -> Statistics:
        """Ends the counters of the last push, and returns their figures. IndexError: there was no
        push."""
        with self._lock:
            if len(self._counters) == 1:
                raise IndexError("pop_counters() was called without push_counters()")
            return self._counters.pop()

    def _begin_counters(self) -> Statistics:
        begun = Statistics()
        self._counters.append(begun)
        return begun

    def _end_counters(self, begun: Statistics) -> None:
        """In any order."""
        with self._lock:
            self._counters = [one for one in self._counters if one is not begun]

    def malloc_postprocess(self, **kwargs: int) -> None:
        if kwargs["pmem_id"]:
            with self._lock:
                for counters in self._counters:
                    counters._add(kwargs["size"])

    def free_preprocess(self, **kwargs: int) -> None:
        with self._lock:
            for counters in self._counters:
                counters._take_away(kwargs["size"])


@dataclass
class MemoryRecord:
    """A function's or block's calls, the bytes that they allocated in all, and the most that one of
    them had in use beyond what was in use when it began."""

    num_calls: int = 0
    memory_total: int = 0
    memory_peak: int = 0


class ProfilerRecords:
    """What profilers have measured, by name. Any thread may use it."""

    def __init__(self) -> None:
        self._records: dict[str, MemoryRecord] = {}
        self._lock = threading.RLock()

    def add(self, name: str, data: Statistics) -> None:
        """Adds a call."""
        with self._lock:
            record = self._records.setdefault(name, MemoryRecord())
            record.num_calls += 1
            record.memory_total += data.total_bytes
            record.memory_peak = max(record.memory_peak, data.peak_bytes)

    @property
    def records(self) -> dict[str, MemoryRecord]:
        """A copy, by name."""
        with self._lock:
            return {name: replace(one) for name, one in self._records.items()}

    def report(
        self, ordered_by: Literal["num_calls", "memory_peak", "memory_total"] = "memory_peak"
    ) -> str:
        """A table, highest first. ValueError: another order."""
        if ordered_by not in ("num_calls", "memory_peak", "memory_total"):
            raise ValueError(
                f"ordered_by is {ordered_by!r}; expected num_calls, memory_peak or memory_total"
            )
        lines = [f"{'calls':>9} {'peak':>11} {'total':>11}  name"]
        for name, one in sorted(
            self.records.items(), key=lambda item: getattr(item[1], ordered_by), reverse=True
        ):
            peak, total = human(one.memory_peak), human(one.memory_total)
            lines.append(f"{one.num_calls:9} {peak:>11} {total:>11}  {name}")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.report()

    def __repr__(self) -> str:
        return f"ProfilerRecords({self.records})"


default_profiler_records = ProfilerRecords()


class _Thread(threading.local):
    """The hook of the profilers that a thread is inside of."""

    hook: StatisticsHook | None = None


_thread = _Thread()


class profiler:
    """Measures what the thread allocates in each call of a function, or in a block::

        @clpool.statistics.profiler()
        def step(): ...

        with clpool.statistics.profiler(name="load"):
            ...

        print(clpool.statistics.default_profiler_records.report())

    Calls that end by an exception count, too. Profilers nest, and the outer one's figures include
    the inner one's. ``records`` is where the figures go. ``name`` is by default the function's
    file, line and name; a block needs one.

    A call of a generator function or coroutine function does not run it, so that such a function is
    a TypeError: use ``with`` inside of it. What other tasks of the thread do meanwhile counts, too.
    What a pool calls, such as on_out_of_memory, can be profiled inside of another profiler only;
    otherwise that is a clpool.RuntimeError.
    """

    def __init__(
        self, *, records: ProfilerRecords = default_profiler_records, name: str = ""
    ) -> None:
        self._records = records
        self._name = name
        self._entered: list[tuple[int, StatisticsHook, Statistics]] = []
        self._lock = threading.RLock()

    def __call__(self, function: _Function) -> _Function:
        for is_kind in (
            inspect.isgeneratorfunction, inspect.iscoroutinefunction, inspect.isasyncgenfunction
        ):
            if is_kind(function):
                raise TypeError(
                    f"calling {function!r} does not run its body: "
                    "use `with clpool.statistics.profiler(name=...)` inside it"
                )
        inner = inspect.unwrap(function)
        code = getattr(inner, "__code__", None)
        where = f"{code.co_filename}:{code.co_firstlineno}:" if code else ""
        name = self._name or where + getattr(inner, "__qualname__", repr(inner))

        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            with profiler(records=self._records, name=name):
                return function(*args, **kwargs)

        return wrapper  # type: ignore[return-value]

    def __enter__(self) -> profiler:
        if not self._name:
            raise ValueError("a profiler of a block needs a name: profiler(name=...)")
        hook = _thread.hook
        if hook is None:
            hook = StatisticsHook()
            hook.name = __name__  # no other hook of the thread may have it
            _clpool.push_hook(hook._native())
            _thread.hook = hook
        with self._lock:
            self._entered.append((threading.get_ident(), hook, hook._begin_counters()))
        return self

    def __exit__(self, *exception: object) -> None:
        with self._lock:
            mine = (i for i, one in enumerate(self._entered) if one[0] == threading.get_ident())
            _, hook, counters = self._entered.pop(max(mine, default=-1))
        hook._end_counters(counters)
        self._records.add(self._name, counters)
        # A block that is left elsewhere, or in a callback, leaves the hook to a later one.
        if hook is _thread.hook and len(hook._counters) == 1:
            try:
                _clpool.pop_hook(hook._native())
            except _errors.RuntimeError:
                return
            _thread.hook = None
