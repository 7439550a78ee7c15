#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Replays recorded traces on CuPy's pools and on PyTorch's caching allocator: the time of an
allocation or a free, Python's own part included, and the memory taken from the device. Exits with
77 where there is neither, or no device."""

import argparse
import csv
import gzip
import sys
import time

import cuda_rivals
import cuda_table


def read_options():
    parser = argparse.ArgumentParser(description=__doc__.split(":", maxsplit=1)[0])
    parser.add_argument("--json", action="store_true", help="an object a line instead of tables")
    parser.add_argument("traces", metavar="TRACE", nargs="+", help="as clpool replay takes them")
    return parser.parse_args()


def read(path):
    """The trace as pairs: a slot's number, and bytes to allocate or None to free."""
    opened = gzip.open(path, "rt") if path.endswith(".gz") else open(path)
    with opened as file:
        slots, free, steps = {}, [], []
        # Notes are no rows, and what a program that was killed wrote last is none either.
        lines = (line for line in file if line[0] != "#" and line.endswith("\n"))
        for row in csv.DictReader(lines):
            if row["Action"] == "allocate":
                slot = free.pop() if free else len(slots)
                slots[row["Pointer"]] = slot
                steps.append((slot, int(row["Size"])))
            elif row["Action"] == "free":
                if row["Pointer"] not in slots:
                    sys.exit(f"{path}: a free of {row['Pointer']}, which is not live there")
                slot = slots.pop(row["Pointer"])
                free.append(slot)
                steps.append((slot, None))
    return steps


def peak_active(steps):
    sizes, active, peak = {}, 0, 0
    for slot, size in steps:
        if size is None:
            active -= sizes.pop(slot)
        else:
            sizes[slot] = size
            active += size
            peak = max(peak, active)
    return peak


def replay_dropping(steps, malloc, live):
    for slot, size in steps:
        if size is None:
            del live[slot]
        else:
            live[slot] = malloc(size)


def replay_freeing(steps, malloc, free, live):
    for slot, size in steps:
        if size is None:
            free(live.pop(slot))
        else:
            live[slot] = malloc(size)


def replay(steps, malloc, free):
    """Nanoseconds for each step. What is live at the end is given back after the clock stopped."""
    live = {}
    begin = time.perf_counter_ns()
    if free is None:
        replay_dropping(steps, malloc, live)
    else:
        replay_freeing(steps, malloc, free, live)
    ns = (time.perf_counter_ns() - begin) / len(steps)
    if free is not None:
        for memory in live.values():
            free(memory)
    return ns


def loop_alone(steps, loop):
    with loop.calls(None) as (malloc, free):
        return replay(steps, malloc, free)


def records_of(rival, device, trace, steps):
    """A first pass and a second one by the same allocator."""
    active, loop_ns = peak_active(steps), loop_alone(steps, rival.loop)
    rival.begin()
    with rival.calls(rival.new_stream()) as (malloc, free):
        for passes in (1, 2):
            ns = replay(steps, malloc, free)
            taken = rival.taken()
            yield {"trace": trace, "allocator": rival.name, "version": rival.version,
                   "device": device, "passes": passes, "ns_per_operation": round(ns, 1),
                   "loop_ns": round(loop_ns, 1), "peak_active_bytes": active,
                   "peak_device_bytes": taken, "footprint": round(taken / active, 4)}
    rival.begin()


def main():
    options = read_options()
    device, rivals = cuda_rivals.find("cuda_replay.py")
    if not rivals:
        return cuda_rivals.SKIPPED
    for trace in options.traces:
        steps = read(trace)
        records = [record for rival in rivals for record in records_of(rival, device, trace, steps)]
        cuda_table.show(records, options.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
