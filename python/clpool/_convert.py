# SPDX-License-Identifier: MIT
"""PyTorch's memory snapshots as clpool's traces.

A snapshot is what ``torch.cuda.memory._dump_snapshot`` writes, a pickle, or the same as JSON. It
has the events since the program asked for them, or the last of those, and the blocks that exist at
the end. Blocks from before the first event are known from their free, or are there at the end: they
are allocated at the start of the trace. A block is freed where the program asked for it, not where
PyTorch's own allocator was done with it. Call stacks of allocations, which a snapshot has with
``stacks="all"`` or ``"python"``, are kept.
"""

from __future__ import annotations

import gzip
import io
import json
import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any, NamedTuple, NoReturn

HEADER = "Thread,Time,Action,Pointer,Size,Stream"


class _PlainUnpickler(pickle.Unpickler):
    """Reads dictionaries, lists, numbers and texts: all that snapshots are made of, and nothing
    that could run."""

    def find_class(self, module: str, name: str) -> NoReturn:
        raise ValueError(f"found an object of {module}.{name}")


def read_snapshot(file: IO[bytes]) -> dict[str, Any]:
    """A snapshot, a pickle or JSON, gzipped or not. ValueError: it is none."""
    content = file.read()
    try:
        if content[:2] == b"\x1f\x8b":
            content = gzip.decompress(content)
        if content.lstrip()[:1] == b"{":
            snapshot = json.loads(content)
        else:
            snapshot = _PlainUnpickler(io.BytesIO(content)).load()
    except Exception as error:  # of many kinds, as pickle's documentation warns
        raise ValueError(f"not a memory snapshot: {error}") from error
    if not isinstance(snapshot, dict) or "device_traces" not in snapshot:
        raise ValueError("not a memory snapshot: device_traces is missing")
    return snapshot


class Block(NamedTuple):
    """A block that the program has."""

    address: int
    size: int
    stream: int
    frames: list[dict[str, Any]]


def live_blocks(snapshot: dict[str, Any], device: int) -> Iterator[Block]:
    """What the program has of a device at the end."""
    for segment in snapshot.get("segments", ()):
        if segment.get("device", 0) != device:
            continue
        address = segment["address"]
        for block in segment["blocks"]:
            address = block.get("address", address)  # which older PyTorchs leave out
            if block["state"] == "active_allocated":
                newest = (block.get("history") or [{}])[0]
                size = block.get("requested_size") or newest.get("real_size") or block["size"]
                frames = block.get("frames") or newest.get("frames") or []
                yield Block(address, size, segment.get("stream", 0), frames)
            address += block["size"]


def only_device(snapshot: dict[str, Any]) -> int:
    """The only device that has events, or blocks where none has. ValueError: there is none, or
    several."""
    devices = [d for d, events in enumerate(snapshot["device_traces"]) if events]
    if not devices:
        known = {segment.get("device", 0) for segment in snapshot.get("segments", ())}
        devices = [d for d in sorted(known) if next(live_blocks(snapshot, d), None)]
    if len(devices) != 1:
        raise ValueError(f"{len(devices)} devices have events: choose one of {devices}")
    return devices[0]


def _time_of_day(microseconds: int) -> str:
    seconds, fraction = divmod(microseconds, 1_000_000)
    minutes, second = divmod(seconds % 86400, 60)
    return f"{minutes // 60:02}:{minutes % 60:02}:{second:02}.{fraction:06}"


class _Stacks:
    """Call stacks by number, as a trace defines them: frame by frame, callers first."""

    def __init__(self) -> None:
        self.numbers: dict[tuple[int, str], int] = {}  # by caller and text

    def define(self, frames: list[dict[str, Any]]) -> Iterator[str]:
        """The lines that define the frames that are new; ``at`` is the stack's number then. A
        snapshot has the innermost frame first."""
        self.at = 0
        for frame in reversed(frames):
            text = f"{frame['filename']}:{frame['line']}:{frame['name']}"
            key = self.at, " ".join(text.split())[:900]
            if key not in self.numbers:
                self.numbers[key] = len(self.numbers) + 1
                yield f"#frame {self.numbers[key]} {key[0]} {key[1]}"
            self.at = self.numbers[key]


@dataclass
class Counts:
    """What is in a trace, and what of that the snapshot's events lack."""

    rows: int = 0
    allocations: int = 0
    frees: int = 0
    failures: int = 0
    older: int = 0  # blocks from before the first event
    older_bytes: int = 0
    unseen: int = 0  # blocks at the end that were freed when the events were over
    twice: int = 0  # allocations of a block whose free is missing
    unknown_frees: int = 0  # of what was freed before, and so left out
    live: int = 0  # blocks at the end
    live_bytes: int = 0

    def __str__(self) -> str:
        lines = [
            f"{_some(self.allocations, 'allocation')}, {_some(self.frees, 'free')}, "
            f"{_some(self.failures, 'failure')}",
            f"live at the end: {_some(self.live, 'block')} of {self.live_bytes} bytes",
        ]
        if self.older:
            lines.append(f"allocated at the start: {_some(self.older, 'block')} of "
                         f"{self.older_bytes} bytes, older than the recorded events")  # fmt: skip
        if self.unseen:
            lines.append(f"allocated at the end: {_some(self.unseen, 'block')} whose allocation "
                         "was not recorded")  # fmt: skip
        if self.twice:
            lines.append(f"freed before a second allocation: {_some(self.twice, 'block')} whose "
                         "free was not recorded")  # fmt: skip
        if self.unknown_frees:
            lines.append(f"skipped: {_some(self.unknown_frees, 'free')} of unallocated memory")
        return "\n".join(lines)


def _some(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


class _Rows:
    """The lines of a trace, without line ends, for a device's events and the blocks at the end."""

    def __init__(self, events: list[dict[str, Any]], at_end: list[Block]):
        self.events = events
        self.at_end = at_end
        self.counts = Counts()
        self.has_stacks = any(event.get("frames") for event in events)
        self.has_stacks |= any(block.frames for block in at_end)
        self.stacks = _Stacks()
        self.live: dict[int, int] = {}  # sizes by address

    def _row(
        self, when: str, action: str, address: int, size: int, stream: int, stack: int = 0
    ) -> str:
        self.counts.rows += 1
        end = f",{stack}" if self.has_stacks else ""
        pointer = f"{address:#x}" if address else "(nil)"
        return f"0,{when},{action},{pointer},{size},{stream:#x}{end}"

    def _allocate(self, when: str, block: Block) -> Iterator[str]:
        if block.address in self.live:
            self.counts.twice += 1
            yield from self._free(when, block.address, block.stream)
        self.live[block.address] = block.size
        self.counts.allocations += 1
        yield from self.stacks.define(block.frames)
        yield self._row(when, "allocate", block.address, block.size, block.stream, self.stacks.at)

    def _free(self, when: str, address: int, stream: int) -> Iterator[str]:
        self.counts.frees += 1
        yield self._row(when, "free", address, self.live.pop(address), stream)

    def _older(self) -> list[Block]:
        """The blocks from before the first event. Their first event is a free, or they have none.
        """
        seen, older = set(), []
        for event in self.events:
            action, address = event["action"], event.get("addr", 0)
            if action in ("alloc", "free_requested") and address not in seen:
                seen.add(address)
                if action == "free_requested":
                    older.append(Block(address, event["size"], event.get("stream", 0), []))
        older += [block for block in self.at_end if block.address not in seen]
        return sorted(older, key=lambda block: block.address)

    def _event(self, when: str, event: dict[str, Any]) -> Iterator[str]:
        action, stream, address = event["action"], event.get("stream", 0), event.get("addr", 0)
        if action == "alloc":
            block = Block(address, event["size"], stream, event.get("frames") or [])
            yield from self._allocate(when, block)
        elif action == "free_requested" and address in self.live:
            yield from self._free(when, address, stream)
        elif action == "free_requested":
            self.counts.unknown_frees += 1
        elif action == "oom":
            self.counts.failures += 1
            yield self._row(when, "allocate failure", 0, event["size"], stream)

    def __iter__(self) -> Iterator[str]:
        counts = self.counts
        yield HEADER + (",Stack" if self.has_stacks else "")
        times = [event.get("time_us", number) for number, event in enumerate(self.events)] or [0]
        for block in self._older():
            counts.older += 1
            counts.older_bytes += block.size
            yield from self._allocate(_time_of_day(times[0]), block)
        for time, event in zip(times, self.events):
            yield from self._event(_time_of_day(time), event)
        for block in self.at_end:
            if block.address not in self.live:
                counts.unseen += 1
                yield from self._allocate(_time_of_day(times[-1]), block)
        counts.live, counts.live_bytes = len(self.live), sum(self.live.values())


def convert(source: IO[bytes], target: IO[str], device: int | None = None) -> Counts:
    """Writes the trace of a snapshot's device, the only one with events unless told; returns what
    is in it."""
    snapshot = read_snapshot(source)
    try:
        if device is None:
            device = only_device(snapshot)
        blocks = list(live_blocks(snapshot, device))
        traces = snapshot["device_traces"]
        if device < 0 or (device >= len(traces) and not blocks):
            raise ValueError(f"there is no device {device}")
        lines = _Rows(traces[device] if device < len(traces) else [], blocks)
        target.writelines(line + "\n" for line in lines)
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"not a memory snapshot: {error!r}") from error
    return lines.counts
