/* SPDX-License-Identifier: MIT */
/* Calls to the device on behalf of a request. Under no lock. */
#ifndef CLPOOL_CORE_POOL_DEVICE_H
#define CLPOOL_CORE_POOL_DEVICE_H

#include "core/pool/request.h"

/* Takes memory for a block of the bin from the device, within the pool's limit, and shows that to
 * the hooks. What is reserved becomes managed, or goes back by clpi_unreserve_locked.
 * CLP_LIMIT_EXCEEDED; CLP_OUT_OF_DEVICE_MEMORY, also where a size_t cannot count what would be
 * managed; or the allocator's status. */
clp_status clpi_ask_device(clpi_request *wanted);
void clpi_unreserve_locked(clp_pool *pool, size_t bytes);

/* Makes the request's stream wait for the work of the allocator that touches new memory, or else
 * the host; on failure the memory goes back. */
clp_status clpi_await_home(clpi_request *wanted);

#endif
