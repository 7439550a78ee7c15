/* SPDX-License-Identifier: MIT */
/* Sub-buffers: for cl_mems of a pool, and for users. */
#include "opencl/sub_buffer.h"

#include "core/base/cancel.h"
#include "core/base/error.h"
#include "core/pool/pool.h"
#include "opencl/cl_error.h"
#include "opencl/driver_lock.h"
#include "opencl/loader.h"
#include "opencl/mem_flags.h"

#include <clpool/opencl.h>

static clp_status query(cl_mem mem, cl_mem_info what, size_t bytes, void *out)
{
  return clpi_cl_call(clGetMemObjectInfo, mem, what, bytes, out, NULL);
}

static clp_status find_whole(cl_mem *mem, size_t *origin)
{
  cl_mem parent = NULL;
  size_t offset = 0;
  clp_status status = query(*mem, CL_MEM_ASSOCIATED_MEMOBJECT, sizeof(cl_mem), &parent);
  if (!status && parent)
    status = query(*mem, CL_MEM_OFFSET, sizeof(offset), &offset);
  if (status || !parent)
    return status;
  *mem = parent;
  *origin += offset;
  return CLP_SUCCESS;
}

static clp_status refused(cl_int code, cl_mem_flags flags, size_t origin)
{
  if (code == CL_INVALID_VALUE)
    return clpi_error(
        CLP_INVALID_ARGUMENT, code,
        "clCreateSubBuffer: the flags 0x%llx contradict those of the pool's allocator",
        (unsigned long long)flags);
  return clpi_error(CLP_INVALID_ARGUMENT, code,
                    "clCreateSubBuffer: offset %zu is not aligned to CL_DEVICE_MEM_BASE_ADDR_ALIGN "
                    "of the devices",
                    origin);
}

clp_status clpi_cl_sub_buffer_create(cl_mem mem, cl_mem_flags flags, size_t origin, size_t bytes,
                                     cl_mem *out)
{
  cl_buffer_region region = {.origin = origin, .size = bytes};
  clp_status status = find_whole(&mem, &region.origin);
  if (status)
    return status;
  cl_int code = CL_SUCCESS;
  cl_mem made = clpi_cl.clCreateSubBuffer(mem, flags, CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
  if (code == CL_INVALID_VALUE || code == CL_MISALIGNED_SUB_BUFFER_OFFSET)
    return refused(code, flags, origin);
  if (code || !made)
    return clpi_cl_not_created("clCreateSubBuffer", code, bytes);
  *out = made;
  return CLP_SUCCESS;
}

static clp_status check_region(const clp_buffer *buffer, size_t origin, size_t bytes)
{
  size_t size = clp_buffer_size(buffer);
  if (bytes && origin < size && bytes <= size - origin)
    return CLP_SUCCESS;
  return clpi_error(CLP_INVALID_ARGUMENT, 0,
                    "clp_buffer_create_sub_buffer: %zu bytes at offset %zu are not a part of a "
                    "buffer of %zu bytes",
                    bytes, origin, size);
}

clp_status clp_buffer_create_sub_buffer(const clp_buffer *buffer, cl_mem_flags flags, size_t origin,
                                        size_t bytes, cl_mem *out)
{
  CLPI_UNCANCELLED;
  if (!out)
    return clpi_error(CLP_INVALID_ARGUMENT, 0, "clp_buffer_create_sub_buffer: out is NULL");
  *out = NULL;
  if (!buffer)
    return clpi_error(CLP_INVALID_ARGUMENT, 0, "clp_buffer_create_sub_buffer: buffer is NULL");
  clp_status status = clpi_cl_access_flags_check(flags);
  if (!status)
    status = check_region(buffer, origin, bytes);
  if (!status)
    status = clpi_pool_check(buffer->pool, "clp_buffer_create_sub_buffer");
  if (!status)
    status = clpi_cl_load(); /* the allocator may be the program's own */
  if (status)
    return status;
  cl_mem mem = clp_buffer_cl_mem(buffer);
  if (!mem)
    return CLP_INVALID_ARGUMENT; /* with clp_buffer_cl_mem's last error */
  pthread_mutex_lock(&clpi_cl_driver_lock);
  status = clpi_cl_sub_buffer_create(mem, flags, origin, bytes, out);
  pthread_mutex_unlock(&clpi_cl_driver_lock);
  return status;
}
