# SPDX-License-Identifier: MIT
"""How the extension's objects look when printed, and in notebooks. No device is asked, and nothing
is raised, also after a release, and for what a forked child inherited."""

from __future__ import annotations

import html
import types
from collections.abc import Iterable
from dataclasses import fields
from typing import TYPE_CHECKING, Any, NoReturn

from clpool import _clpool

if TYPE_CHECKING:
    from clpool._set_up import PoolStats


def human(size: int) -> str:
    """A number of bytes, such as 12.5 MiB."""
    amount, units = float(size), ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]
    while amount >= 1023.5 and len(units) > 1:
        amount /= 1024
        del units[0]
    return f"{amount:.4g} {units[0]}"


def class_name(thing: object) -> str:
    """As users know the class."""
    kind = type(thing)
    module = "clpool" if kind.__module__.startswith("clpool.") else kind.__module__
    return f"{module}.{kind.__qualname__}"


def table(caption: str, head: Iterable[object], rows: Iterable[Iterable[object]]) -> str:
    """An HTML table of texts and numbers."""

    def row(cells: Iterable[object], kind: str) -> str:
        return "".join(f"<{kind}>{html.escape(str(cell))}</{kind}>" for cell in cells)

    lines = [row(head, "th"), *(row(cells, "td") for cells in rows)]
    body = "".join(f"<tr>{line}</tr>" for line in lines if line)
    return f"<table><caption>{html.escape(caption)}</caption>{body}</table>"


def stats_table(caption: str, stats: PoolStats) -> str:
    figures = ((field.name, getattr(stats, field.name)) for field in fields(stats))
    return table(
        caption,
        (),
        (
            (name.replace("_", " "), human(figure) if name.endswith("_bytes") else figure)
            for name, figure in figures
        ),
    )


def _pool(pool: _clpool.MemoryPool) -> str:
    try:
        name = f" {pool.name!r}" if pool.name else ""
    except TypeError:
        return ": __init__ was not called"
    try:
        stats, limit = pool.stats, pool.limit
    except Exception:
        return f"{name}: the parent process'"
    most = "" if limit is None else f" of at most {human(limit)}"
    return f"{name}: {stats.active_blocks} active, {human(stats.managed_bytes)}{most} managed"


def _allocator(allocator: _clpool.Allocator) -> str:
    return "" if allocator.device is None else f": device {allocator.device}"


def _arena(arena: _clpool.ArenaAllocator) -> str:
    stats = arena.get_stats()
    used, reserved = int(stats["used_bytes"]), int(stats["reserved_bytes"])
    return f": {human(used)} used of {human(reserved)}"


def _memory(memory: _clpool.Memory) -> str:
    try:
        return f": {memory.size} bytes at {memory.ptr:#x}"
    except Exception:
        return ": released"


def _buffer(buffer: _clpool.PooledBuffer) -> str:
    return f": {buffer.size} bytes, cl_mem {buffer.int_ptr:#x}"


def _svm(svm: _clpool.PooledSVM) -> str:
    return _memory(svm.mem)


def _pool_html(pool: _clpool.MemoryPool) -> str:
    try:
        return stats_table(repr(pool)[1:-1], pool.stats)
    except Exception:
        return html.escape(repr(pool))


def refuse_pickling(self: object) -> NoReturn:
    raise TypeError(
        f"a {class_name(self)} cannot be pickled or copied: it belongs to this process; make "
        "another one in the other process"
    )


def _refuse_making(self: object, *_: NoReturn) -> None:
    raise TypeError("a PooledBuffer cannot be constructed: a clpool.MemoryPool returns it")


def set_up() -> None:
    """Gives the extension's classes what is above."""
    looks: dict[Any, Any] = {
        _clpool.MemoryPool: _pool,
        _clpool.PoolOnQueue: _pool,
        _clpool.Allocator: _allocator,
        _clpool.ArenaAllocator: _arena,
        _clpool.Memory: _memory,
        _clpool.CudaMemPool: lambda mempool: f" {mempool.handle:#x}",
    }
    if hasattr(_clpool, "PooledBuffer"):
        looks[_clpool.PooledBuffer] = _buffer
        if isinstance(_clpool.PooledSVM, type):
            looks[_clpool.PooledSVM] = _svm
        setattr(_clpool.PooledBuffer, "__init__", _refuse_making)  # noqa: B010
    for kind, look in looks.items():
        kind.__repr__ = _repr_with(look)
        kind.__reduce__ = refuse_pickling
    pools: list[Any] = [_clpool.MemoryPool, _clpool.PoolOnQueue]
    for kind in pools:
        kind._repr_html_ = _pool_html
    for kind in [*pools, _clpool.Allocator]:
        kind.__class_getitem__ = classmethod(types.GenericAlias)


def _repr_with(look: Any) -> Any:
    def __repr__(self: object) -> str:
        try:
            shown = look(self)
        except Exception:
            shown = ": the parent process'"
        return f"<{class_name(self)}{shown}>"

    return __repr__
