/* SPDX-License-Identifier: MIT */
/* Memory of the host and of CUDA, to be measured. */
#include "measured.h"

#include "program.h"

#include <stdlib.h>
#include <string.h>

static int fill_host(void *self, const clp_memory *blocks, size_t count, size_t bytes)
{
  enum { ANY_BYTE = 0x5a };
  (void)self;
  for (size_t i = 0; i < count; i++)
    memset((void *)blocks[i], ANY_BYTE, bytes);
  return CLPI_EXIT_SUCCESS;
}

/* CUDA's public interface here has no way to write to memory, whose first use costs a GPU nothing
 * more than any other. */
int clpi_measured_open(const clpi_allocator_choice *choice, clpi_measured *out)
{
  *out = (clpi_measured){0};
  bool is_of_cl = clpi_is_on_device(choice->kind);
  int code = is_of_cl ? clpi_measured_open_cl(choice, out)
                      : clpi_allocator_open(choice, &out->allocator, &out->device_name);
  if (choice->kind == CLPI_ALLOCATOR_HOST) {
    out->fill = fill_host;
    out->is_of_host = true;
  }
  if (code)
    clpi_measured_close(out);
  return code;
}

void clpi_measured_close(clpi_measured *memory)
{
  clp_allocator_release(memory->allocator);
  if (memory->end)
    memory->end(memory->self);
  free(memory->device_name);
  *memory = (clpi_measured){0};
}
