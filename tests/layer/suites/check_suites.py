# SPDX-License-Identifier: MIT
"""Runs what is installed of other projects' OpenCL programs and tests as they are, under
`clpool run`, and under `clpool record`, and compares what comes of it: a table, and an exit code of
1 where a layer makes a difference.

    python3 check_suites.py [--build=FOLDER] [--whole] [--programs] [SUITE...]

A suite that is named must be there; without names, what is not there is told.
"""

from __future__ import annotations

import argparse
import difflib
import pathlib
import subprocess
import sys

from program import Comparison, Missing, compare
from suites import SUITES

COLUMNS = (
    f"{'':32}{'programs':>9}{'differ':>7}{'buffers':>9}{'pooled':>7}"
    f"{'alone':>9}{'run':>8}{'record':>8}{'alone':>9}{'run':>7}"
)
UNITS = f"{'':32}{'':>9}{'':>7}{'':>9}{'':>7}{'s':>9}{'s':>8}{'s':>8}{'MiB':>9}{'MiB':>7}"


def row(name: str, found: list[Comparison]) -> str:
    buffers = sum(it.pooled.buffers for it in found)
    pooled = sum(it.pooled.pooled for it in found)
    share = f"{100 * pooled / buffers:.1f} %" if buffers else "-"
    differ = sum(bool(it.differences()) for it in found)
    seconds = "".join(
        f"{sum(getattr(it, way).seconds for it in found):>{width}.1f}"
        for way, width in (("alone", 9), ("pooled", 8), ("recorded", 8))
    )
    peaks = "".join(
        f"{max(getattr(it, way).peak_bytes for it in found) / 2**20:>{width}.0f}"
        for way, width in (("alone", 9), ("pooled", 7))
    )
    return f"{name[:31]:32}{len(found):>9}{differ:>7}{buffers:>9}{share:>7}{seconds}{peaks}"


def explain(it: Comparison) -> None:
    if not it.is_steady:
        print(f"  {it.program.name}: does not do the same twice by itself: not compared")
    if it.alone.code != 0 and not it.differences():
        print(f"  {it.program.name}: exit code {it.alone.code}, by itself as well")
    ways = {"run": it.pooled, "record": it.recorded}
    for way in it.differences():
        if way == "recording":
            print(f"  {it.program.name}: the recording is no trace: {it.complaint.strip()}")
            continue
        found = ways[way]
        print(f"  {it.program.name}: clpool {way}: exit code {found.code}, {it.alone.code} without")
        changes = difflib.unified_diff(it.alone.results, found.results, lineterm="", n=0)
        for line in list(changes)[2:12]:
            print(f"    {line[:120]}")
        for line in found.errors.splitlines()[-5:]:
            print(f"    | {line[:120]}")


def check(name: str, build: pathlib.Path, is_whole: bool, shows_programs: bool) -> list[Comparison]:
    found = []
    for program in SUITES[name](build, is_whole):
        found.append(compare(program, build))
        if shows_programs:
            print(row(f" {program.name}", found[-1:]), flush=True)
    print(row(name, found))
    for it in found:
        explain(it)
    sys.stdout.flush()
    return found


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path())
    parser.add_argument("--whole", action="store_true", help="all of each suite: an hour or more")
    parser.add_argument("--programs", action="store_true", help="a row for each program, too")
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=", ".join(SUITES))
    arguments = parser.parse_args()
    unknown = set(arguments.suites) - set(SUITES)
    if unknown:
        parser.error(f"no suite {', '.join(sorted(unknown))}; there are {', '.join(SUITES)}")
    build = arguments.build.resolve()
    print(COLUMNS, UNITS, sep="\n")
    found: list[Comparison] = []
    missing = []
    for name in arguments.suites or SUITES:
        try:
            found += check(name, build, arguments.whole, arguments.programs)
        except Missing as why:
            missing.append(name)
            print(f"{name:32}{why}", flush=True)
        except subprocess.CalledProcessError as failure:
            missing.append(name)
            words = " ".join(str(word) for word in failure.cmd)
            print(f"{name:32}cannot be prepared: {words[:200]} has failed", flush=True)
    if not found:
        print("nothing was compared")
        return 77
    differ = sum(bool(it.differences()) for it in found)
    print(f"{len(found)} programs, {differ} with a difference, {len(missing)} suites not there")
    return 1 if differ or (arguments.suites and missing) else 0


if __name__ == "__main__":
    sys.exit(main())
