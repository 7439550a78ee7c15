# SPDX-License-Identifier: MIT
"""Checks a page of clpool report: report_page.py PAGE JSON. The page is well-formed XML with one of
each section; it says the figures of the JSON, and its chart reaches the peaks."""
import json
import sys
import xml.etree.ElementTree as xml

page, figures = xml.parse(sys.argv[1]).getroot(), json.load(open(sys.argv[2]))


def require(condition, *words):
    if not condition:
        sys.exit(" ".join(map(str, words)))


ids = [element.get("id") for element in page.iter() if element.get("id")]
require(len(ids) == len(set(ids)), "the same id twice:", ids)
for section in ("memory", "hit-rate", "bins", "largest", "figures"):
    require(section in ids, "no section", section)

shown = {cell.get("data-key"): cell.text for cell in page.iter("td") if cell.get("data-key")}
numbers = {key: value for key, value in figures.items() if isinstance(value, (int, float))}
require(set(shown) == set(numbers), "other figures:", set(shown) ^ set(numbers))
for key, value in numbers.items():
    require(float(shown[key].replace(",", "")) == value, key, "is", shown[key], "not", value)
commas = f"{figures['peak_managed_bytes']:,}"
require(shown["peak_managed_bytes"] == commas, "digits without commas")

pictures = list(page.iter("svg"))
require(len(pictures) == 2, len(pictures), "pictures")
for picture in pictures:
    require(picture.get("role") == "img" and picture.get("aria-label"), "a picture without words")
    for path in picture.iter("path"):
        require("nan" not in path.get("d").lower() and "inf" not in path.get("d"), path.get("d"))

script = next(element for element in page.iter("script") if element.get("id") == "spans")
spans = json.loads(script.text)
require(spans[-1][1] == figures["events"], "the chart ends at", spans[-1][1])
require(max(span[4] for span in spans) == figures["peak_active_bytes"], "the active peak is lost")
require(max(span[5] for span in spans) == figures["peak_managed_bytes"], "the managed peak is lost")
for column, key in (7, "hits"), (8, "misses"), (9, "failures"):
    require(sum(span[column] for span in spans) == figures[key], key, "do not add up")

require(sum(bin["held_bytes_at_peak"] for bin in figures["bins"]) == figures["held_bytes_at_peak"])
require(sum(bin["misses"] for bin in figures["bins"]) == figures["misses"], "misses of bins")
sizes = [group["bytes"] for group in figures["largest"]]
require(sizes == sorted(sizes, reverse=True), "the largest are not in order:", sizes)
rows = next(table for table in page.iter("section") if table.get("id") == "largest").iter("tr")
require(len(list(rows)) == len(sizes) + 1, "the table of the largest has other rows")
