#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints results of bench/cuda, cuda_pair.py, cuda_replay.py and clpool replay, JSON objects from
standard input, as tables for people."""

import json
import os
import sys

BASIS = "cuMemAllocAsync"
LOOP_ALONE = "loop alone"  # how the names begin of what allocates nothing


def show(records, as_json):
    """Records as a benchmark's own output."""
    if as_json:
        for record in records:
            print(json.dumps(record))
    else:
        print_tables(records)
    sys.stdout.flush()


def read(text):
    """The objects in the text, one after the other."""
    decoder, records, at = json.JSONDecoder(), [], 0
    while text[at:at + 1]:
        if text[at].isspace():
            at += 1
        else:
            record, at = decoder.raw_decode(text, at)
            records.append(record)
    return records


def grouped(records, key):
    """Lists of those that have the same key, in the order in which keys first appear."""
    groups = {}
    for record in records:
        groups.setdefault(key(record), []).append(record)
    return groups


def cell(value, width, decimals):
    return f"{'-':>{width}}" if value is None else f"{value:{width}.{decimals}f}"


# --- pairs ----------------------------------------------------------------------------------------


def in_all(rows):
    """The numbers of threads that every contender ran on: those that can be compared."""
    return sorted(set.intersection(*(set(row) for row in rows.values())))


def print_pairs(device, size, records):
    rows = {name: {record["threads"]: record["ns"] for record in group}
            for name, group in grouped(records, lambda record: record["pair"]).items()}
    counts = in_all(rows)
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


# --- replays --------------------------------------------------------------------------------------


def allocator(record):
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


def print_replay_row(name, group):
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


def print_replays(trace, device, records):
    active = records[0]["peak_active_bytes"]
    print(f"\nreplay of {trace}: {device}; at most {active / 2 ** 20:.0f} MiB in use;"
          " ns an allocation or free, and bytes over that use")
    print(f"  {'':30}{'first pass':>12}{'second':>12}{'loop alone':>12}"
          f"{'asked for':>14}{'taken, first':>14}{'second':>12}")
    for name, group in grouped(records, allocator).items():
        print_replay_row(name, group)


def print_tables(records):
    pairs = [record for record in records if "pair" in record]
    replays = [record for record in records if "trace" in record]
    for (device, size), group in grouped(
            pairs, lambda record: (record["device"], record["max_bytes"])).items():
        print_pairs(device, size, group)
    for (trace, device), group in grouped(
            replays,
            lambda record: (os.path.basename(record["trace"]), record["device"])).items():
        print_replays(trace, device, group)
    versions = dict.fromkeys(record["version"] for record in records if "version" in record)
    if versions:
        print(f"\n{', '.join(versions)}")


if __name__ == "__main__":
    print_tables(read(sys.stdin.read()))
