# SPDX-License-Identifier: MIT
"""Pools for PyOpenCL's arrays that were given no allocator."""

from __future__ import annotations

import contextlib
import functools
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from clpool import _clpool, _set_up

if TYPE_CHECKING:
    import pyopencl as cl
    from typing_extensions import Self
else:
    cl = _set_up.cl

_Allocator = Callable[[int], Any]

_POOLED: tuple[Any, ...] = ()
if _set_up.has_pyopencl:
    _POOLED = _clpool.PooledBuffer, _set_up.PooledSVM
_MOST_QUEUES = 64  # whose allocators are kept

_lock = threading.RLock()  # guards what follows, which is read without it
_defaults: tuple[use, ...] = ()  # the last one comes first
# By class or module and name: what was there, and what is there now.
_replaced: dict[tuple[Any, str], tuple[Any, Any]] = {}


class _OnQueue:
    """The allocator of loopy's kernels that were given none, and so no array's own."""

    def __init__(self, allocator: _Allocator):
        self.allocate = allocator

    def __call__(self, size: int) -> Any:
        return self.allocate(size)


class use:
    """From now on, PyOpenCL's arrays that are given no allocator come from a pool, each in the
    order of its own queue: ``pyopencl.array``'s, results of arithmetic and reductions, random
    numbers, and loopy's::

        used = clpool.use(queue, arena=True)
        ...
        used.stop()

    or, in a ``with`` statement, until its end. The argument is a queue, with options as of a
    :class:`MemoryPool`, or a pool. ``used.pool`` is the pool. Arrays of other contexts, without a
    queue, or with an allocator stay as they are. Arrays that exist at the end keep their memory.
    If several are in use, the last one that was not stopped counts, and each needs a stop.

    Kernels, copies and fills of an array's memory on another queue are ordered, too.
    """

    def __init__(
        self, queue: cl.CommandQueue | _clpool.MemoryPool, /, **options: Any
    ) -> None:
        if not _set_up.has_pyopencl:
            raise ImportError("pyopencl is not installed")
        pool: _clpool.MemoryPool
        if isinstance(queue, cl.CommandQueue):
            pool = _clpool.MemoryPool(_clpool.ImmediateAllocator(queue), **options)
        elif not isinstance(queue, _clpool.MemoryPool):
            raise TypeError(
                "use() needs a pyopencl.CommandQueue or a pool, such as "
                f"clpool.MemoryPool(clpool.ImmediateAllocator(queue)), not {_name(queue)}"
            )
        elif options:
            raise TypeError(f"pass {', '.join(options)} to the pool when you make it")
        else:
            pool = queue
        self._begin(pool, pool.on, _context_of(pool.allocator))

    def _begin(
        self,
        pool: Any,
        on: Callable[[cl.CommandQueue], _Allocator],
        context: cl.Context | None,
    ) -> None:
        """Calls `on` with each queue of the context, or of all: None."""
        global _defaults
        self.pool: _clpool.MemoryPool = pool
        self._on = on
        self._context = context
        self._of_queues: dict[cl.CommandQueue, _Allocator | None] = {}
        with _lock:
            _defaults = (self, *_defaults)
            _put()

    def stop(self) -> None:
        """Ends this use. A second stop does nothing."""
        global _defaults
        with _lock:
            _defaults = tuple(one for one in _defaults if one is not self)
            if not _defaults:
                _take_back()

    def __repr__(self) -> str:
        return f"<clpool.use{'' if self in _defaults else ' (stopped)'}: {self.pool!r}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()

    def _allocator(self, queue: cl.CommandQueue) -> _Allocator | None:
        """That of arrays on the queue, None for a queue of another context."""
        try:
            return self._of_queues[queue]
        except KeyError:
            pass
        with _lock:
            if _defaults:
                _put()  # loopy may have been imported
        found = None
        if self._context is None or self._context == queue.context:
            found = self._on(queue)
        if len(self._of_queues) >= _MOST_QUEUES:
            self._of_queues.clear()
        self._of_queues[queue] = found
        return found


class _Set(use):
    """What set_allocator sets: a pool, or a function of a size."""

    def __init__(self, allocator: _Allocator) -> None:
        self.allocator = allocator
        if isinstance(allocator, _clpool.PoolOnQueue):
            raise TypeError("pass the pool itself: each array is ordered on its own queue")
        if isinstance(allocator, _clpool.MemoryPool):
            super().__init__(allocator)
        elif not callable(allocator) or isinstance(allocator, (type, _clpool.ArenaAllocator)):
            raise TypeError(
                "allocator must be a pool, such as clpool.MemoryPool("
                "clpool.ImmediateAllocator(queue)), another function of a size, or None, "
                f"not {_name(allocator)}"
            )
        else:
            own = isinstance(allocator, _clpool.Allocator)
            context = _context_of(allocator) if own else None
            self._begin(None, lambda queue: allocator, context)


_set: _Set | None = None


def set_allocator(allocator: _Allocator | None) -> None:
    """Makes a pool the default for PyOpenCL's arrays that are given no allocator, as :class:`use`
    does, in place of what an earlier call set; None ends that (cupy.cuda.set_allocator). Another
    function of a size in bytes is called for the arrays of all contexts."""
    global _set
    new = None if allocator is None else _Set(allocator)
    with _lock:
        former, _set = _set, new
    if former is not None:
        former.stop()


def get_allocator() -> _Allocator | None:
    """What :func:`set_allocator` set, or None."""
    return None if _set is None else _set.allocator


def _name(thing: object) -> str:
    return type(thing).__name__


def _context_of(allocator: Any) -> cl.Context:
    if allocator.context is None:
        raise TypeError(
            "arrays of PyOpenCL need OpenCL memory, such as clpool.ImmediateAllocator(queue)'s, "
            f"not that of a {_name(allocator)}"
        )
    context: cl.Context = allocator.context
    return context


def _default_for(queue: cl.CommandQueue) -> _Allocator | None:
    for one in _defaults:
        allocator = one._allocator(queue)
        if allocator is not None:
            return allocator
    return None


# --- In PyOpenCL and loopy ------------------------------------------------------------------------


def _put() -> None:
    """Replaces methods and functions, where that was not done yet."""
    import pyopencl.array

    _replace(pyopencl.array.Array, "__init__", _with_default)
    _replace(cl.Kernel, "__call__", _with_sharing_by_kernels)
    for name in ("enqueue_copy", "enqueue_fill_buffer", "enqueue_map_buffer"):
        _replace(cl, name, _with_sharing)
    if "loopy" in sys.modules:
        with contextlib.suppress(ImportError, AttributeError):  # of another version
            from loopy.target import pyopencl_execution

            _replace(pyopencl_execution.PyOpenCLExecutor, "__call__", _with_default_of_kernels)


def _replace(changed: Any, name: str, make: Callable[[Any], Any]) -> None:
    now = getattr(changed, name)
    if (changed, name) not in _replaced or _replaced[changed, name][1] is not now:
        replacement = functools.wraps(now)(make(now))
        _replaced[changed, name] = now, replacement
        setattr(changed, name, replacement)


def _take_back() -> None:
    """Puts PyOpenCL's and loopy's own back. What another program has replaced in turn stays, and
    does nothing."""
    for (changed, name), (plain, replacement) in _replaced.items():
        if getattr(changed, name) is replacement:
            setattr(changed, name, plain)
    _replaced.clear()


def _with_default(plain: Any) -> Any:
    def __init__(
        self: Any,
        cq: Any,
        shape: Any,
        dtype: Any,
        order: str = "C",
        allocator: Any = None,
        data: Any = None,
        *rest: Any,
        **others: Any,
    ) -> None:
        queue = others.get("_queue") if cq is None else cq
        own = allocator
        if isinstance(queue, cl.CommandQueue) and (own is None or type(own) is _OnQueue):
            own = None
            if data is None:
                allocator = _default_for(queue)
            else:
                _share(queue, data)
        plain(self, cq, shape, dtype, order, allocator, data, *rest, **others)
        # What is made of this array is in the order of its own queue, too.
        self.allocator = own

    return __init__


def _with_sharing(plain: Any) -> Any:
    def call(queue: cl.CommandQueue, *arguments: Any, **others: Any) -> Any:
        _share(queue, *arguments, *others.values())
        return plain(queue, *arguments, **others)

    return call


def _with_sharing_by_kernels(plain: Any) -> Any:
    def __call__(
        self: Any, queue: cl.CommandQueue, *arguments: Any, **others: Any
    ) -> Any:
        _share(queue, *arguments, *others.values())
        return plain(self, queue, *arguments, **others)

    return __call__


def _with_default_of_kernels(plain: Any) -> Any:
    def __call__(
        self: Any, queue: cl.CommandQueue, *rest: Any, allocator: Any = None, **others: Any
    ) -> Any:
        if allocator is None:
            allocator = _default_for(queue)
            allocator = None if allocator is None else _OnQueue(allocator)
        _share(queue, *others.values())
        return plain(self, queue, *rest, allocator=allocator, **others)

    return __call__


def _share(queue: cl.CommandQueue, *used: Any) -> None:
    """Of what a queue uses, finds arrays, or their memory, that are another queue's, and have not
    been used on this one before: the queue waits for what the memory's own queue was given, and the
    memory is reused behind both."""
    for thing in used:
        memory: Any = getattr(thing, "base_data", thing)
        if not isinstance(memory, _POOLED):
            continue
        allocator = getattr(memory, "mem", memory).pool
        own, known = allocator.queue, getattr(memory, "_queues", ())
        if own is None or own == queue or queue in known:
            continue
        if any(one.pool is allocator.pool for one in _defaults):
            memory.bind_to_queue(queue)
            memory._queues = (*known, queue)
