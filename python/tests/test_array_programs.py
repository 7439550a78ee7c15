# SPDX-License-Identifier: MIT
"""loopy's kernels and arraycontext's arrays on clpool's pools, where those are installed."""

from __future__ import annotations

import numpy as np
import pyopencl.array as cla
import pytest

import clpool


def test_loopy(queue, pool):
    loopy = pytest.importorskip("loopy")
    kernel = loopy.make_kernel(
        "{[i, j]: 0 <= i, j < n}",
        "out[i] = sum(j, a[i, j] * x[j])",
        lang_version=(2018, 2),
    ).executor(queue.context)
    a, x = np.random.default_rng(1).random((2, 100, 100), np.float32)
    x = x[0]
    on_device = {"a": cla.to_device(queue, a, pool), "x": cla.to_device(queue, x, pool)}
    _, (out,) = kernel(queue, allocator=pool, **on_device)
    assert isinstance(out.data, clpool.PooledBuffer)
    assert np.allclose(out.get(), a @ x)


def test_arraycontext(queue, pool):
    arraycontext = pytest.importorskip("arraycontext")
    context = arraycontext.PyOpenCLArrayContext(queue, allocator=pool)
    x = np.linspace(0, 1, 1000)
    y = context.np.sin(context.from_numpy(x)) + 2 * context.from_numpy(x)
    assert isinstance(y.data, clpool.PooledBuffer)
    assert np.allclose(context.to_numpy(y), np.sin(x) + 2 * x)
