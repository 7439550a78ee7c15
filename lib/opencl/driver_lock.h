/* SPDX-License-Identifier: MIT */
/* NVIDIA's driver (580) sometimes crashes when several threads create, migrate and release buffers
 * at once, which OpenCL allows. So here one thread does so at a time. The driver is no faster with
 * several. */
#ifndef CLPOOL_OPENCL_DRIVER_LOCK_H
#define CLPOOL_OPENCL_DRIVER_LOCK_H

#include <pthread.h>

/* Held around every call that makes or frees device memory. Recursive. */
extern pthread_mutex_t clpi_cl_driver_lock;

#endif
