# SPDX-License-Identifier: MIT
"""Hooks: Python that is called around what pools do (cupy.cuda.MemoryHook)."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TextIO, Union

from clpool import _clpool, _errors, _show

if TYPE_CHECKING:
    from typing_extensions import Self

_CALLBACKS = (
    "malloc_preprocess",
    "malloc_postprocess",
    "alloc_preprocess",
    "alloc_postprocess",
    "free_preprocess",
    "free_postprocess",
    "device_free_preprocess",
    "device_free_postprocess",
)

AnyPool = Union[_clpool.MemoryPool, _clpool.PoolOnQueue]


def check_pool(pool: object) -> None:
    if not isinstance(pool, (_clpool.MemoryPool, _clpool.PoolOnQueue)):
        raise TypeError(f"pool must be a clpool.MemoryPool, not {type(pool).__name__}")


class Session:
    """What begins with start() and ends with stop(), which may be in different cells of a notebook.
    Without a pool, it is about the thread that starts it, and ends there."""

    _started: tuple[threading.Thread, AnyPool | None] | None = None

    def _register(self, pool: AnyPool | None) -> None:
        raise NotImplementedError

    def _unregister(self, pool: AnyPool | None) -> None:
        raise NotImplementedError

    def _begin(self, pool: AnyPool | None) -> None:
        if self._started is not None:
            raise _errors.misuse("CLP_BUSY", f"{self!r} is already started: call stop() first")
        if pool is not None:
            check_pool(pool)
        self._register(pool)
        self._started = threading.current_thread(), pool

    def _end(self) -> None:
        if self._started is None:
            raise _errors.misuse("CLP_NOT_FOUND", f"{self!r} is not started: call start() first")
        thread, pool = self._started
        # The registrations of a thread that has ended have ended with it.
        if pool is not None or thread is threading.current_thread():
            self._unregister(pool)
        elif thread.is_alive():
            raise _errors.misuse(
                "CLP_NOT_FOUND",
                f"{self!r} was started on the thread {thread.name!r}: call stop() there, "
                "or give it a pool to see all threads",
            )
        self._started = None


class MemoryHook(Session):
    """Derive from it, override what you like, and use it in a ``with`` statement, for what the
    thread does there with any pool; or with :meth:`add_to`, for what all threads do with one pool.
    :meth:`start` and :meth:`stop` do the same without a statement.

    Hooks nest. Two of one ``name`` on a thread are a KeyError. What a callback itself does with
    pools is not shown. An exception in a callback is raised by the call that it was shown.

    Arguments come by keyword, so an override names them or takes ``**kwargs``: ``device_id``;
    ``size``, bytes as asked for; ``mem_size``, bytes as allocated; ``mem_ptr``, the cl_mem or
    address, 0 on failure; ``pmem_id`` tells active allocations apart, 0 on failure.
    """

    name: str = "MemoryHook"
    _tells_size_of_frees = False  # by a keyword more than CuPy's

    def malloc_preprocess(self, *, device_id: int, size: int, mem_size: int) -> None:
        """Before memory is retrieved from a pool."""

    def malloc_postprocess(
        self, *, device_id: int, size: int, mem_size: int, mem_ptr: int, pmem_id: int
    ) -> None:
        """After that."""

    def alloc_preprocess(self, *, device_id: int, mem_size: int) -> None:
        """Before the device is asked for memory, not on a hit."""

    def alloc_postprocess(self, *, device_id: int, mem_size: int, mem_ptr: int) -> None:
        """After that."""

    def free_preprocess(self, *, device_id: int, mem_size: int, mem_ptr: int, pmem_id: int) -> None:
        """Before memory is returned to its pool."""

    def free_postprocess(
        self, *, device_id: int, mem_size: int, mem_ptr: int, pmem_id: int
    ) -> None:
        """After that."""

    def device_free_preprocess(self, *, device_id: int, mem_size: int, mem_ptr: int) -> None:
        """Before memory is returned to the device."""

    def device_free_postprocess(self, *, device_id: int, mem_size: int, mem_ptr: int) -> None:
        """After that."""

    def __repr__(self) -> str:
        return f"<{_show.class_name(self)} {self.name!r}>"

    def _native(self) -> _clpool.Hook:
        """The extension's side of this hook, which stays the same."""
        made = self.__dict__.get("_native_hook")
        if made is None:
            callables = tuple(self._overridden(name) for name in _CALLBACKS)
            made = _clpool.Hook(self.name, callables, self._tells_size_of_frees)
            self.__dict__["_native_hook"] = made
        return made

    def _overridden(self, name: str) -> Callable[..., None] | None:
        if getattr(type(self), name) is getattr(MemoryHook, name):
            return None
        overridden: Callable[..., None] = getattr(self, name)
        return overridden

    def __enter__(self) -> Self:
        try:
            _clpool.push_hook(self._native())
        except Exception as error:
            if getattr(error, "status", "") != "CLP_BUSY":
                raise
            raise KeyError(f"memory hook {self.name} already exists") from error
        return self

    def __exit__(self, *exception: object) -> None:
        _clpool.pop_hook(self._native())

    def add_to(self, pool: AnyPool) -> None:
        """Shows the hook what all threads do with this pool, until :meth:`remove_from`."""
        check_pool(pool)
        pool._add_hook(self._native())

    def remove_from(self, pool: AnyPool) -> None:
        """Ends that. No callback runs for the pool when this returns."""
        check_pool(pool)
        pool._remove_hook(self._native())

    def start(self, pool: AnyPool | None = None) -> Self:
        """Shows the hook what this thread does with any pool, or what all threads do with one pool,
        until :meth:`stop`, and returns the hook. A second start is a clpool.RuntimeError."""
        self._begin(pool)
        return self

    def stop(self) -> None:
        """Ends that. clpool.RuntimeError: it is not started, or was started without a pool on
        another thread, which is still running."""
        self._end()

    def _register(self, pool: AnyPool | None) -> None:
        if pool is None:
            self.__enter__()
        else:
            self.add_to(pool)

    def _unregister(self, pool: AnyPool | None) -> None:
        if pool is None:
            self.__exit__()
        else:
            self.remove_from(pool)


class DebugPrintHook(MemoryHook):
    """Prints a JSON object a line for each operation (cupy.cuda.memory_hooks.DebugPrintHook)."""

    name: str = "DebugPrintHook"

    def __init__(self, file: TextIO | None = None, flush: bool = True):
        self.file = sys.stdout if file is None else file
        self.flush = flush

    def _print(self, hook: str, figures: dict[str, Any]) -> None:
        if "pmem_id" in figures:
            figures["pmem_id"] = hex(figures["pmem_id"])
        print(json.dumps({"hook": hook, **figures}), file=self.file, flush=self.flush)

    def alloc_postprocess(self, **kwargs: int) -> None:
        self._print("alloc", kwargs)

    def malloc_postprocess(self, **kwargs: int) -> None:
        self._print("malloc", kwargs)

    def free_postprocess(self, **kwargs: int) -> None:
        self._print("free", kwargs)

    def device_free_postprocess(self, **kwargs: int) -> None:
        self._print("device_free", kwargs)
