# SPDX-License-Identifier: MIT
"""What a page of clpool report must be: well-formed XML with one of each section, which says the
figures of the JSON, and whose chart reaches the peaks. Boxes of the flame graphs are inside of
their callers. What scrolls can be reached by key, and colors have contrast."""
import json
import re
import xml.etree.ElementTree as xml

from program import require


def number(text):
    words = {"yes": 1, "no": 0, "none": None}
    return words[text] if text in words else float(text.replace(",", ""))


def brightness(color):
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    parts = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def contrast(one, other):
    least, most = sorted((brightness(one), brightness(other)))
    return (most + 0.05) / (least + 0.05)


def check_words(page):
    ids = [element.get("id") for element in page.iter() if element.get("id")]
    require(len(ids) == len(set(ids)), "the same id twice:", ids)
    for picture in page.iter("svg"):
        require(picture.get("role") == "img" and picture.get("aria-label"), "a picture is mute")
        for path in picture.iter("path"):
            require(not re.search("nan|inf", path.get("d"), re.I), path.get("d"))
    for it in page.iter("div"):
        require(it.get("class") != "wide" or it.get("tabindex") == "0" and it.get("aria-label"),
                "what scrolls is for mice alone")
    require(not [it for it in page.iter() if it.get("title")], "a tip for mice alone")


def check_figures(page, figures):
    ids = [element.get("id") for element in page.iter() if element.get("id")]
    shown = {cell.get("data-key"): cell.text for cell in page.iter("td") if cell.get("data-key")}
    plots = list(page.iter("svg"))
    require([it for it in page.iter("div") if it.get("class") == "wide"], "nothing scrolls")
    for section in "memory", "peak", "largest", "figures":
        require(section in ids, "no section", section)
    pools = figures["by_pool"]
    require(("by_pool" in ids) == (figures["pools"] > 1), "the table of", len(pools), "pools")
    require(len(plots) == 1, len(plots), "pictures")

    numbers = {key: figures[key] for key in figures if not isinstance(figures[key], (str, list))}
    require(set(numbers) == set(shown), "other figures:", set(numbers) ^ set(shown))
    for key, value in numbers.items():
        require(number(shown[key]) == value, key, "is", shown[key], "not", value)
    require(shown["peak_managed_bytes"] == f"{figures['peak_managed_bytes']:,}", "no commas")

    spans = json.loads(next(s for s in page.iter("script") if s.get("id") == "spans").text)
    require(spans[-1][1] == figures["events"], "the chart ends at", spans[-1][1])
    for column, key in (4, "active"), (5, "managed"), (7, "device"):
        peak = figures[f"peak_{key}_bytes"]
        require(max(span[column] for span in spans) == peak, "the", key, "peak is lost")
    for column, key in (8, "hits"), (9, "misses"), (10, "failures"):
        require(sum(span[column] for span in spans) == figures[key], key, "do not add up")

    held = sum(bin["held_bytes_at_peak"] for bin in figures["bins"])
    require(held == figures["held_bytes_at_peak"], "held", held)
    require(("bins" in ids) == (held > 0), "the table of bins")
    require(sum(bin["misses"] for bin in figures["bins"]) == figures["misses"], "misses of bins")
    kinds = figures["by_kind"]
    require(sum(kind["allocations"] for kind in kinds) == figures["allocations"], "kinds")
    require(("by_kind" in ids) == any(kind["kind"] for kind in kinds), "the table of kinds")
    at_peak = sum(kind["active_bytes_at_peak"] for kind in kinds)
    require(at_peak == figures["peak_active_bytes"], "kinds do not add up at the peak:", at_peak)
    sizes = [group["bytes"] for group in figures["largest"]]
    require(sizes == sorted(sizes, reverse=True), "the largest are not in order:", sizes)
    rows = next(table for table in page.iter("section") if table.get("id") == "largest").iter("tr")
    require(len(list(rows)) == len(sizes) + 1, "the table of the largest has other rows")

    # Who allocated: a box a line, in the order callers first.
    flames = [part for part in page.iter("div") if "flame" in part.get("class", "").split()]
    has_stacks = any(group["from"] for group in figures["largest"])
    require(has_stacks == ("stacks" in ids) and len(flames) == 3 * has_stacks, "flame graphs")
    for flame in flames:
        boxes = []
        for box in flame.iter("b"):
            x, width, row = map(float, re.findall(r"--[xwy]:([0-9.]+)", box.get("style")))
            boxes.append((x, x + width, row))
            require(box.text, "a box without words")
            above = [other for other in boxes if other[2] == row - 1]
            callers = [o for o in above if o[0] - 1e-4 <= x and x + width <= o[1] + 1e-4]
            require(row == 0 or len(callers) == 1, box.text, "is called by", callers)
        if "peak" in flame.get("class"):
            require(int(flame.find("b").get("data-b")) == figures["peak_active_bytes"], "the peak")


def check_colors(page):
    schemes = re.findall(r":root \{([^}]*)\}", page.find("head/style").text)
    require(len(schemes) == 2, len(schemes), "schemes of colors")
    for scheme in schemes:
        colors = dict(re.findall(r"--([a-z0-9-]+): (#[0-9a-f]{6});", scheme))
        boxes = [name for name in colors if re.fullmatch("c[0-9]", name)]
        needed = [(name, "paper", 3) for name in boxes]
        needed += [("box-text", name, 4.5) for name in boxes + ["active"]]
        needed += [("active", "held", 3), ("active", "active-most", 3), ("managed", "held", 3)]
        needed += [(name, paper, 4.5) for name in ("text", "quiet") for paper in ("paper", "page")]
        needed += [(name, "paper", 3) for name in (
            "active", "active-most", "held", "managed", "padding", "refused")]
        for one, other, least in needed:
            reached = contrast(colors[one], colors[other])
            require(reached >= least, one, "on", other, "has a contrast of", round(reached, 2))


def check(path, figures=None):
    page = xml.parse(path).getroot()
    check_words(page)
    check_colors(page)
    if figures and figures["peak_active_bytes"]:
        check_figures(page, figures)
