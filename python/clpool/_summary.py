# SPDX-License-Identifier: MIT
"""What a pool has, as a table."""

from __future__ import annotations

from clpool import _clpool, _hooks
from clpool._hooks import AnyPool
from clpool._show import human

_MOST_BINS = 10


def _cell(cell: str | int) -> str:
    if isinstance(cell, str):
        return cell
    return f"{cell:,}" if cell < 10**9 else f"{cell:.3e}"


def _line(name: str | int, *cells: str | int) -> str:
    return f"{_cell(name):<14}" + "".join(f"{_cell(cell):>13}" for cell in cells)


def _bins(pool: AnyPool) -> list[str]:
    bins = pool.bin_stats()
    bins.sort(key=lambda one: -one["held_bytes"] - one["active_blocks"] * one["block_bytes"])
    lines = [_line("bin", "active", "held", "held bytes", "hits", "misses")]
    for one in bins[:_MOST_BINS]:
        blocks = one["active_blocks"], one["held_blocks"], human(one["held_bytes"])
        lines.append(_line(human(one["block_bytes"]), *blocks, one["hits"], one["misses"]))
    if len(bins) > _MOST_BINS:
        lines.append(f"and {len(bins) - _MOST_BINS} more")
    return lines


def _arena(arena: _clpool.ArenaAllocator) -> list[str]:
    stats = {name: int(figure) for name, figure in arena.get_stats().items()}
    reserved, used = stats["reserved_bytes"], stats["used_bytes"]
    return [
        _line("arena", "bytes", "peak", "count"),
        _line("segments", human(reserved), human(stats["peak_reserved_bytes"]), stats["segments"]),
        _line("used", human(used), human(stats["peak_used_bytes"]), stats["used_blocks"]),
        _line("free", human(reserved - used), "", stats["free_ranges"]),
        _line("largest free", human(stats["largest_free_bytes"])),
        _line("reserve", human(stats["reserve_bytes"])),
    ]


def memory_summary(pool: AnyPool) -> str:
    """The figures of a pool as a table, to print (torch.cuda.memory_summary)::

        print(clpool.memory_summary(pool))

    The table has at most 80 columns: bytes now and at the peak, requests and what the device was
    asked, the arena, if there is one, and the ten bins with the most bytes. Active bytes are as
    asked for, all others as allocated.
    """
    _hooks.check_pool(pool)
    stats, limit, allocator = pool.stats, pool.limit, pool.allocator
    managed_blocks = stats.active_blocks + stats.held_blocks
    rate = f"{stats.hits / stats.allocations:.1%}" if stats.allocations else "-"
    managed, most_managed = human(stats.managed_bytes), human(stats.peak_managed_bytes)
    active, most_active = human(stats.active_bytes), human(stats.peak_active_bytes)
    frees, reactions = stats.device_frees, stats.out_of_memory_reactions
    parts = [
        [f"allocator {allocator.name}, limit {'none' if limit is None else human(int(limit))}"],
        [
            _line("pool", "bytes", "peak", "blocks"),
            _line("active", active, most_active, stats.active_blocks),
            _line("held", human(stats.held_bytes), "", stats.held_blocks),
            _line("managed", managed, most_managed, managed_blocks),
        ],
        [
            _line("requests", "hits", "misses", "hit rate"),
            _line(stats.allocations, stats.hits, stats.misses, rate),
        ],
        [
            _line("device", "allocations", "frees", "refusals"),
            _line("", stats.device_allocations, frees, reactions),
        ],
        _bins(pool),
    ]
    if isinstance(allocator, _clpool.ArenaAllocator):
        parts.insert(-1, _arena(allocator))
    return "\n".join("\n".join(["-" * 79, *part]) for part in parts)
