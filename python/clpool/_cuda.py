# SPDX-License-Identifier: MIT
"""CuPy's MemoryAsyncPool."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, SupportsIndex, Union

from clpool import _clpool, _show
from clpool._clpool import CudaMemPool

if TYPE_CHECKING:
    from typing_extensions import Self

_KEEP_ALL = (1 << 64) - 1
_Handle = Union[str, int, CudaMemPool]


class MemoryAsync:
    """Memory of a :class:`MemoryAsyncPool` (cupy.cuda.memory.MemoryAsync): ``ptr``, the address,
    0 for no bytes; ``size``, bytes as asked for; ``stream``, on which it is allocated, and freed
    when this object ends, None for the legacy default stream. Other streams that use the memory
    must be waited for by that one before."""

    __slots__ = ("__weakref__", "_pool", "ptr", "size", "stream")
    __reduce__ = _show.refuse_pickling  # a copy would free the memory, too

    def __init__(self, pool: MemoryAsyncPool, size: SupportsIndex, stream: Any | None) -> None:
        self.ptr = 0
        self.ptr = pool._malloc(size, stream)
        self.size = operator.index(size)
        self.stream = stream
        self._pool = pool

    def __repr__(self) -> str:
        return f"<clpool.MemoryAsync: {self.size} bytes at {self.ptr:#x}>"

    def __del__(self) -> None:
        if self.ptr:
            self._pool._free(self.ptr, self.stream)


class MemoryAsyncPool(_clpool.AsyncPool):
    """CUDA's stream-ordered memory of all devices (cupy.cuda.MemoryAsyncPool)::

        cupy.cuda.set_allocator(clpool.MemoryAsyncPool().malloc)

    Each call is for the device that is current, and goes to the driver. Memory hooks see it.

    ``pool_handles`` says which of the driver's memory pools to take from, once, here:

    - ``'current'`` or ``'default'``: the current or the default pool of each device;
    - ``'create'``: a new pool for each device, which keeps its memory until free_all_blocks;
    - a :class:`CudaMemPool`, or a handle (cudaMemPool_t) as an int, for the current device alone;
    - a sequence of these, one for each device.

    A device's current pool stays as it is, where CuPy changes it. Raises clpool.NotSupported
    without a driver; ValueError, TypeError or clpool.LogicError for handles that are none.
    """

    __slots__ = ("_cupy",)
    _cupy: Any

    def __new__(cls, pool_handles: _Handle | Sequence[_Handle] = "current") -> Self:
        mempools: str | tuple[CudaMemPool, ...]
        if isinstance(pool_handles, str) and pool_handles in ("current", "default"):
            mempools = pool_handles
        else:
            mempools = tuple(_mempools_of(pool_handles))
        self = super().__new__(cls, mempools)
        try:
            import cupy  # type: ignore[import-not-found, import-untyped, unused-ignore]
        except ImportError:
            cupy = None
        self._cupy = cupy
        return self

    def __repr__(self) -> str:
        return f"<{_show.class_name(self)}>"

    def malloc(self, size: SupportsIndex) -> Any:
        """Memory of so many bytes on the current device, in the order of CuPy's current stream: a
        cupy.cuda.MemoryPointer. Without CuPy, a :class:`MemoryAsync` in the order of the legacy
        default stream. Raises clpool.MemoryError if there is no memory, after waiting for all work
        and trimming the memory pool; clpool.LimitExceeded."""
        if self._cupy is None:
            return MemoryAsync(self, size, None)
        cuda = self._cupy.cuda
        memory = MemoryAsync(self, size, cuda.get_current_stream())
        owner = cuda.UnownedMemory(memory.ptr, memory.size, memory, cuda.runtime.getDevice())
        return cuda.MemoryPointer(owner, 0)

    def free_all_blocks(self, stream: Any | None = None) -> None:
        """Waits for the work of a stream, CuPy's current one for None, and gives all unused memory
        of the current device's memory pool to the device."""
        if stream is None and self._cupy is not None:
            stream = self._cupy.cuda.get_current_stream()
        self._free_all_blocks(stream)


def _mempools_of(handles: _Handle | Sequence[_Handle]) -> list[CudaMemPool]:
    count = _clpool.cuda_device_count()
    if isinstance(handles, str):
        handles = [handles] * count
    elif not isinstance(handles, Sequence):
        return [_mempool_of(handles, 0)]
    elif len(handles) != count:
        raise ValueError(f"pool_handles has {len(handles)} entries for {count} devices")
    return [_mempool_of(handle, device) for device, handle in enumerate(handles)]


def _mempool_of(handle: _Handle, device: int) -> CudaMemPool:
    if handle == "default":
        return CudaMemPool.default(device)
    if handle == "current":
        return CudaMemPool.current(device)
    if handle == "create":
        made = CudaMemPool(device)
        made.release_threshold = _KEEP_ALL
        return made
    if isinstance(handle, str):
        raise ValueError(
            "pool_handles must be 'current', 'default', 'create', a CudaMemPool or a handle (int), "
            f"not {handle!r}"
        )
    return handle if isinstance(handle, CudaMemPool) else CudaMemPool.from_handle(handle)
