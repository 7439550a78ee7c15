# SPDX-License-Identifier: MIT
"""CuPy's arrays and a training step of PyTorch's on clpool's pools, on a real device, with the
results of their own pools. Skipped without CuPy, PyTorch or the driver. Each program is a process
of its own, since PyTorch's allocator is chosen before its first tensor."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import textwrap

import pytest

import clpool

try:
    clpool.CudaAsyncAllocator()
except clpool.Error as error:
    pytest.skip(str(error), allow_module_level=True)


def run_python(text: str) -> str:
    ended = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", textwrap.dedent(text)],
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def needs(module: str):
    return pytest.mark.skipif(
        importlib.util.find_spec(module) is None, reason=f"{module} is not installed"
    )


@needs("cupy")
@pytest.mark.parametrize("arena", [False, True])
def test_cupy_on_two_streams(arena):
    run_python(
        f"""
        import cupy, clpool
        pool = clpool.MemoryPool(clpool.CudaAsyncAllocator(), arena={arena})
        cupy.cuda.set_allocator(clpool.cupy_allocator(pool))
        streams = [cupy.cuda.Stream(non_blocking=True) for _ in range(2)]
        for turn in range(200):
            with streams[turn % 2]:
                x = cupy.full(1 << 20, turn, cupy.float32)
                y = (2 * x + 1) * (x - 1)
                expected = (2 * turn + 1) * (turn - 1)
                assert float(abs(y - expected).max()) == 0, turn
        assert pool.stats.hits > pool.stats.misses
        del x, y
        cupy.cuda.set_allocator(None)
        assert pool.active_blocks == 0
        """
    )


TRAINING = """
import sys, torch
if sys.argv[1:] != ["own"]:
    import clpool
    pool = clpool.MemoryPool(clpool.CudaAsyncAllocator(), arena=sys.argv[1:] == ["arena"])
    torch.cuda.memory.change_current_allocator(clpool.torch_allocator(pool))
torch.manual_seed(1)
torch.use_deterministic_algorithms(True)
layers = torch.nn
model = layers.Sequential(layers.Linear(256, 1024), layers.ReLU(), layers.Linear(1024, 10)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
side = torch.cuda.Stream()
for step in range(50):
    x = torch.randn(512, 256, device="cuda")
    y = torch.randint(0, 10, (512,), device="cuda")
    with torch.cuda.stream(side):
        side.wait_stream(torch.cuda.default_stream())
        noise = x * 0.01
        x.record_stream(side)
    torch.cuda.default_stream().wait_stream(side)
    noise.record_stream(torch.cuda.default_stream())
    loss = layers.functional.cross_entropy(model(x + noise), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
"""


@needs("torch")
@pytest.mark.parametrize("kind", ["plain", "arena"])
def test_a_training_step(kind):
    def loss(how: str) -> str:
        ended = subprocess.run(
            [sys.executable, "-c", TRAINING, how], capture_output=True, text=True, check=False,
            env={**os.environ, "CUBLAS_WORKSPACE_CONFIG": ":4096:8"},
        )  # fmt: skip
        assert ended.returncode == 0, ended.stderr
        return ended.stdout

    assert loss(kind) == loss("own")


@needs("torch")
def test_torch_is_told_that_there_is_no_memory():
    run_python(
        """
        import torch, clpool
        pool = clpool.MemoryPool(clpool.CudaAsyncAllocator(), limit=1 << 26)
        torch.cuda.memory.change_current_allocator(clpool.torch_allocator(pool))
        try:
            torch.empty(1 << 28, device="cuda")
        except RuntimeError as error:
            assert "limit" in str(error), error
        else:
            raise AssertionError
        assert float(torch.ones(10, device="cuda").sum()) == 10
        """
    )
