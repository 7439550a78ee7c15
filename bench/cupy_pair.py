#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a warm pair, an allocation and its release, costs from CuPy's MemoryPool: on one thread and
on several. Python's own part of that is in the figures; the line of an empty loop says how much it
is about. Exits with 77 where there is no CuPy or no device."""

import argparse
import itertools
import json
import operator
import os
import statistics
import sys
import threading
import time

TURN_NS = 30e6


def whole_number(text):
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def read_options():
    parser = argparse.ArgumentParser(description=__doc__.split(":")[0])
    parser.add_argument("--bytes", type=whole_number, help="default: 4096, then 1048576")
    parser.add_argument("--threads", type=whole_number, default=os.cpu_count(),
                        help="besides one alone (default: one for each processor)")
    parser.add_argument("--rounds", type=whole_number, default=11)
    parser.add_argument("--json", action="store_true", help="an object a line instead of tables")
    return parser.parse_args()


def repeat(call, size, times):
    """The loop that both contenders have. What `call` returns is dropped, and so released, at
    once."""
    for _ in itertools.repeat(None, times):
        call(size)


class Contender:
    """A call with a size that is made by a number of threads at once, each on its own stream."""

    def __init__(self, name, call, threads):
        self.name = name
        self.call = call
        self.threads = threads
        self.times = 1
        self.rounds = []

    def turn(self, cupy, size):
        """Nanoseconds from the first start to the last end, by one thread's number of calls."""
        barrier = threading.Barrier(self.threads)
        spans = []

        def work():
            with cupy.cuda.Stream(non_blocking=True):
                self.call(size)
                barrier.wait()
                start = time.perf_counter_ns()
                repeat(self.call, size, self.times)
                spans.append((start, time.perf_counter_ns()))

        workers = [threading.Thread(target=work) for _ in range(self.threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        return (max(end for _, end in spans) - min(start for start, _ in spans)) / self.times

    def calibrate(self, cupy, size):
        while (ns := self.turn(cupy, size)) * self.times < TURN_NS / 4:
            self.times *= 2
        self.times = max(1, int(TURN_NS / ns))

    def median(self):
        return statistics.median(self.rounds)


def contest(cupy, size, options):
    """All contenders, in turns, so that what else the machine does meets them alike."""
    pool = cupy.cuda.MemoryPool()
    calls = (("cupy MemoryPool", pool.malloc), ("empty loop", operator.index))
    contenders = [Contender(name, call, threads)
                  for name, call in calls for threads in sorted({1, options.threads})]
    for contender in contenders:
        contender.calibrate(cupy, size)
    for _ in range(options.rounds):
        for contender in contenders:
            contender.rounds.append(contender.turn(cupy, size))
    return contenders


def report(contenders, device, size, as_json):
    if not as_json:
        print(f"\ncupy: {device}, {size} bytes")
        print(f"  {'':28}threads ns a pair  10^6 pairs/s")
    for contender in contenders:
        ns = contender.median()
        pairs = contender.threads * 1e9 / ns
        if as_json:
            print(json.dumps({"contest": "cupy", "device": device, "live_blocks": 1,
                              "min_bytes": size, "max_bytes": size, "pair": contender.name,
                              "threads": contender.threads, "ns": round(ns, 2),
                              "pairs_per_second": round(pairs)}))
        else:
            print(f"  {contender.name:28}{contender.threads:7}{ns:10.1f}{pairs / 1e6:14.3f}")


def main():
    options = read_options()
    try:
        import cupy
        device = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    except Exception as error:  # no CuPy, no driver, no device: each says so in its own way
        print(f"cupy_pair.py: no CuPy with a device here: {error}", file=sys.stderr)
        return 77
    if not options.json:
        print(f"CuPy {cupy.__version__}: medians of {options.rounds} rounds")
    for size in [options.bytes] if options.bytes else [4096, 1048576]:
        report(contest(cupy, size, options), device, size, options.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
