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

#endif
