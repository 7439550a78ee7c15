/* SPDX-License-Identifier: MIT */
/* Which devices may use a memory pool's memory. */
#include "core/base/cancel.h"
#include "core/base/error.h"
#include "cuda/context.h"
#include "cuda/cuda_error.h"
#include "cuda/mempool.h"

static clp_status locate(const char *function, clp_cuda_mempool mempool, int device,
                         clpi_cuda_location *location)
{
  if (!mempool)
    return clpi_cuda_refuse_null(function, "mempool");
  location->type = CLPI_CUDA_LOCATION_DEVICE;
  return clpi_cuda_device_get(device, &location->id);
}

clp_status clp_cuda_mempool_set_access(clp_cuda_mempool mempool, int device, clp_cuda_access access)
{
  CLPI_UNCANCELLED;
  clpi_cuda_access asked = {.flags = (int)access};
  if (access != CLP_CUDA_ACCESS_NONE && access != CLP_CUDA_ACCESS_READ &&
      access != CLP_CUDA_ACCESS_READ_WRITE)
    return clpi_error(CLP_INVALID_ARGUMENT, 0, "clp_cuda_mempool_set_access: unknown access %d",
                      (int)access);
  clp_status status = locate("clp_cuda_mempool_set_access", mempool, device, &asked.location);
  if (status)
    return status;
  clpi_cuda_result code = clpi_cuda.cuMemPoolSetAccess(mempool, &asked, 1);
  /* The device exists, so either it cannot reach the pool's memory, or its access cannot be
   * reduced. */
  if (code == CLPI_CUDA_INVALID_DEVICE || code == CLPI_CUDA_PEER_ACCESS_UNSUPPORTED)
    return clpi_error(CLP_NOT_SUPPORTED, code,
                      "cuMemPoolSetAccess: CUDA device %d cannot %s the memory pool's memory",
                      device,
                      access == CLP_CUDA_ACCESS_READ_WRITE ? "reach" : "have only this access to");
  return clpi_cuda_check("cuMemPoolSetAccess", code);
}

clp_status clp_cuda_mempool_get_access(clp_cuda_mempool mempool, int device,
                                       clp_cuda_access *access)
{
  CLPI_UNCANCELLED;
  clpi_cuda_location location;
  int flags = 0;
  if (!access)
    return clpi_cuda_refuse_null("clp_cuda_mempool_get_access", "access");
  clp_status status = locate("clp_cuda_mempool_get_access", mempool, device, &location);
  if (!status)
    status = clpi_cuda_call(cuMemPoolGetAccess, &flags, mempool, &location);
  if (!status)
    *access = (clp_cuda_access)flags;
  return status;
}
