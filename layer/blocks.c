/* SPDX-License-Identifier: MIT */
#include "blocks.h"

#include "core/allocator/allocator.h"
#include "core/base/error.h"
#include "dispatch.h"
#include "exact.h"
#include "opencl/cl_error.h"
#include "opencl/driver_lock.h"

#include <stdlib.h>
#include <sys/param.h>

atomic_uint_fast64_t clpi_blocks_returned;

/* --- the pool's allocator: its "bytes" are the number of a kind (kind.h) --- */

/* PoCL reports flags of 0 as CL_MEM_READ_WRITE, and other flags as they are. */
static cl_mem_flags flags_of(const clpi_context *context, const clpi_kind_key *key)
{
  if (!context->more_flags)
    return key->flags;
  return (key->flags ? key->flags : CL_MEM_READ_WRITE) | context->more_flags;
}

static cl_mem create_image(const clpi_context *context, const clpi_kind_key *key, cl_int *code)
{
  const cl_image_desc desc = {.image_type = (cl_mem_object_type)key->type,
                              .image_width = (size_t)key->width,
                              .image_height = (size_t)key->height,
                              .image_depth = (size_t)key->depth,
                              .image_array_size = (size_t)key->layers};
  return clpi_target->clCreateImage(context->order.context, flags_of(context, key), &key->format,
                                    &desc, NULL, code);
}

static cl_mem create(const clpi_context *context, const clpi_kind_key *key, cl_int *code)
{
  pthread_mutex_lock(&clpi_cl_driver_lock);
  cl_mem made = key->type == CL_MEM_OBJECT_BUFFER
                    ? clpi_target->clCreateBuffer(context->order.context, flags_of(context, key),
                                                  (size_t)key->width, NULL, code)
                    : create_image(context, key, code);
  pthread_mutex_unlock(&clpi_cl_driver_lock);
  return made;
}

static cl_int release(cl_mem block)
{
  pthread_mutex_lock(&clpi_cl_driver_lock);
  cl_int code = clpi_target->clReleaseMemObject(block);
  pthread_mutex_unlock(&clpi_cl_driver_lock);
  return code;
}

/* The first image of a kind shows how many bytes each of them takes. Counts these and sets
 * `*bytes`. */
static clp_status take_image_bytes(clpi_context *context, clpi_kind *kind, cl_mem image,
                                   size_t *bytes)
{
  size_t found = 0;
  cl_int code = clpi_target->clGetMemObjectInfo(image, CL_MEM_SIZE, sizeof(found), &found, NULL);
  if (code)
    return clpi_cl_check("clGetMemObjectInfo", code);
  clp_status status = clpi_account_take(&context->account, found);
  if (status)
    return status;
  atomic_store_explicit(&kind->bytes, found, memory_order_relaxed);
  *bytes = found;
  return CLP_SUCCESS;
}

static clp_status note_block(clpi_context *context, clpi_kind *kind, cl_mem block)
{
  clpi_mem *mem = clpi_mem_add(block);
  if (!mem)
    return clpi_error(CLP_OUT_OF_HOST_MEMORY, 0, "no host memory for a memory object");
  mem->context = context;
  mem->added_flags = context->more_flags & ~kind->key.flags;
  context->users++;
  return CLP_SUCCESS;
}

static clp_status allocate(void *self, size_t number, clp_memory *out)
{
  clpi_context *context = self;
  clpi_kind *kind = clpi_kind_at(&context->kinds, number);
  size_t bytes = atomic_load_explicit(&kind->bytes, memory_order_relaxed);
  cl_int code = CL_SUCCESS;
  clp_status status = clpi_account_take(&context->account, bytes);
  if (status)
    return status;
  cl_mem block = create(context, &kind->key, &code);
  if (code || !block)
    status = clpi_cl_not_created("clCreateBuffer", code, bytes);
  else if (bytes == 0)
    status = take_image_bytes(context, kind, block, &bytes);
  if (!status)
    status = note_block(context, kind, block);
  if (status) {
    context->account.taken_bytes -= bytes;
    if (block)
      release(block);
    return status;
  }
  atomic_fetch_add_explicit(&context->account.fresh[kind->key.type != CL_MEM_OBJECT_BUFFER], 1,
                            memory_order_relaxed);
  *out = (clp_memory)block;
  return CLP_SUCCESS;
}

/* OpenCL keeps the memory until earlier work of the queues has used it. */
static clp_status free_block(void *self, clp_memory memory, size_t number)
{
  clpi_context *context = self;
  const clpi_kind *kind = clpi_kind_at(&context->kinds, number);
  free(clpi_mem_take((cl_mem)memory));
  cl_int code = release((cl_mem)memory);
  context->account.taken_bytes -= kind->bytes;
  clpi_blocks_returned++;
  clpi_context_drop_user(context);
  return clpi_cl_check("clReleaseMemObject", code);
}

bool clpi_blocks_begin(clpi_context *context)
{
  clp_allocator *allocator;
  clp_allocator_ops ops = CLP_ALLOCATOR_OPS_INIT;
  clpi_cl_queue_order_fill(&ops);
  ops.name = "the layer";
  ops.allocate = allocate;
  ops.free = free_block;
  ops.free_is_ordered = true;
  ops.deferred = true;
  ops.memory_kind = CLP_MEMORY_CL_MEM;
  ops.max_block_bytes = 2 * CLPI_KINDS - 1;
  if (clp_allocator_create(&ops, context, &allocator))
    return false;
  clp_pool_options options = CLP_POOL_OPTIONS_INIT;
  options.leading_bits_in_bin_id = CLPI_KIND_BITS;
  options.reuse_flags = CLP_REUSE_OPPORTUNISTIC;
  clp_status status = clp_pool_create(allocator, &options, &context->pool);
  clp_allocator_release(allocator);
  return !status;
}

/* --- giving back --- */

/* The pool's bytes are numbers of kinds: one less means one block less, of any kind. The pool looks
 * at all kinds, so with many of them several blocks go at once. */
bool clpi_blocks_free_oldest(clpi_context *context)
{
  enum { MANY_KINDS = 64, PART = 8 };
  clp_pool_stats stats = CLP_POOL_STATS_INIT;
  if (clp_pool_get_stats(context->pool, &stats) || stats.held_blocks == 0)
    return false;
  const size_t numbers = context->kinds.count > MANY_KINDS ? stats.held_bytes / PART : 1;
  return !clp_pool_trim_to(context->pool, stats.managed_bytes - MAX(numbers, 1));
}

void clpi_blocks_trim(clpi_context *context)
{
  while (clpi_account_excess(&context->account) > 0 && clpi_blocks_free_oldest(context))
    continue;
}

void clpi_mem_see_beyond(const clpi_mem *memory)
{
  (void)memory;
}
