/* SPDX-License-Identifier: MIT */
/* Libraries of drivers, loaded when they are first used. */
#ifndef CLPOOL_CORE_BASE_LOADING_H
#define CLPOOL_CORE_BASE_LOADING_H

#include <clpool/status.h>
#include <stdatomic.h>

/* Calls `load`, one thread at a time, unless it has succeeded before: `*is_loaded` says, and begins
 * as false. Returns what it did. If it fails, the next call tries again. What it writes is seen by
 * every caller that gets CLP_SUCCESS. */
clp_status clpi_load_once(atomic_bool *is_loaded, clp_status (*load)(void));

#endif
