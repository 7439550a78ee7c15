# SPDX-License-Identifier: MIT
"""Hooks: Python that is called around what pools do (cupy.cuda.MemoryHook)."""

from __future__ import annotations

import json
import sys
from typing import TextIO

from clpool import _clpool

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


class MemoryHook:
    """Derive from it, override what you like, and use it in a ``with`` statement, for what the
    thread does there with any pool; or with :meth:`add_to`, for what all threads do with one pool.

    Hooks nest. Two of one ``name`` on a thread are a KeyError. What a callback itself does with
    pools is not shown. An exception in a callback is raised by the call that it was shown.

    Arguments, all by keyword: ``device_id``; ``size``, bytes as asked for; ``mem_size``, bytes as
    allocated; ``mem_ptr``, the cl_mem or address, 0 on failure; ``pmem_id`` tells active
    allocations apart, 0 on failure.
    """

    name = "MemoryHook"
    _tells_size_of_frees = False  # by a keyword more than CuPy's

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
            callables = tuple(self._overridden(name) for name in _CALLBACKS)
            made = _clpool.Hook(self.name, callables, self._tells_size_of_frees)
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
