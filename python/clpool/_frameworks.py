# SPDX-License-Identifier: MIT
"""CuPy's and PyTorch's arrays on clpool's pools."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clpool import _clpool


def cupy_allocator(pool: _clpool.MemoryPool) -> Callable[[int], Any]:
    """A function for ``cupy.cuda.set_allocator``: CuPy's arrays on ``pool``, a MemoryPool on a
    :class:`CudaAsyncAllocator`, in the order of CuPy's current stream. ::

        pool = clpool.MemoryPool(clpool.CudaAsyncAllocator())
        cupy.cuda.set_allocator(clpool.cupy_allocator(pool))

    Streams that it has met are kept, as the pool may need them. It raises ValueError where another
    device than the pool's is current, and clpool.NotSupported on the per-thread default stream.
    """
    import cupy  # type: ignore[import-not-found, import-untyped, unused-ignore]

    device = pool.allocator.device
    if device is None:
        raise ValueError("the pool must be on a clpool.CudaAsyncAllocator")
    of_streams: dict[int, _clpool.PoolOnQueue] = {}

    def allocate(size: int) -> Any:
        current = cupy.cuda.runtime.getDevice()
        if current != device:
            raise ValueError(f"the pool is on device {device}, but the current device is {current}")
        stream = cupy.cuda.get_current_stream()
        on_stream = of_streams.get(stream.ptr)
        if on_stream is None:
            on_stream = of_streams.setdefault(stream.ptr, pool.on(stream))
        memory = on_stream(size)
        owner = cupy.cuda.UnownedMemory(memory.ptr, size, memory, device)
        return cupy.cuda.MemoryPointer(owner, 0)

    return allocate


def torch_allocator(*pools: _clpool.MemoryPool) -> Any:
    """PyTorch's memory on ``pools``, one for each device, each on a :class:`CudaAsyncAllocator`: a
    ``torch.cuda.memory.CUDAPluggableAllocator``. To be used before the first tensor::

        pool = clpool.MemoryPool(clpool.CudaAsyncAllocator())
        torch.cuda.memory.change_current_allocator(clpool.torch_allocator(pool))

    The pools stay for good. Where there is no memory, PyTorch raises RuntimeError.
    """
    import ctypes

    import torch  # type: ignore[import-not-found, unused-ignore]

    for pool in pools:
        _clpool.set_torch_pool(pool)
    path = _clpool.__file__
    made = torch.cuda.memory.CUDAPluggableAllocator(
        path, "clpool_torch_malloc", "clpool_torch_free"
    )
    native = made.allocator()
    if hasattr(native, "set_record_stream_fn"):
        function = ctypes.CDLL(path).clpool_torch_record_stream
        native.set_record_stream_fn(ctypes.cast(function, ctypes.c_void_p).value)
    return made
