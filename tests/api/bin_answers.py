#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes bin_answers.c: known answers for the arithmetic of bins.

It goes another way than the library, which shifts and masks: the bin of a size is read off its
binary digits as text, and the size of a bin is searched for, with big integers, as the largest
size whose bin is not beyond it.

Usage: bin_answers.py > bin_answers.c
"""

import random

LARGEST = 2**64 - 1
LARGEST_LEADING_BITS = 16


def bin_number(leading_bits, size):
    """The bin of a size, from its binary digits."""
    if size == 0:
        return 0
    digits = format(size, "b")
    following = digits[1:1 + leading_bits].ljust(leading_bits, "0")
    return int(format(len(digits) - 1, "b") + following, 2)


def bin_size(leading_bits, number):
    """The largest size whose bin is at most `number`."""
    below, beyond = 0, LARGEST + 1
    while beyond - below > 1:
        middle = (below + beyond) // 2
        if bin_number(leading_bits, middle) <= number:
            below = middle
        else:
            beyond = middle
    return below


def sizes(chance):
    """Sizes worth asking about: small ones, powers of two and their neighbours, random ones."""
    chosen = set(range(20)) | {LARGEST, LARGEST - 1, LARGEST // 3}
    for exponent in range(1, 65):
        for offset in (-1, 0, 1):
            chosen.add(min(2**exponent + offset, LARGEST))
    chosen = set(chance.sample(sorted(chosen), 60)) | {0, 1, 2, 3, 2**63 - 1, 2**63, LARGEST}
    for _ in range(20):
        chosen.add(chance.randrange(2**64) >> chance.randrange(64))
    return sorted(chosen)


def bins(leading_bits, chance):
    """Bins worth asking about: the first, the last, past the last, and random ones."""
    last = bin_number(leading_bits, LARGEST)
    chosen = {0, 1, 2, last - 1, last, last + 1, 2 * last, LARGEST}
    for _ in range(20):
        chosen.add(chance.randrange(last))
    for _ in range(8):
        chosen.add(chance.randrange(min(last, (leading_bits + 1) << leading_bits)))
    return sorted(chosen)


def main():
    """Prints both tables as C."""
    chance = random.Random(20240501)
    print("/* SPDX-License-Identifier: MIT */")
    print('#include "api/bin_answers.h"')
    print("const bin_of_size bins_of_sizes[] = {")
    for leading_bits in range(LARGEST_LEADING_BITS + 1):
        for size in sizes(chance):
            number = bin_number(leading_bits, size)
            print(f"    {{{leading_bits}, UINT64_C({size}), UINT64_C({number})}},")
    print("};")
    print("const size_t bins_of_sizes_count = sizeof(bins_of_sizes) / sizeof(bins_of_sizes[0]);")
    print("const size_of_bin sizes_of_bins[] = {")
    for leading_bits in range(LARGEST_LEADING_BITS + 1):
        for number in bins(leading_bits, chance):
            size = bin_size(leading_bits, number)
            print(f"    {{{leading_bits}, UINT64_C({number}), UINT64_C({size})}},")
    print("};")
    print("const size_t sizes_of_bins_count = sizeof(sizes_of_bins) / sizeof(sizes_of_bins[0]);")


if __name__ == "__main__":
    main()
