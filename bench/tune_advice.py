#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How good the advice of clpool tune is: for each trace and objective, what the recommended setting
comes to, over the best of all leading bits with many more slacks than clpool tune tries."""

import argparse
import json
import math
import os
import subprocess
import sys

OBJECTIVES = ("balanced", "time", "memory")
SLACKS = (0, 0.001, 0.004, 0.016, 0.06, 0.1, 0.13, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1)


def key_of(setting):
    return setting["pooled"], setting["leading_bits"], setting["slack"]


def words_of(key):
    pooled, bits, slack = key
    pool = "no pool" if not pooled else "a pool" if bits is None else f"{bits} bits"
    return f"{pool}, {'no arena' if slack is None else f'slack {slack}'}"


class Program:
    """A trace, and the least time that each setting took in any replay: other programs on the
    machine only add to it."""

    def __init__(self, clpool, trace, options):
        self.command = [clpool, "tune", trace, "--json", *options]
        self.bytes, self.ns, self.advice = {}, {}, {}
        for objective in OBJECTIVES:
            found = self.tune(objective)
            if found["recommended"] is None:
                sys.exit(f"{trace}: nothing is recommended: {found['reason']}")
            self.advice[objective] = key_of(found["recommended"])
        self.tune("balanced", "--no-arena", "--leading-bits=0-16")
        for slack in SLACKS:
            self.tune("balanced", "--arena", "--leading-bits=0-16", f"--slack={slack}")

    def tune(self, objective, *options):
        done = subprocess.run([*self.command, f"--objective={objective}", *options], check=True,
                              stdout=subprocess.PIPE)
        found = json.loads(done.stdout)
        for setting in found["settings"]:
            is_bare = not setting["pooled"] and not setting["arena"]
            if not is_bare and setting["failures"] == 0:
                self.note(key_of(setting), setting)
        return found

    def note(self, key, setting):
        self.bytes[key] = setting["peak_device_bytes"]
        self.ns[key] = min(setting["ns_per_operation"], self.ns.get(key, math.inf))

    def value(self, objective, key):
        return {"time": self.ns[key], "memory": self.bytes[key],
                "balanced": self.ns[key] * self.bytes[key]}[objective]

    def best(self, objective):
        return min(self.ns, key=lambda key: self.value(objective, key))

    def ratio(self, objective):
        return (self.value(objective, self.advice[objective]) /
                self.value(objective, self.best(objective)))


def print_program(name, program):
    for objective in OBJECTIVES:
        print(f"{name:34} {objective:9} {program.ratio(objective):7.3f}  "
              f"{words_of(program.advice[objective]):24} "
              f"{words_of(program.best(objective))}", flush=True)


def print_summary(programs):
    print(f"\n{'objective':9} {'mean':>7} {'worst':>7}  above 1.05")
    for objective in OBJECTIVES:
        ratios = [program.ratio(objective) for program in programs]
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        above = sum(ratio > 1.05 for ratio in ratios)
        print(f"{objective:9} {mean:7.3f} {max(ratios):7.3f}  {above} of {len(ratios)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clpool", default="tools/clpool", help="the program")
    parser.add_argument("--option", action="append", default=[], metavar="OPTION",
                        help="a further option of clpool tune's, such as --option=--passes=5")
    parser.add_argument("traces", nargs="+", metavar="TRACE")
    arguments = parser.parse_args()
    print(f"{'trace':34} {'objective':9} {'/ best':>7}  {'recommended':24} best")
    programs = []
    for trace in arguments.traces:
        program = Program(arguments.clpool, trace, arguments.option)
        print_program(os.path.basename(trace), program)
        programs.append(program)
    print_summary(programs)


if __name__ == "__main__":
    main()
