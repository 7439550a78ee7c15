# SPDX-License-Identifier: MIT
"""What is in the picture of clpool tune: points and labels within it, and no label on another."""
import xml.etree.ElementTree

SVG = "{http://www.w3.org/2000/svg}"
WIDTH, HEIGHT = 660, 390
CHARACTER, LINE = 6.5, 14  # of its font, about


def box(text):
    width = CHARACTER * len(text.text)
    x, y = float(text.get("x")), float(text.get("y"))
    left = {"end": x - width, "middle": x - width / 2}.get(text.get("text-anchor"), x)
    return left, y - LINE + 1, left + width, y - 1


def faults(path):
    root = xml.etree.ElementTree.parse(path).getroot()
    circles, texts = root.findall(f"{SVG}circle"), root.findall(f"{SVG}text")
    boxes = [(text.text, box(text)) for text in texts]
    found = []
    for i, (name, one) in enumerate(boxes):
        if one[0] < 0 or one[1] < 0 or one[2] > WIDTH or one[3] > HEIGHT:
            found.append(f'"{name}" is not within the picture')
        found += [f'"{name}" is on "{other}"' for other, area in boxes[:i] if one[0] < area[2]
                  and area[0] < one[2] and one[1] < area[3] and area[1] < one[3]]
    for circle in circles:
        if not (0 < float(circle.get("cx")) < WIDTH and 0 < float(circle.get("cy")) < HEIGHT):
            found.append("a point is not within the picture")
    if not circles or max(float(circle.get("r")) for circle in circles) < 4:
        found.append("there are no points")
    if not [text for text in texts if text.get("paint-order")]:
        found.append("no point has a label")
    return found
