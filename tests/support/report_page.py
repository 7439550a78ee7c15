# SPDX-License-Identifier: MIT
"""Checks a page of clpool report: report_page.py PAGE JSON. The page is well-formed XML with one of
each section, or with --versus two; it says the figures of the JSON, and its charts reach the
peaks. What scrolls can be reached by key."""
import json
import sys
import xml.etree.ElementTree as xml

page, told = xml.parse(sys.argv[1]).getroot(), json.load(open(sys.argv[2]))
reports = {"": told["first"], "-2": told["second"]} if "first" in told else {"": told}


def require(condition, *words):
    if not condition:
        sys.exit(" ".join(map(str, words)))


def number(text):
    words = {"yes": 1, "no": 0, "none": None}
    return words[text] if text in words else float(text.replace(",", ""))


ids = [element.get("id") for element in page.iter() if element.get("id")]
require(len(ids) == len(set(ids)), "the same id twice:", ids)
shown = {cell.get("data-key"): cell.text for cell in page.iter("td") if cell.get("data-key")}
plots = [picture for picture in page.iter("svg")]
for picture in plots:
    require(picture.get("role") == "img" and picture.get("aria-label"), "a picture without words")
    for path in picture.iter("path"):
        require("nan" not in path.get("d").lower() and "inf" not in path.get("d"), path.get("d"))
wide = [element for element in page.iter("div") if element.get("class") == "wide"]
require(wide, "nothing scrolls")
for element in wide:
    require(element.get("tabindex") == "0" and element.get("aria-label"), "what keys do not reach")
require(not [element for element in page.iter() if element.get("title")], "a tip for mice alone")


def check(suffix, figures):
    for section in ("memory", "hit-rate", "bins", "largest"):
        require(section + suffix in ids, "no section", section + suffix)
    pools = figures["by_pool"]
    require((f"pools{suffix}" in ids) == (figures["pools"] > 1), "charts of", len(pools), "pools")
    own = [plot for plot in plots if plot.get("data-of") == "spans" + suffix]
    require(len(own) == 2 + (len(pools) if figures["pools"] > 1 else 0), len(own), "pictures")

    numbers = {
        key + suffix: value
        for key, value in figures.items()
        if isinstance(value, (int, float, type(None)))
    }
    require(set(numbers) <= set(shown), "no figures:", set(numbers) - set(shown))
    for key, value in numbers.items():
        require(number(shown[key]) == value, key, "is", shown[key], "not", value)
        del shown[key]

    script = next(s for s in page.iter("script") if s.get("id") == "spans" + suffix)
    spans = json.loads(script.text)
    require(spans[-1][1] == figures["events"], "the chart ends at", spans[-1][1])
    for column, key in (4, "active"), (5, "managed"), (7, "device"):
        peak = figures[f"peak_{key}_bytes"]
        require(max(span[column] for span in spans) == peak, "the", key, "peak is lost")
    for column, key in (8, "hits"), (9, "misses"), (10, "failures"):
        require(sum(span[column] for span in spans) == figures[key], key, "do not add up")

    held = sum(bin["held_bytes_at_peak"] for bin in figures["bins"])
    require(held == figures["held_bytes_at_peak"], "held", held)
    require(sum(bin["misses"] for bin in figures["bins"]) == figures["misses"], "misses of bins")
    kinds = figures["by_kind"]
    require(sum(kind["allocations"] for kind in kinds) == figures["allocations"], "kinds")
    require((f"kinds{suffix}" in ids) == any(kind["kind"] for kind in kinds), "the table of kinds")
    at_peak = sum(kind["active_bytes_at_peak"] for kind in kinds)
    require(at_peak == figures["peak_active_bytes"], "kinds do not add up at the peak:", at_peak)
    sizes = [group["bytes"] for group in figures["largest"]]
    require(sizes == sorted(sizes, reverse=True), "the largest are not in order:", sizes)
    sections = page.iter("section")
    rows = next(table for table in sections if table.get("id") == "largest" + suffix).iter("tr")
    require(len(list(rows)) == len(sizes) + 1, "the table of the largest has other rows")


require("figures" in ids, "no section of all figures")
commas = f"{reports['']['peak_managed_bytes']:,}"
require(shown["peak_managed_bytes"] == commas, "digits without commas")
for suffix, figures in reports.items():
    check(suffix, figures)
require(not shown, "other figures:", shown)
