# SPDX-License-Identifier: MIT
"""A program of a suite, run alone, with pooled buffers, and recorded."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable

SECONDS = 900  # after which a program counts as hung
AGAIN = 5  # times that a program is run alone to see whether a difference is its own
REPORT = re.compile(
    r"^clpool run: \w+: (\d+) from held memory, (\d+) of new memory, (\d+) not pooled", re.M
)


def whole(printed: str, folder: pathlib.Path) -> list[str]:
    """The results of a program that prints the same each time."""
    return printed.splitlines()


@dataclasses.dataclass
class Program:
    name: str
    command: list[str]
    # What must be the same, of what it prints and of what it writes to a folder, whose path stands
    # where the command has FOLDER.
    results: Callable[[str, pathlib.Path], list[str]] = whole
    environment: dict[str, str] = dataclasses.field(default_factory=dict)
    directory: pathlib.Path | None = None


class Missing(Exception):
    """A suite is not there; why, and what to do."""


@dataclasses.dataclass
class Run:
    code: int
    results: list[str]
    errors: str
    seconds: float
    peak_bytes: int
    pooled: int = 0  # buffers and images from held memory
    buffers: int = 0

    def is_like(self, other: Run) -> bool:
        return self.code == other.code and self.results == other.results


def environment_of(program: Program, build: pathlib.Path) -> dict[str, str]:
    found = {k: v for k, v in os.environ.items() if not k.startswith(("CLPOOL_", "OPENCL_LAYERS"))}
    found["POCL_CACHE_DIR"] = str(build / "pocl-cache")
    return {**found, **program.environment}


def wait(child: subprocess.Popen) -> tuple[int, int]:
    """The exit code, that of a timeout if it takes too long, and the peak in bytes of the largest
    of its processes."""

    def end(*_: object) -> None:
        os.killpg(child.pid, signal.SIGKILL)

    old = signal.signal(signal.SIGALRM, end)
    signal.alarm(SECONDS)
    _, status, usage = os.wait4(child.pid, 0)
    signal.alarm(0)
    signal.signal(signal.SIGALRM, old)
    child.returncode = os.waitstatus_to_exitcode(status)
    return child.returncode, usage.ru_maxrss * 1024


def run(program: Program, before: list[str], build: pathlib.Path) -> Run:
    """Runs it with these words before its own."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        (folder / "of").mkdir()
        command = [w.replace("FOLDER", str(folder / "of")) for w in [*before, *program.command]]
        begin = time.monotonic()
        with (folder / "out").open("w") as out, (folder / "errors").open("w") as errors:
            child = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=errors,
                cwd=program.directory or folder / "of", env=environment_of(program, build),
                start_new_session=True,
            )  # fmt: skip
            code, peak = wait(child)
        seconds = time.monotonic() - begin
        said = (folder / "errors").read_text(errors="replace")
        printed = (folder / "out").read_text(errors="replace")
        found = Run(code, program.results(printed, folder / "of"), said, seconds, peak)
    for held, new, others in REPORT.findall(said):
        found.pooled += int(held)
        found.buffers += int(held) + int(new) + int(others)
    return found


@dataclasses.dataclass
class Comparison:
    program: Program
    alone: Run
    pooled: Run
    recorded: Run
    is_steady: bool  # alone it does the same each time
    complaint: str = ""  # about the recording

    def differences(self) -> list[str]:
        if not self.is_steady:
            return []
        ways = {"run": self.pooled, "record": self.recorded}
        found = [way for way, one in ways.items() if not one.is_like(self.alone)]
        return found + (["recording"] if self.complaint else [])


def compare(program: Program, build: pathlib.Path) -> Comparison:
    """The first run compiles kernels, for all that follow, and tells whether it does the same each
    time."""
    clpool = str(build / "tools/clpool")
    libraries = build / ".libs"

    def under(layer: str, *words: str) -> Run:
        layered = dataclasses.replace(
            program,
            environment={**program.environment, "CLPOOL_LAYER_LIBRARY": str(libraries / layer)},
        )
        return run(layered, [clpool, *words], build)

    first = run(program, [], build)
    alone = run(program, [], build)
    pooled = under("libclpool-layer.so", "run", "--report")
    with tempfile.TemporaryDirectory() as temporary:
        trace = pathlib.Path(temporary) / "run.csv"
        recorded = under("libclpool-record.so", "record", "-o", str(trace))
        replay = subprocess.run(
            [clpool, "replay", str(trace)], capture_output=True, text=True, check=False
        )
    is_steady = alone.is_like(first)
    turns = AGAIN if is_steady and not (pooled.is_like(alone) and recorded.is_like(alone)) else 0
    while turns > 0 and is_steady:
        is_steady = run(program, [], build).is_like(alone)
        turns -= 1
    is_whole = replay.returncode == 0 or "no allocation is recorded" in replay.stderr
    complaint = "" if is_whole else replay.stderr
    return Comparison(program, alone, pooled, recorded, is_steady, complaint)
