# SPDX-License-Identifier: MIT
"""Sizes and regions of buffers, beside those of a plain pyopencl.Buffer."""

from __future__ import annotations

import numpy as np
import pyopencl as cl
import pytest

import clpool

SIZES = [1, 2, 127, 128, 129, 1000, 1023, 1024, 4095, 4097, 100_000]


@pytest.fixture(params=["plain", "arena", "on a queue", "no leading bits"])
def taker(queue, request):
    bits = 0 if request.param == "no leading bits" else 4
    allocator = clpool.ImmediateAllocator(queue)
    pool = clpool.MemoryPool(allocator, bits, arena=request.param == "arena")
    return pool.on(queue) if request.param == "on a queue" else pool


def content(queue, buffer):
    seen = np.zeros(buffer.size, np.uint8)
    cl.enqueue_copy(queue, seen, buffer)
    return seen


@pytest.mark.parametrize("size", SIZES)
def test_sizes_are_as_asked_for(queue, context, taker, size):
    for buffer in (cl.Buffer(context, cl.mem_flags.READ_WRITE, size), taker(size)):
        assert buffer.size == buffer[:].size == buffer[0:].size == size
        assert len(content(queue, buffer)) == size
    assert buffer.requested_size == size <= buffer.allocated_size
    assert buffer.allocated_size == buffer.get_info(cl.mem_info.SIZE)
    assert type(buffer).size is not cl.Buffer.size


def test_sizes_of_a_block_that_comes_again(taker):
    for size in (1000, 999, 1023, 993):
        assert taker(size).size == size


def regions(buffer, align):
    """What PyOpenCL's buffer takes, as (name, region)."""
    size, last = buffer.size, (buffer.size - 1) // align * align
    return {
        "rest": lambda: buffer.get_sub_region(align, size - align),
        "rest of a slice": lambda: buffer[align:],
        "all": lambda: buffer.get_sub_region(0, size),
        "last": lambda: buffer.get_sub_region(last, size - last),
        "first byte": lambda: buffer[:1],
        "up to before the end": lambda: buffer[:-1],
        "from the end": lambda: buffer[last - size :],
        "beyond": lambda: buffer[align : size + 1000],
        "by name": lambda: buffer.get_sub_region(origin=align, size=1),
        "numpy": lambda: buffer.get_sub_region(np.int64(align), np.uint32(size - align)),
    }


@pytest.mark.parametrize("size", [129, 1000, 1023, 4097, 100_000])
@pytest.mark.parametrize("name", list(regions(np.zeros(0), 1)))
def test_regions_are_those_of_a_buffer(queue, context, taker, size, name):
    align = queue.device.mem_base_addr_align // 8
    if size <= align:
        pytest.skip("smaller than the device's alignment")
    pattern = np.arange(size, dtype=np.uint32).astype(np.uint8)
    seen = []
    for buffer in (cl.Buffer(context, cl.mem_flags.READ_WRITE, size), taker(size)):
        cl.enqueue_copy(queue, buffer, pattern)
        seen.append(content(queue, regions(buffer, align)[name]()))
    assert (seen[0] == seen[1]).all() and len(seen[0]) == len(seen[1])


def test_regions_that_are_none(taker):
    buffer = taker(1000)
    part = buffer[:500]
    for one, size in ((buffer, 1000), (part, 500)):
        for origin, count in ((0, size + 1), (size, 1), (0, 0), (size + 1, 1), (2**63, 2**63)):
            with pytest.raises(cl.LogicError, match="not a part of"):
                one.get_sub_region(origin, count)
        for begin, end in ((size, size), (5, 3), (size, None)):
            with pytest.raises(cl.LogicError, match="not a part of"):
                one[begin:end]
        with pytest.raises(cl.LogicError, match="aligned"):
            one[1:]
        with pytest.raises(ValueError, match="step"):
            one[::2]
        with pytest.raises((OverflowError, TypeError)):
            one.get_sub_region(-1, 1)
        with pytest.raises(TypeError):
            one[0]


def test_slices_of_slices(queue, taker):
    align = queue.device.mem_base_addr_align // 8
    pool = getattr(taker, "pool", taker)
    whole = taker(8 * align + 3)
    pattern = np.arange(8 * align + 3, dtype=np.uint32).astype(np.uint8)
    cl.enqueue_copy(queue, whole, pattern)
    expected, part = pattern, whole
    for depth in range(4):
        expected, part = expected[align:], part[align:]
        assert part.size == part.allocated_size == len(expected)
        assert isinstance(part, clpool.PooledBuffer)
        assert (content(queue, part) == expected).all(), depth
        middle = part.get_sub_region(align, 2 * align)
        assert (content(queue, middle[align:]) == expected[2 * align : 3 * align]).all()
    cl.enqueue_fill_buffer(queue, part, np.uint8(77), 0, part.size)
    assert (content(queue, whole)[4 * align :] == 77).all()
    assert (content(queue, whole)[: 4 * align] == pattern[: 4 * align]).all()
    del middle, whole
    assert pool.active_blocks == 1
    inner = part[:align]
    part.release()
    assert (content(queue, inner) == 77).all()
    inner.release()
    assert pool.active_blocks == 0


def test_a_slice_of_a_slice_whose_whole_was_released(queue, taker):
    pool = getattr(taker, "pool", taker)
    whole = taker(4096)
    part = whole[0:2048]
    whole.release()
    inner = part[0:1024]
    del part
    assert pool.active_blocks == 1 and inner.size == 1024
    inner.release()
    assert pool.active_blocks == 0
    with pytest.raises(cl.LogicError):
        inner[0:1]
