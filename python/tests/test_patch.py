# SPDX-License-Identifier: MIT
"""clpool in the place of pyopencl.tools' classes."""

from __future__ import annotations

import itertools

import pyopencl.array as cla
import pyopencl.tools
import pytest

import clpool


def test_patch_and_undo(queue):
    own = pyopencl.tools.MemoryPool
    with clpool.patch():
        assert pyopencl.tools.MemoryPool is clpool.MemoryPool
        pool = pyopencl.tools.MemoryPool(pyopencl.tools.ImmediateAllocator(queue))
        x = cla.zeros(queue, 100, "f", allocator=pool)
        assert isinstance(x.data, pyopencl.tools.PooledBuffer)
    assert pyopencl.tools.MemoryPool is own
    assert pool.active_blocks == 1


def test_defaults(queue):
    with clpool.patch(arena=True, leading_bits_in_bin_id=6):
        pool = pyopencl.tools.MemoryPool(pyopencl.tools.ImmediateAllocator(queue))
        other = pyopencl.tools.MemoryPool(pyopencl.tools.ImmediateAllocator(queue), 5)
        assert isinstance(pool, pyopencl.tools.MemoryPool)
        assert not isinstance(queue, pyopencl.tools.MemoryPool)
    assert pool.allocator.name == "arena"
    assert pool.bin_number(1 << 10) == 10 << 6
    assert other.bin_number(1 << 10) == 10 << 5


def test_patch_stays_until_undone():
    own = pyopencl.tools.ImmediateAllocator
    patched = clpool.patch()
    assert pyopencl.tools.ImmediateAllocator is clpool.ImmediateAllocator
    patched.undo()
    patched.undo()
    assert pyopencl.tools.ImmediateAllocator is own


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_patches_undone_in_any_order(queue, order):
    """The last one that was not undone counts, and in the end nothing is patched."""
    names = ("MemoryPool", "SVMPool", "ImmediateAllocator", "PooledBuffer")
    own = [getattr(pyopencl.tools, name) for name in names]
    bits = [5, 6, 7]
    patches = [clpool.patch(leading_bits_in_bin_id=n) for n in bits]
    left = list(range(3))
    for which in order:
        patches[which].undo()
        patches[which].undo()
        left.remove(which)
        if left:
            pool = pyopencl.tools.MemoryPool(pyopencl.tools.ImmediateAllocator(queue))
            assert pool.bin_number(1 << 10) == 10 << bits[left[-1]]
    assert [getattr(pyopencl.tools, name) for name in names] == own


def test_patches_within_each_other():
    own = pyopencl.tools.MemoryPool
    with clpool.patch(arena=True):
        outer = pyopencl.tools.MemoryPool
        lasting = clpool.patch()
        assert pyopencl.tools.MemoryPool is clpool.MemoryPool is not outer
    assert pyopencl.tools.MemoryPool is clpool.MemoryPool
    lasting.undo()
    assert pyopencl.tools.MemoryPool is own
