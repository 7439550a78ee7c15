/* SPDX-License-Identifier: MIT */
/* What the examples on OpenCL share: choosing a device, and looking at each call's result. */
#ifndef EXAMPLE_OPENCL_DEVICE_H
#define EXAMPLE_OPENCL_DEVICE_H

/* OpenCL 1.2 is all that the examples need, so they run on any driver of today. */
#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120
#endif
#include <CL/cl.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CHECK_CL(call) check_cl((call), #call)

/* Ends the example, unless `code` is CL_SUCCESS. */
void check_cl(cl_int code, const char *call);

/* The first device of the first platform, or the one that CLPOOL_EXAMPLE_DEVICE names, such as
 * "0.1" for platform 0, device 1. Prints its name. Where there is none, ends the example with exit
 * status 77, which test programs use to say "skipped". */
cl_device_id pick_device(void);

#ifdef __cplusplus
}
#endif

#endif
