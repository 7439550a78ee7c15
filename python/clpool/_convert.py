# SPDX-License-Identifier: MIT
"""PyTorch's memory snapshots as clpool's traces.

A snapshot is what ``torch.cuda.memory._dump_snapshot`` writes, a pickle, or the same as JSON. Its
traces begin when the program asked for them, so a free of what is older is left out. A block is
freed where the program asked for it, not where PyTorch's own allocator was done with it.
"""

from __future__ import annotations

import gzip
import io
import json
import pickle
from typing import IO, Iterable, Iterator

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


def rows(events: Iterable[dict]) -> Iterator[str]:
    """The lines of a trace, without line ends, for a device's events."""
    yield HEADER
    live: dict[int, int] = {}
    for number, event in enumerate(events):
        action = event["action"]
        stream = event.get("stream", 0)
        when = _time_of_day(event.get("time_us", number))
        address = event.get("addr", 0)
        if action == "alloc":
            live[address] = event["size"]
            yield f"0,{when},allocate,{address:#x},{event['size']},{stream:#x}"
        elif action == "free_requested" and address in live:
            yield f"0,{when},free,{address:#x},{live.pop(address)},{stream:#x}"
        elif action == "oom":
            yield f"0,{when},allocate failure,(nil),{event['size']},{stream:#x}"


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
        for count, row in enumerate(rows(snapshot["device_traces"][device])):
            target.write(row + "\n")
    except (KeyError, TypeError) as error:
        raise ValueError(f"this is no memory snapshot: {error!r}") from error
    return count
