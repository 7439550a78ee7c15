/* SPDX-License-Identifier: MIT */
/* One lock for all contexts, since what crashes is common to them. A driver may end a cl_mem of
 * clp_pool_create_cl_mem within any call, and its block may then be freed there: so it is
 * recursive.
 */
#include "opencl/driver_lock.h"

pthread_mutex_t clpi_cl_driver_lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
