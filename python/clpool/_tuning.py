# SPDX-License-Identifier: MIT
"""What ``clpool tune --json`` found, as the program prints it without --json."""

from __future__ import annotations

_HEADINGS = (
    ("", "bits", "arena", "taken", "taken", "device", "ns an", "in the", ""),
    ("", "", "slack", "/ in use", "", "calls", "operation", "first pass", ""),
)
_ROW = "{:1} {:>4}  {:6} {:>9} {:>11} {:>8} {:>12} {:>11}  {}"
_LEGEND = """\
* recommended: the least memory within {time} ns an operation of the quickest
  (ties: fewer calls, then no arena, then fewer bits, then less slack)
- nothing takes less memory and no more time, or less time and no more memory
"""


def _bytes(count: int) -> str:
    if count < 1024:
        return f"{count} bytes"
    amount = count / 1024
    for unit in ("KiB", "MiB", "GiB", "TiB", "PiB"):
        if amount < 1023.995:
            return f"{amount:.2f} {unit}"
        amount /= 1024
    return f"{amount:.2f} EiB"


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def python_line(setting: dict, is_svm: bool) -> str:
    """The expression that makes a pool with a setting, whatever the environment says. ``allocator``
    is the one that the pool is to be on."""
    arguments = ["allocator", "arena=False"]
    if setting["arena"]:
        arguments = [f"clpool.ArenaAllocator(allocator, slack={setting['slack']})"]
    if setting["leading_bits"] is not None:
        arguments.append(f"leading_bits_in_bin_id={setting['leading_bits']}")
    return f"clpool.{'SVMPool' if is_svm else 'MemoryPool'}({', '.join(arguments)})"


def _is_same(one: dict, other: dict | None) -> bool:
    names = ("leading_bits", "arena", "slack")
    return other is not None and all(one[name] == other[name] for name in names)


def _subject(found: dict) -> str:
    traces, count = found["traces"], found["allocations"]
    name = _printable(traces[0]) if len(traces) == 1 else f"{len(traces)} traces"
    text = f"{name}: {count} allocation{'' if count == 1 else 's'}, "
    text += f"at most {_bytes(found['peak_active_bytes'])} in use"
    pools = max((setting["pools"] for setting in found["settings"]), default=1)
    if pools > 1:
        text += f", {pools} pools"
    if found["limit"]:
        text += f", a limit of {_bytes(found['limit'])}"
    return text


def _rows(found: dict):
    for heading in _HEADINGS:
        several = "taken by" if heading is _HEADINGS[1] and len(found["traces"]) > 1 else ""
        yield _ROW.format(*heading[:-1], several)
    for setting in found["settings"]:
        is_best = _is_same(setting, found["recommended"])
        yield _ROW.format(
            "*" if is_best else " " if setting["beaten"] else "-",
            "any" if setting["leading_bits"] is None else setting["leading_bits"],
            str(setting["slack"]) if setting["arena"] else "no",
            f"{setting['footprint']:.3f}",
            _bytes(setting["peak_device_bytes"]),
            setting["device_allocations"],
            f"{setting['ns_per_operation']:.1f}",
            f"{setting['first_pass_ns_per_operation']:.1f}",
            _printable(setting["trace"]) if len(found["traces"]) > 1 else "",
        )
        if setting["failures"]:
            yield (
                f"        out of memory at event {setting['first_failure_event']}, "
                f"refused {setting['failures']}"
            )


def _recommendation(found: dict):
    best = found["recommended"]
    if best is None:
        yield f"nothing is recommended:\n{found['reason']}"
        return
    figures = next(setting for setting in found["settings"] if _is_same(setting, best))
    bits = best["leading_bits"]
    setting = "" if bits is None else f"leading_bits_in_bin_id = {bits}, "
    setting += f"on an arena of slack {best['slack']}" if best["arena"] else "without an arena"
    yield f"recommended: {setting}"
    yield (
        f"It takes {_bytes(figures['peak_device_bytes'])}, {figures['footprint']:.3f} times the "
        f"memory in use, and {figures['ns_per_operation']:.1f} ns an operation."
    )


def _ways(found: dict):
    best, run = found["recommended"], found["run"]
    if best is None:
        return
    yield f"\nIn C:\n\n{best['code'].rstrip()}"
    yield f"\nIn Python:\n\n{best['python']}"
    yield "\nIn the environment, for pools whose options do not set these:\n"
    yield f"{best['environment']} ./program"
    if run is not None:
        taken = _bytes(run["peak_device_bytes"])
        yield f"\nFor a program that does not use clpool, which then takes {taken}:\n"
        yield f"clpool run --leading-bits={run['leading_bits']} ./program"


def shown(found: dict) -> str:
    """The table, the recommendation, and the lines to paste."""
    lines = [_subject(found), f"costs: {_printable(found['costs'])}", ""]
    lines += (line.rstrip() for line in _rows(found))
    lines.append(_LEGEND.format(time=found["time"]))
    lines += _recommendation(found)
    lines += (f"note: {note}" for note in found["notes"])
    lines += _ways(found)
    return "\n".join(lines) + "\n"
