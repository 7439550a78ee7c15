# SPDX-License-Identifier: MIT
"""What counters that clpool report wrote must be: events of the Trace Event Format, whose time does
not go back, and which come to the figures of the JSON."""
import json
import sys


def require(condition, *words):
    if not condition:
        sys.exit(" ".join(map(str, words)))


def check(path, figures):
    events = json.load(open(path))["traceEvents"]
    require(events[0]["ph"] == "M" and events[0]["args"]["name"] == figures["trace"], events[0])
    last, most, counters, refused = 0.0, {}, {}, 0
    for event in events[1:]:
        require(event["pid"] == 1 and event["ph"] in ("C", "i"), event)
        require(event["ts"] >= last, "time goes back:", event)
        last = event["ts"]
        refused += event["args"]["count"] if event["ph"] == "i" else 0
        for series, value in event["args"].items():
            require(isinstance(value, int) and value >= 0, event)
            name = event["name"] + " " + series
            counters[name] = value
            most[name] = max(value, most.get(name, 0))
        if event["name"] == "memory":
            memory = sum(event["args"].values())
        elif event["name"] == "managed":
            require(event["args"]["bytes"] == memory, "managed is not the sum:", event)

    require(most.get("memory active", 0) == figures["peak_active_bytes"], most)
    require(most.get("managed bytes", 0) == figures["peak_managed_bytes"], most)
    require(counters.get("allocations hits", 0) == figures["hits"], counters)
    require(counters.get("allocations misses", 0) == figures["misses"], counters)
    require(refused == figures["failures"], refused, "refusals")
    require(abs(last / 1e6 - figures["seconds"]) < 1e-6, "the last event is after", last)
