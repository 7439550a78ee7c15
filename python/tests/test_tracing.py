# SPDX-License-Identifier: MIT
"""Traces, what the program clpool makes of them, and PyTorch's snapshots."""

from __future__ import annotations

import gzip
import json
import pathlib
import pickle
import subprocess

import pytest

import clpool
from clpool import __main__, _convert, _tracing


@pytest.fixture
def tool(monkeypatch):
    """The program, from the PATH or the tree around."""
    built = pathlib.Path(__file__).parents[2] / "tools" / "clpool"
    if built.exists():
        monkeypatch.setenv("CLPOOL_PROGRAM", str(built))
    try:
        return _tracing.program()
    except FileNotFoundError:
        pytest.skip("the program clpool is missing")


@pytest.fixture
def trace_file(host_pool, tmp_path):
    path = tmp_path / "run.csv"
    with clpool.trace(path):
        for size in range(1, 50):
            host_pool(1000 * size)
    return path


def test_trace(trace_file):
    lines = trace_file.read_text().splitlines()
    assert lines[0] == _convert.HEADER
    assert len(lines) == 1 + 2 * 49
    assert lines[1].split(",")[2] == "allocate"
    assert lines[1].split(",")[4] == "1000"


def test_trace_of_a_pool(host_pool, tmp_path):
    path = tmp_path / "pool.csv"
    with clpool.trace(path, pool=host_pool):
        host_pool(10)
        clpool.MemoryPool(host_pool.allocator)(20)
    assert len(path.read_text().splitlines()) == 3


def test_a_trace_within_itself(host_pool, tmp_path):
    trace = clpool.trace(tmp_path / "run.csv")
    with trace:
        with pytest.raises(clpool.RuntimeError) as caught:
            trace.__enter__()
        assert caught.value.status == "CLP_BUSY"
    with trace:
        host_pool(10)
    assert len((tmp_path / "run.csv").read_text().splitlines()) == 3


def test_trace_to_nowhere():
    with pytest.raises(clpool.RuntimeError) as caught:
        clpool.trace("/nowhere/run.csv").__enter__()
    assert caught.value.status == "CLP_IO_ERROR"


@pytest.fixture
def long_trace(tmp_path):
    path = tmp_path / "long.csv"
    rows = "1,00:00:00.0,allocate,0x1000,{0},0\n1,00:00:00.0,free,0x1000,{0},0\n"
    sizes = [1000 + 37 * i % 9001 for i in range(1000)]
    path.write_text("Thread,Time,Action,Pointer,Size,Stream\n" + "".join(map(rows.format, sizes)))
    return path


@pytest.mark.parametrize("time", [0, 10**9])
def test_tune(tool, long_trace, capsys, time):
    found = clpool.tune(long_trace, f"--time={time}")
    assert "recommended: " in capsys.readouterr().out
    recommended = found["recommended"]
    expression = recommended["python"]
    assert expression.count("ArenaAllocator") == recommended["arena"]
    pool = eval(expression, {"clpool": clpool, "allocator": clpool.HostAllocator()})
    assert isinstance(pool, clpool.MemoryPool)
    assert len(found["settings"]) == 10


def test_tune_several(tool, long_trace, trace_file, capsys):
    found = clpool.tune(long_trace, trace_file)
    assert found["traces"] == [str(long_trace), str(trace_file)]
    assert capsys.readouterr().out.startswith("2 traces: ")


def test_tune_where_nothing_fits(tool, long_trace, trace_file, capsys):
    for arguments in (long_trace, "--limit=1"), (trace_file,):
        assert clpool.tune(*arguments)["recommended"] is None
        assert "nothing is recommended" in capsys.readouterr().out


def test_report(tool, trace_file, tmp_path):
    page = tmp_path / "page.html"
    clpool.report(trace_file, page)
    assert "<html" in page.read_text()
    with pytest.raises(clpool.RuntimeError, match="nowhere"):
        clpool.report("/nowhere.csv", page)


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


def test_a_refused_trace_leaves_the_file(host_pool, queue, tmp_path):
    path = tmp_path / "run.csv"
    path.write_text("of before")
    pools = [host_pool.on, 5, "pool", host_pool.allocator]
    pools.append(clpool.MemoryPool(clpool.ImmediateAllocator(queue)).on(queue))
    for no_pool in pools:
        with pytest.raises(TypeError, match="MemoryPool"):
            clpool.trace(path, pool=no_pool).__enter__()
    with clpool.trace(tmp_path / "other.csv"):
        with pytest.raises(clpool.RuntimeError):
            clpool.trace(path).__enter__()
    with clpool.trace(tmp_path / "other.csv", pool=host_pool):
        with pytest.raises(clpool.RuntimeError):
            clpool.trace(path, pool=host_pool).__enter__()
    assert path.read_text() == "of before"
    with clpool.trace(path, pool=host_pool):
        host_pool(10)
    assert len(path.read_text().splitlines()) == 3


BAD = {
    "no snapshot": b"nothing",
    "in the middle": json.dumps(
        {"device_traces": [[{"action": "alloc", "addr": 1, "size": 1}] * 5000 + [{"action": "oom"}]]}
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
