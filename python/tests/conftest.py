# SPDX-License-Identifier: MIT
"""What the tests share: a context and a queue of the first OpenCL device."""

from __future__ import annotations

import pytest

import clpool

cl = pytest.importorskip("pyopencl")


@pytest.fixture(scope="session")
def context():
    return cl.create_some_context(interactive=False)


@pytest.fixture
def queue(context):
    return cl.CommandQueue(context)


@pytest.fixture(params=["plain", "arena"])
def pool(queue, request):
    """A pool on a queue, without and with an arena."""
    return clpool.MemoryPool(clpool.ImmediateAllocator(queue), arena=request.param == "arena")


@pytest.fixture
def host_pool():
    """A pool that needs no device."""
    return clpool.MemoryPool(clpool.HostAllocator())
