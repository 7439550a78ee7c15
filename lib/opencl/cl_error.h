/* SPDX-License-Identifier: MIT */
/* Failed OpenCL calls as statuses, told with OpenCL's own names. */
#ifndef CLPOOL_OPENCL_CL_ERROR_H
#define CLPOOL_OPENCL_CL_ERROR_H

#include <CL/cl.h>
#include <clpool/status.h>
#include <stddef.h>

/* The name of an error code, such as "CL_OUT_OF_RESOURCES"; "an unknown error" for a number that
 * cl.h does not name. Borrowed, lives for ever. */
const char *clpi_cl_error_name(cl_int code);

/* Reports that `call`, which was to provide `bytes` of device memory, failed with `code`. Running
 * out is CLP_OUT_OF_DEVICE_MEMORY whatever memory the driver names: pools react to that status. */
clp_status clpi_cl_memory_error(const char *call, cl_int code, size_t bytes);

/* Reports that `call`, which was to make an object of `bytes` of device memory, made none: `code`
 * as above. CLP_BACKEND_ERROR if `code` is CL_SUCCESS: the driver gave neither an object nor an
 * error.
 */
clp_status clpi_cl_not_created(const char *call, cl_int code, size_t bytes);

/* Reports that any other `call` failed with `code`: CLP_INVALID_ARGUMENT for a handle that is none,
 * CLP_OUT_OF_HOST_MEMORY, CLP_BACKEND_ERROR. CLP_SUCCESS: it has not failed. */
clp_status clpi_cl_check(const char *call, cl_int code);

/* Calls a function of OpenCL (loader.h), and checks it so. */
#define clpi_cl_call(function, ...) clpi_cl_check(#function, clpi_cl.function(__VA_ARGS__))

#endif
