# SPDX-License-Identifier: MIT
"""PNG files: 8 bits a channel, RGB or RGBA, as browsers write them."""
import struct
import zlib


def chunks(png):
    position = 8
    while position < len(png):
        length, kind = struct.unpack_from(">I4s", png, position)
        yield kind, png[position + 8 : position + 8 + length]
        position += length + 12


def paeth(left, above, corner):
    estimate = left + above - corner
    return min((left, above, corner), key=lambda value: abs(estimate - value))


def unfilter(kind, line, above, step):
    for i in range(len(line)):
        left = line[i - step] if i >= step else 0
        corner = above[i - step] if i >= step else 0
        predicted = (0, left, above[i], (left + above[i]) // 2, paeth(left, above[i], corner))[kind]
        line[i] = (line[i] + predicted) & 255
    return line


def lines(png):
    parts = list(chunks(png))
    width, height, depth, color = struct.unpack_from(">IIBB", parts[0][1])
    step = {2: 3, 6: 4}[color]
    assert depth == 8
    data = zlib.decompress(b"".join(body for kind, body in parts if kind == b"IDAT"))
    above = bytearray(width * step)
    for row in range(height):
        begin = row * (width * step + 1)
        line = bytearray(data[begin + 1 : begin + 1 + width * step])
        above = unfilter(data[begin], line, above, step)
        yield [bytes(above[i : i + 3]) for i in range(0, len(above), step)]


def look_at(path):
    """How many colors there are, and how bright the upper left corner is, from 0 to 255."""
    with open(path, "rb") as file:
        rows = list(lines(file.read()))
    return len(set().union(*rows)), sum(rows[0][0]) // 3
