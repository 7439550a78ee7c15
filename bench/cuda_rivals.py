#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""clpool on a CUDA device beside CuPy's pools and PyTorch's caching allocator.

    cuda_rivals.py pairs [--bytes=N] [--threads=N] [--rounds=N] [--json]
    cuda_rivals.py replays [--json] TRACE...
    cuda_rivals.py all [--threads=N] [--rounds=N] [TRACE...]

"pairs" times an allocation and its release on 1, 4, 16, ... threads. "replays" replays recorded
traces: the time of an allocation or a free, and the memory taken from the device. Python's own part
is in these figures; the lines of the loops alone tell how much it is. "all" runs these, bench/cuda
and `clpool replay` in the build folder: JSON, an object a line, and then tables. Exits with 77
where there is no device or nothing to compare with."""

import argparse
import concurrent.futures
import contextlib
import csv
import gzip
import itertools
import json
import operator
import os
import statistics
import subprocess
import sys
import threading
import time

SKIPPED = 77
RELEASE_THRESHOLD = 2 ** 64 - 1
BASIS = "cuMemAllocAsync"
LOOP_ALONE = "loop alone"  # how the names begin of what allocates nothing
TURN_NS = 30e6


def complain(text):
    print(f"cuda_rivals.py: {text}", file=sys.stderr)


# --- rivals ---------------------------------------------------------------------------------------


class Loop:
    """Calls that do nothing, in place of a rival's: its loop alone is what they cost."""

    def __init__(self, frees):
        self.name = f"{LOOP_ALONE}, {'freeing' if frees else 'dropping'}"
        self.version = f"Python {sys.version.split()[0]}"
        self.frees = frees

    def new_stream(self):
        return None

    @contextlib.contextmanager
    def calls(self, _stream):
        """The calling thread's two calls for memory on the stream: malloc(size), and free(memory),
        or None where memory goes when it is dropped."""
        nothing = 0
        if self.frees:
            yield (lambda size: operator.add(size, nothing)), operator.index
        else:
            yield operator.index, None

    def begin(self):
        """Gives what is kept back to the device, and begins with the peak anew."""

    def taken(self):
        """The most bytes that were taken from the device since then."""
        return 0


class CuPyPool:
    name = "CuPy MemoryPool"
    loop = Loop(frees=False)

    def __init__(self, cupy):
        self.version = f"CuPy {cupy.__version__}"
        self.cupy = cupy
        self.pool = cupy.cuda.MemoryPool()

    def new_stream(self):
        return self.cupy.cuda.Stream(non_blocking=True)

    @contextlib.contextmanager
    def calls(self, stream):
        with stream:
            yield self.pool.malloc, None

    def begin(self):
        self.pool.free_all_blocks()

    def taken(self):
        return self.pool.total_bytes()  # which never falls by itself


class CuPyAsync(CuPyPool):
    """CuPy's way to cudaMallocAsync, with the device's default memory pool, which is told to keep
    all that it has: CuPy itself sets the release threshold to its limit, which is 0 for none."""

    name = "CuPy MemoryAsyncPool"

    def __init__(self, cupy):
        super().__init__(cupy)
        self.pool = cupy.cuda.MemoryAsyncPool()
        self.runtime = cupy.cuda.runtime
        self.mempool = self.runtime.deviceGetDefaultMemPool(0)
        self.runtime.memPoolSetAttribute(
            self.mempool, self.runtime.cudaMemPoolAttrReleaseThreshold, RELEASE_THRESHOLD)

    def begin(self):
        self.cupy.cuda.Device().synchronize()
        self.runtime.memPoolTrimTo(self.mempool, 0)
        self.runtime.memPoolSetAttribute(
            self.mempool, self.runtime.cudaMemPoolAttrReservedMemHigh, 0)

    def taken(self):
        return self.runtime.memPoolGetAttribute(
            self.mempool, self.runtime.cudaMemPoolAttrReservedMemHigh)


class TorchAllocator:
    """The two calls that torch.cuda.caching_allocator_alloc and caching_allocator_delete make: they
    themselves look up the device and the stream each time, which takes longer than to allocate."""

    name = "PyTorch caching allocator"
    loop = Loop(frees=True)

    def __init__(self, torch):
        self.version = f"PyTorch {torch.__version__}"
        self.torch = torch

    def new_stream(self):
        return self.torch.cuda.Stream()

    @contextlib.contextmanager
    def calls(self, stream):
        core = self.torch._C
        alloc = core._cuda_cudaCachingAllocator_raw_alloc
        pointer = stream.cuda_stream
        yield (lambda size: alloc(size, pointer)), core._cuda_cudaCachingAllocator_raw_delete

    def begin(self):
        self.torch.cuda.synchronize()
        self.torch.cuda.empty_cache()
        self.torch.cuda.reset_peak_memory_stats()

    def taken(self):
        return self.torch.cuda.max_memory_reserved()


class TorchEmpty(TorchAllocator):
    """The same with a tensor around, as programs have it."""

    name = "PyTorch torch.empty"
    loop = Loop(frees=False)

    @contextlib.contextmanager
    def calls(self, stream):
        empty, dtype = self.torch.empty, self.torch.uint8
        device = self.torch.device("cuda", 0)
        with self.torch.cuda.stream(stream):
            yield (lambda size: empty(size, dtype=dtype, device=device)), None


def of_cupy():
    import cupy
    device = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    return device, [CuPyPool(cupy), CuPyAsync(cupy)]


def of_torch():
    import torch
    device = torch.cuda.get_device_name(0)
    torch.cuda.init()
    return device, [TorchAllocator(torch), TorchEmpty(torch)]


def try_out(rival):
    """All that is asked of a rival, once: what it lacks is to be found out before others wait."""
    rival.begin()
    with rival.calls(rival.new_stream()) as (malloc, free):
        memory = malloc(512)
        if free is not None:
            free(memory)
    rival.taken()


def find_rivals():
    """The device's name and the rivals that are here; who is not is told in one line."""
    device, rivals, missing = None, [], []
    for find_some in (of_cupy, of_torch):
        try:
            device, found = find_some()
            for rival in found:
                try_out(rival)
            rivals += found
        except Exception as reason:  # no library, no driver, no device: each says so in its own way
            missing.append(str(reason).split("\n", maxsplit=1)[0])
    if missing:
        complain(f"{'left out' if rivals else 'skipped'}: {'; '.join(missing)}")
    return device, rivals


# --- pairs ----------------------------------------------------------------------------------------


def thread_counts(most):
    """1, 4, 16, ..., and the most."""
    counts = [1]
    while counts[-1] * 4 < most:
        counts.append(counts[-1] * 4)
    return sorted({*counts, most})


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

    def __init__(self, rival, threads, size):
        self.rival = rival
        self.size = size
        self.times = 1
        self.rounds = []
        self.streams = [rival.new_stream() for _ in range(threads)]

    def turn(self):
        """Nanoseconds from the first start to the last end, by one thread's number of pairs."""
        barrier = threading.Barrier(len(self.streams))

        def share(stream):
            try:
                with self.rival.calls(stream) as (malloc, free):
                    repeat(malloc, free, self.size, 1)
                    barrier.wait()
                    start = time.perf_counter_ns()
                    repeat(malloc, free, self.size, self.times)
                    return start, time.perf_counter_ns()
            except Exception:
                barrier.abort()  # lest the others wait for ever
                raise

        with concurrent.futures.ThreadPoolExecutor(len(self.streams)) as threads:
            starts, ends = zip(*threads.map(share, self.streams))
        return (max(ends) - min(starts)) / self.times

    def calibrate(self):
        while (ns := self.turn()) * self.times < TURN_NS / 4:
            self.times *= 2
        self.times = max(1, int(TURN_NS / ns))

    def record(self, device):
        return {"device": device, "max_bytes": self.size, "pair": self.rival.name,
                "version": self.rival.version, "threads": len(self.streams),
                "ns": round(statistics.median(self.rounds), 2)}


def pairs(options, device, rivals):
    """All contenders take turns, so that what else the machine does meets them alike."""
    rivals = [*rivals, Loop(frees=False), Loop(frees=True)]
    for size in [options.bytes] if options.bytes else [4096, 1 << 20]:
        contenders = [Contender(rival, threads, size)
                      for rival in rivals for threads in thread_counts(options.threads)]
        for contender in contenders:
            contender.calibrate()
        for _ in range(options.rounds):
            for contender in contenders:
                contender.rounds.append(contender.turn())
        yield from (contender.record(device) for contender in contenders)


# --- replays --------------------------------------------------------------------------------------


def read(path):
    """The trace as pairs: a slot's number, and bytes to allocate or None to free."""
    number = 0

    def lines(file):
        """Without remarks and a last line that was never ended."""
        nonlocal number
        for number, line in enumerate(file, 1):
            if not line.startswith("#") and line.endswith("\n"):
                yield line

    slots, free, steps = {}, [], []
    with gzip.open(path, "rt") if path.endswith(".gz") else open(path) as file:
        for row in csv.DictReader(lines(file)):
            pointer, size = row["Pointer"], int(row["Size"])
            if row["Action"] == "allocate" and size > 0:
                slots[pointer] = free.pop() if free else len(slots)
                steps.append((slots[pointer], size))
            elif row["Action"] == "free" and size > 0:
                if pointer not in slots:
                    raise ValueError(f"line {number} frees {pointer}, which is not allocated then")
                free.append(slots.pop(pointer))
                steps.append((free[-1], None))
    if not steps:
        raise ValueError("there is no allocation")
    return steps


def peak_active(steps):
    sizes, active, peak = {}, 0, 0
    for slot, size in steps:
        active -= sizes.pop(slot, 0)
        if size is not None:
            sizes[slot] = size
            active += size
            peak = max(peak, active)
    return peak


def replay_once(steps, malloc, free):
    """Nanoseconds for each step. What is live at the end is given back after the clock stopped."""
    live = {}
    begin = time.perf_counter_ns()
    if free is None:
        for slot, size in steps:
            if size is None:
                del live[slot]
            else:
                live[slot] = malloc(size)
    else:
        for slot, size in steps:
            if size is None:
                free(live.pop(slot))
            else:
                live[slot] = malloc(size)
    ns = (time.perf_counter_ns() - begin) / len(steps)
    for memory in live.values() if free is not None else ():
        free(memory)
    return ns


def replays_of(rival, device, trace, steps):
    """A first pass and a second one by the same allocator."""
    active = peak_active(steps)
    with rival.loop.calls(None) as (malloc, free):
        loop_ns = replay_once(steps, malloc, free)
    rival.begin()
    with rival.calls(rival.new_stream()) as (malloc, free):
        for passes in (1, 2):
            ns = replay_once(steps, malloc, free)
            yield {"trace": trace, "allocator": rival.name, "version": rival.version,
                   "device": device, "passes": passes, "ns_per_operation": round(ns, 1),
                   "loop_ns": round(loop_ns, 1), "peak_active_bytes": active,
                   "footprint": round(rival.taken() / active, 4)}
    rival.begin()


def replays(options, device, rivals):
    for trace in options.traces:
        try:
            steps = read(trace)
        except (OSError, EOFError, KeyError, ValueError) as reason:
            complain(f"{trace}: {reason}")
            options.failed = True
            continue
        for rival in rivals:
            yield from replays_of(rival, device, trace, steps)


# --- all of it, in the build folder ---------------------------------------------------------------


def output_of(options, *command):
    """What a program prints, and what it exits with. One that fails has said why."""
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    options.failed |= done.returncode not in (0, SKIPPED)
    return done.stdout if done.returncode == 0 else ""


def clpools(options):
    lines = output_of(options, "bench/cuda", f"--threads={options.threads}",
                      f"--rounds={options.rounds}", "--json").splitlines()
    yield from map(json.loads, lines)
    for trace, passes, how in itertools.product(
            options.traces if lines else [], (1, 2), (["--no-pool"], [], ["--arena"])):
        text = output_of(options, "tools/clpool", "replay", trace, f"--passes={passes}",
                         "--allocator=cuda-async", "--json", *how)
        if text:
            yield json.loads(text)


# --- tables ---------------------------------------------------------------------------------------


def grouped(records, *keys):
    """Lists of those that have the same values, in the order in which these first appear."""
    groups = {}
    for record in records:
        groups.setdefault(tuple(record.get(key) for key in keys), []).append(record)
    return groups


def cell(value, width, decimals):
    return f"{'-':>{width}}" if value is None else f"{value:{width}.{decimals}f}"


def print_pairs(device, size, records):
    rows = {name: {record["threads"]: record["ns"] for record in group}
            for (name,), group in grouped(records, "pair").items()}
    counts = sorted(set.intersection(*map(set, rows.values())))  # those that can be compared
    basis = rows.get(BASIS)
    print(f"\na warm pair of {size} bytes: {device}; ns a pair, by threads")
    heads = [f"{count:12}" for count in counts]
    if basis:
        heads += [f"{'x on ' + str(count):>12}" for count in counts]
    print(f"  {'':30}{''.join(heads)}")
    for name, row in rows.items():
        cells = [cell(row[count], 12, 1) for count in counts]
        if basis and not name.startswith(LOOP_ALONE):
            cells += [cell(basis[count] / row[count], 12, 2) for count in counts]
        print(f"  {name:30}{''.join(cells)}")
    if basis:
        print(f"  x: how many times the pairs of {BASIS} in the same time, on as many threads")


def line_name(record):
    """What a line of the table is called. clpool's allocators can be pooled, and on an arena."""
    if "pooled" not in record:
        return record["allocator"]
    below = f"an arena on {record['allocator']}" if record["arena"] else record["allocator"]
    return f"pool on {below}" if record["pooled"] else f"{below}, bare"


def taken_footprint(record):
    """What the device gave over what was in use; None where it is not known."""
    if "peak_reserved_bytes" in record:
        return record["peak_reserved_bytes"] / record["peak_active_bytes"]
    return None if "pooled" in record else record["footprint"]


def print_replays(trace, device, records):
    active = records[0]["peak_active_bytes"]
    print(f"\nreplay of {trace}: {device}; at most {active / 2 ** 20:.0f} MiB in use;"
          " ns an allocation or free, and bytes over that use")
    print(f"  {'':30}{'first pass':>12}{'second':>12}{'loop alone':>12}"
          f"{'asked for':>14}{'taken, first':>14}{'second':>12}")
    for (name,), group in grouped([{**r, "line": line_name(r)} for r in records], "line").items():
        by_pass = {record["passes"]: record for record in group}
        first, again = by_pass.get(1), by_pass.get(2)
        last = again or first
        print(f"  {name:30}"
              f"{cell(first and first['ns_per_operation'], 12, 0)}"
              f"{cell(again and again['ns_per_operation'], 12, 0)}"
              f"{cell(last.get('loop_ns'), 12, 0)}"
              f"{cell(last['footprint'] if 'pooled' in last else None, 14, 3)}"
              f"{cell(first and taken_footprint(first), 14, 3)}"
              f"{cell(again and taken_footprint(again), 12, 3)}"
              f"{'   allocations were refused' if last.get('failures') else ''}")


def print_tables(records):
    pairs_alone = [record for record in records if "pair" in record]
    replays_alone = [record for record in records if "trace" in record]
    for (device, size), group in grouped(pairs_alone, "device", "max_bytes").items():
        print_pairs(device, size, group)
    for (trace, device), group in grouped(replays_alone, "trace", "device").items():
        print_replays(os.path.basename(trace), device, group)
    versions = dict.fromkeys(record["version"] for record in records if "version" in record)
    if versions:
        print(f"\n{', '.join(versions)}")


# --- the command line -----------------------------------------------------------------------------


def whole_number(text):
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def read_options():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("pairs", "replays", "all"))
    parser.add_argument("traces", metavar="TRACE", nargs="*", help="as clpool replay takes them")
    parser.add_argument("--bytes", type=whole_number, help="default: 4096, then 1048576")
    parser.add_argument("--threads", type=whole_number, default=16, help="at most (default: 16)")
    parser.add_argument("--rounds", type=whole_number, default=11)
    parser.add_argument("--json", action="store_true", help="an object a line instead of tables")
    options = parser.parse_args()
    options.failed = False
    return options


def records_of(options):
    if options.what == "all":
        ours = list(clpools(options))
        yield from ours
        if not ours:
            return
    device, rivals = find_rivals()
    if rivals and options.what != "replays":
        yield from pairs(options, device, rivals)
    if rivals and options.what != "pairs":
        yield from replays(options, device, rivals)


def main():
    options = read_options()
    records = []
    for record in records_of(options):
        records.append(record)
        if options.json or options.what == "all":
            print(json.dumps(record), flush=True)
    if not options.json:
        print_tables(records)
    return 1 if options.failed else 0 if records else SKIPPED


if __name__ == "__main__":
    sys.exit(main())
