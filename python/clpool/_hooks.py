# SPDX-License-Identifier: MIT
"""Hooks: Python that is called around what pools do (cupy.cuda.MemoryHook)."""

from __future__ import annotations

import json
import sys
import threading
from typing import TextIO, TypeVar

from clpool import _clpool, _errors

_Hook = TypeVar("_Hook", bound="MemoryHook")

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


class Session:
    """What begins with start() and ends with stop(), which may be in different cells of a notebook.
    Without a pool, it is about the thread that starts it, and ends there."""

    _started: tuple[threading.Thread, _clpool.MemoryPool | None] | None = None

    def _begin(self, pool) -> None:
        if self._started is not None:
            raise _errors.misuse("CLP_BUSY", f"{self!r} is started already: call stop() first")
        if pool is not None and not isinstance(pool, (_clpool.MemoryPool, _clpool.SVMPool)):
            raise TypeError(f"pool must be a clpool.MemoryPool, not {type(pool).__name__}")
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

    Arguments, all by keyword: ``device_id``; ``size``, bytes as asked for; ``mem_size``, bytes as
    allocated; ``mem_ptr``, the cl_mem or address, 0 on failure; ``pmem_id`` tells active
    allocations apart, 0 on failure.
    """

    name = "MemoryHook"

    def malloc_preprocess(self, **kwargs) -> None:
        """Before memory is retrieved from a pool: device_id, size, mem_size."""

    def malloc_postprocess(self, **kwargs) -> None:
        """After that: device_id, size, mem_size, mem_ptr, pmem_id."""

    def alloc_preprocess(self, **kwargs) -> None:
        """Before the device is asked for memory, not on a hit: device_id, mem_size."""

    def alloc_postprocess(self, **kwargs) -> None:
        """After that: device_id, mem_size, mem_ptr."""

    def free_preprocess(self, **kwargs) -> None:
        """Before memory is returned to its pool: device_id, mem_size, mem_ptr, pmem_id."""

    def free_postprocess(self, **kwargs) -> None:
        """After that: device_id, mem_size, mem_ptr, pmem_id."""

    def device_free_preprocess(self, **kwargs) -> None:
        """Before memory is returned to the device: device_id, mem_size, mem_ptr."""

    def device_free_postprocess(self, **kwargs) -> None:
        """After that: device_id, mem_size, mem_ptr."""

    def _native(self) -> _clpool.Hook:
        """The extension's side of this hook, which stays the same."""
        made = self.__dict__.get("_native_hook")
        if made is None:
            made = _clpool.Hook(self.name, tuple(self._overridden(name) for name in _CALLBACKS))
            self.__dict__["_native_hook"] = made
        return made

    def _overridden(self, name: str):
        if getattr(type(self), name) is getattr(MemoryHook, name):
            return None
        return getattr(self, name)

    def __enter__(self):
        try:
            _clpool.push_hook(self._native())
        except Exception as error:
            if getattr(error, "status", "") != "CLP_BUSY":
                raise
            raise KeyError(f"memory hook {self.name} already exists") from error
        return self

    def __exit__(self, *exception) -> None:
        _clpool.pop_hook(self._native())

    def add_to(self, pool) -> None:
        """Shows the hook what all threads do with this pool, until :meth:`remove_from`."""
        pool._add_hook(self._native())

    def remove_from(self, pool) -> None:
        """Ends that. No callback runs for the pool when this returns."""
        pool._remove_hook(self._native())

    def start(self: _Hook, pool: _clpool.MemoryPool | None = None) -> _Hook:
        """Shows the hook what this thread does with any pool, or what all threads do with one pool,
        until :meth:`stop`, and returns the hook. A second start is a clpool.RuntimeError."""
        self._begin(pool)
        return self

    def stop(self) -> None:
        """Ends that. clpool.RuntimeError: it is not started, or was started without a pool on
        another thread, which is still running."""
        self._end()

    def _register(self, pool) -> None:
        if pool is None:
            self.__enter__()
        else:
            self.add_to(pool)

    def _unregister(self, pool) -> None:
        if pool is None:
            self.__exit__()
        else:
            self.remove_from(pool)


class DebugPrintHook(MemoryHook):
    """Prints a JSON object a line for each operation (cupy.cuda.memory_hooks.DebugPrintHook)."""

    name = "DebugPrintHook"

    def __init__(self, file: TextIO | None = None, flush: bool = True):
        self.file = sys.stdout if file is None else file
        self.flush = flush

    def _print(self, hook: str, kwargs: dict) -> None:
        if "pmem_id" in kwargs:
            kwargs["pmem_id"] = hex(kwargs["pmem_id"])
        print(json.dumps({"hook": hook, **kwargs}), file=self.file, flush=self.flush)

    def alloc_postprocess(self, **kwargs) -> None:
        self._print("alloc", kwargs)

    def malloc_postprocess(self, **kwargs) -> None:
        self._print("malloc", kwargs)

    def free_postprocess(self, **kwargs) -> None:
        self._print("free", kwargs)

    def device_free_postprocess(self, **kwargs) -> None:
        self._print("device_free", kwargs)
