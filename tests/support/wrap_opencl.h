/* SPDX-License-Identifier: MIT */
/* OpenCL that is watched: the program is linked with -Wl,--wrap for each of the functions below,
 * and for dlsym, with which the library finds them (wrap_opencl_link_flags in tests.mk). So calls
 * of the library and of the test are counted, fail on purpose, and hear what a test pretends of a
 * device. Any thread may call. */
#ifndef CLPT_WRAP_OPENCL_H
#define CLPT_WRAP_OPENCL_H

#include <CL/cl.h>
#include <stdbool.h>
#include <stddef.h>

/* What takes and asks, and can be made to fail by clpt_cl_fail_any; then what gives back. */
#define CLPT_CL_TAKING_CALLS(X)                                                                    \
  X(clCreateContext)                                                                               \
  X(clCreateCommandQueueWithProperties)                                                            \
  X(clCreateCommandQueue)                                                                          \
  X(clCreateBuffer)                                                                                \
  X(clCreateSubBuffer)                                                                             \
  X(clSetMemObjectDestructorCallback)                                                              \
  X(clSVMAlloc)                                                                                    \
  X(clCreateUserEvent)                                                                             \
  X(clRetainContext)                                                                               \
  X(clRetainCommandQueue)                                                                          \
  X(clRetainEvent)                                                                                 \
  X(clGetContextInfo)                                                                              \
  X(clGetCommandQueueInfo)                                                                         \
  X(clGetDeviceInfo)                                                                               \
  X(clGetEventInfo)                                                                                \
  X(clEnqueueMigrateMemObjects)                                                                    \
  X(clEnqueueWriteBuffer)                                                                          \
  X(clEnqueueFillBuffer)                                                                           \
  X(clEnqueueBarrierWithWaitList)                                                                  \
  X(clEnqueueBarrier)                                                                              \
  X(clEnqueueMarkerWithWaitList)                                                                   \
  X(clEnqueueMarker)                                                                               \
  X(clEnqueueWaitForEvents)                                                                        \
  X(clEnqueueSVMFree)                                                                              \
  X(clWaitForEvents)                                                                               \
  X(clFlush)                                                                                       \
  X(clFinish)
#define CLPT_CL_RELEASING_CALLS(X)                                                                 \
  X(clReleaseContext)                                                                              \
  X(clReleaseCommandQueue)                                                                         \
  X(clReleaseEvent)                                                                                \
  X(clReleaseMemObject)                                                                            \
  X(clSVMFree)

#define CLPT_CL_ENUMERATOR(name) CLPT_##name,
typedef enum clpt_cl_call {
  CLPT_CL_TAKING_CALLS(CLPT_CL_ENUMERATOR) CLPT_CL_TAKING_COUNT,
  CLPT_CL_LAST_TAKING = CLPT_CL_TAKING_COUNT - 1, /* the next enumerator goes on from here */
  CLPT_CL_RELEASING_CALLS(CLPT_CL_ENUMERATOR) CLPT_CL_CALL_COUNT
} clpt_cl_call;
#undef CLPT_CL_ENUMERATOR

/** Nothing fails, nothing is pretended, no call was counted. What is alive stays counted. */
void clpt_cl_reset(void);

/** How often a function was called since clpt_cl_reset, failures included. */
unsigned long clpt_cl_calls(clpt_cl_call call);

/** As a code: what makes an object gives NULL and leaves the code alone. */
enum { CLPT_CL_SILENT = -123456 };

/** Call number `nth` from now (0 is the next) of one function fails with `code` and does nothing.
 */
void clpt_cl_fail(clpt_cl_call call, unsigned long nth, cl_int code);

/** The next `count` calls of one function fail. */
void clpt_cl_fail_next(clpt_cl_call call, unsigned long count, cl_int code);

/** Every call of one function fails from now on. clSVMAlloc fails with NULL, whatever the code. */
void clpt_cl_fail_all(clpt_cl_call call, cl_int code);

/** As clpt_cl_fail, counting the calls of all functions that take or ask. */
void clpt_cl_fail_any(unsigned long nth, cl_int code);

/** Whether a call failed on purpose since clpt_cl_reset. */
bool clpt_cl_failed(void);

/** clGetDeviceInfo says these `bytes` of `value` for `what`, of one device or, for NULL, of all,
 * until clpt_cl_reset; the last of two that speak of the same counts. */
void clpt_cl_pretend(cl_device_id device, cl_device_info what, const void *value, size_t bytes);

/** The same for CL_DEVICE_VENDOR_ID of all devices: NVIDIA's driver gets what it can stand. */
enum { CLPT_NVIDIA = 0x10de, CLPT_ANOTHER_VENDOR = 1 };
void clpt_cl_pretend_vendor(cl_uint vendor);

/** The same for CL_DEVICE_VERSION: a device of OpenCL 3.0 that is not known to be PoCL's. */
void clpt_cl_pretend_no_pocl(void);

/** The next clGetEventInfo that asks how far an event is says `status`, such as that of failed
 * work: what comes of work that really fails is nothing to rely on (PoCL 3.1 crashes). */
void clpt_cl_pretend_progress(cl_int status);

/** The flags of the last clCreateBuffer. */
cl_mem_flags clpt_cl_last_mem_flags(void);

/** The flags of the last clSVMAlloc. */
cl_svm_mem_flags clpt_cl_last_svm_flags(void);

/** The queue of the last clEnqueueSVMFree. */
cl_command_queue clpt_cl_last_svm_free_queue(void);

/** References that were taken, by create or retain, and not given back. Events count that one of
 * the functions above handed out. */
long clpt_cl_live_contexts(void);
long clpt_cl_live_queues(void);
long clpt_cl_live_mems(void);
long clpt_cl_live_events(void);

/** Blocks of shared virtual memory that were not yet freed, or given to a queue to be freed. */
long clpt_cl_live_svm(void);

#endif
