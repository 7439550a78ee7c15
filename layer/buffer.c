/* SPDX-License-Identifier: MIT */
#include "buffer.h"

#include "blocks.h"
#include "core/pool/leaving.h"
#include "dispatch.h"
#include "exact.h"
#include "order.h"
#include "references.h"

#include <stdlib.h>

/* Whether the driver must end the buffer itself after the last reference: it calls the program
 * back, or knows the memory as mapped. */
static bool must_leave(const clpi_mem *mem)
{
  cl_uint maps = 0;
  if (mem->is_watched)
    return true;
  return mem->was_mapped && (clpi_target->clGetMemObjectInfo(mem->handle, CL_MEM_MAP_COUNT,
                                                             sizeof(maps), &maps, NULL) ||
                             maps > 0);
}

/* Drops the driver's last reference here, not inside the pool: the driver may then call the program
 * back, which may wait for threads that need the pool or the lock of drivers. */
static void leave(const clpi_mem *mem)
{
  cl_mem handle = mem->handle;
  bool is_kept = !clpi_target->clRetainMemObject(handle);
  clpi_buffer_give_back(mem->buffer);
  if (is_kept)
    clpi_target->clReleaseMemObject(handle);
}

/* The next owner may have the block as soon as it is released. */
static void end_block(const clpi_mem *mem)
{
  clpi_context *context = mem->context;
  const bool must_trim = context->account.hold_bytes != SIZE_MAX;
  if (must_trim)
    context->users++; /* the block may be its last one */
  clpi_account_drop(&context->account, mem->bytes, mem->kind->bytes);
  if (must_leave(mem))
    leave(mem);
  else
    clpi_order_release(context, mem->buffer, mem->born);
  if (must_trim) {
    clpi_blocks_trim(context);
    clpi_context_drop_user(context);
  }
  clpi_contexts_sweep();
}

static cl_int release_part(clpi_mem *part)
{
  cl_mem handle = part->handle;
  clpi_mem *whole = part->whole;
  size_t references = clpi_references_drop(&part->references);
  if (references == 1) {
    (void)clpi_mem_take(handle);
    if (must_leave(part))
      whole->is_watched = true;
  }
  cl_int code = clpi_target->clReleaseMemObject(handle);
  if (references != 1)
    return code;
  free(part);
  whole->parts--;
  (void)clpi_mem_release(whole);
  return code;
}

void clpi_mem_map(cl_mem handle)
{
  for (clpi_mem *mem = clpi_mem_find(handle); mem; mem = mem->whole)
    mem->was_mapped = true;
}

cl_int clpi_mem_release(clpi_mem *mem)
{
  if (mem->whole)
    return release_part(mem);
  size_t references = clpi_references_drop(&mem->references);
  if (references == 1)
    end_block(mem);
  return references > 0 ? CL_SUCCESS : CL_INVALID_MEM_OBJECT;
}

void clpi_mem_see_beyond(const clpi_mem *block)
{
  (void)block;
}
