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
    __version__,
    free_all_held,
    library_version,
)
from clpool._errors import (
    Error,
    LimitExceeded,
    LogicError,
    MemoryError,
    NotSupported,
    RuntimeError,
)
from clpool._frameworks import cupy_allocator, torch_allocator
from clpool._hooks import DebugPrintHook, MemoryHook
from clpool._patch import patch
from clpool._profile import LineProfileHook
from clpool._set_up import PoolStats, collect_garbage
from clpool._tracing import report, trace, tune

if _set_up.has_pyopencl:
    from clpool._clpool import PooledBuffer
    from clpool._set_up import PooledSVM

# Before the interpreter ends, buffers that wait for their block to be handed out again go.
_atexit.register(_clpool.drop_parked)

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
    "free_all_held",
    "library_version",
    "patch",
    "report",
    "torch_allocator",
    "trace",
    "tune",
]
if not _set_up.has_pyopencl:
    __all__.remove("PooledBuffer")
    __all__.remove("PooledSVM")
