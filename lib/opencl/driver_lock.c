/* SPDX-License-Identifier: MIT */
/* One lock for all contexts, because they share the code that crashes. It is recursive: a driver
 * may end a cl_mem of clp_pool_create_cl_mem inside any call, and its block may then be freed
 * there. */
#include "opencl/driver_lock.h"

pthread_mutex_t clpi_cl_driver_lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
