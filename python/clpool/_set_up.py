# SPDX-License-Identifier: MIT
"""What the extension needs of Python, and gets when the package is imported."""

from __future__ import annotations

import gc
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

from clpool import _clpool, _errors, _show

if TYPE_CHECKING:
    import pyopencl as cl
else:
    cl = _errors.cl
has_pyopencl = cl is not None


@dataclass(frozen=True)
class PoolStats:
    """A pool's figures of one moment.

    - active: blocks that the program has, and their bytes as asked for
    - held: blocks that wait to be handed out again, and their bytes as allocated
    - managed: bytes of both, as allocated; the peaks are since reset_peaks
    - allocations: hits, which needed no device, and misses
    - device_allocations, device_frees: calls of the allocator beneath, on an arena for segments
    - out_of_memory_reactions: requests that met a device without memory
    """

    held_blocks: int
    active_blocks: int
    managed_bytes: int
    active_bytes: int
    held_bytes: int
    peak_managed_bytes: int
    peak_active_bytes: int
    allocations: int
    hits: int
    misses: int
    device_allocations: int
    device_frees: int
    out_of_memory_reactions: int

    def _repr_html_(self) -> str:
        return _show.stats_table("clpool.PoolStats", self)


def collect_garbage(pool: _clpool.MemoryPool, size: int) -> bool:
    """What ``on_out_of_memory`` is unless told otherwise: collects cyclic garbage, and says whether
    the pool got blocks of it back."""
    before = pool.active_blocks
    gc.collect()
    return pool.active_blocks < before


if TYPE_CHECKING:
    _SVM = cl.SVM[_clpool.Memory]
else:
    _SVM = getattr(cl, "SVM", object)


class PooledSVM(_SVM):
    """Shared virtual memory of a pool's, which goes back there with the last reference
    (pyopencl.tools.PooledSVM). ``mem`` is the :class:`clpool.Memory` within."""

    __module__ = "clpool"
    __slots__ = ()

    if hasattr(cl, "SVMPointer"):
        map = cl.SVMPointer.map  # type: ignore[assignment]
        map_ro = cl.SVMPointer.map_ro  # type: ignore[assignment]
        map_rw = cl.SVMPointer.map_rw  # type: ignore[assignment]
        _enqueue_unmap = cl.SVMPointer._enqueue_unmap

    def __init__(self, *_: NoReturn) -> None:
        raise TypeError("a PooledSVM cannot be constructed: a clpool.SVMPool returns it")

    @property
    def buf(self) -> memoryview:  # type: ignore[override]
        """The memory, for the host: release() is a BufferError while a view exists."""
        return memoryview(self.mem)

    def enqueue_release(self, queue: cl.CommandQueue | None = None) -> None:
        """As release, behind the work of a queue."""
        self.mem.release(queue)

    def bind_to_queue(self, queue: cl.CommandQueue) -> None:
        """From now on the memory is used, and released, on this queue."""
        self.mem.bind_to_queue(queue)
        self._queue: cl.CommandQueue | None = queue

    def unbind_from_queue(self) -> None:
        """Waits for the queue that the memory is bound to, and unbinds it."""
        self.mem.unbind_from_queue()
        self._queue = None

    def record_use(self, queue: cl.CommandQueue) -> None:
        """Notes that another queue uses the memory too."""
        self.mem.record_use(queue)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PooledSVM) and self.mem is other.mem

    def __hash__(self) -> int:
        return hash(id(self.mem))


# Here, not in a function, since the package may be reloaded, and this is for once.
_clpool.set_up(
    make_error=_errors.make,
    is_out_of_memory=_errors.is_out_of_memory,
    buffer_type=cl.Buffer if has_pyopencl else None,
    queue_type=cl.CommandQueue if has_pyopencl else None,
    context_type=cl.Context if has_pyopencl else None,
    svm_type=PooledSVM if hasattr(cl, "SVM") else None,
    svm_allocation=getattr(cl, "SVMAllocation", None),
    stats_type=PoolStats,
    default_reaction=collect_garbage,
)
_show.set_up()
