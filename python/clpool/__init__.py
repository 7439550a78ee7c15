# SPDX-License-Identifier: MIT
"""Pools of device memory for PyOpenCL, CuPy and PyTorch.

    pool = clpool.MemoryPool(clpool.ImmediateAllocator(queue))
    x = pyopencl.array.zeros(queue, n, numpy.float32, allocator=pool)

Names and arguments are those of pyopencl.tools; sizes are bytes everywhere. Errors derive from
pyopencl.MemoryError, LogicError and RuntimeError and carry ``status`` and ``native_code``.
"""

from __future__ import annotations

import atexit as _atexit
from typing import TYPE_CHECKING

from clpool import _clpool, _errors, _set_up, statistics
from clpool._clpool import (
    Allocator,
    ArenaAllocator,
    CallbackAllocator,
    CudaAsyncAllocator,
    CudaMemPool,
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
from clpool._cuda import MemoryAsync, MemoryAsyncPool
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
from clpool._log import set_log
from clpool._patch import patch
from clpool._profile import LineProfileHook, OutstandingAllocations
from clpool._set_up import PoolStats, collect_garbage
from clpool._summary import memory_summary
from clpool._tracing import Report, TuneResult, report, trace, tune
from clpool._use import get_allocator, set_allocator, use
from clpool.statistics import StatisticsHook

if _set_up.has_pyopencl:
    from clpool._clpool import PooledBuffer, PooledSVM

# Before the interpreter ends, buffers that wait for their block to be handed out again go.
_atexit.register(_clpool.drop_parked)

__all__ = [
    "Allocator",
    "ArenaAllocator",
    "CallbackAllocator",
    "CudaAsyncAllocator",
    "CudaMemPool",
    "DebugPrintHook",
    "DeferredAllocator",
    "Error",
    "HostAllocator",
    "ImmediateAllocator",
    "LimitExceeded",
    "LineProfileHook",
    "LogicError",
    "Memory",
    "MemoryAsync",
    "MemoryAsyncPool",
    "MemoryError",
    "MemoryHook",
    "MemoryPool",
    "NotSupported",
    "OutstandingAllocations",
    "PoolOnQueue",
    "PoolStats",
    "PooledBuffer",
    "PooledSVM",
    "Report",
    "RuntimeError",
    "SVMAllocator",
    "SVMPool",
    "SimulatedAllocator",
    "StatisticsHook",
    "TuneResult",
    "collect_garbage",
    "cupy_allocator",
    "free_all_held",
    "get_allocator",
    "library_version",
    "memory_summary",
    "patch",
    "report",
    "set_allocator",
    "set_log",
    "statistics",
    "torch_allocator",
    "trace",
    "tune",
    "use",
]
if not TYPE_CHECKING and not _set_up.has_pyopencl:
    __all__.remove("PooledBuffer")
    __all__.remove("PooledSVM")
