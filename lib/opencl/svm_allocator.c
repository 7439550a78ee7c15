/* SPDX-License-Identifier: MIT */
/* The allocator of shared virtual memory. clSVMAlloc returns NULL for every error. So all arguments
 * are checked before, and NULL can only mean out of memory.
 *
 * On NVIDIA's driver (580), clEnqueueSVMFree breaks calls of other threads: clSVMAlloc returns
 * NULL, and kernels lose their arguments (CL_INVALID_KERNEL_ARGS from clFinish). So there the host
 * waits and calls clSVMFree instead. */
#include "core/allocator/allocator.h"
#include "core/base/cancel.h"
#include "core/base/error.h"
#include "core/base/options.h"
#include "core/pool/pool.h"
#include "opencl/cl_error.h"
#include "opencl/device.h"
#include "opencl/driver_lock.h"
#include "opencl/loader.h"
#include "opencl/mem_flags.h"
#include "opencl/pending_frees.h"
#include "opencl/queue_order.h"
#include "opencl/under_layer.h"

#include <clpool/opencl.h>

typedef struct svm_allocator {
  clpi_cl_queue_order order; /* must be first; its context is retained */
  cl_svm_mem_flags flags;
  cl_uint alignment;
  cl_command_queue queue;              /* the home stream, retained; NULL: none */
  bool queues_can_free;                /* clEnqueueSVMFree works: no device is NVIDIA's */
  clpi_cl_leave_buffers leave_buffers; /* NULL: there is no layer that pools */
} svm_allocator;

static clp_status svm_allocate(void *self, size_t bytes, clp_memory *out)
{
  const svm_allocator *allocator = self;
  pthread_mutex_lock(&clpi_cl_driver_lock);
  if (allocator->leave_buffers)
    allocator->leave_buffers(CL_TRUE);
  void *pointer =
      clpi_cl.clSVMAlloc(allocator->order.context, allocator->flags, bytes, allocator->alignment);
  if (allocator->leave_buffers)
    allocator->leave_buffers(CL_FALSE);
  pthread_mutex_unlock(&clpi_cl_driver_lock);
  if (!pointer)
    return clpi_error(CLP_OUT_OF_DEVICE_MEMORY, 0, "clSVMAlloc returned NULL for %zu bytes", bytes);
  *out = (clp_memory)pointer;
  return CLP_SUCCESS;
}

/* Enqueues a free behind all work of the queue. The barrier is for out-of-order queues. */
static clp_status enqueue_free(cl_command_queue queue, void *pointer, cl_event *event)
{
  clp_status status = clpi_cl_call(clEnqueueBarrierWithWaitList, queue, 0, NULL, NULL);
  return status ? status
                : clpi_cl_call(clEnqueueSVMFree, queue, 1, &pointer, NULL, NULL, 0, NULL, event);
}

static clp_status svm_free_on(void *self, clp_memory memory, size_t bytes, clp_stream stream)
{
  (void)bytes;
  svm_allocator *allocator = self;
  cl_event event;
  pthread_mutex_lock(&clpi_cl_driver_lock);
  clp_status status = enqueue_free(stream, (void *)memory, &event);
  pthread_mutex_unlock(&clpi_cl_driver_lock);
  if (status)
    return status;
  /* The free is enqueued, so this has succeeded. If the flush fails, the free is submitted with the
   * queue's next work. */
  clpi_cl.clFlush(stream);
  clpi_cl_pending_frees_add(allocator, allocator->order.context, event);
  return CLP_SUCCESS;
}

static clp_status svm_free(void *self, clp_memory memory, size_t bytes)
{
  svm_allocator *allocator = self;
  if (allocator->queue && allocator->queues_can_free)
    return svm_free_on(self, memory, bytes, allocator->queue);
  clp_status status = allocator->queue ? clpi_cl_call(clFinish, allocator->queue) : CLP_SUCCESS;
  if (status)
    return status;
  pthread_mutex_lock(&clpi_cl_driver_lock);
  clpi_cl.clSVMFree(allocator->order.context, (void *)memory);
  pthread_mutex_unlock(&clpi_cl_driver_lock);
  return CLP_SUCCESS;
}

static clp_status svm_drain(void *self)
{
  const svm_allocator *allocator = self;
  return clpi_cl_pending_frees_wait(allocator, allocator->order.context);
}

static void svm_destroy(void *self)
{
  svm_allocator *allocator = self;
  clpi_cl_pending_frees_leave(allocator, allocator->order.context);
  if (allocator->queue)
    clpi_cl.clReleaseCommandQueue(allocator->queue);
  clpi_cl_queue_order_end(&allocator->order);
  clpi_allocator_free_self(self);
}

typedef struct capability {
  cl_device_svm_capabilities flag;
  const char *name;
} capability;

static const capability coarse_grain = {CL_DEVICE_SVM_COARSE_GRAIN_BUFFER, "coarse-grain buffers"};
static const capability fine_grain = {CL_DEVICE_SVM_FINE_GRAIN_BUFFER, "fine-grain buffers"};
static const capability atomics = {CL_DEVICE_SVM_ATOMICS, "atomics"};

static clp_status need(const clpi_cl_svm_bounds *bounds, capability needed)
{
  if (bounds->capabilities & needed.flag)
    return CLP_SUCCESS;
  return clpi_error(CLP_NOT_SUPPORTED, 0,
                    "not every device of the context supports %s in shared virtual memory",
                    needed.name);
}

static clp_status check_devices(const clp_cl_svm_options *options, const clpi_cl_svm_bounds *bounds)
{
  clp_status status =
      need(bounds, options->flags & CL_MEM_SVM_FINE_GRAIN_BUFFER ? fine_grain : coarse_grain);
  if (!status && options->flags & CL_MEM_SVM_ATOMICS)
    status = need(bounds, atomics);
  if (!status && options->alignment > bounds->max_alignment)
    status = clpi_error(CLP_INVALID_ARGUMENT, 0,
                        "clp_cl_svm_options: alignment is %zu; the devices support at most %zu",
                        options->alignment, bounds->max_alignment);
  return status;
}

static clp_status read_options(const clp_cl_svm_options *given, clp_cl_svm_options *options)
{
  *options = (clp_cl_svm_options)CLP_CL_SVM_OPTIONS_INIT;
  size_t least = offsetof(clp_cl_svm_options, flags) + sizeof(given->flags);
  clp_status status =
      clpi_options_read(options, sizeof(*options), given, least, "clp_cl_svm_options");
  if (status)
    return status;
  if (options->alignment & (options->alignment - 1))
    return clpi_error(CLP_INVALID_ARGUMENT, 0,
                      "clp_cl_svm_options: alignment is %zu, not a power of two",
                      options->alignment);
  return clpi_cl_svm_flags_check(options->flags);
}

/* Fills in the allocator's ops. */
static void describe(const clp_cl_svm_options *options, const clpi_cl_bounds *bounds,
                     const clpi_cl_svm_bounds *svm, clp_allocator_ops *ops)
{
  ops->name = "cl-svm";
  ops->memory_kind = CLP_MEMORY_CL_SVM;
  ops->max_block_bytes = bounds->max_block_bytes;
  ops->device_bytes = bounds->device_bytes;
  ops->alignment = options->alignment ? options->alignment : svm->max_alignment;
  ops->home_stream = options->queue;
  ops->allocate = svm_allocate;
  ops->free = svm_free;
  ops->free_on = bounds->has_nvidia ? NULL : svm_free_on;
  ops->drain = svm_drain;
  ops->destroy = svm_destroy;
  ops->split = clpi_split_address;
  ops->unsplit = clpi_unsplit_address;
  clpi_cl_queue_order_fill(ops);
}

/* On success the allocator owns the references to context and queue. */
static clp_status create(cl_context context, const clp_cl_svm_options *options, clp_allocator **out)
{
  clp_allocator_ops ops = CLP_ALLOCATOR_OPS_INIT;
  clpi_cl_bounds bounds;
  clpi_cl_svm_bounds svm;
  clp_status status = clpi_cl_context_bounds(context, &bounds);
  if (!status)
    status = clpi_cl_context_svm(context, bounds.version, &svm);
  if (!status)
    status = check_devices(options, &svm);
  if (status)
    return status;
  describe(options, &bounds, &svm, &ops);
  const svm_allocator self = {
      .order = {.context = context, .has_wait_lists = true, .forgets_barriers = bounds.has_pocl},
      .flags = options->flags ? options->flags : CL_MEM_READ_WRITE,
      .alignment = (cl_uint)options->alignment,
      .queue = options->queue,
      .queues_can_free = !bounds.has_nvidia,
      .leave_buffers = clpi_cl_find_leave_buffers()};
  return clpi_allocator_create_with(&ops, &self, sizeof(self), out);
}

clp_status clp_cl_svm_allocator_create(cl_context context, const clp_cl_svm_options *options,
                                       clp_allocator **out)
{
  CLPI_UNCANCELLED;
  if (!out)
    return clpi_error(CLP_INVALID_ARGUMENT, 0, "clp_cl_svm_allocator_create: out is NULL");
  *out = NULL;
  if (!context)
    return clpi_error(CLP_INVALID_ARGUMENT, 0, "clp_cl_svm_allocator_create: context is NULL");
  clp_cl_svm_options checked;
  clp_status status = read_options(options, &checked);
  if (!status)
    status = clpi_cl_load();
  if (status)
    return status;

  status = clpi_cl_call(clRetainContext, context);
  if (status)
    return status;
  const clpi_cl_queue_order order = {.context = context};
  status = checked.queue ? clpi_cl_queue_retain(&order, checked.queue) : CLP_SUCCESS;
  if (status)
    goto release_context;
  status = create(context, &checked, out);
  if (status)
    goto release_queue;
  return CLP_SUCCESS;

release_queue:
  if (checked.queue)
    clpi_cl.clReleaseCommandQueue(checked.queue);
release_context:
  clpi_cl.clReleaseContext(context);
  return status;
}

void *clp_buffer_svm_pointer(const clp_buffer *buffer)
{
  return (void *)clpi_buffer_memory_of(buffer, CLP_MEMORY_CL_SVM, "clp_buffer_svm_pointer",
                                       "shared virtual memory");
}
