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


@needs("cupy")
@pytest.mark.parametrize("pool_handles", ["current", "default", "create"])
def test_cupys_arrays_on_memory_async_pool(pool_handles):
    run_python(
        f"""
        import cupy, clpool
        pool = clpool.MemoryAsyncPool({pool_handles!r})
        cupy.cuda.set_allocator(pool.malloc)

        class Hook(clpool.MemoryHook):
            bytes = 0

            def malloc_postprocess(self, size, **_):
                self.bytes += size

        streams = [cupy.cuda.Stream(non_blocking=True) for _ in range(2)]
        with Hook() as hook:
            for turn in range(200):
                with streams[turn % 2]:
                    x = cupy.full(1 << 20, turn, cupy.float32)
                    y = (2 * x + 1) * (x - 1)
                    expected = (2 * turn + 1) * (turn - 1)
                    assert float(abs(y - expected).max()) == 0, turn
        assert hook.bytes > 200 * 4 << 20
        assert pool.used_bytes() >= x.nbytes + y.nbytes
        assert pool.total_bytes() >= pool.used_bytes()
        pool.set_limit(1 << 26)
        try:
            cupy.empty(1 << 27, cupy.uint8)
        except clpool.LimitExceeded:
            pass
        else:
            raise AssertionError
        pool.set_limit()
        used = pool.used_bytes()
        del x, y
        pool.free_all_blocks(streams[0])
        pool.free_all_blocks(streams[1])
        assert pool.used_bytes() < used
        cupy.cuda.set_allocator(None)
        """
    )


@needs("cupy")
def test_cupy_takes_a_memory_pool_of_clpools():
    run_python(
        """
        import cupy, clpool
        mempool = clpool.CudaMemPool(max_bytes=1 << 28)
        own = clpool.CudaMemPool.current()
        cupy.cuda.set_allocator(cupy.cuda.MemoryAsyncPool(mempool.handle).malloc)
        x = cupy.ones(1 << 20, cupy.float32)
        assert float(x.sum()) == 1 << 20
        assert mempool.used_bytes >= 4 << 20
        del x
        cupy.cuda.set_allocator(None)
        own.set_current()
        cupy.cuda.Device().synchronize()
        mempool.trim_to(0)
        assert mempool.peak_used_bytes >= 4 << 20
        """
    )


@needs("cupy")
@pytest.mark.parametrize("take", ["asarray", "from_dlpack"])
def test_memory_as_cupys_array(take):
    run_python(
        f"""
        import cupy, clpool
        pool = clpool.MemoryPool(clpool.CudaAsyncAllocator())
        mine = cupy.cuda.Stream(non_blocking=True)
        for turn in range(100):
            memory = pool.on(mine)(4 << 20)
            with mine:
                array = cupy.{take}(memory).view(cupy.int32)
                assert array.data.ptr == memory.ptr and array.shape == (1 << 20,)
                array[:] = turn
            with cupy.cuda.Stream(non_blocking=True) as other:
                memory.record_use(other)
                seen = cupy.{take}(memory).view(cupy.int32)
                assert int(seen.max()) == int(seen.min()) == turn
                other.synchronize()
            del array, seen
            memory.release()
            pool.forget_queue(other)
        assert pool.stats.hits >= 99
        """
    )


@needs("torch")
def test_memory_as_pytorchs_tensor():
    run_python(
        """
        import torch, clpool
        pool = clpool.MemoryPool(clpool.CudaAsyncAllocator())
        streams = [torch.cuda.Stream() for _ in range(2)]
        for turn in range(100):
            with torch.cuda.stream(streams[turn % 2]):
                memory = pool.on(streams[turn % 2])(4 << 20)
                tensor = torch.from_dlpack(memory).view(torch.int32)
                assert tensor.data_ptr() == memory.ptr and tensor.device.type == "cuda"
                tensor.fill_(turn)
            with torch.cuda.stream(streams[1 - turn % 2]):
                seen = torch.from_dlpack(memory).view(torch.int32)
                assert int(seen.max()) == int(seen.min()) == turn
            try:
                memory.release()
            except BufferError:
                pass
            else:
                raise AssertionError
            del tensor, seen
            memory.release()
        host = clpool.MemoryPool(clpool.HostAllocator())(1000)
        torch.from_dlpack(host).fill_(7)
        assert bytes(host) == b"\\x07" * 1000
        """
    )


TRAINING = """
import sys, time, torch
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
    if step == 10:
        torch.cuda.synchronize()
        start = time.perf_counter()
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
took = (time.perf_counter() - start) / 40 * 1e6
bytes_taken = pool.stats.peak_managed_bytes if sys.argv[1:] != ["own"] else (
    torch.cuda.max_memory_reserved())
print(f"{took:.0f} us a step, {bytes_taken / (1 << 20):.1f} MiB taken at the peak", file=sys.stderr)
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
        print(f"training step on {how}: {ended.stderr.strip().splitlines()[-1]}")
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
