/* SPDX-License-Identifier: MIT */
/* One lock for all contexts, since what crashes is common to them. A driver may end a cl_mem of
 * clp_pool_create_cl_mem inside of any call, and then its block may be freed there: so the thread
 * that has the lock may take it again. */
#include "opencl/driver_lock.h"

#include <pthread.h>

static pthread_mutex_t driver_lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

void clpi_cl_driver_lock(void)
{
  pthread_mutex_lock(&driver_lock);
}

void clpi_cl_driver_unlock(void)
{
  pthread_mutex_unlock(&driver_lock);
}
