/* SPDX-License-Identifier: MIT */
/* Loads OpenCL's loader when it is first needed, so that the library also works on machines without
 * one. Every public function that may be the first to call OpenCL calls clpi_cl_load. */
#ifndef CLPOOL_OPENCL_LOADER_H
#define CLPOOL_OPENCL_LOADER_H

#include <CL/cl.h>
#include <clpool/status.h>

/* The one list of functions. They are from OpenCL 1.0 to 2.0. */
#define CLPI_CL_FUNCTIONS(X)                                                                       \
  X(clCreateBuffer)                                                                                \
  X(clCreateCommandQueue)                                                                          \
  X(clCreateSubBuffer)                                                                             \
  X(clEnqueueBarrier)                                                                              \
  X(clEnqueueBarrierWithWaitList)                                                                  \
  X(clEnqueueFillBuffer)                                                                           \
  X(clEnqueueMarker)                                                                               \
  X(clEnqueueMarkerWithWaitList)                                                                   \
  X(clEnqueueMigrateMemObjects)                                                                    \
  X(clEnqueueSVMFree)                                                                              \
  X(clEnqueueWaitForEvents)                                                                        \
  X(clEnqueueWriteBuffer)                                                                          \
  X(clFinish)                                                                                      \
  X(clFlush)                                                                                       \
  X(clGetCommandQueueInfo)                                                                         \
  X(clGetContextInfo)                                                                              \
  X(clGetDeviceInfo)                                                                               \
  X(clGetEventInfo)                                                                                \
  X(clGetExtensionFunctionAddress)                                                                 \
  X(clGetMemObjectInfo)                                                                            \
  X(clReleaseCommandQueue)                                                                         \
  X(clReleaseContext)                                                                              \
  X(clReleaseEvent)                                                                                \
  X(clReleaseMemObject)                                                                            \
  X(clRetainCommandQueue)                                                                          \
  X(clRetainContext)                                                                               \
  X(clRetainEvent)                                                                                 \
  X(clSVMAlloc)                                                                                    \
  X(clSVMFree)                                                                                     \
  X(clSetMemObjectDestructorCallback)                                                              \
  X(clWaitForEvents)

/* Some are deprecated: they are for old drivers. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

typedef struct clpi_cl_functions {
#define CLPI_CL_MEMBER(name) __typeof__(name) *(name);
  CLPI_CL_FUNCTIONS(CLPI_CL_MEMBER)
#undef CLPI_CL_MEMBER
} clpi_cl_functions;

#pragma GCC diagnostic pop

/* Complete once clpi_cl_load has succeeded, and never changed after that. */
extern clpi_cl_functions clpi_cl __attribute__((visibility("hidden")));

/* Finds the functions in the first of these: the library that CLPOOL_OPENCL_LIBRARY names; the
 * process's global scope, if it has all of them, because the program is linked with a loader; a
 * loader that the process has loaded, under any name; libOpenCL.so.1. The library is never
 * unloaded, because drivers have threads of their own. Any thread. CLP_NOT_SUPPORTED: the library
 * cannot be loaded, or lacks a function. The next call tries again. */
clp_status clpi_cl_load(void);

/* Uses the given functions instead, which must be complete. Call it before any other call, in a
 * copy of the library inside a layer of the loader: its calls must not come back to the layer. */
void clpi_cl_use(const clpi_cl_functions *given);

#endif
