# SPDX-License-Identifier: MIT
"""A program of PyOpenCL's, its memory over time, and its footprint before and after the arena.

    python timeline.py [OUTPUT.png]

Prints the figures; with matplotlib installed it draws the timeline, too.
"""

from __future__ import annotations

import csv
import os
import sys
import tempfile

import numpy as np
import pyopencl as cl
import pyopencl.array as cla

import clpool

# %% The program: a relaxation on grids that get coarser, with temporaries of every size.


def smooth(u):
    for _ in range(3):
        u = (u + 0.5 * (u * u - u)) * 0.9
    return u


def program(queue, allocator, cycles: int = 4) -> float:
    u = cla.arange(queue, 1 << 20, dtype=np.float32, allocator=allocator) / (1 << 20)
    for _ in range(cycles):
        levels = [u]
        while levels[-1].size > 1 << 12:
            levels.append(smooth(levels[-1])[: levels[-1].size * 2 // 3].copy())
        u = smooth(levels[0]) + float(cla.sum(levels[-1]).get()) / levels[-1].size
    return float(cla.max(u).get())


# %% Once on bins alone, once on an arena: what is taken from the device for the same work.


def run(queue, arena: bool, trace: str):
    pool = clpool.MemoryPool(clpool.ImmediateAllocator(queue), arena=arena)
    with clpool.trace(trace):
        result = program(queue, pool)
    taken = pool.stats.peak_managed_bytes
    if arena:
        taken = pool.allocator.get_stats()["peak_reserved_bytes"]
    used = pool.stats.peak_active_bytes
    kind = "on an arena" if arena else "bins alone"
    print(f"{kind:12} {used / 2**20:6.1f} MiB in use, {taken / 2**20:6.1f} MiB taken, "
          f"footprint {taken / used:.2f}, result {result:.4f}")  # fmt: skip
    return taken


# %% The timeline, from the trace.


def bytes_in_use(trace: str) -> list[int]:
    """What was in use after each event of a trace."""
    now, over_time = 0, []
    with open(trace, newline="") as file:
        for row in csv.DictReader(line for line in file if line[0] != "#"):
            size = int(row["Size"])
            now += {"allocate": size, "free": -size}.get(row["Action"], 0)
            over_time.append(now)
    return over_time


def draw(over_time: list[int], taken: dict[str, int], output: str) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(8, 4))
    axes.fill_between(range(len(over_time)), np.array(over_time) / 2**20, alpha=0.5, label="in use")
    for (kind, most), style in zip(taken.items(), ["--", "-"]):
        axes.axhline(most / 2**20, linestyle=style, color="black", label=f"taken, {kind}")
    axes.set_xlabel("allocations and frees")
    axes.set_ylabel("MiB")
    axes.legend()
    figure.savefig(output, dpi=120)
    print(f"drawn: {output}")


def main() -> None:
    queue = cl.CommandQueue(cl.create_some_context(interactive=False))
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, "run.csv")
        taken = {
            "bins alone": run(queue, False, trace),
            "on an arena": run(queue, True, trace),
        }
        if len(sys.argv) > 1:
            draw(bytes_in_use(trace), taken, sys.argv[1])


if __name__ == "__main__":
    main()
