/* SPDX-License-Identifier: MIT */
/* Memory of the host and of CUDA, to be measured. */
#include "measured.h"

#include "program.h"

#include <clpool/cuda.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int fill_host(void *self, const clp_memory *blocks, size_t count, size_t bytes)
{
  enum { ANY_BYTE = 0x5a };
  (void)self;
  for (size_t i = 0; i < count; i++)
    memset((void *)blocks[i], ANY_BYTE, bytes);
  return CLPI_EXIT_SUCCESS;
}

static uint64_t host_bytes(void)
{
  long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
  return pages > 0 && page_bytes > 0 ? (uint64_t)pages * (uint64_t)page_bytes : 0;
}

static uint64_t cuda_bytes(unsigned ordinal)
{
  size_t bytes;
  return clp_cuda_device_memory((int)ordinal, &bytes) ? 0 : bytes;
}

/* CUDA's public interface here has no way to write to memory, whose first use costs a GPU nothing
 * more than any other. */
static int open_other(const clpi_allocator_choice *choice, clpi_measured *out)
{
  int code = clpi_allocator_open(choice, &out->allocator, &out->device_name);
  if (code)
    return code;
  if (choice->kind == CLPI_ALLOCATOR_CUDA_ASYNC) {
    out->device_bytes = cuda_bytes(choice->ordinal);
  } else {
    out->device_bytes = host_bytes();
    out->fill = fill_host;
    out->is_of_host = true;
  }
  return CLPI_EXIT_SUCCESS;
}

int clpi_measured_open(const clpi_allocator_choice *choice, clpi_measured *out)
{
  *out = (clpi_measured){0};
  int code = clpi_is_on_device(choice->kind) ? clpi_measured_open_cl(choice, out)
                                             : open_other(choice, out);
  if (code)
    clpi_measured_close(out);
  return code;
}

void clpi_measured_renew(const clpi_measured *memory)
{
#ifdef __GLIBC__
  if (memory->is_of_host)
    malloc_trim(0);
#else
  (void)memory;
#endif
}

void clpi_measured_close(clpi_measured *memory)
{
  clp_allocator_release(memory->allocator);
  if (memory->end)
    memory->end(memory->self);
  free(memory->device_name);
  *memory = (clpi_measured){0};
}
