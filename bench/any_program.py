# SPDX-License-Identifier: MIT
"""An array expression of PyOpenCL's without an allocator, alone and under `clpool run`, in turns of
one process each: microseconds an expression.

    python3 bench/any_program.py [--build=FOLDER] [--platform=P] [--rounds=N]
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
platform, n, times = map(int, sys.argv[1:])
queue = cl.CommandQueue(cl.Context(cl.get_platforms()[platform].get_devices()[:1]))
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


def microseconds(before: list[str], arguments: list[int], environment: dict[str, str]) -> float:
    command = [*before, sys.executable, "-c", PROGRAM, *map(str, arguments)]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return float(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path())
    parser.add_argument("--platform", type=int, default=0)
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
                found[name].append(microseconds(before, [given.platform, n, times], environment))
        alone, run = (statistics.median(found[name]) for name in ways)
        print(f"{4 * n:>14}{alone:>12.1f}{run:>16.1f}{run / alone:>8.2f}", flush=True)


if __name__ == "__main__":
    main()
