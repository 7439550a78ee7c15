# SPDX-License-Identifier: MIT
"""An array expression of PyOpenCL's without an allocator, alone and under `clpool run`, in turns of
one process each: microseconds an expression.

    python3 bench/any_program.py [--build=FOLDER] [--platform=NAME] [--rounds=N]

NAME is part of a platform's name, since PyOpenCL's loader may count platforms otherwise than the
system's does.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import statistics
import subprocess
import sys

# How often, by numbers of elements.
TIMES = {1 << 10: 1000, 1 << 20: 300, 1 << 22: 100, 1 << 24: 30}

PROGRAM = """
import sys, threading, time
import numpy as np, pyopencl as cl, pyopencl.array as cla
n, times = map(int, sys.argv[2:])
platforms = cl.get_platforms()
found = [platform for platform in platforms if sys.argv[1] in platform.name]
if not found:
    sys.exit(f"any_program: {sys.argv[1]!r} is in none of {[it.name for it in platforms]}")
queue = cl.CommandQueue(cl.Context(found[0].get_devices()[:1]))
x = cla.arange(queue, n, dtype=np.float32)
y = cla.zeros(queue, n, np.float32)
def some(times):
    for _ in range(times):
        z = (2 * x + y) * (x - y) + 1
    queue.finish()
    return z
some(10)
begin = time.perf_counter()
z = some(times)
print((time.perf_counter() - begin) / times * 1e6)
h = x.get()
assert (z.get() == 2 * h * h + 1).all()
"""


def microseconds(before: list[str], arguments: list[str], environment: dict[str, str]) -> float:
    command = [*before, sys.executable, "-c", PROGRAM, *arguments]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(done.returncode)
    return float(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path())
    parser.add_argument("--platform", default="", help="part of its name (default: the first)")
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    build = given.build.resolve()
    environment = {
        "CLPOOL_LAYER_LIBRARY": str(build / ".libs/libclpool-layer.so"),
        **os.environ,
    }
    ways = {"alone": [], "clpool run": [str(build / "tools/clpool"), "run"]}
    print(f"{'bytes an array':>14}{'alone, us':>12}{'clpool run, us':>16}{'ratio':>8}")
    for n, times in TIMES.items():
        found: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(given.rounds):
            for name, before in ways.items():
                arguments = [given.platform, str(n), str(times)]
                found[name].append(microseconds(before, arguments, environment))
        alone, run = (statistics.median(found[name]) for name in ways)
        print(f"{4 * n:>14}{alone:>12.1f}{run:>16.1f}{run / alone:>8.2f}", flush=True)


if __name__ == "__main__":
    main()
