# SPDX-License-Identifier: MIT
"""PyTorch's memory snapshots as clpool's traces.

A snapshot is what ``torch.cuda.memory._dump_snapshot`` writes, a pickle, or the same as JSON. Its
traces begin when the program asked for them, so a free of what is older is left out. A block is
freed where the program asked for it, not where PyTorch's own allocator was done with it. Call
stacks of allocations, which a snapshot has with ``stacks="all"`` or ``"python"``, are kept.
"""

from __future__ import annotations

import gzip
import io
import json
import pickle
from typing import IO, Iterator

HEADER = "Thread,Time,Action,Pointer,Size,Stream"


class _PlainUnpickler(pickle.Unpickler):
    """Reads dictionaries, lists, numbers and texts: all that snapshots are made of, and nothing
    that could run."""

    def find_class(self, module, name):
        raise ValueError(f"a snapshot has no {module}.{name}")


def read_snapshot(file: IO[bytes]) -> dict:
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
        raise ValueError(f"this is no memory snapshot: {error}") from error
    if not isinstance(snapshot, dict) or "device_traces" not in snapshot:
        raise ValueError("this is no memory snapshot: it has no device_traces")
    return snapshot


def device_with_events(snapshot: dict) -> int:
    """The only device that has events. ValueError: there is none, or several."""
    devices = [d for d, events in enumerate(snapshot["device_traces"]) if events]
    if len(devices) != 1:
        raise ValueError(f"events of {len(devices)} devices: choose one of {devices}")
    return devices[0]


def _time_of_day(microseconds: int) -> str:
    seconds, fraction = divmod(microseconds, 1_000_000)
    minutes, second = divmod(seconds % 86400, 60)
    return f"{minutes // 60:02}:{minutes % 60:02}:{second:02}.{fraction:06}"


class _Stacks:
    """Call stacks by number, as a trace defines them: frame by frame, callers first."""

    def __init__(self) -> None:
        self.numbers: dict[tuple[int, str], int] = {}  # by caller and text

    def define(self, frames: list[dict]) -> Iterator[str]:
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


def rows(events: list[dict]) -> Iterator[str]:
    """The lines of a trace, without line ends, for a device's events."""
    has_stacks = any("frames" in event and event["frames"] for event in events)
    yield HEADER + (",Stack" if has_stacks else "")
    live: dict[int, int] = {}
    stacks, none = _Stacks(), ",0" if has_stacks else ""
    for number, event in enumerate(events):
        action = event["action"]
        stream = event.get("stream", 0)
        when = _time_of_day(event.get("time_us", number))
        address = event.get("addr", 0)
        if action == "alloc":
            live[address] = event["size"]
            yield from stacks.define(event.get("frames") or [])
            stack = f",{stacks.at}" if has_stacks else ""
            yield f"0,{when},allocate,{address:#x},{event['size']},{stream:#x}{stack}"
        elif action == "free_requested" and address in live:
            yield f"0,{when},free,{address:#x},{live.pop(address)},{stream:#x}{none}"
        elif action == "oom":
            yield f"0,{when},allocate failure,(nil),{event['size']},{stream:#x}{none}"


def convert(source: IO[bytes], target: IO[str], device: int | None = None) -> int:
    """Writes the trace of a snapshot's device, the only one with events unless told; returns the
    number of its rows."""
    snapshot = read_snapshot(source)
    try:
        if device is None:
            device = device_with_events(snapshot)
        if not 0 <= device < len(snapshot["device_traces"]):
            raise ValueError(f"there is no device {device}")
        count = -1
        for row in rows(snapshot["device_traces"][device]):
            target.write(row + "\n")
            count += not row.startswith("#")
    except (KeyError, TypeError) as error:
        raise ValueError(f"this is no memory snapshot: {error!r}") from error
    return count
