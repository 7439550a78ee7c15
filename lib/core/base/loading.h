/* SPDX-License-Identifier: MIT */
/* Loads the libraries of drivers at their first use. */
#ifndef CLPOOL_CORE_BASE_LOADING_H
#define CLPOOL_CORE_BASE_LOADING_H

#include <clpool/status.h>
#include <stdatomic.h>

/* Calls `load` unless it has succeeded before, on one thread at a time, and returns its status. If
 * it fails, the next call tries again. `*is_loaded` must begin as false. Every caller that gets
 * CLP_SUCCESS sees what `load` has written. */
clp_status clpi_load_once(atomic_bool *is_loaded, clp_status (*load)(void));

#endif
