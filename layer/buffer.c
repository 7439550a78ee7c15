/* SPDX-License-Identifier: MIT */
#include "buffer.h"

#include "core/pool/leaving.h"
#include "dispatch.h"
#include "handles.h"
#include "order.h"
#include "references.h"

#include <clpool/opencl.h>
#include <stdlib.h>
#include <string.h>

static clpi_handles mems = CLPI_HANDLES_INIT;
static atomic_size_t others;
static atomic_uint_fast64_t returned;

clpi_mem *clpi_mem_find(cl_mem handle)
{
  return clpi_handles_find(&mems, handle);
}

/* --- blocks --- */

cl_int CL_API_CALL clpi_block_release(cl_mem block)
{
  clpi_mem *mem = clpi_handles_take(&mems, block);
  cl_int code = clpi_target->clReleaseMemObject(block);
  returned++;
  if (mem)
    clpi_context_drop_user(mem->context);
  free(mem);
  return code;
}

uint64_t clpi_blocks_returned(void)
{
  return returned;
}

static clpi_mem *make(cl_mem handle)
{
  clpi_mem *made = aligned_alloc(alignof(clpi_mem), sizeof(*made));
  if (made) {
    memset(made, 0, sizeof(*made));
    made->handle = handle;
  }
  return made;
}

/* NULL: no host memory. */
static clpi_mem *add(clpi_context *context, cl_mem block)
{
  clpi_mem *made = make(block);
  if (!made || !clpi_handles_put(&mems, block, made)) {
    free(made);
    return NULL;
  }
  made->context = context;
  clpi_context_add_user(context);
  return made;
}

static cl_mem create(clpi_context *context, cl_mem_flags flags, size_t bytes)
{
  clp_buffer *buffer;
  uint64_t born;
  clp_pool *pool = clpi_context_pool(context, flags, bytes);
  if (!pool || bytes == 0 || !clpi_order_allocate(context, pool, bytes, &buffer, &born))
    return NULL;
  cl_mem block = clp_buffer_cl_mem(buffer);
  clpi_mem *mem = clpi_mem_find(block); /* one that comes again is known */
  bool is_new = !mem;
  if (is_new)
    mem = add(context, block);
  if (!mem) {
    clpi_buffer_give_back(buffer);
    return NULL;
  }
  mem->buffer = buffer;
  mem->bytes = bytes;
  mem->born = born;
  atomic_store_explicit(&mem->was_mapped, false, memory_order_relaxed);
  atomic_store_explicit(&mem->references, 1, memory_order_relaxed);
  if (is_new)
    clpi_pool_has_grown(context, pool, bytes);
  return block;
}

cl_mem clpi_buffer_create(cl_context handle, cl_mem_flags flags, size_t bytes)
{
  clpi_context *context = clpi_contexts_have_stopped() ? NULL : clpi_context_find(handle);
  return context ? create(context, flags, bytes) : NULL;
}

/* --- references --- */

/* What the driver still does with a buffer whose last reference is gone is its own affair: it calls
 * the program back, or knows the memory as mapped. */
static bool must_leave(const clpi_mem *mem)
{
  cl_uint maps = 0;
  if (mem->is_watched)
    return true;
  return mem->was_mapped && (clpi_target->clGetMemObjectInfo(mem->handle, CL_MEM_MAP_COUNT,
                                                             sizeof(maps), &maps, NULL) ||
                             maps > 0);
}

/* The driver's last reference goes here, not within the pool: the driver may call the program back
 * then, which may wait for threads that need the pool, or the lock of drivers. */
static void leave(const clpi_mem *mem)
{
  cl_mem handle = mem->handle;
  bool is_kept = !clpi_target->clRetainMemObject(handle);
  clpi_buffer_give_back(mem->buffer);
  if (is_kept)
    clpi_target->clReleaseMemObject(handle);
}

/* The next owner may have the block as soon as it is released. */
static void end_buffer(const clpi_mem *mem)
{
  if (must_leave(mem))
    leave(mem);
  else
    clpi_order_release(mem->context, mem->buffer, mem->born);
  clpi_contexts_sweep();
}

static cl_int release_part(clpi_mem *part)
{
  cl_mem handle = part->handle;
  clpi_mem *whole = part->whole;
  size_t references = clpi_references_drop(&part->references);
  if (references == 1) {
    clpi_handles_take(&mems, handle);
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

cl_uint clpi_mem_references(const clpi_mem *mem)
{
  cl_uint count = 1;
  clpi_target->clGetMemObjectInfo(mem->handle, CL_MEM_REFERENCE_COUNT, sizeof(count), &count, NULL);
  return count - 1 + (cl_uint)(mem->references - mem->parts);
}

void clpi_mem_map(cl_mem handle)
{
  for (clpi_mem *mem = clpi_mem_find(handle); mem; mem = mem->whole)
    mem->was_mapped = true;
}

cl_int clpi_mem_retain(clpi_mem *mem)
{
  if (!clpi_references_add(&mem->references))
    return CL_INVALID_MEM_OBJECT;
  return mem->whole ? clpi_target->clRetainMemObject(mem->handle) : CL_SUCCESS;
}

cl_int clpi_mem_release(clpi_mem *mem)
{
  if (mem->whole)
    return release_part(mem);
  size_t references = clpi_references_drop(&mem->references);
  if (references == 1)
    end_buffer(mem);
  return references > 0 ? CL_SUCCESS : CL_INVALID_MEM_OBJECT;
}

/* Without host memory the whole stays, since nobody sees the part's end. A whole that is a part has
 * the driver's references, too, since clpi_mem_release drops both. */
void clpi_mem_add_part(clpi_mem *of, cl_mem part, size_t origin)
{
  clpi_mem *made = make(part);
  (void)clpi_mem_retain(of);
  of->parts++;
  if (!made)
    return;
  made->references = 1;
  made->whole = of;
  made->origin = origin;
  if (!clpi_handles_put(&mems, part, made))
    free(made);
}

size_t clpi_mem_shift(cl_mem handle, size_t end)
{
  const clpi_mem *mem = clpi_mem_find(handle);
  for (; mem && mem->whole; mem = mem->whole)
    end += mem->origin;
  if (!mem || end <= mem->bytes)
    return 0;
  size_t block = clp_buffer_capacity(mem->buffer);
  return end <= block ? block - mem->bytes : 0;
}

void clpi_buffers_count_other(void)
{
  atomic_fetch_add_explicit(&others, 1, memory_order_relaxed);
}

void clpi_buffers_report(void)
{
  size_t buffers;
  size_t blocks;
  clpi_contexts_count(&buffers, &blocks);
  clpi_layer_complain("%zu buffers from pools, %zu of them of new memory; %zu others", buffers,
                      blocks, atomic_load(&others));
}
