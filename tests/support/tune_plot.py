#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What is in the picture of clpool tune: points and labels within it, and no label on another."""

import sys
import xml.etree.ElementTree

SVG = "{http://www.w3.org/2000/svg}"
WIDTH, HEIGHT = 660, 390
CHARACTER, LINE = 6.5, 14  # of its font, about


def box(text):
    width = CHARACTER * len(text.text)
    x, y = float(text.get("x")), float(text.get("y"))
    left = {"end": x - width, "middle": x - width / 2}.get(text.get("text-anchor"), x)
    return left, y - LINE + 1, left + width, y - 1


def overlap(one, other):
    return (one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3])


root = xml.etree.ElementTree.parse(sys.argv[1]).getroot()
circles = root.findall(f"{SVG}circle")
texts = root.findall(f"{SVG}text")
boxes = [(text.text, box(text)) for text in texts]
faults = []
for name, (left, top, right, bottom) in boxes:
    if left < 0 or top < 0 or right > WIDTH or bottom > HEIGHT:
        faults.append(f'"{name}" is not within the picture')
for i, (name, one) in enumerate(boxes):
    faults += [f'"{name}" is on "{other}"' for other, area in boxes[:i] if overlap(one, area)]
for circle in circles:
    if not (0 < float(circle.get("cx")) < WIDTH and 0 < float(circle.get("cy")) < HEIGHT):
        faults.append("a point is not within the picture")
if not circles or max(float(circle.get("r")) for circle in circles) < 4:
    faults.append("there are no points")
labels = [text for text in texts if text.get("paint-order")]
if not labels:
    faults.append("no point has a label")
if faults:
    print("\n".join(faults))
sys.exit(bool(faults))
