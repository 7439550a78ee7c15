// SPDX-License-Identifier: MIT
// What torch.cuda.memory.CUDAPluggableAllocator finds by name. C++, since PyTorch takes NULL for
// memory: an exception is the only way to tell it that there is none.
#include "torch.h"

#include <clpool/status.h>

#include <stdexcept>
#include <sys/types.h>

namespace {
[[noreturn]] void fail()
{
  throw std::runtime_error(clp_last_error()->message);
}
} // namespace

#define CLPOOL_ENTRY extern "C" __attribute__((visibility("default")))

CLPOOL_ENTRY void *clpool_torch_malloc(ssize_t bytes, int device, void *stream)
{
  if (bytes <= 0)
    return nullptr;
  void *memory = clpool_torch_take(static_cast<size_t>(bytes), device, stream);
  if (memory == nullptr)
    fail();
  return memory;
}

// Called from destructors, which must not throw: memory that cannot be given back stays taken.
CLPOOL_ENTRY void clpool_torch_free(void *memory, ssize_t, int, void *stream)
{
  if (memory != nullptr)
    clpool_torch_give(memory, stream);
}

CLPOOL_ENTRY void clpool_torch_record_stream(void *memory, void *stream)
{
  if (memory != nullptr && !clpool_torch_use(memory, stream))
    fail();
}
