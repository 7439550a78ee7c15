/* SPDX-License-Identifier: MIT */
/* The allocator of CUDA's stream-ordered memory: cuMemAllocFromPoolAsync on the home stream,
 * cuMemFreeAsync on the stream that used the memory last. */
#include "core/allocator/allocator.h"
#include "core/base/cancel.h"
#include "core/base/error.h"
#include "core/base/options.h"
#include "core/pool/pool.h"
#include "cuda/capture.h"
#include "cuda/cuda_error.h"
#include "cuda/mempool.h"
#include "cuda/stream_order.h"

#include <stdlib.h>

/* "Any address returned by one of the memory allocation routines is always aligned to at least 256
 * bytes": CUDA's programming guide, on device memory accesses. */
enum { ALIGNMENT = 256 };

typedef struct async_allocator {
  clpi_cuda_stream_order order; /* must be first; its context is retained */
  clp_cuda_mempool mempool;     /* borrowed */
  clp_stream home;              /* borrowed */
} async_allocator;

static clp_status async_allocate(void *self, size_t bytes, clp_memory *out)
{
  const async_allocator *allocator = self;
  clpi_cuda_pointer pointer = 0;
  CLPI_CUDA_RELAXED;
  clp_status status = clpi_cuda_enter_stream(&allocator->order.context, allocator->home);
  if (status)
    return status;
  clpi_cuda_result code =
      clpi_cuda.cuMemAllocFromPoolAsync(&pointer, bytes, allocator->mempool, allocator->home);
  clpi_cuda_leave();
  if (code)
    return clpi_cuda_memory_error("cuMemAllocFromPoolAsync", code, bytes);
  *out = (clp_memory)pointer;
  return CLP_SUCCESS;
}

static clp_status async_free_on(void *self, clp_memory memory, size_t bytes, clp_stream stream)
{
  (void)bytes;
  CLPI_CUDA_RELAXED;
  clp_status status = clpi_cuda_enter_stream(&((async_allocator *)self)->order.context, stream);
  return status ? status : clpi_cuda_leave_after(clpi_cuda_call(cuMemFreeAsync, memory, stream));
}

static clp_status async_free(void *self, clp_memory memory, size_t bytes)
{
  return async_free_on(self, memory, bytes, ((async_allocator *)self)->home);
}

/* Waits for all work of the context: frees may be pending in streams that the allocator does not
 * know, of pools that have ended or of other users of the memory pool. While a stream is captured,
 * CUDA refuses to wait. */
static clp_status async_drain(void *self)
{
  CLPI_CUDA_RELAXED;
  clp_status status = clpi_cuda_enter(&((async_allocator *)self)->order.context);
  return status ? status : clpi_cuda_leave_after(clpi_cuda_synchronize());
}

static clp_status async_return_cached(void *self)
{
  const async_allocator *allocator = self;
  CLPI_CUDA_RELAXED;
  clp_status status = clpi_cuda_enter(&allocator->order.context);
  return status ? status
                : clpi_cuda_leave_after(clpi_cuda_call(cuMemPoolTrimTo, allocator->mempool, 0));
}

static void async_destroy(void *self)
{
  async_allocator *allocator = self;
  clpi_cuda_stream_order_end(&allocator->order);
  clpi_cuda_context_release(&allocator->order.context);
  free(allocator);
}

static clp_status read_options(const clp_cuda_async_options *given, clp_cuda_async_options *options)
{
  *options = (clp_cuda_async_options)CLP_CUDA_ASYNC_OPTIONS_INIT;
  size_t least = offsetof(clp_cuda_async_options, device) + sizeof(given->device);
  clp_status status =
      clpi_options_read(options, sizeof(*options), given, least, "clp_cuda_async_options");
  if (status)
    return status;
  if (!options->stream)
    options->stream = CLP_CUDA_STREAM_LEGACY;
  bool is_choice = options->mempool_choice == CLP_CUDA_MEMPOOL_DEFAULT ||
                   options->mempool_choice == CLP_CUDA_MEMPOOL_CURRENT;
  if (!is_choice)
    return clpi_error(CLP_INVALID_ARGUMENT, 0,
                      "clp_cuda_async_options: mempool_choice is %d, which is unknown",
                      (int)options->mempool_choice);
  if (options->mempool && options->mempool_choice != CLP_CUDA_MEMPOOL_DEFAULT)
    return clpi_error(CLP_INVALID_ARGUMENT, 0,
                      "clp_cuda_async_options: mempool and mempool_choice are both set; set one");
  return CLP_SUCCESS;
}

/* Checked here: without access, allocations succeed and the first use of the memory fails. */
static clp_status check_access(const clpi_cuda_context *context, clp_cuda_mempool mempool)
{
  clp_cuda_access access = CLP_CUDA_ACCESS_NONE;
  clp_status status = clp_cuda_mempool_get_access(mempool, context->ordinal, &access);
  if (status || access == CLP_CUDA_ACCESS_READ_WRITE)
    return status;
  return clpi_error(CLP_INVALID_ARGUMENT, 0,
                    "clp_cuda_async_options: CUDA device %d has no access to the mempool's memory; "
                    "call clp_cuda_mempool_set_access",
                    context->ordinal);
}

static clp_status choose_mempool(const clpi_cuda_context *context,
                                 const clp_cuda_async_options *options, clp_cuda_mempool *mempool)
{
  *mempool = options->mempool;
  return *mempool ? check_access(context, *mempool)
                  : clpi_cuda_mempool_of(context->ordinal, options->mempool_choice, mempool);
}

/* Fills in the allocator's ops. */
static clp_status describe(const clpi_cuda_context *context, clp_stream home,
                           clp_allocator_ops *ops)
{
  clp_status status = clp_cuda_device_memory(context->ordinal, &ops->device_bytes);
  if (status)
    return status;
  ops->name = "cuda-async";
  ops->device_id = context->ordinal;
  ops->memory_kind = CLP_MEMORY_CUDA;
  ops->alignment = ALIGNMENT;
  ops->home_stream = home;
  ops->allocate_uses_home = true;
  ops->allocate = async_allocate;
  ops->free = async_free;
  ops->free_on = async_free_on;
  ops->drain = async_drain;
  ops->return_cached = async_return_cached;
  ops->destroy = async_destroy;
  ops->split = clpi_split_address;
  ops->unsplit = clpi_unsplit_address;
  clpi_cuda_stream_order_fill(ops);
  return CLP_SUCCESS;
}

/* On success the allocator owns the retained context. */
static clp_status create(const clpi_cuda_context *context, const clp_cuda_async_options *options,
                         clp_allocator **out)
{
  clp_allocator_ops ops = CLP_ALLOCATOR_OPS_INIT;
  clp_cuda_mempool mempool;
  clp_status status = clpi_cuda_stream_check(context, options->stream);
  if (!status)
    status = choose_mempool(context, options, &mempool);
  if (!status)
    status = describe(context, options->stream, &ops);
  if (status)
    return status;
  async_allocator *self = malloc(sizeof(*self));
  if (!self)
    return clpi_error(CLP_OUT_OF_HOST_MEMORY, 0, "no host memory for allocator %s", ops.name);
  *self = (async_allocator){.mempool = mempool, .home = options->stream};
  clpi_cuda_stream_order_init(&self->order, context);
  status = clp_allocator_create(&ops, self, out);
  if (status) {
    clpi_cuda_stream_order_end(&self->order);
    free(self);
  }
  return status;
}

clp_status clp_cuda_async_allocator_create(const clp_cuda_async_options *options,
                                           clp_allocator **out)
{
  CLPI_UNCANCELLED;
  if (!out)
    return clpi_error(CLP_INVALID_ARGUMENT, 0, "clp_cuda_async_allocator_create: out is NULL");
  *out = NULL;
  clp_cuda_async_options checked;
  clpi_cuda_context context;
  bool supports_mempools = false;
  clp_status status = read_options(options, &checked);
  if (!status)
    status = clp_cuda_device_supports_mempools(checked.device, &supports_mempools);
  if (!status && !supports_mempools)
    status = clpi_cuda_no_mempools(checked.device);
  if (!status)
    status = clpi_cuda_context_retain(checked.device, &context);
  if (status)
    return status;
  status = create(&context, &checked, out);
  if (status)
    clpi_cuda_context_release(&context);
  return status;
}

unsigned long long clp_buffer_cuda_pointer(const clp_buffer *buffer)
{
  return clpi_buffer_memory_of(buffer, CLP_MEMORY_CUDA, "clp_buffer_cuda_pointer", "CUDA memory");
}
