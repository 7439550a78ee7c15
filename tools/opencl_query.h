/* SPDX-License-Identifier: MIT */
/* Lists and texts from OpenCL, in memory of the program's own. */
#ifndef CLPOOL_TOOLS_OPENCL_QUERY_H
#define CLPOOL_TOOLS_OPENCL_QUERY_H

#include <CL/cl.h>
#include <stdbool.h>
#include <stdint.h>

/* Each gives an array for free() and its length; none is no failure. CL_OUT_OF_HOST_MEMORY also
 * says that the program itself has no memory. */
cl_int clpi_cl_list_platforms(cl_platform_id **out, cl_uint *count);
cl_int clpi_cl_list_devices(cl_platform_id platform, cl_device_id **out, cl_uint *count);

/* Each gives a text for free(), NULL where the driver does not tell or there is no memory. */
char *clpi_cl_platform_text(cl_platform_id platform, cl_platform_info what);
char *clpi_cl_device_text(cl_device_id device, cl_device_info what);

/* A figure that OpenCL has as a cl_ulong; 0 where the driver does not tell. */
uint64_t clpi_cl_device_number(cl_device_id device, cl_device_info what);

/* Whether a text of a device's version, which may be NULL, says that one or a later. */
bool clpi_cl_is_version(const char *version, unsigned major, unsigned minor);

/* Complains about a call that failed. Returns an exit code. */
int clpi_cl_failed(const char *call, cl_int code);

#endif
