/* SPDX-License-Identifier: MIT */
/* Aligned host memory: the allocator that needs no device. */
#include "core/allocator/allocator.h"
#include "core/base/error.h"

#include <stdlib.h>
#include <unistd.h>

enum { DEFAULT_ALIGNMENT = 64 };

static clp_status host_allocate(void *self, size_t bytes, clp_memory *out)
{
  size_t alignment = *(const size_t *)self;
  void *pointer;
  int code = posix_memalign(&pointer, alignment, bytes);
  if (code)
    return clpi_error(CLP_OUT_OF_DEVICE_MEMORY, code, "host: no memory for %zu bytes", bytes);
  *out = (clp_memory)pointer;
  return CLP_SUCCESS;
}

static clp_status host_free(void *self, clp_memory memory, size_t bytes)
{
  (void)self, (void)bytes;
  free((void *)memory);
  return CLP_SUCCESS;
}

/* 0: unknown. */
static size_t physical_memory(void)
{
  long pages = sysconf(_SC_PHYS_PAGES);
  long page_bytes = sysconf(_SC_PAGESIZE);
  return pages > 0 && page_bytes > 0 ? (size_t)pages * (size_t)page_bytes : 0;
}

clp_status clp_host_allocator_create(size_t alignment, clp_allocator **out)
{
  if (!out)
    return clpi_error(CLP_INVALID_ARGUMENT, 0, "clp_host_allocator_create: out is NULL");
  alignment = alignment ? alignment : DEFAULT_ALIGNMENT;
  /* posix_memalign refuses alignments below a pointer's size. */
  size_t usable = alignment < sizeof(void *) ? sizeof(void *) : alignment;
  clp_allocator_ops ops = CLP_ALLOCATOR_OPS_INIT;
  ops.name = "host";
  ops.allocate = host_allocate;
  ops.free = host_free;
  ops.destroy = clpi_allocator_free_self;
  ops.split = clpi_split_address;
  ops.unsplit = clpi_unsplit_address;
  ops.memory_kind = CLP_MEMORY_HOST;
  ops.alignment = alignment; /* clp_allocator_create refuses all but powers of two */
  ops.max_block_bytes = PTRDIFF_MAX;
  ops.device_bytes = physical_memory();
  return clpi_allocator_create_with(&ops, &usable, sizeof(usable), out);
}
