/* SPDX-License-Identifier: MIT */
#include "mem.h"

#include "handles.h"

#include <stdlib.h>
#include <string.h>

static clpi_handles mems = CLPI_HANDLES_INIT;

clpi_mem *clpi_mem_find(cl_mem handle)
{
  return clpi_handles_find(&mems, handle);
}

clpi_mem *clpi_mem_add(cl_mem handle)
{
  clpi_mem *made = aligned_alloc(alignof(clpi_mem), sizeof(*made));
  if (!made)
    return NULL;
  memset(made, 0, sizeof(*made));
  made->handle = handle;
  if (clpi_handles_put(&mems, handle, made))
    return made;
  free(made);
  return NULL;
}

clpi_mem *clpi_mem_take(cl_mem handle)
{
  return clpi_handles_take(&mems, handle);
}
