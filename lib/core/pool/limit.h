/* SPDX-License-Identifier: MIT */
/* The limit on what a pool manages. */
#ifndef CLPOOL_CORE_POOL_LIMIT_H
#define CLPOOL_CORE_POOL_LIMIT_H

#include "core/pool/pool.h"

/* The limit that CLPOOL_MEMORY_LIMIT asks for on a device; 0 where it is not set. `device_bytes` is
 * its memory, 0 where that is unknown to `whose`, the allocator as messages name it. */
clp_status clpi_limit_from_environment(const char *whose, size_t device_bytes, size_t *limit);

/* A limit as a part of the device's memory. CLP_INVALID_ARGUMENT: `fraction` is not 0 to 1.
 * CLP_NOT_SUPPORTED: the memory is unknown. */
clp_status clpi_limit_from_fraction(const char *whose, size_t device_bytes, double fraction,
                                    size_t *limit);

/* Sets `bytes` aside for a call to the device, freeing held blocks, largest first, while the limit
 * leaves no room. What is reserved becomes managed or goes back by clpi_unreserve_locked. Under no
 * lock. CLP_LIMIT_EXCEEDED; CLP_OUT_OF_DEVICE_MEMORY, where a size_t cannot count what would be
 * managed; or the allocator's status, where it did not take a block back. */
clp_status clpi_reserve(clp_pool *pool, size_t bytes);
void clpi_unreserve_locked(clp_pool *pool, size_t bytes);

#endif
