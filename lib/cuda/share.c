/* SPDX-License-Identifier: MIT */
/* Sharing memory pools and pointers with other processes. */
#include "core/base/cancel.h"
#include "core/base/error.h"
#include "cuda/capture.h"
#include "cuda/cuda_error.h"
#include "cuda/mempool.h"

#include <string.h>

static clp_status export_pool(const char *function, clp_cuda_mempool mempool, int handle_type,
                              void *handle)
{
  clp_status status = clpi_cuda_mempool_check(function, mempool);
  return status ? status
                : clpi_cuda_call(cuMemPoolExportToShareableHandle, handle, mempool, handle_type, 0);
}

static clp_status import_pool(void *handle, int handle_type, clp_cuda_mempool *out)
{
  clp_cuda_mempool imported = NULL;
  clp_status status = clpi_cuda_load();
  if (!status)
    status = clpi_cuda_call(cuMemPoolImportFromShareableHandle, &imported, handle, handle_type, 0);
  if (!status)
    *out = imported;
  return status;
}

clp_status clp_cuda_mempool_export_fd(clp_cuda_mempool mempool, int *fd)
{
  CLPI_UNCANCELLED;
  if (!fd)
    return clpi_cuda_refuse_null("clp_cuda_mempool_export_fd", "fd");
  *fd = -1;
  int exported = -1;
  clp_status status =
      export_pool("clp_cuda_mempool_export_fd", mempool, CLPI_CUDA_HANDLE_POSIX_FD, &exported);
  if (!status)
    *fd = exported;
  return status;
}

clp_status clp_cuda_mempool_import_fd(int fd, clp_cuda_mempool *out)
{
  CLPI_UNCANCELLED;
  if (!out)
    return clpi_cuda_refuse_null("clp_cuda_mempool_import_fd", "out");
  *out = NULL;
  if (fd < 0)
    return clpi_error(CLP_INVALID_ARGUMENT, 0,
                      "clp_cuda_mempool_import_fd: %d is not a file descriptor", fd);
  /* The driver takes the descriptor itself, cast to a pointer. */
  return import_pool((void *)(intptr_t)fd, CLPI_CUDA_HANDLE_POSIX_FD, out);
}

clp_status clp_cuda_mempool_export_fabric(clp_cuda_mempool mempool, clp_cuda_fabric_handle *out)
{
  CLPI_UNCANCELLED;
  clp_cuda_fabric_handle exported;
  if (!out)
    return clpi_cuda_refuse_null("clp_cuda_mempool_export_fabric", "out");
  clp_status status = export_pool("clp_cuda_mempool_export_fabric", mempool,
                                  CLPI_CUDA_HANDLE_FABRIC, exported.bytes);
  if (!status)
    *out = exported;
  return status;
}

clp_status clp_cuda_mempool_import_fabric(const clp_cuda_fabric_handle *handle,
                                          clp_cuda_mempool *out)
{
  CLPI_UNCANCELLED;
  if (!out)
    return clpi_cuda_refuse_null("clp_cuda_mempool_import_fabric", "out");
  *out = NULL;
  if (!handle)
    return clpi_cuda_refuse_null("clp_cuda_mempool_import_fabric", "handle");
  clp_cuda_fabric_handle copy = *handle;
  return import_pool(copy.bytes, CLPI_CUDA_HANDLE_FABRIC, out);
}

clp_status clp_cuda_pointer_export(unsigned long long pointer, clp_cuda_shared_pointer *out)
{
  CLPI_UNCANCELLED;
  clpi_cuda_shared_pointer shared;
  if (!out)
    return clpi_cuda_refuse_null("clp_cuda_pointer_export", "out");
  if (!pointer)
    return clpi_cuda_refuse_null("clp_cuda_pointer_export", "pointer");
  clp_status status = clpi_cuda_load();
  if (!status)
    status = clpi_cuda_call(cuMemPoolExportPointer, &shared, pointer);
  if (!status)
    memcpy(out->bytes, shared.bytes, sizeof(out->bytes));
  return status;
}

clp_status clp_cuda_pointer_import(clp_cuda_mempool mempool, const clp_cuda_shared_pointer *shared,
                                   unsigned long long *out)
{
  CLPI_UNCANCELLED;
  clpi_cuda_shared_pointer copy;
  clpi_cuda_pointer imported = 0;
  if (!out)
    return clpi_cuda_refuse_null("clp_cuda_pointer_import", "out");
  *out = 0;
  if (!shared)
    return clpi_cuda_refuse_null("clp_cuda_pointer_import", "shared");
  memcpy(copy.bytes, shared->bytes, sizeof(copy.bytes));
  clp_status status = clpi_cuda_mempool_check("clp_cuda_pointer_import", mempool);
  if (!status)
    status = clpi_cuda_call(cuMemPoolImportPointer, &imported, mempool, &copy);
  if (!status)
    *out = imported;
  return status;
}

clp_status clp_cuda_pointer_free(unsigned long long pointer, clp_stream stream)
{
  CLPI_UNCANCELLED;
  if (!pointer)
    return CLP_SUCCESS;
  clp_status status = clpi_cuda_load();
  if (status)
    return status;
  CLPI_CUDA_RELAXED;
  return clpi_cuda_call(cuMemFreeAsync, pointer, stream ? stream : CLP_CUDA_STREAM_LEGACY);
}
