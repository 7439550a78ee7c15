/* SPDX-License-Identifier: MIT */
/* Reporting failed OpenCL calls as statuses, with OpenCL's names for the errors. */
#ifndef CLPOOL_OPENCL_CL_ERROR_H
#define CLPOOL_OPENCL_CL_ERROR_H

#include <CL/cl.h>
#include <clpool/status.h>
#include <stddef.h>

/* Returns the name of an error code, such as "CL_OUT_OF_RESOURCES", or "an unknown error" for a
 * number that cl.h does not name. Borrowed, always valid. */
const char *clpi_cl_error_name(cl_int code);

/* Reports that `call`, which should provide `bytes` of device memory, failed with `code`. If memory
 * ran out, the status is CLP_OUT_OF_DEVICE_MEMORY, no matter which memory the driver names, because
 * pools react to that status. */
clp_status clpi_cl_memory_error(const char *call, cl_int code, size_t bytes);

/* Reports that `call`, which should make an object of `bytes` of device memory, made none. Statuses
 * as above; CLP_BACKEND_ERROR if `code` is CL_SUCCESS. */
clp_status clpi_cl_not_created(const char *call, cl_int code, size_t bytes);

/* Returns the status of any other `call`. CLP_SUCCESS: it has not failed. CLP_INVALID_ARGUMENT: an
 * invalid handle. CLP_OUT_OF_HOST_MEMORY, CLP_BACKEND_ERROR. */
clp_status clpi_cl_check(const char *call, cl_int code);

/* Calls a function of OpenCL (loader.h), and checks its result. */
#define clpi_cl_call(function, ...) clpi_cl_check(#function, clpi_cl.function(__VA_ARGS__))

#endif
