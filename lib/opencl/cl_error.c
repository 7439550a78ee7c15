/* SPDX-License-Identifier: MIT */
/* Names of OpenCL's errors, and their mapping to clp_status. */
#include "opencl/cl_error.h"

#include "core/base/error.h"

/* The errors of OpenCL 3.0, as cl.h defines them. */
#define CL_ERROR_LIST(X)                                                                           \
  X(CL_DEVICE_NOT_FOUND)                                                                           \
  X(CL_DEVICE_NOT_AVAILABLE)                                                                       \
  X(CL_COMPILER_NOT_AVAILABLE)                                                                     \
  X(CL_MEM_OBJECT_ALLOCATION_FAILURE)                                                              \
  X(CL_OUT_OF_RESOURCES)                                                                           \
  X(CL_OUT_OF_HOST_MEMORY)                                                                         \
  X(CL_PROFILING_INFO_NOT_AVAILABLE)                                                               \
  X(CL_MEM_COPY_OVERLAP)                                                                           \
  X(CL_IMAGE_FORMAT_MISMATCH)                                                                      \
  X(CL_IMAGE_FORMAT_NOT_SUPPORTED)                                                                 \
  X(CL_BUILD_PROGRAM_FAILURE)                                                                      \
  X(CL_MAP_FAILURE)                                                                                \
  X(CL_MISALIGNED_SUB_BUFFER_OFFSET)                                                               \
  X(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST)                                                  \
  X(CL_COMPILE_PROGRAM_FAILURE)                                                                    \
  X(CL_LINKER_NOT_AVAILABLE)                                                                       \
  X(CL_LINK_PROGRAM_FAILURE)                                                                       \
  X(CL_DEVICE_PARTITION_FAILED)                                                                    \
  X(CL_KERNEL_ARG_INFO_NOT_AVAILABLE)                                                              \
  X(CL_INVALID_VALUE)                                                                              \
  X(CL_INVALID_DEVICE_TYPE)                                                                        \
  X(CL_INVALID_PLATFORM)                                                                           \
  X(CL_INVALID_DEVICE)                                                                             \
  X(CL_INVALID_CONTEXT)                                                                            \
  X(CL_INVALID_QUEUE_PROPERTIES)                                                                   \
  X(CL_INVALID_COMMAND_QUEUE)                                                                      \
  X(CL_INVALID_HOST_PTR)                                                                           \
  X(CL_INVALID_MEM_OBJECT)                                                                         \
  X(CL_INVALID_IMAGE_FORMAT_DESCRIPTOR)                                                            \
  X(CL_INVALID_IMAGE_SIZE)                                                                         \
  X(CL_INVALID_SAMPLER)                                                                            \
  X(CL_INVALID_BINARY)                                                                             \
  X(CL_INVALID_BUILD_OPTIONS)                                                                      \
  X(CL_INVALID_PROGRAM)                                                                            \
  X(CL_INVALID_PROGRAM_EXECUTABLE)                                                                 \
  X(CL_INVALID_KERNEL_NAME)                                                                        \
  X(CL_INVALID_KERNEL_DEFINITION)                                                                  \
  X(CL_INVALID_KERNEL)                                                                             \
  X(CL_INVALID_ARG_INDEX)                                                                          \
  X(CL_INVALID_ARG_VALUE)                                                                          \
  X(CL_INVALID_ARG_SIZE)                                                                           \
  X(CL_INVALID_KERNEL_ARGS)                                                                        \
  X(CL_INVALID_WORK_DIMENSION)                                                                     \
  X(CL_INVALID_WORK_GROUP_SIZE)                                                                    \
  X(CL_INVALID_WORK_ITEM_SIZE)                                                                     \
  X(CL_INVALID_GLOBAL_OFFSET)                                                                      \
  X(CL_INVALID_EVENT_WAIT_LIST)                                                                    \
  X(CL_INVALID_EVENT)                                                                              \
  X(CL_INVALID_OPERATION)                                                                          \
  X(CL_INVALID_GL_OBJECT)                                                                          \
  X(CL_INVALID_BUFFER_SIZE)                                                                        \
  X(CL_INVALID_MIP_LEVEL)                                                                          \
  X(CL_INVALID_GLOBAL_WORK_SIZE)                                                                   \
  X(CL_INVALID_PROPERTY)                                                                           \
  X(CL_INVALID_IMAGE_DESCRIPTOR)                                                                   \
  X(CL_INVALID_COMPILER_OPTIONS)                                                                   \
  X(CL_INVALID_LINKER_OPTIONS)                                                                     \
  X(CL_INVALID_DEVICE_PARTITION_COUNT)                                                             \
  X(CL_INVALID_PIPE_SIZE)                                                                          \
  X(CL_INVALID_DEVICE_QUEUE)                                                                       \
  X(CL_INVALID_SPEC_ID)                                                                            \
  X(CL_MAX_SIZE_RESTRICTION_EXCEEDED)

const char *clpi_cl_error_name(cl_int code)
{
  switch (code) {
#define NAME_CASE(error)                                                                           \
  case error:                                                                                      \
    return #error;
    CL_ERROR_LIST(NAME_CASE)
#undef NAME_CASE
  }
  return "an unknown error";
}

static clp_status memory_status(cl_int code)
{
  switch (code) {
  case CL_MEM_OBJECT_ALLOCATION_FAILURE:
  case CL_OUT_OF_RESOURCES:
  case CL_OUT_OF_HOST_MEMORY:
    return CLP_OUT_OF_DEVICE_MEMORY;
  case CL_INVALID_BUFFER_SIZE:
    return CLP_INVALID_ARGUMENT;
  default:
    return CLP_BACKEND_ERROR;
  }
}

static clp_status call_status(cl_int code)
{
  switch (code) {
  case CL_INVALID_CONTEXT:
  case CL_INVALID_COMMAND_QUEUE:
  case CL_INVALID_MEM_OBJECT:
    return CLP_INVALID_ARGUMENT;
  case CL_OUT_OF_HOST_MEMORY:
    return CLP_OUT_OF_HOST_MEMORY;
  default:
    return CLP_BACKEND_ERROR;
  }
}

clp_status clpi_cl_memory_error(const char *call, cl_int code, size_t bytes)
{
  return clpi_error(memory_status(code), code, "%s for %zu bytes failed with %s (%d)", call, bytes,
                    clpi_cl_error_name(code), code);
}

clp_status clpi_cl_not_created(const char *call, cl_int code, size_t bytes)
{
  if (code)
    return clpi_cl_memory_error(call, code, bytes);
  return clpi_error(CLP_BACKEND_ERROR, 0,
                    "%s for %zu bytes returned neither an object nor an error", call, bytes);
}

clp_status clpi_cl_check(const char *call, cl_int code)
{
  if (!code)
    return CLP_SUCCESS;
  return clpi_error(call_status(code), code, "%s failed with %s (%d)", call,
                    clpi_cl_error_name(code), code);
}
