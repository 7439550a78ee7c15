/* SPDX-License-Identifier: MIT */
/* Our declarations of CUDA's driver beside its own: tests/cuda/check-cuda-header.sh compiles and
 * runs this. */
#include <cuda.h>
#include <cudaTypedefs.h>

#include "cuda/driver.h"

#include <stdio.h>
#include <string.h>

#define SAME_VALUE(ours, theirs)                                                                   \
  _Static_assert((long long)(ours) == (long long)(theirs), #ours " is not " #theirs)
#define SAME_TYPE(ours, theirs)                                                                    \
  _Static_assert(__builtin_types_compatible_p(ours, theirs), #ours " is not " #theirs)
#define SAME_SIZE(ours, theirs)                                                                    \
  _Static_assert(sizeof(ours) == sizeof(theirs), #ours " has not the size of " #theirs)
#define SAME_FIELD(ours, our_field, theirs, their_field)                                           \
  SAME_VALUE(offsetof(ours, our_field), offsetof(theirs, their_field));                            \
  SAME_SIZE(((ours *)0)->our_field, ((theirs *)0)->their_field)

/* --- types; an enumeration of CUDA's is an int here --- */

SAME_TYPE(clpi_cuda_device, CUdevice);
SAME_TYPE(clpi_cuda_pointer, CUdeviceptr);
SAME_TYPE(clpi_cuda_ctx, CUcontext);
SAME_TYPE(clpi_cuda_stream, CUstream);
SAME_TYPE(clpi_cuda_event, CUevent);
SAME_TYPE(clpi_cuda_mempool, CUmemoryPool);
SAME_SIZE(clpi_cuda_result, CUresult);

SAME_SIZE(clpi_cuda_location, CUmemLocation);
SAME_FIELD(clpi_cuda_location, type, CUmemLocation, type);
SAME_FIELD(clpi_cuda_location, id, CUmemLocation, id);

SAME_SIZE(clpi_cuda_mempool_props, CUmemPoolProps);
SAME_FIELD(clpi_cuda_mempool_props, allocation_type, CUmemPoolProps, allocType);
SAME_FIELD(clpi_cuda_mempool_props, handle_types, CUmemPoolProps, handleTypes);
SAME_FIELD(clpi_cuda_mempool_props, location, CUmemPoolProps, location);
SAME_FIELD(clpi_cuda_mempool_props, win32_security_attributes, CUmemPoolProps,
           win32SecurityAttributes);
SAME_FIELD(clpi_cuda_mempool_props, max_bytes, CUmemPoolProps, maxSize);
SAME_FIELD(clpi_cuda_mempool_props, usage, CUmemPoolProps, usage);
SAME_FIELD(clpi_cuda_mempool_props, reserved, CUmemPoolProps, reserved);

SAME_SIZE(clpi_cuda_access, CUmemAccessDesc);
SAME_FIELD(clpi_cuda_access, location, CUmemAccessDesc, location);
SAME_FIELD(clpi_cuda_access, flags, CUmemAccessDesc, flags);

SAME_SIZE(clpi_cuda_shared_pointer, CUmemPoolPtrExportData);

/* --- values --- */

SAME_VALUE(CLPI_CUDA_SUCCESS, CUDA_SUCCESS);
#define SAME_ERROR(word) SAME_VALUE(CLPI_CUDA_##word, CUDA_ERROR_##word)
SAME_ERROR(INVALID_VALUE);
SAME_ERROR(OUT_OF_MEMORY);
SAME_ERROR(NOT_INITIALIZED);
SAME_ERROR(DEINITIALIZED);
SAME_ERROR(STUB_LIBRARY);
SAME_ERROR(NO_DEVICE);
SAME_ERROR(INVALID_DEVICE);
SAME_ERROR(INVALID_CONTEXT);
SAME_ERROR(INVALID_HANDLE);
SAME_ERROR(NOT_READY);
SAME_ERROR(PEER_ACCESS_UNSUPPORTED);
SAME_ERROR(NOT_PERMITTED);
SAME_ERROR(NOT_SUPPORTED);
SAME_ERROR(SYSTEM_NOT_READY);
SAME_ERROR(SYSTEM_DRIVER_MISMATCH);
SAME_ERROR(COMPAT_NOT_SUPPORTED_ON_DEVICE);
SAME_ERROR(STREAM_CAPTURE_UNSUPPORTED);
SAME_ERROR(STREAM_CAPTURE_IMPLICIT);
SAME_ERROR(STREAM_CAPTURE_WRONG_THREAD);
SAME_VALUE(CLPI_CUDA_ATTRIBUTE_MEMORY_POOLS, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED);
SAME_VALUE(CLPI_CUDA_ATTRIBUTE_MEMPOOL_HANDLE_TYPES,
           CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES);
SAME_VALUE(CLPI_CUDA_ATTRIBUTE_HOST_NUMA_MEMORY_POOLS,
           CU_DEVICE_ATTRIBUTE_HOST_NUMA_MEMORY_POOLS_SUPPORTED);
SAME_VALUE(CLPI_CUDA_EVENT_DISABLE_TIMING, CU_EVENT_DISABLE_TIMING);
SAME_VALUE(CLPI_CUDA_CAPTURE_RELAXED, CU_STREAM_CAPTURE_MODE_RELAXED);
SAME_VALUE(CLPI_CUDA_CAPTURE_NONE, CU_STREAM_CAPTURE_STATUS_NONE);
SAME_VALUE(CLPI_CUDA_ALLOCATION_PINNED, CU_MEM_ALLOCATION_TYPE_PINNED);
SAME_VALUE(CLPI_CUDA_LOCATION_DEVICE, CU_MEM_LOCATION_TYPE_DEVICE);
SAME_VALUE(CLPI_CUDA_LOCATION_HOST_NUMA, CU_MEM_LOCATION_TYPE_HOST_NUMA);
SAME_VALUE(CLPI_CUDA_HANDLE_POSIX_FD, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
SAME_VALUE(CLPI_CUDA_HANDLE_FABRIC, CU_MEM_HANDLE_TYPE_FABRIC);
SAME_VALUE(CLPI_CUDA_ACCESS_NONE, CU_MEM_ACCESS_FLAGS_PROT_NONE);
SAME_VALUE(CLPI_CUDA_ACCESS_READ, CU_MEM_ACCESS_FLAGS_PROT_READ);
SAME_VALUE(CLPI_CUDA_ACCESS_READ_WRITE, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
SAME_VALUE(CLPI_CUDA_MEMPOOL_REUSE_FOLLOW_EVENTS, CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES);
SAME_VALUE(CLPI_CUDA_MEMPOOL_REUSE_OPPORTUNISTIC, CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC);
SAME_VALUE(CLPI_CUDA_MEMPOOL_REUSE_INTERNAL, CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES);
SAME_VALUE(CLPI_CUDA_MEMPOOL_RELEASE_THRESHOLD, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD);
SAME_VALUE(CLPI_CUDA_MEMPOOL_RESERVED, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);
SAME_VALUE(CLPI_CUDA_MEMPOOL_RESERVED_HIGH, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH);
SAME_VALUE(CLPI_CUDA_MEMPOOL_USED, CU_MEMPOOL_ATTR_USED_MEM_CURRENT);
SAME_VALUE(CLPI_CUDA_MEMPOOL_USED_HIGH, CU_MEMPOOL_ATTR_USED_MEM_HIGH);

/* --- functions: from here on, our types are CUDA's --- */

#define clpi_cuda_result            CUresult
#define clpi_cuda_device            CUdevice
#define clpi_cuda_device_attribute  CUdevice_attribute
#define clpi_cuda_mempool_attribute CUmemPool_attribute
#define clpi_cuda_handle_type       CUmemAllocationHandleType
#define clpi_cuda_access_flags      CUmemAccess_flags
#define clpi_cuda_symbol_status     CUdriverProcAddressQueryResult
#define clpi_cuda_capture_mode      CUstreamCaptureMode
#define clpi_cuda_capture_status    CUstreamCaptureStatus
#define clpi_cuda_location          CUmemLocation
#define clpi_cuda_mempool_props     CUmemPoolProps
#define clpi_cuda_access            CUmemAccessDesc
#define clpi_cuda_shared_pointer    CUmemPoolPtrExportData

/* The tests make contexts as CUDA 3.2 does; the newest form has more parameters. */
#undef cuCtxCreate
/* cuda.h has these behind a macro. */
#undef cuMemcpyDtoHAsync
#undef cuMemcpyDtoDAsync
#undef cuStreamBeginCapture

/* Its types, names with versions and functions are declared once more, which works where they are
 * the same. */
#include "fakecuda.h"

SAME_VALUE(FAKECUDA_UNKNOWN, CUDA_ERROR_UNKNOWN);
SAME_VALUE(FAKECUDA_ILLEGAL_ADDRESS, CUDA_ERROR_ILLEGAL_ADDRESS);
SAME_VALUE(FAKECUDA_STREAM_DEFAULT, CU_STREAM_DEFAULT);
SAME_VALUE(FAKECUDA_STREAM_NON_BLOCKING, CU_STREAM_NON_BLOCKING);
SAME_VALUE(FAKECUDA_CAPTURE_GLOBAL, CU_STREAM_CAPTURE_MODE_GLOBAL);
SAME_VALUE(FAKECUDA_CAPTURE_THREAD_LOCAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
SAME_VALUE(FAKECUDA_CAPTURE_ACTIVE, CU_STREAM_CAPTURE_STATUS_ACTIVE);
SAME_VALUE(FAKECUDA_CAPTURE_INVALIDATED, CU_STREAM_CAPTURE_STATUS_INVALIDATED);
SAME_VALUE(FAKECUDA_STREAM_CAPTURE_INVALIDATED, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);

/* CUDA has a type for each function in each version. */
#define FUNCTION(name, suffix, version, parameters)                                                \
  SAME_TYPE(CUresult(*) parameters, PFN_##name##_v##version);
FAKECUDA_FUNCTIONS(FUNCTION)

/* The name that cuda.h has for the newest version. */
#define TEXT(expanded)   #expanded
#define SYMBOL(function) TEXT(function)

static int compare(const char *ours, const char *theirs)
{
  if (strcmp(ours, theirs) == 0)
    return 0;
  (void)fprintf(stderr, "%s is %s to cuda.h\n", ours, theirs);
  return 1;
}

int main(void)
{
  int different = FAKECUDA_STREAM_LEGACY != CU_STREAM_LEGACY ||
                  FAKECUDA_STREAM_PER_THREAD != CU_STREAM_PER_THREAD;
#define SAME_SYMBOL(name, suffix, version, parameters)                                             \
  different += compare(#name #suffix, SYMBOL(name));
  FAKECUDA_FUNCTIONS(SAME_SYMBOL)
  return different > 0;
}
