# SPDX-License-Identifier: MIT
"""The CUDA allocators of other projects, all alike: CuPy's two pools and PyTorch's caching
allocator. And what Python's loops cost without them."""

import contextlib
import operator
import sys

import cuda_table

SKIPPED = 77
RELEASE_THRESHOLD = 2 ** 64 - 1


class Rival:
    """An allocator. `version` is its library's. A stream is one of that library's."""

    def __init__(self, name, version):
        self.name = name
        self.version = version

    def new_stream(self):
        return None

    def calls(self, stream):
        """A context in which the calling thread has two calls for memory on the stream:
        malloc(size), and free(memory), or None where memory goes when it is dropped."""
        raise NotImplementedError

    def begin(self):
        """Gives what is kept back to the device, and begins with the peak anew."""

    def taken(self):
        """The most bytes that were taken from the device since then."""
        raise NotImplementedError


class Loop(Rival):
    """Calls that do nothing, in place of a rival's: its loop alone is what they cost."""

    def __init__(self, frees):
        super().__init__(f"{cuda_table.LOOP_ALONE}, {'freeing' if frees else 'dropping'}",
                         f"Python {sys.version.split()[0]}")
        self.frees = frees

    @contextlib.contextmanager
    def calls(self, stream):
        nothing = 0
        if self.frees:
            yield (lambda size: operator.add(size, nothing)), operator.index
        else:
            yield operator.index, None


class CuPyPool(Rival):
    def __init__(self, cupy):
        super().__init__("CuPy MemoryPool", f"CuPy {cupy.__version__}")
        self.cupy = cupy
        self.pool = cupy.cuda.MemoryPool()
        self.loop = Loop(frees=False)

    def new_stream(self):
        return self.cupy.cuda.Stream(non_blocking=True)

    @contextlib.contextmanager
    def calls(self, stream):
        with stream:
            yield self.pool.malloc, None

    def begin(self):
        self.pool.free_all_blocks()

    def taken(self):
        return self.pool.total_bytes()  # which never falls by itself


class CuPyAsync(CuPyPool):
    """CuPy's way to cudaMallocAsync, with the device's default memory pool, which is told to keep
    all that it has: CuPy itself sets the release threshold to its limit, which is 0 for none."""

    def __init__(self, cupy):
        super().__init__(cupy)
        self.name = "CuPy MemoryAsyncPool"
        self.pool = cupy.cuda.MemoryAsyncPool()
        self.runtime = cupy.cuda.runtime
        self.mempool = self.runtime.deviceGetDefaultMemPool(0)
        self.runtime.memPoolSetAttribute(
            self.mempool, self.runtime.cudaMemPoolAttrReleaseThreshold, RELEASE_THRESHOLD)

    def begin(self):
        self.cupy.cuda.Device().synchronize()
        self.runtime.memPoolTrimTo(self.mempool, 0)
        self.runtime.memPoolSetAttribute(
            self.mempool, self.runtime.cudaMemPoolAttrReservedMemHigh, 0)

    def taken(self):
        return self.runtime.memPoolGetAttribute(
            self.mempool, self.runtime.cudaMemPoolAttrReservedMemHigh)


class TorchAllocator(Rival):
    """The two calls that torch.cuda.caching_allocator_alloc and caching_allocator_delete make: they
    themselves look up the device and the stream each time, which takes longer than to allocate."""

    def __init__(self, torch):
        super().__init__("PyTorch caching allocator", f"PyTorch {torch.__version__}")
        self.torch = torch
        self.loop = Loop(frees=True)

    def new_stream(self):
        return self.torch.cuda.Stream()

    @contextlib.contextmanager
    def calls(self, stream):
        core = self.torch._C
        alloc = core._cuda_cudaCachingAllocator_raw_alloc
        pointer = stream.cuda_stream
        yield (lambda size: alloc(size, pointer)), core._cuda_cudaCachingAllocator_raw_delete

    def begin(self):
        self.torch.cuda.synchronize()
        self.torch.cuda.empty_cache()
        self.torch.cuda.reset_peak_memory_stats()

    def taken(self):
        return self.torch.cuda.max_memory_reserved()


class TorchEmpty(TorchAllocator):
    """The same with a tensor around, as programs have it."""

    def __init__(self, torch):
        super().__init__(torch)
        self.name = "PyTorch torch.empty"
        self.loop = Loop(frees=False)

    @contextlib.contextmanager
    def calls(self, stream):
        empty, dtype = self.torch.empty, self.torch.uint8
        device = self.torch.device("cuda", 0)
        with self.torch.cuda.stream(stream):
            yield (lambda size: empty(size, dtype=dtype, device=device)), None


def of_cupy():
    import cupy
    device = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    return device, [CuPyPool(cupy), CuPyAsync(cupy)]


def of_torch():
    import torch
    device = torch.cuda.get_device_name(0)
    torch.cuda.init()
    return device, [TorchAllocator(torch), TorchEmpty(torch)]


def try_out(rival):
    """All that is asked of a rival, once: what it lacks is to be found out before others wait."""
    rival.begin()
    with rival.calls(rival.new_stream()) as (malloc, free):
        memory = malloc(512)
        if free is not None:
            free(memory)
    rival.taken()


def find(program):
    """The device's name and the rivals that are here; who is not is told in one line. (None, []):
    there are none, and the program is to end with SKIPPED."""
    device, rivals, missing = None, [], []
    for find_some in (of_cupy, of_torch):
        try:
            device, found = find_some()
            for rival in found:
                try_out(rival)
            rivals += found
        except Exception as reason:  # no library, no driver, no device: each says so in its own way
            missing.append(str(reason).split("\n", maxsplit=1)[0])
    if missing:
        print(f"{program}: {'left out' if rivals else 'skipped'}: {'; '.join(missing)}",
              file=sys.stderr)
    return device, rivals
