/* SPDX-License-Identifier: MIT */
/* Memory of the host and of CUDA, to be measured. */
#include "measured.h"

#include "program.h"

#include <string.h>

static int fill_host(const clpi_opened *opened, const clp_memory *blocks, size_t count,
                     size_t bytes)
{
  enum { ANY_BYTE = 0x5a };
  (void)opened;
  for (size_t i = 0; i < count; i++)
    memset((void *)blocks[i], ANY_BYTE, bytes);
  return CLPI_EXIT_SUCCESS;
}

/* CUDA's public interface here has no way to write to memory, whose first use costs a GPU nothing
 * more than any other. */
int clpi_measured_open(const clpi_allocator_choice *choice, clpi_measured *out)
{
  *out = (clpi_measured){0};
  int code = clpi_allocator_open(choice, &out->opened);
  if (!code && clpi_allocators[choice->kind].backend == CLPI_OPENCL)
    clpi_measured_set_opencl(choice->kind, out);
  out->is_of_host = out->is_of_host || choice->kind == CLPI_ALLOCATOR_HOST;
  if (choice->kind == CLPI_ALLOCATOR_HOST)
    out->fill = fill_host;
  return code;
}
