# SPDX-License-Identifier: MIT
"""Traces, what the program clpool makes of them, and PyTorch's snapshots."""

from __future__ import annotations

import pathlib

import pytest

import clpool
from clpool import _convert, _tracing


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
