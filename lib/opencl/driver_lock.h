/* SPDX-License-Identifier: MIT */
/* The lock around calls that make or free device memory. NVIDIA's driver (580) sometimes crashes
 * when several threads create, migrate and release buffers at once, although OpenCL allows it. The
 * driver is not faster with several threads. */
#ifndef CLPOOL_OPENCL_DRIVER_LOCK_H
#define CLPOOL_OPENCL_DRIVER_LOCK_H

#include <pthread.h>

/* Recursive. */
extern pthread_mutex_t clpi_cl_driver_lock;

#endif
