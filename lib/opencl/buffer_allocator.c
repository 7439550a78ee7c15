/* SPDX-License-Identifier: MIT */
/* The allocators of cl_mem buffers: deferred, and immediate on a queue.
 *
 * NVIDIA's driver (580) crashes when several threads give it work on sub-buffers that overlap. It
 * does so even if one was released, or if events or one queue order the work, but not once the
 * earlier work is done. So parts are exclusive there.
 *
 * Costs of that driver, which no call here can avoid:
 * - In a loop, making and releasing a sub-buffer takes 1 us each beside 16 others of the buffer, 3
 *   us beside 256, and 8 and 11 us beside 1,024. If rarely made, both together take 2.5 us beside
 *   none, and 14 us beside 128. Sub-buffers of other buffers make no difference.
 * - Releasing a sub-buffer that a kernel or a fill has used takes 10 to 13 us, even when that work
 *   is done. It takes 0.4 us if the sub-buffer was never used.
 * - Buffers of one piece of SVM (CL_MEM_USE_HOST_PTR) may overlap, and take 1 to 2 us to make. But
 *   SVM takes as much of the host's memory as of the device's: 76 GiB of both on an H100 before
 *   clSVMAlloc failed. It takes 580 ms for 1 GiB, and a buffer's destructor callback comes before
 *   its kernel has ended. */
#include "core/allocator/allocator.h"
#include "core/base/cancel.h"
#include "core/base/error.h"
#include "core/pool/pool.h"
#include "opencl/cl_error.h"
#include "opencl/commit.h"
#include "opencl/device.h"
#include "opencl/driver_lock.h"
#include "opencl/loader.h"
#include "opencl/mem_flags.h"
#include "opencl/queue_order.h"
#include "opencl/under_layer.h"

#include <clpool/opencl.h>

typedef struct buffer_allocator {
  clpi_cl_queue_order order; /* first, for its functions; its context is retained */
  cl_mem_flags flags;
  clpi_cl_commit commit;               /* the queue is retained; NULL for the deferred allocator */
  clpi_cl_leave_buffers leave_buffers; /* NULL: there is no layer that pools */
} buffer_allocator;

static clp_status create_buffer(const buffer_allocator *allocator, size_t bytes, clp_memory *out)
{
  cl_int code = CL_SUCCESS;
  cl_mem mem =
      clpi_cl.clCreateBuffer(allocator->order.context, allocator->flags, bytes, NULL, &code);
  if (code || !mem)
    return clpi_cl_not_created("clCreateBuffer", code, bytes);
  *out = (clp_memory)mem;
  return CLP_SUCCESS;
}

static clp_status create_and_commit(const buffer_allocator *allocator, size_t bytes,
                                    clp_memory *out)
{
  clp_memory memory = 0;
  clp_status status = create_buffer(allocator, bytes, &memory);
  if (status)
    return status;
  status = clpi_cl_commit_memory(&allocator->commit, (cl_mem)memory, bytes);
  if (status) {
    /* What failed first is what the user hears of. */
    clpi_cl.clReleaseMemObject((cl_mem)memory);
    return status;
  }
  *out = memory;
  return CLP_SUCCESS;
}

static clp_status buffer_allocate(void *self, size_t bytes, clp_memory *out)
{
  const buffer_allocator *allocator = self;
  pthread_mutex_lock(&clpi_cl_driver_lock);
  if (allocator->leave_buffers)
    allocator->leave_buffers(CL_TRUE);
  clp_status status = allocator->commit.queue ? create_and_commit(allocator, bytes, out)
                                              : create_buffer(allocator, bytes, out);
  if (allocator->leave_buffers)
    allocator->leave_buffers(CL_FALSE);
  pthread_mutex_unlock(&clpi_cl_driver_lock);
  return status;
}

/* OpenCL keeps the memory until earlier work of the queues has used it. */
static clp_status buffer_free(void *self, clp_memory memory, size_t bytes)
{
  (void)self, (void)bytes;
  pthread_mutex_lock(&clpi_cl_driver_lock);
  clp_status status = clpi_cl_call(clReleaseMemObject, (cl_mem)memory);
  pthread_mutex_unlock(&clpi_cl_driver_lock);
  return status;
}

/* The block is a buffer of this allocator, and so no sub-buffer itself. */
static clp_status buffer_split(void *self, clp_memory block, size_t offset, size_t bytes,
                               clp_memory *part)
{
  (void)self;
  const cl_buffer_region region = {.origin = offset, .size = bytes};
  cl_int code = CL_SUCCESS;
  pthread_mutex_lock(&clpi_cl_driver_lock);
  cl_mem mem =
      clpi_cl.clCreateSubBuffer((cl_mem)block, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
  pthread_mutex_unlock(&clpi_cl_driver_lock);
  if (code || !mem)
    return clpi_cl_not_created("clCreateSubBuffer", code, bytes);
  *part = (clp_memory)mem;
  return CLP_SUCCESS;
}

static clp_status immediate_drain(void *self)
{
  const buffer_allocator *allocator = self;
  return clpi_cl_call(clFinish, allocator->commit.queue);
}

static void buffer_destroy(void *self)
{
  buffer_allocator *allocator = self;
  if (allocator->commit.queue)
    clpi_cl.clReleaseCommandQueue(allocator->commit.queue);
  clpi_cl_queue_order_end(&allocator->order);
  clpi_allocator_free_self(self);
}

/* The part that both allocators share; `out` is set as by clp_allocator_create. */
static clp_status create(buffer_allocator *self, clp_allocator_ops *ops, clp_allocator **out)
{
  clpi_cl_bounds bounds;
  clp_status status = clpi_cl_context_bounds(self->order.context, &bounds);
  if (status)
    return status;
  self->order.has_wait_lists = bounds.version >= CLPI_CL_WAIT_LIST_VERSION;
  self->order.forgets_barriers = bounds.has_pocl;
  self->leave_buffers = clpi_cl_find_leave_buffers();
  clpi_cl_queue_order_fill(ops);
  ops->allocate = buffer_allocate;
  ops->free = buffer_free;
  ops->free_is_ordered = true;
  ops->split = buffer_split;
  ops->unsplit = buffer_free;
  ops->exclusive_parts = bounds.has_nvidia;
  ops->destroy = buffer_destroy;
  ops->memory_kind = CLP_MEMORY_CL_MEM;
  ops->max_block_bytes = bounds.max_block_bytes;
  ops->device_bytes = bounds.device_bytes;
  ops->alignment = bounds.alignment;
  return clpi_allocator_create_with(ops, self, sizeof(*self), out);
}

static clp_status check_arguments(const char *function, const void *handle, const char *handle_name,
                                  cl_mem_flags flags, clp_allocator **out)
{
  if (!out)
    return clpi_error(CLP_INVALID_ARGUMENT, 0, "%s: out is NULL", function);
  *out = NULL;
  if (!handle)
    return clpi_error(CLP_INVALID_ARGUMENT, 0, "%s: %s is NULL", function, handle_name);
  clp_status status = clpi_cl_mem_flags_check(flags);
  return status ? status : clpi_cl_load();
}

clp_status clp_cl_deferred_allocator_create(cl_context context, cl_mem_flags mem_flags,
                                            clp_allocator **out)
{
  CLPI_UNCANCELLED;
  clp_status status =
      check_arguments("clp_cl_deferred_allocator_create", context, "context", mem_flags, out);
  if (status)
    return status;
  status = clpi_cl_call(clRetainContext, context);
  if (status)
    return status;

  buffer_allocator self = {.order.context = context, .flags = mem_flags};
  clp_allocator_ops ops = CLP_ALLOCATOR_OPS_INIT;
  ops.name = "cl-deferred";
  ops.deferred = true;
  status = create(&self, &ops, out);
  if (status)
    clpi_cl.clReleaseContext(context);
  return status;
}

/* `*out` is retained. */
static clp_status context_of(cl_command_queue queue, cl_context *out)
{
  cl_context context;
  clp_status status = clpi_cl_call(clGetCommandQueueInfo, queue, CL_QUEUE_CONTEXT,
                                   sizeof(cl_context), &context, NULL);
  if (!status)
    status = clpi_cl_call(clRetainContext, context);
  if (!status)
    *out = context;
  return status;
}

clp_status clp_cl_immediate_allocator_create(cl_command_queue queue, cl_mem_flags mem_flags,
                                             clp_allocator **out)
{
  CLPI_UNCANCELLED;
  clp_status status =
      check_arguments("clp_cl_immediate_allocator_create", queue, "queue", mem_flags, out);
  if (status)
    return status;
  status = clpi_cl_call(clRetainCommandQueue, queue);
  if (status)
    return status;

  buffer_allocator self = {.flags = mem_flags ? mem_flags : CL_MEM_READ_WRITE};
  clp_allocator_ops ops = CLP_ALLOCATOR_OPS_INIT;
  ops.name = "cl-immediate";
  ops.home_stream = queue;
  ops.allocate_uses_home = true;
  ops.drain = immediate_drain;
  status = context_of(queue, &self.order.context);
  if (status)
    goto release_queue;
  status = clpi_cl_commit_init(&self.commit, queue);
  self.flags |= self.commit.flags;
  if (!status)
    status = create(&self, &ops, out);
  if (status)
    goto release_context;
  return CLP_SUCCESS;

release_context:
  clpi_cl.clReleaseContext(self.order.context);
release_queue:
  clpi_cl.clReleaseCommandQueue(queue);
  return status;
}

cl_mem clp_buffer_cl_mem(const clp_buffer *buffer)
{
  return (cl_mem)clpi_buffer_memory_of(buffer, CLP_MEMORY_CL_MEM, "clp_buffer_cl_mem", "a cl_mem");
}
