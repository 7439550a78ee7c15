/* SPDX-License-Identifier: MIT */
/* Loads CUDA's driver when it is first needed, and declares the part of its interface that we use.
 * tests/cuda/check-cuda-header.sh compares the declarations with cuda.h if that is installed. */
#ifndef CLPOOL_CUDA_DRIVER_H
#define CLPOOL_CUDA_DRIVER_H

#include <clpool/status.h>
#include <stddef.h>
#include <stdint.h>

typedef int clpi_cuda_result;                 /* CUresult */
typedef int clpi_cuda_device;                 /* CUdevice */
typedef int clpi_cuda_device_attribute;       /* CUdevice_attribute */
typedef int clpi_cuda_mempool_attribute;      /* CUmemPool_attribute */
typedef int clpi_cuda_handle_type;            /* CUmemAllocationHandleType */
typedef int clpi_cuda_access_flags;           /* CUmemAccess_flags */
typedef int clpi_cuda_symbol_status;          /* CUdriverProcAddressQueryResult */
typedef int clpi_cuda_capture_mode;           /* CUstreamCaptureMode */
typedef int clpi_cuda_capture_status;         /* CUstreamCaptureStatus */
typedef unsigned long long clpi_cuda_pointer; /* CUdeviceptr */
typedef struct CUctx_st *clpi_cuda_ctx;       /* CUcontext */
typedef struct CUstream_st *clpi_cuda_stream;
typedef struct CUevent_st *clpi_cuda_event;
typedef struct CUmemPoolHandle_st *clpi_cuda_mempool;

/* CUresult */
enum {
  CLPI_CUDA_SUCCESS = 0,
  CLPI_CUDA_INVALID_VALUE = 1,
  CLPI_CUDA_OUT_OF_MEMORY = 2,
  CLPI_CUDA_NOT_INITIALIZED = 3,
  CLPI_CUDA_DEINITIALIZED = 4,
  CLPI_CUDA_STUB_LIBRARY = 34,
  CLPI_CUDA_NO_DEVICE = 100,
  CLPI_CUDA_INVALID_DEVICE = 101,
  CLPI_CUDA_INVALID_CONTEXT = 201,
  CLPI_CUDA_INVALID_HANDLE = 400,
  CLPI_CUDA_NOT_READY = 600,
  CLPI_CUDA_PEER_ACCESS_UNSUPPORTED = 217,
  CLPI_CUDA_NOT_PERMITTED = 800,
  CLPI_CUDA_NOT_SUPPORTED = 801,
  CLPI_CUDA_SYSTEM_NOT_READY = 802,
  CLPI_CUDA_SYSTEM_DRIVER_MISMATCH = 803,
  CLPI_CUDA_COMPAT_NOT_SUPPORTED_ON_DEVICE = 804,
  CLPI_CUDA_STREAM_CAPTURE_UNSUPPORTED = 900, /* the first of the errors about capture */
  CLPI_CUDA_STREAM_CAPTURE_IMPLICIT = 906,
  CLPI_CUDA_STREAM_CAPTURE_WRONG_THREAD = 908, /* the last of them */
};

/* CUdevice_attribute */
enum {
  CLPI_CUDA_ATTRIBUTE_MEMORY_POOLS = 115,
  CLPI_CUDA_ATTRIBUTE_MEMPOOL_HANDLE_TYPES = 119,
  CLPI_CUDA_ATTRIBUTE_HOST_NUMA_MEMORY_POOLS = 142,
};

/* CUevent_flags */
enum { CLPI_CUDA_EVENT_DISABLE_TIMING = 2 };

/* CUstreamCaptureMode, CUstreamCaptureStatus */
enum { CLPI_CUDA_CAPTURE_RELAXED = 2 };
enum { CLPI_CUDA_CAPTURE_NONE = 0 };

/* CUmemAllocationType, CUmemLocationType, CUmemAllocationHandleType, CUmemAccess_flags */
enum { CLPI_CUDA_ALLOCATION_PINNED = 1 };
enum { CLPI_CUDA_LOCATION_DEVICE = 1, CLPI_CUDA_LOCATION_HOST_NUMA = 3 };
enum { CLPI_CUDA_HANDLE_POSIX_FD = 1, CLPI_CUDA_HANDLE_FABRIC = 8 };
enum { CLPI_CUDA_ACCESS_NONE = 0, CLPI_CUDA_ACCESS_READ = 1, CLPI_CUDA_ACCESS_READ_WRITE = 3 };

/* CUmemPool_attribute: the first three are an int, the others a uint64_t. */
enum {
  CLPI_CUDA_MEMPOOL_REUSE_FOLLOW_EVENTS = 1,
  CLPI_CUDA_MEMPOOL_REUSE_OPPORTUNISTIC = 2,
  CLPI_CUDA_MEMPOOL_REUSE_INTERNAL = 3,
  CLPI_CUDA_MEMPOOL_RELEASE_THRESHOLD = 4,
  CLPI_CUDA_MEMPOOL_RESERVED = 5,
  CLPI_CUDA_MEMPOOL_RESERVED_HIGH = 6,
  CLPI_CUDA_MEMPOOL_USED = 7,
  CLPI_CUDA_MEMPOOL_USED_HIGH = 8,
};

typedef struct clpi_cuda_location { /* CUmemLocation */
  int type, id;
} clpi_cuda_location;

typedef struct clpi_cuda_mempool_props { /* CUmemPoolProps */
  int allocation_type, handle_types;
  clpi_cuda_location location;
  void *win32_security_attributes;
  size_t max_bytes;
  unsigned short usage;
  unsigned char reserved[54];
} clpi_cuda_mempool_props;

typedef struct clpi_cuda_access { /* CUmemAccessDesc */
  clpi_cuda_location location;
  int flags;
} clpi_cuda_access;

typedef struct clpi_cuda_shared_pointer { /* CUmemPoolPtrExportData */
  unsigned char bytes[64];
} clpi_cuda_shared_pointer;

/* The one list of functions: X(name, suffix of the symbol in the library, CUDA version that
 * introduced this form, parameters). */
#define CLPI_CUDA_FUNCTIONS(X)                                                                     \
  X(cuInit, , 2000, (unsigned flags))                                                              \
  X(cuDriverGetVersion, , 2020, (int *version))                                                    \
  X(cuGetErrorName, , 6000, (clpi_cuda_result code, const char **name))                            \
  X(cuDeviceGet, , 2000, (clpi_cuda_device * device, int ordinal))                                 \
  X(cuDeviceGetCount, , 2000, (int *count))                                                        \
  X(cuDeviceGetName, , 2000, (char *name, int size, clpi_cuda_device device))                      \
  X(cuDeviceGetAttribute, , 2000,                                                                  \
    (int *value, clpi_cuda_device_attribute attribute, clpi_cuda_device device))                   \
  X(cuDeviceTotalMem, _v2, 3020, (size_t * bytes, clpi_cuda_device device))                        \
  X(cuDeviceGetDefaultMemPool, , 11020, (clpi_cuda_mempool * mempool, clpi_cuda_device device))    \
  X(cuDeviceGetMemPool, , 11020, (clpi_cuda_mempool * mempool, clpi_cuda_device device))           \
  X(cuDeviceSetMemPool, , 11020, (clpi_cuda_device device, clpi_cuda_mempool mempool))             \
  X(cuDevicePrimaryCtxRetain, , 7000, (clpi_cuda_ctx * ctx, clpi_cuda_device device))              \
  X(cuDevicePrimaryCtxRelease, _v2, 11000, (clpi_cuda_device device))                              \
  X(cuCtxGetCurrent, , 4000, (clpi_cuda_ctx * ctx))                                                \
  X(cuCtxGetDevice, , 2000, (clpi_cuda_device * device))                                           \
  X(cuCtxPushCurrent, _v2, 4000, (clpi_cuda_ctx ctx))                                              \
  X(cuCtxPopCurrent, _v2, 4000, (clpi_cuda_ctx * ctx))                                             \
  X(cuCtxSynchronize, , 2000, (void))                                                              \
  X(cuStreamGetCtx, , 9020, (clpi_cuda_stream stream, clpi_cuda_ctx * ctx))                        \
  X(cuStreamSynchronize, , 2000, (clpi_cuda_stream stream))                                        \
  X(cuStreamIsCapturing, , 10000, (clpi_cuda_stream stream, clpi_cuda_capture_status * status))    \
  X(cuThreadExchangeStreamCaptureMode, , 10010, (clpi_cuda_capture_mode * mode))                   \
  X(cuStreamWaitEvent, , 3020, (clpi_cuda_stream stream, clpi_cuda_event event, unsigned flags))   \
  X(cuEventCreate, , 2000, (clpi_cuda_event * event, unsigned flags))                              \
  X(cuEventDestroy, _v2, 4000, (clpi_cuda_event event))                                            \
  X(cuEventRecord, , 2000, (clpi_cuda_event event, clpi_cuda_stream stream))                       \
  X(cuEventQuery, , 2000, (clpi_cuda_event event))                                                 \
  X(cuEventSynchronize, , 2000, (clpi_cuda_event event))                                           \
  X(cuMemAllocFromPoolAsync, , 11020,                                                              \
    (clpi_cuda_pointer * pointer, size_t bytes, clpi_cuda_mempool mempool,                         \
     clpi_cuda_stream stream))                                                                     \
  X(cuMemFreeAsync, , 11020, (clpi_cuda_pointer pointer, clpi_cuda_stream stream))                 \
  X(cuMemPoolCreate, , 11020, (clpi_cuda_mempool * mempool, const clpi_cuda_mempool_props *props)) \
  X(cuMemPoolDestroy, , 11020, (clpi_cuda_mempool mempool))                                        \
  X(cuMemPoolSetAttribute, , 11020,                                                                \
    (clpi_cuda_mempool mempool, clpi_cuda_mempool_attribute attribute, void *value))               \
  X(cuMemPoolGetAttribute, , 11020,                                                                \
    (clpi_cuda_mempool mempool, clpi_cuda_mempool_attribute attribute, void *value))               \
  X(cuMemPoolTrimTo, , 11020, (clpi_cuda_mempool mempool, size_t bytes))                           \
  X(cuMemPoolSetAccess, , 11020,                                                                   \
    (clpi_cuda_mempool mempool, const clpi_cuda_access *accesses, size_t count))                   \
  X(cuMemPoolGetAccess, , 11020,                                                                   \
    (clpi_cuda_access_flags * flags, clpi_cuda_mempool mempool, clpi_cuda_location * location))    \
  X(cuMemPoolExportToShareableHandle, , 11020,                                                     \
    (void *handle, clpi_cuda_mempool mempool, clpi_cuda_handle_type type,                          \
     unsigned long long flags))                                                                    \
  X(cuMemPoolImportFromShareableHandle, , 11020,                                                   \
    (clpi_cuda_mempool * mempool, void *handle, clpi_cuda_handle_type type,                        \
     unsigned long long flags))                                                                    \
  X(cuMemPoolExportPointer, , 11020,                                                               \
    (clpi_cuda_shared_pointer * shared, clpi_cuda_pointer pointer))                                \
  X(cuMemPoolImportPointer, , 11020,                                                               \
    (clpi_cuda_pointer * pointer, clpi_cuda_mempool mempool, clpi_cuda_shared_pointer * shared))

typedef struct clpi_cuda_driver {
#define CLPI_CUDA_MEMBER(name, suffix, version, parameters) clpi_cuda_result(*name) parameters;
  CLPI_CUDA_FUNCTIONS(CLPI_CUDA_MEMBER)
#undef CLPI_CUDA_MEMBER
  int version; /* in the form of cuDriverGetVersion: 12040 is 12.4 */
} clpi_cuda_driver;

/* Complete once clpi_cuda_load has succeeded, and never changed after that. */
extern clpi_cuda_driver clpi_cuda __attribute__((visibility("hidden")));

/* Loads and initializes the driver, which is never unloaded. It is libcuda.so.1, or the library
 * that CLPOOL_CUDA_LIBRARY names. Any thread. CLP_NOT_SUPPORTED: there is no driver, it is older
 * than CUDA 11.2 or lacks a function, or sees no device; the message says which. CLP_BACKEND_ERROR:
 * it cannot be initialized. The next call tries again. */
clp_status clpi_cuda_load(void);

#endif
