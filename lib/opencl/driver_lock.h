/* SPDX-License-Identifier: MIT */
/* NVIDIA's driver (580) at times crashes when several threads create, migrate and release buffers
 * at once, as OpenCL allows; so here it is one at a time. The driver is no faster with several. */
#ifndef CLPOOL_OPENCL_DRIVER_LOCK_H
#define CLPOOL_OPENCL_DRIVER_LOCK_H

/* Around every call that makes or frees device memory. A thread may have it several times. */
void clpi_cl_driver_lock(void);
void clpi_cl_driver_unlock(void);

#endif
