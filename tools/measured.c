/* SPDX-License-Identifier: MIT */
/* Memory of the host and of CUDA, to be measured. */
#include "measured.h"

#include "program.h"

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

/* CUDA's public interface here has no way to write to memory, whose first use costs a GPU nothing
 * more than any other. */
int clpi_measured_open(const clpi_allocator_choice *choice, clpi_measured *out)
{
  *out = (clpi_measured){0};
  int code = clpi_allocator_open(choice, &out->opened);
  if (code)
    return code;
  if (clpi_allocators[choice->kind].backend == CLPI_OPENCL) {
    code = clpi_measured_open_cl(choice->kind, out);
  } else if (choice->kind == CLPI_ALLOCATOR_HOST) {
    out->opened.device.bytes = host_bytes();
    out->fill = fill_host;
    out->is_of_host = true;
  }
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
  if (memory->end)
    memory->end(memory->self);
  clpi_allocator_close(&memory->opened);
  *memory = (clpi_measured){0};
}
