# SPDX-License-Identifier: MIT
"""python -m clpool convert SNAPSHOT [-o TRACE] [--device=N]"""

from __future__ import annotations

import argparse
import contextlib
import sys

from clpool import _convert, _tracing


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m clpool")
    commands = parser.add_subparsers(required=True)
    converter = commands.add_parser(
        "convert", help="convert a memory snapshot of PyTorch (a pickle or JSON) to a trace"
    )
    converter.add_argument("snapshot")
    converter.add_argument("-o", "--output", help="the CSV trace; standard output by default")
    converter.add_argument("--device", type=int, help="the device, if several have events")
    chosen = parser.parse_args(arguments)
    try:
        with contextlib.ExitStack() as files:
            source = files.enter_context(open(chosen.snapshot, "rb"))
            target = sys.stdout
            if chosen.output is not None:
                target = files.enter_context(_tracing.whole_file(chosen.output))
            counts = _convert.convert(source, target, chosen.device)
    except (OSError, ValueError) as error:
        print(f"python -m clpool: {chosen.snapshot}: {error}", file=sys.stderr)
        return 1
    print(counts, file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
