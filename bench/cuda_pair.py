#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a warm pair, an allocation and its release, costs from CuPy's pools and from PyTorch's
caching allocator: on 1, 4, 16, ... threads. Python's own part of that is in the figures; the lines
of the loops alone say how much it is about. Exits with 77 where there is neither, or no device."""

import argparse
import itertools
import os
import statistics
import sys
import threading
import time

import cuda_rivals
import cuda_table

TURN_NS = 30e6
LIVE_BLOCKS = 64
LIVE_SETS = [2 << 20, 200 << 20, 4 << 30]


def whole_number(text):
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def read_options():
    parser = argparse.ArgumentParser(description=__doc__.split(":", maxsplit=1)[0])
    parser.add_argument("--bytes", type=whole_number, help="default: 4096, then 1048576")
    parser.add_argument("--live", action="store_true",
                        help="64 live blocks of 64 sizes, --bytes in all for each thread (default: "
                        "2 MiB, 200 MiB, 4 GiB): all allocated, then all released")
    parser.add_argument("--threads", type=whole_number, default=os.cpu_count(),
                        help="at most so many at once (default: one for each processor)")
    parser.add_argument("--rounds", type=whole_number, default=11)
    parser.add_argument("--json", action="store_true", help="an object a line instead of tables")
    return parser.parse_args()


def thread_counts(most):
    """1, 4, 16, ..., and the most."""
    counts = [1]
    while counts[-1] * 4 < most:
        counts.append(counts[-1] * 4)
    return sorted({*counts, most})


def repeat_live(malloc, free, total, times):
    """Pairs, 64 at a time."""
    step = total // (LIVE_BLOCKS * (LIVE_BLOCKS + 1) // 2)
    sizes = range(step, step * (LIVE_BLOCKS + 1), step)
    for _ in itertools.repeat(None, -(-times // LIVE_BLOCKS)):
        blocks = [malloc(size) for size in sizes]
        if free is not None:
            for block in blocks:
                free(block)
        del blocks


def repeat(malloc, free, size, times):
    """The loops of all contenders. What is not freed is dropped, and so released, at once."""
    if free is None:
        for _ in itertools.repeat(None, times):
            malloc(size)
    else:
        for _ in itertools.repeat(None, times):
            free(malloc(size))


class Contender:
    """A rival that is used by a number of threads at once, each on its own stream."""

    def __init__(self, rival, threads, size, live):
        self.rival = rival
        self.size = size
        self.repeat = repeat_live if live else repeat
        self.live_blocks = LIVE_BLOCKS if live else 1
        self.times = self.live_blocks
        self.rounds = []
        self.streams = [rival.new_stream() for _ in range(threads)]

    def share(self, stream, barrier, spans, failures):
        """What one thread does in a turn."""
        try:
            with self.rival.calls(stream) as (malloc, free):
                self.repeat(malloc, free, self.size, 1)
                barrier.wait()
                start = time.perf_counter_ns()
                self.repeat(malloc, free, self.size, self.times)
                spans.append((start, time.perf_counter_ns()))
        except Exception as failure:
            failures.append(failure)
            barrier.abort()  # lest the others wait for ever

    def turn(self):
        """Nanoseconds from the first start to the last end, by one thread's number of pairs."""
        barrier, spans, failures = threading.Barrier(len(self.streams)), [], []
        workers = [threading.Thread(target=self.share, args=(stream, barrier, spans, failures))
                   for stream in self.streams]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        if failures:
            raise failures[0]
        if self.live_blocks > 1:
            self.rival.begin()  # not all of them can have so much at once
        return (max(end for _, end in spans) - min(start for start, _ in spans)) / self.times

    def calibrate(self):
        while (ns := self.turn()) * self.times < TURN_NS / 4:
            self.times *= 2
        self.times = max(1, int(TURN_NS / ns) // self.live_blocks) * self.live_blocks

    def record(self, device):
        ns = statistics.median(self.rounds)
        threads = len(self.streams)
        return {"contest": "warm", "device": device, "live_blocks": self.live_blocks,
                "min_bytes": self.size, "max_bytes": self.size, "pair": self.rival.name,
                "version": self.rival.version, "threads": threads, "ns": round(ns, 2),
                "pairs_per_second": round(threads * 1e9 / ns)}


def contest(rivals, size, options):
    """All contenders, in turns, so that what else the machine does meets them alike."""
    contenders = [Contender(rival, threads, size, options.live)
                  for rival in rivals for threads in thread_counts(options.threads)]
    for contender in contenders:
        contender.calibrate()
    for _ in range(options.rounds):
        for contender in contenders:
            contender.rounds.append(contender.turn())
    return contenders


def main():
    options = read_options()
    device, rivals = cuda_rivals.find("cuda_pair.py")
    if not rivals:
        return cuda_rivals.SKIPPED
    rivals += [cuda_rivals.Loop(frees=False), cuda_rivals.Loop(frees=True)]
    sizes = LIVE_SETS if options.live else [4096, 1048576]
    for size in [options.bytes] if options.bytes else sizes:
        records = [contender.record(device) for contender in contest(rivals, size, options)]
        cuda_table.show(records, options.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
