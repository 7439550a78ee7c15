# SPDX-License-Identifier: MIT
"""PyTorch's memory snapshots as traces: python -m clpool convert."""

from __future__ import annotations

import gzip
import io
import json
import pickle
import random
import subprocess

import pytest
from test_tracing import tool  # noqa: F401

from clpool import __main__, _convert


SNAPSHOT = {
    "segments": [],
    "device_traces": [
        [],
        [
            {"action": "free_requested", "addr": 4096, "size": 512, "stream": 0, "time_us": 1},
            {"action": "segment_alloc", "addr": 8192, "size": 2048, "stream": 0, "time_us": 2},
            {"action": "alloc", "addr": 8192, "size": 512, "stream": 7, "time_us": 86400000003},
            {"action": "oom", "size": 1 << 40, "device_free": 0, "stream": 0, "time_us": 4},
            {"action": "free_requested", "addr": 8192, "size": 512, "stream": 7, "time_us": 5},
            {"action": "free_completed", "addr": 8192, "size": 512, "stream": 7, "time_us": 6},
        ],
    ],
}
TRACE = """\
Thread,Time,Action,Pointer,Size,Stream
0,00:00:00.000001,allocate,0x1000,512,0x0
0,00:00:00.000001,free,0x1000,512,0x0
0,00:00:00.000003,allocate,0x2000,512,0x7
0,00:00:00.000004,allocate failure,(nil),1099511627776,0x0
0,00:00:00.000005,free,0x2000,512,0x7
"""


@pytest.mark.parametrize("form", ["pickle", "json"])
def test_convert(form, tmp_path, tool):
    snapshot = tmp_path / f"snapshot.{form}"
    dump = pickle.dumps(SNAPSHOT) if form == "pickle" else json.dumps(SNAPSHOT).encode()
    snapshot.write_bytes(dump)
    trace = tmp_path / "trace.csv"
    assert __main__.main(["convert", str(snapshot), "-o", str(trace)]) == 0
    assert trace.read_text() == TRACE
    subprocess.run([tool, "replay", "--json", str(trace)], check=True, capture_output=True)


def test_convert_keeps_stacks(tmp_path, tool):
    frames = [
        {"filename": "/x/app.py", "line": line, "name": name}
        for line, name in ((6, "step"), (10, "<module>"))
    ]
    events = [
        {"action": "alloc", "addr": 4096, "size": 100, "frames": frames},
        {"action": "alloc", "addr": 8192, "size": 50, "frames": frames[1:]},
        {"action": "free_requested", "addr": 8192, "size": 50, "frames": frames[1:]},
        {"action": "alloc", "addr": 8192, "size": 7, "frames": frames},
        {"action": "alloc", "addr": 12288, "size": 44, "frames": []},
    ]
    snapshot, trace = tmp_path / "snapshot.json", tmp_path / "trace.csv"
    snapshot.write_text(json.dumps({"device_traces": [events]}))
    assert __main__.main(["convert", str(snapshot), "-o", str(trace)]) == 0
    lines = trace.read_text().splitlines()
    assert [line for line in lines if line.startswith("#")] == [
        "#frame 1 0 /x/app.py:10:<module>",
        "#frame 2 1 /x/app.py:6:step",
    ]
    assert [line.rsplit(",", 1)[1] for line in lines if "," in line] == "Stack 2 1 0 2 0".split()
    report = [tool, "report", str(trace), "--folded=-"]
    assert subprocess.run(report, check=True, capture_output=True, text=True).stdout == (
        "_root 44\n"
        "/x/app.py:10:<module>;/x/app.py:6:step 107\n"
    ), "at the peak"


@pytest.mark.parametrize(
    "content",
    [b"", b"{}", b"{", b"nothing", pickle.dumps(print), pickle.dumps([1]),
     json.dumps({"device_traces": [[], []]}).encode(),
     json.dumps({"device_traces": [[{"action": "oom", "size": 1}]] * 2}).encode(),
     json.dumps({"device_traces": [[{"action": "alloc", "addr": 1}]]}).encode(),
     json.dumps({"device_traces": 5}).encode(), json.dumps({"device_traces": [[5]]}).encode(),
     gzip.compress(pickle.dumps(SNAPSHOT))[:-9], b"\x80\x04}}b."],
)  # fmt: skip
def test_what_is_no_snapshot(content, tmp_path, capsys):
    snapshot = tmp_path / "snapshot"
    snapshot.write_bytes(content)
    assert __main__.main(["convert", str(snapshot)]) == 1
    assert str(snapshot) in capsys.readouterr().err


BAD = {
    "no snapshot": b"nothing",
    "in the middle": json.dumps(
        {"device_traces": [SNAPSHOT["device_traces"][1] * 1000 + [{"action": "oom"}]]}
    ).encode(),
    "no such device": json.dumps({"device_traces": [[], []]}).encode(),
    "missing": None,
}


@pytest.mark.parametrize("bad", BAD)
def test_a_failed_convert_leaves_the_file(tmp_path, bad, capsys):
    snapshot, trace = tmp_path / "snapshot", tmp_path / "run.csv"
    if BAD[bad] is not None:
        snapshot.write_bytes(BAD[bad])
    trace.write_text("of before")
    link = tmp_path / "link.csv"
    link.symlink_to(trace)
    before = sorted(tmp_path.iterdir())
    for output in (trace, link):
        assert __main__.main(["convert", str(snapshot), "-o", str(output)]) == 1
        assert trace.read_text() == "of before"
    assert sorted(tmp_path.iterdir()) == before
    assert __main__.main(["convert", str(snapshot), "-o", str(tmp_path / "no" / "x.csv")]) == 1


def test_convert_to_what_is_there(tmp_path):
    snapshot, trace = tmp_path / "snapshot.json", tmp_path / "run.csv"
    snapshot.write_text(json.dumps(SNAPSHOT))
    trace.write_text("of before")
    trace.chmod(0o640)
    link = tmp_path / "link.csv"
    link.symlink_to(trace)
    assert __main__.main(["convert", str(snapshot), "-o", str(link)]) == 0
    assert link.is_symlink() and trace.read_text().startswith("Thread,")
    assert trace.stat().st_mode & 0o777 == 0o640
    assert __main__.main(["convert", str(snapshot), "-o", "/dev/null"]) == 0


# --- What the events do not have ------------------------------------------------------------------


def event(action, addr, size=512, **more):
    return {"action": action, "addr": addr, "size": size, "stream": 0, **more}


def segment(*blocks, device=0, stream=0, **more):
    """Of blocks told by (size, requested size, state)."""
    states = {"live": "active_allocated", "pending": "active_pending_free", "free": "inactive"}
    return {
        "device": device, "address": 1 << 20, "total_size": sum(b[0] for b in blocks),
        "stream": stream, "segment_type": "small", **more,
        "blocks": [{"size": size, "requested_size": requested, "state": states[state]}
                   for size, requested, state in blocks],
    }  # fmt: skip


def converted(snapshot, device=None):
    """The trace's rows as tuples, and the counts."""
    target = io.StringIO()
    counts = _convert.convert(io.BytesIO(pickle.dumps(snapshot)), target, device)
    lines = target.getvalue().splitlines()
    assert lines[0].startswith(_convert.HEADER)
    return [tuple(line.split(",")[2:]) for line in lines[1:] if line[0] != "#"], counts


def states(rows):
    """What is live after each row: sizes by address. Fails where a row is impossible."""
    live, all_states = {}, [{}]
    for action, pointer, size, *_ in rows:
        address = int(pointer, 16) if action != "allocate failure" else None
        if action == "allocate":
            assert address not in live
            live[address] = int(size)
        elif action == "free":
            assert live.pop(address) == int(size)
        all_states.append(dict(live))
    return all_states


def test_blocks_from_before_the_recording():
    snapshot = {
        "segments": [
            segment((1024, 1000, "live"), (512, 0, "free"), (512, 512, "pending"), stream=7),
            segment((2048, 2047, "live"), device=1, address=5 << 20),
        ],
        "device_traces": [[event("alloc", 4096, 100), event("free_requested", 8192, 300)], []],
    }
    rows, counts = converted(snapshot)
    assert rows == [
        ("allocate", "0x2000", "300", "0x0"),
        ("allocate", "0x100000", "1000", "0x7"),
        ("allocate", "0x1000", "100", "0x0"),
        ("free", "0x2000", "300", "0x0"),
    ]
    assert (counts.older, counts.older_bytes, counts.live, counts.live_bytes) == (2, 1300, 2, 1100)
    assert (counts.allocations, counts.frees, counts.rows) == (3, 1, 4)
    rows, counts = converted(snapshot, device=1)
    assert rows == [("allocate", "0x500000", "2047", "0x0")]


def test_only_blocks():
    rows, counts = converted({"segments": [segment((512, 1, "live"))], "device_traces": []})
    assert rows == [("allocate", "0x100000", "1", "0x0")] and counts.live == 1
    two = [segment((512, 1, "live")), segment((512, 1, "live"), device=3)]
    with pytest.raises(ValueError, match="0, 3"):
        converted({"segments": two, "device_traces": [[], []]})


def test_forms_of_older_pytorchs():
    frames = [{"filename": "/x/app.py", "line": 3, "name": "f"}]
    old = segment((512, None, "live"), (1024, None, "live"), (512, None, "live"))
    for block in old["blocks"]:
        del block["requested_size"]
    old["blocks"][1]["history"] = [{"addr": 0, "real_size": 1000, "frames": frames}]
    old["blocks"][2]["address"] = 9 << 20
    rows, _ = converted({"segments": [old], "device_traces": [[]]})
    assert rows == [
        ("allocate", "0x100000", "512", "0x0", "0"),
        ("allocate", "0x100200", "1000", "0x0", "1"),
        ("allocate", "0x900000", "512", "0x0", "0"),
    ]


def test_an_address_that_is_allocated_twice():
    events = [event("alloc", 4096, 100), event("alloc", 4096, 200), event("alloc", 4096, 300)]
    rows, counts = converted({"device_traces": [events]})
    assert [row[0] for row in rows] == ["allocate", "free", "allocate", "free", "allocate"]
    assert states(rows)[-1] == {4096: 300}
    assert counts.twice == 2


def test_a_free_of_nothing():
    events = [event("alloc", 4096), event("free_requested", 4096), event("free_requested", 4096),
              event("alloc", 4096), event("free_completed", 4096)]  # fmt: skip
    rows, counts = converted({"device_traces": [events]})
    assert states(rows)[-1] == {4096: 512}
    assert (counts.unknown_frees, counts.older) == (1, 0)


def test_allocated_when_the_recording_was_over():
    at_end = segment((512, 400, "live"), (512, 500, "live"))
    events = [event("alloc", 1 << 20, 100), event("free_requested", 1 << 20, 100)]
    rows, counts = converted({"segments": [at_end], "device_traces": [events]})
    assert states(rows)[-1] == {1 << 20: 400, (1 << 20) + 512: 500}
    assert (counts.unseen, counts.older, counts.live_bytes) == (1, 1, 900)


@pytest.mark.parametrize("seed", range(20))
def test_the_last_events_of_a_program(seed, tmp_path, tool):
    """Of any number of them, the trace has what was live after each event."""
    choose = random.Random(seed)
    live, events, truth = {}, [], []
    for number in range(400):
        if live and (choose.random() < 0.45 or len(live) > 60):
            address = choose.choice(list(live))
            events.append(event("free_requested", address, live.pop(address), time_us=number))
            truth.append(dict(live))
            if choose.random() < 0.7:
                events.append(event("free_completed", address, 1, time_us=number))
                truth.append(dict(live))
        else:
            address = choose.choice([a for a in range(4096, 4096 * 90, 4096) if a not in live])
            live[address] = choose.randrange(1, 4096)
            events.append(event("alloc", address, live[address], time_us=number))
            truth.append(dict(live))
    at_end = [segment((4096, size, "live"), address=address) for address, size in live.items()]
    choose.shuffle(at_end)
    for kept in (len(events), 300, 100, 10, 1, 0):
        last = events[len(events) - kept :]
        rows, counts = converted({"segments": at_end, "device_traces": [last]})
        seen = states(rows)[counts.older :]
        expected = [truth[len(events) - kept - 1]] if kept < len(events) else [{}]
        expected += [truth[len(events) - kept + i] for i, e in enumerate(last)
                     if e["action"] != "free_completed"]  # fmt: skip
        assert seen == expected
        assert (counts.live, counts.live_bytes) == (len(live), sum(live.values()))
        assert counts.older == len(expected[0])
        assert counts.twice == counts.unseen == counts.unknown_frees == 0


def test_stacks_of_blocks_from_before(tmp_path, tool):
    frames = [{"filename": "/x/app.py", "line": line, "name": "f"} for line in (6, 10)]
    old = segment((1024, 1000, "live"), (512, 500, "live"))
    old["blocks"][0]["frames"] = frames
    events = [event("alloc", 4096, 10, frames=frames[1:]), event("free_requested", 8192, 100)]
    snapshot, trace = tmp_path / "snapshot.pickle", tmp_path / "run.csv"
    snapshot.write_bytes(pickle.dumps({"segments": [old], "device_traces": [events]}))
    assert __main__.main(["convert", str(snapshot), "-o", str(trace)]) == 0
    report = [tool, "report", str(trace), "--folded=-"]
    shown = subprocess.run(report, check=True, capture_output=True, text=True).stdout
    assert sorted(shown.splitlines()) == [
        "/x/app.py:10:f 10",
        "/x/app.py:10:f;/x/app.py:6:f 1000",
        "_root 600",
    ]


def test_the_counts_are_printed(tmp_path, capsys):
    events = [
        event("free_requested", 8192, 300), event("alloc", 4096), event("alloc", 4096),
        event("free_requested", 64), event("free_requested", 64), event("oom", 0),
    ]  # fmt: skip
    snapshot = tmp_path / "snapshot.json"
    snapshot.write_text(json.dumps({"device_traces": [events]}))
    assert __main__.main(["convert", str(snapshot)]) == 0
    printed = capsys.readouterr()
    assert printed.out.startswith(_convert.HEADER)
    assert printed.err.splitlines() == [
        "4 allocations, 3 frees, 1 failure",
        "live at the end: 1 block of 512 bytes",
        "allocated at the start: 2 blocks of 812 bytes, older than the recorded events",
        "freed before a second allocation: 1 block whose free was not recorded",
        "skipped: 1 free of unallocated memory",
    ]
