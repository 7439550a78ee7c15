# SPDX-License-Identifier: MIT
"""Pools of device memory for PyOpenCL, CuPy and PyTorch.

    pool = clpool.MemoryPool(clpool.ImmediateAllocator(queue))
    x = pyopencl.array.zeros(queue, n, numpy.float32, allocator=pool)

Names and arguments are those of pyopencl.tools; sizes are bytes everywhere. Errors derive from
pyopencl.MemoryError, LogicError and RuntimeError and carry ``status`` and ``native_code``.
"""

from __future__ import annotations

import atexit as _atexit

from clpool import _clpool, _errors, _set_up
from clpool._clpool import (
    Allocator,
    ArenaAllocator,
    CudaAsyncAllocator,
    DeferredAllocator,
    HostAllocator,
    ImmediateAllocator,
    Memory,
    MemoryPool,
    PoolOnQueue,
    SimulatedAllocator,
    SVMAllocator,
    SVMPool,
)
from clpool._errors import (
    Error,
    LimitExceeded,
    LogicError,
    MemoryError,
    NotSupported,
    RuntimeError,
)
from clpool._hooks import DebugPrintHook, MemoryHook
from clpool._patch import patch
from clpool._profile import LineProfileHook
from clpool._set_up import PoolStats, collect_garbage
from clpool._tracing import report, trace, tune

_set_up.connect()

if _set_up.has_pyopencl:
    from clpool._clpool import PooledBuffer
    from clpool._set_up import PooledSVM

# Before the interpreter ends, buffers that wait for their block to be handed out again go.
_atexit.register(_clpool.drop_parked)


def cupy_allocator(pool):
    """A function for ``cupy.cuda.set_allocator``: CuPy's arrays on ``pool``, in the order of
    CuPy's streams. The pool is on a :class:`CudaAsyncAllocator`."""
    from clpool import _cupy

    return _cupy.allocator(pool)


__all__ = [
    "Allocator",
    "ArenaAllocator",
    "CudaAsyncAllocator",
    "DebugPrintHook",
    "DeferredAllocator",
    "Error",
    "HostAllocator",
    "ImmediateAllocator",
    "LimitExceeded",
    "LineProfileHook",
    "LogicError",
    "Memory",
    "MemoryError",
    "MemoryHook",
    "MemoryPool",
    "NotSupported",
    "PoolOnQueue",
    "PoolStats",
    "PooledBuffer",
    "PooledSVM",
    "RuntimeError",
    "SVMAllocator",
    "SVMPool",
    "SimulatedAllocator",
    "collect_garbage",
    "cupy_allocator",
    "patch",
    "report",
    "trace",
    "tune",
]
if not _set_up.has_pyopencl:
    __all__.remove("PooledBuffer")
    __all__.remove("PooledSVM")
