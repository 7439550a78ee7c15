/* SPDX-License-Identifier: MIT */
/* Committing memory: a migration if OpenCL has it (1.2), otherwise a small write.
 *
 * NVIDIA's driver (580) crashes when one thread migrates buffers while others give work to queues,
 * no matter which locks are around the migrations. Filling one byte takes as long, and also makes
 * the driver provide the memory or report that there is none. */
#include "opencl/commit.h"

#include "opencl/cl_error.h"
#include "opencl/device.h"
#include "opencl/loader.h"
#include "opencl/queue_order.h"

enum { MIGRATE_VERSION = 120 };

static clp_status migrate(const clpi_cl_commit *commit, cl_mem mem, size_t bytes)
{
  cl_int code = clpi_cl.clEnqueueMigrateMemObjects(
      commit->queue, 1, &mem, CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED, 0, NULL, NULL);
  return code ? clpi_cl_memory_error("clEnqueueMigrateMemObjects", code, bytes) : CLP_SUCCESS;
}

static clp_status fill_little(const clpi_cl_commit *commit, cl_mem mem, size_t bytes)
{
  const unsigned char pattern = 0;
  cl_int code = clpi_cl.clEnqueueFillBuffer(commit->queue, mem, &pattern, sizeof(pattern), 0,
                                            sizeof(pattern), 0, NULL, NULL);
  return code ? clpi_cl_memory_error("clEnqueueFillBuffer", code, bytes) : CLP_SUCCESS;
}

static clp_status write_little(const clpi_cl_commit *commit, cl_mem mem, size_t bytes)
{
  /* The write does not block, so its source must outlive this call. */
  static const unsigned char source[4];
  size_t little = bytes < sizeof(source) ? bytes : sizeof(source);
  cl_int code =
      clpi_cl.clEnqueueWriteBuffer(commit->queue, mem, CL_FALSE, 0, little, source, 0, NULL, NULL);
  return code ? clpi_cl_memory_error("clEnqueueWriteBuffer", code, bytes) : CLP_SUCCESS;
}

clp_status clpi_cl_commit_init(clpi_cl_commit *commit, cl_command_queue queue)
{
  clpi_cl_commit found = {.queue = queue};
  clpi_cl_bounds bounds;
  cl_device_id device;
  clp_status status = clpi_cl_queue_is_out_of_order(queue, &found.out_of_order);
  if (!status)
    status =
        clpi_cl_call(clGetCommandQueueInfo, queue, CL_QUEUE_DEVICE, sizeof(device), &device, NULL);
  if (!status)
    status = clpi_cl_device_bounds(device, &bounds);
  if (status)
    return status;
  if (bounds.version < MIGRATE_VERSION)
    found.method = write_little;
  else
    found.method = bounds.has_nvidia ? fill_little : migrate;
  found.flags = bounds.may_abort ? CL_MEM_ALLOC_HOST_PTR : 0;
  *commit = found;
  return CLP_SUCCESS;
}

/* Without a barrier, an out-of-order queue could overwrite what the memory's owner writes first. */
static clp_status order_after(const clpi_cl_commit *commit, size_t bytes)
{
  bool has_wait_lists = commit->method != write_little;
  const char *call = has_wait_lists ? "clEnqueueBarrierWithWaitList" : "clEnqueueBarrier";
  cl_int code = has_wait_lists ? clpi_cl.clEnqueueBarrierWithWaitList(commit->queue, 0, NULL, NULL)
                               : clpi_cl.clEnqueueBarrier(commit->queue);
  return code ? clpi_cl_memory_error(call, code, bytes) : CLP_SUCCESS;
}

clp_status clpi_cl_commit_memory(const clpi_cl_commit *commit, cl_mem mem, size_t bytes)
{
  clp_status status = commit->method(commit, mem, bytes);
  if (!status && commit->out_of_order)
    status = order_after(commit, bytes);
  return status;
}
