#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Replays a recorded trace on CuPy's MemoryPool and on cudaMallocAsync (its MemoryAsyncPool): the
time of an allocation or a free, Python's own part included, and the memory taken from the device.
Exits with 77 where there is no CuPy or no device."""

import csv
import gzip
import json
import sys
import time


def read(path):
    """The trace as pairs: a slot's number, and bytes to allocate or None to free."""
    opened = gzip.open(path, "rt") if path.endswith(".gz") else open(path)
    with opened as file:
        slots, free, steps = {}, [], []
        for row in csv.DictReader(file):
            if row["Action"] == "allocate":
                slot = free.pop() if free else len(slots)
                slots[row["Pointer"]] = slot
                steps.append((slot, int(row["Size"])))
            elif row["Action"] == "free":
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


def replay(steps, malloc):
    live = {}
    begin = time.perf_counter_ns()
    for slot, size in steps:
        if size is None:
            del live[slot]
        else:
            live[slot] = malloc(size)
    return (time.perf_counter_ns() - begin) / len(steps)


def nothing(steps):
    """What the loop itself costs."""
    return replay(steps, lambda size: None)


def on_pool(cupy, steps):
    pool = cupy.cuda.MemoryPool()
    first = replay(steps, pool.malloc)
    taken = pool.total_bytes()
    return first, replay(steps, pool.malloc), taken


def on_async(cupy, steps):
    runtime = cupy.cuda.runtime
    pool = cupy.cuda.MemoryAsyncPool()
    handle = runtime.deviceGetDefaultMemPool(0)
    cupy.cuda.Device().synchronize()
    runtime.memPoolTrimTo(handle, 0)  # what the last trace left
    runtime.memPoolSetAttribute(handle, runtime.cudaMemPoolAttrReservedMemHigh, 0)
    first = replay(steps, pool.malloc)
    cupy.cuda.Device().synchronize()
    taken = runtime.memPoolGetAttribute(handle, runtime.cudaMemPoolAttrReservedMemHigh)
    return first, replay(steps, pool.malloc), taken


def main():
    try:
        import cupy
        cupy.cuda.Device(0).use()
    except Exception as reason:  # whatever is missing, there is nothing to measure
        print(f"left out: {reason}", file=sys.stderr)
        return 77
    for path in sys.argv[1:]:
        steps = read(path)
        active = peak_active(steps)
        loop = nothing(steps)
        for name, run in (("cupy MemoryPool", on_pool), ("cudaMallocAsync", on_async)):
            first, second, taken = run(cupy, steps)
            print(json.dumps({
                "trace": path, "pool": name, "ns_per_operation": round(first),
                "second_pass_ns": round(second), "loop_ns": round(loop),
                "peak_device_bytes": taken, "footprint": round(taken / active, 3)}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
