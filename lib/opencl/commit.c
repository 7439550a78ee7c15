/* SPDX-License-Identifier: MIT */
/* Committing memory: a migration where OpenCL has it (1.2), else a small write. */
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS /* clEnqueueBarrier, all that OpenCL 1.1 has */
#include "opencl/commit.h"

#include "opencl/cl_error.h"
#include "opencl/device.h"

enum { MIGRATE_VERSION = 120 };

static clp_status query(cl_command_queue queue, cl_command_queue_info what, size_t bytes, void *out)
{
  cl_int code = clGetCommandQueueInfo(queue, what, bytes, out, NULL);
  return code ? clpi_cl_call_error("clGetCommandQueueInfo", code) : CLP_SUCCESS;
}

clp_status clpi_cl_commit_init(clpi_cl_commit *commit, cl_command_queue queue)
{
  cl_command_queue_properties properties;
  cl_device_id device;
  unsigned version;
  clp_status status = query(queue, CL_QUEUE_PROPERTIES, sizeof(properties), &properties);
  if (!status)
    status = query(queue, CL_QUEUE_DEVICE, sizeof(cl_device_id), &device);
  if (!status)
    status = clpi_cl_device_version(device, &version);
  if (status)
    return status;
  *commit = (clpi_cl_commit){.queue = queue,
                             .migrates = version >= MIGRATE_VERSION,
                             .out_of_order = properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE};
  return CLP_SUCCESS;
}

static clp_status migrate(const clpi_cl_commit *commit, cl_mem mem, size_t bytes)
{
  cl_int code = clEnqueueMigrateMemObjects(commit->queue, 1, &mem,
                                           CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED, 0, NULL, NULL);
  return code ? clpi_cl_memory_error("clEnqueueMigrateMemObjects", code, bytes) : CLP_SUCCESS;
}

static clp_status write_little(const clpi_cl_commit *commit, cl_mem mem, size_t bytes)
{
  /* The write does not block, so its source must outlive this call. */
  static const unsigned char source[4];
  size_t little = bytes < sizeof(source) ? bytes : sizeof(source);
  cl_int code =
      clEnqueueWriteBuffer(commit->queue, mem, CL_FALSE, 0, little, source, 0, NULL, NULL);
  return code ? clpi_cl_memory_error("clEnqueueWriteBuffer", code, bytes) : CLP_SUCCESS;
}

/* Without it, an out-of-order queue could undo what the memory's owner writes first. */
static clp_status order_after(const clpi_cl_commit *commit, size_t bytes)
{
  const char *call = commit->migrates ? "clEnqueueBarrierWithWaitList" : "clEnqueueBarrier";
  cl_int code = commit->migrates ? clEnqueueBarrierWithWaitList(commit->queue, 0, NULL, NULL)
                                 : clEnqueueBarrier(commit->queue);
  return code ? clpi_cl_memory_error(call, code, bytes) : CLP_SUCCESS;
}

clp_status clpi_cl_commit_memory(const clpi_cl_commit *commit, cl_mem mem, size_t bytes)
{
  clp_status status =
      commit->migrates ? migrate(commit, mem, bytes) : write_little(commit, mem, bytes);
  if (!status && commit->out_of_order)
    status = order_after(commit, bytes);
  return status;
}
