/* SPDX-License-Identifier: MIT */
#include "buffer.h"

#include "core/pool/leaving.h"
#include "dispatch.h"
#include "exact.h"
#include "order.h"
#include "references.h"

#include <clpool/opencl.h>
#include <stdlib.h>

/* --- blocks --- */

/* Held blocks make room under the limit and the bound. */
static clp_status allocate(clpi_context *context, const clpi_kind *kind, clp_buffer **out,
                           uint64_t *born)
{
  clp_status status;
  do
    status = clpi_order_allocate(context, kind->number, out, born);
  while (status == CLP_LIMIT_EXCEEDED && clpi_context_free_oldest(context));
  if (status != CLP_LIMIT_EXCEEDED)
    return status;
  clpi_account_passes_bound = true;
  status = clpi_order_allocate(context, kind->number, out, born);
  clpi_account_passes_bound = false;
  return status;
}

/* Images have the bytes of their kind. */
static cl_mem create(clpi_context *context, const clpi_kind *kind, size_t bytes, cl_int *code)
{
  clp_buffer *buffer;
  uint64_t born;
  clp_status status = allocate(context, kind, &buffer, &born);
  bool is_told = status == CLP_OUT_OF_DEVICE_MEMORY &&
                 (context->more_flags || context->account.limit_bytes != SIZE_MAX);
  *code = is_told || status == CLP_LIMIT_EXCEEDED ? CL_MEM_OBJECT_ALLOCATION_FAILURE : CL_SUCCESS;
  if (status)
    return NULL;
  cl_mem block = clp_buffer_cl_mem(buffer);
  clpi_mem *mem = clpi_mem_find(block);
  mem->buffer = buffer;
  mem->bytes = bytes ? bytes : kind->bytes;
  mem->block_bytes = kind->bytes;
  mem->born = born;
  atomic_store_explicit(&mem->was_mapped, false, memory_order_relaxed);
  clpi_account_add(&context->account, mem->bytes, kind->bytes);
  atomic_fetch_add_explicit(&context->account.served[bytes == 0], 1, memory_order_relaxed);
  atomic_store_explicit(&mem->references, 1, memory_order_relaxed);
  clpi_context_trim(context);
  return block;
}

/* If a rounded size does not fit into the limit, the requested one may. */
cl_mem clpi_buffer_create(clpi_context *context, cl_mem_flags flags, size_t bytes, cl_int *code)
{
  const clpi_kind *kind = clpi_context_buffer_kind(context, flags, bytes, true);
  *code = CL_SUCCESS;
  cl_mem made = kind ? create(context, kind, bytes, code) : NULL;
  if (made || !*code)
    return made;
  kind = clpi_context_buffer_kind(context, flags, bytes, false);
  return kind ? create(context, kind, bytes, code) : NULL;
}

cl_mem clpi_image_create(clpi_context *context, const clpi_kind_key *key, cl_int *code)
{
  const clpi_kind *kind = clpi_kind_get(&context->kinds, key, &context->lock);
  *code = CL_SUCCESS;
  return kind ? create(context, kind, 0, code) : NULL;
}

/* --- references --- */

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
    clpi_context_add_user(context); /* the block may be its last one */
  clpi_account_drop(&context->account, mem->bytes, mem->kind->bytes);
  if (must_leave(mem))
    leave(mem);
  else
    clpi_order_release(context, mem->buffer, mem->born);
  if (must_trim) {
    clpi_context_trim(context);
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
