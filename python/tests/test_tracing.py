# SPDX-License-Identifier: MIT
"""Traces, what the program clpool makes of them, and PyTorch's snapshots."""

from __future__ import annotations

import html
import pathlib
import re
import subprocess
import threading
import types

import pytest
from test_process import run_on_thread, run_python

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


def test_start_and_stop(host_pool, tmp_path):
    trace = clpool.trace(tmp_path / "run.csv")
    with pytest.raises(clpool.RuntimeError, match="run.csv.*not started: call start"):
        trace.stop()
    assert not (tmp_path / "run.csv").exists()
    assert trace.start() is trace
    host_pool(10)
    with pytest.raises(clpool.RuntimeError, match="run.csv.*already started: call stop"):
        trace.start()
    with pytest.raises(clpool.RuntimeError, match=r"another trace is .*: call its stop\(\)"):
        clpool.trace(tmp_path / "other.csv").start()
    assert not (tmp_path / "other.csv").exists()
    trace.stop()
    host_pool(20)
    assert len((tmp_path / "run.csv").read_text().splitlines()) == 3
    with pytest.raises(clpool.RuntimeError, match="not started"):
        trace.stop()


def test_traces_that_end_in_any_order(host_pool, tmp_path):
    other = clpool.MemoryPool(clpool.HostAllocator())
    traces = [
        clpool.trace(tmp_path / f"{number}.csv", pool=pool).start()
        for number, pool in enumerate((None, host_pool, other))
    ]
    host_pool(10)
    traces[0].stop()
    other(20)
    traces[2].stop()
    host_pool(30)
    traces[1].stop()
    lines = [len((tmp_path / f"{number}.csv").read_text().splitlines()) for number in range(3)]
    assert lines == [3, 5, 3]


def test_a_trace_stops_on_its_thread(host_pool, tmp_path):
    own = clpool.trace(tmp_path / "own.csv").start()
    of_a_pool = clpool.trace(tmp_path / "pool.csv", pool=host_pool).start()
    left = []

    def work():
        host_pool(10)
        of_a_pool.stop()
        with pytest.raises(clpool.RuntimeError, match="thread 'MainThread'.*pool"):
            own.stop()
        left.append(clpool.trace(tmp_path / "worker.csv").start())
        host_pool(20)

    run_on_thread(work)
    left[0].stop()
    own.stop()
    for name, lines in ("own", 1), ("pool", 3), ("worker", 3):
        assert len((tmp_path / f"{name}.csv").read_text().splitlines()) == lines


@pytest.mark.parametrize("how", ["kept", "dropped", "a thread's", "a pool's"])
def test_a_trace_that_is_never_stopped(how, tmp_path):
    """It is complete when the interpreter exits."""
    path = tmp_path / "run.csv"
    starts = {
        "kept": f"t = clpool.trace({str(path)!r}).start(); work()",
        "dropped": f"clpool.trace({str(path)!r}).start(); gc.collect(); work()",
        "a thread's": f"t = threading.Thread(target=lambda: (clpool.trace({str(path)!r}).start(),"
        " work())); t.start(); t.join()",
        "a pool's": f"clpool.trace({str(path)!r}, pool=pool).start(); gc.collect(); work()",
    }
    program = (
        "import clpool, gc, threading\n"
        "pool = clpool.MemoryPool(clpool.HostAllocator())\n"
        "kept = []\n"
        "def work():\n"
        "    for i in range(2000): kept.append(pool(10))\n"
        f"{starts[how]}\n"
    )
    ended = run_python(program)
    assert (ended.returncode, ended.stderr) == (0, "")
    lines = path.read_text().splitlines()
    assert len(lines) >= 1 + 2000
    assert all(line.count(",") == 5 for line in lines)


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


def table_rows(page):
    """The cells of a table's rows, without its head."""
    rows = re.findall(r"<tr>((?:<td>.*?</td>)+)</tr>", page)
    return [re.findall(r"<td>(.*?)</td>", row) for row in rows]


def python_lines(printed):
    """What is printed to paste into Python."""
    return printed.split("In Python:\n\n")[1].split("\n\n")[0]


ALLOCATORS = {
    "host": lambda queue: clpool.HostAllocator(),
    "cl-immediate": lambda queue: clpool.ImmediateAllocator(queue),
    "cl-deferred": lambda queue: clpool.DeferredAllocator(queue.context),
    "cl-svm": lambda queue: clpool.SVMAllocator(queue.context, queue=queue),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("allocator", ALLOCATORS)
@pytest.mark.parametrize("time", [0, 30, 500, 10**9])
@pytest.mark.parametrize("arena", [None, "0", "1"])
def test_the_line_that_tune_prints(
    tool, queue, long_trace, monkeypatch, allocator, time, arena
):
    """It makes the pool that is recommended and returned, whatever the environment says."""
    if arena is not None:
        monkeypatch.setenv("CLPOOL_ARENA", arena)
        monkeypatch.setenv("CLPOOL_LEADING_BITS", "7")
    options = f"--time={time}", f"--allocator={allocator}", "--cost=pocl-cpu"
    found = clpool.tune(long_trace, *options)
    recommended = found.recommended
    line = python_lines(str(found))
    assert line == recommended["python"]
    slacks = []

    def noting_arena(upstream, slack):
        slacks.append(slack)
        return clpool.ArenaAllocator(upstream, slack=slack)

    module = types.SimpleNamespace(**{**vars(clpool), "ArenaAllocator": noting_arena})
    pool = eval(line, {"clpool": module, "allocator": ALLOCATORS[allocator](queue)})
    assert slacks == ([recommended["slack"]] if recommended["arena"] else [])
    assert (pool.allocator.name == "arena") == recommended["arena"]
    if recommended["leading_bits"] is not None:
        assert pool.bin_number(1 << 10) == 10 << recommended["leading_bits"]
    assert pool(1000) is not None


@pytest.mark.parametrize("options", [[], ["--time=0"], ["--limit=1"], ["--limit=12K"], ["again"]])
def test_tune_is_one_run(tool, long_trace, tmp_path, capsys, monkeypatch, options):
    """Its result prints what the program prints, and has the same members."""
    runs, program = tmp_path / "runs", tmp_path / "program"
    program.write_text(f'#!/bin/sh\necho run >> {runs}\nexec {tool} "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("CLPOOL_PROGRAM", str(program))
    arguments = [str(long_trace), *(str(long_trace) if o == "again" else o for o in options)]
    found = clpool.tune(*arguments)
    assert runs.read_text() == "run\n"
    assert capsys.readouterr().out == ""
    print(found)
    printed = capsys.readouterr().out
    own = subprocess.run([tool, "tune", *arguments], capture_output=True, text=True, check=True)
    assert printed == own.stdout
    best = [line.split() for line in printed.splitlines() if line.startswith("* ")][:-1]
    assert repr(found) == str(found)
    shown = table_rows(found._repr_html_())
    assert [row[0] for row in shown].count("*") == len(best)
    if found.recommended is None:
        assert best == []
    else:
        bits, slack = found.recommended["leading_bits"], found["recommended"]["slack"]
        assert [row[1:3] for row in best] == [[str(bits), "no" if slack is None else str(slack)]]
    assert len(found.settings) == len(shown) == 10


def test_remarks_of_the_program_are_shown(tool, long_trace, capsys):
    with open(long_trace, "a") as file:
        file.write("1,00:00:00.0,alloc")
    assert "recommended: " in str(clpool.tune(long_trace))
    assert str(long_trace) in capsys.readouterr().err


def test_tune_several(tool, long_trace, trace_file):
    found = clpool.tune(long_trace, trace_file)
    assert found.traces == [str(long_trace), str(trace_file)]
    assert str(found).startswith("2 traces: ")


def test_tune_where_nothing_fits(tool, long_trace, trace_file):
    for arguments in (long_trace, "--limit=1"), (trace_file,):
        found = clpool.tune(*arguments)
        assert found.recommended is None
        assert "nothing is recommended" in str(found)
        assert "nothing is recommended" in found._repr_html_()


def test_report(tool, trace_file, tmp_path):
    page = tmp_path / "page.html"
    report = clpool.report(trace_file, page)
    assert "<html" in page.read_text()
    assert (report.path, repr(report)) == (str(page), f"<clpool.Report {str(page)!r}>")
    shown = report._repr_html_()
    (framed,) = re.findall(r'^<iframe [^>]*srcdoc="([^"]*)"></iframe>$', shown)
    assert html.unescape(framed) == page.read_text()
    page.unlink()
    assert f'<a href="{page}">' in report._repr_html_()
    odd = clpool.Report("run #1?.html")
    assert odd._repr_html_() == '<a href="run%20%231%3F.html">run #1?.html</a>'
    with pytest.raises(clpool.RuntimeError, match="nowhere"):
        clpool.report("/nowhere.csv", page)


def test_a_refused_trace_leaves_the_file(host_pool, tmp_path):
    path = tmp_path / "run.csv"
    path.write_text("of before")
    for no_pool in host_pool.on, 5, "pool", host_pool.allocator:
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
