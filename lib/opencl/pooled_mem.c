/* SPDX-License-Identifier: MIT */
/* A cl_mem that releases its memory to a pool when it is destroyed. It is a sub-buffer over a
 * pool's block, with its own size and lifetime. */
#include "core/base/boundary.h"
#include "core/base/cancel.h"
#include "core/base/error.h"
#include "core/pool/pool.h"
#include "opencl/cl_error.h"
#include "opencl/driver_lock.h"
#include "opencl/loader.h"
#include "opencl/mem_flags.h"
#include "opencl/sub_buffer.h"

#include <clpool/opencl.h>

static clp_status check_arguments(const clp_pool *pool, size_t bytes, cl_mem_flags flags,
                                  cl_mem *out)
{
  if (!out)
    return clpi_error(CLP_INVALID_ARGUMENT, 0, "clp_pool_create_cl_mem: out is NULL");
  *out = NULL;
  if (!pool)
    return clpi_error(CLP_INVALID_ARGUMENT, 0, "clp_pool_create_cl_mem: pool is NULL");
  clp_memory_kind kind = pool->allocator->ops.memory_kind;
  if (kind != CLP_MEMORY_CL_MEM && kind != CLP_MEMORY_UNSTATED)
    return clpi_error(CLP_INVALID_ARGUMENT, 0,
                      "clp_pool_create_cl_mem: the memory of allocator %s is not a cl_mem",
                      pool->allocator->name);
  if (bytes == 0)
    return clpi_error(CLP_INVALID_ARGUMENT, CL_INVALID_BUFFER_SIZE,
                      "clp_pool_create_cl_mem: bytes is 0; OpenCL has no empty cl_mem");
  clp_status status = clpi_cl_access_flags_check(flags);
  return status ? status : clpi_cl_load(); /* the allocator may be the program's own */
}

/* The destructor callback. It is called once, by the thread that releases the cl_mem last, or by a
 * thread of the driver. It must not wait for a queue; releasing a buffer does not. */
static void CL_CALLBACK give_back(cl_mem mem, void *buffer)
{
  (void)mem;
  (void)clp_buffer_release(buffer);
}

static clp_status create_cl_mem(clp_buffer *buffer, cl_mem_flags flags, cl_mem *out)
{
  cl_mem mem = NULL;
  clp_status status =
      clpi_cl_sub_buffer_create(clp_buffer_cl_mem(buffer), flags, 0, clp_buffer_size(buffer), &mem);
  if (status)
    return status;
  status = clpi_cl_call(clSetMemObjectDestructorCallback, mem, give_back, buffer);
  if (status)
    clpi_cl.clReleaseMemObject(mem);
  else
    *out = mem;
  return status;
}

CLPI_ENTRY clp_status clp_pool_create_cl_mem(clp_pool *pool, size_t bytes, cl_mem_flags flags,
                                             cl_mem *out)
{
  CLPI_UNCANCELLED;
  clp_buffer *buffer;
  clp_status status = check_arguments(pool, bytes, flags, out);
  if (!status)
    status = clp_pool_allocate(pool, bytes, &buffer);
  if (status)
    return status;
  pthread_mutex_lock(&clpi_cl_driver_lock);
  status = create_cl_mem(buffer, flags, out);
  pthread_mutex_unlock(&clpi_cl_driver_lock);
  if (status)
    clp_buffer_release(buffer);
  return status;
}
