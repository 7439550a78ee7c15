/* SPDX-License-Identifier: MIT */
/* The limit on what a pool manages. */
#ifndef CLPOOL_CORE_POOL_LIMIT_H
#define CLPOOL_CORE_POOL_LIMIT_H

#include "core/pool/pool.h"

/* The limit that CLPOOL_MEMORY_LIMIT sets; 0: it is not set. `device_bytes` is the device's memory,
 * 0 if unknown; `whose` names the allocator in messages. CLP_INVALID_ARGUMENT: the value cannot be
 * read. CLP_NOT_SUPPORTED: it is a percentage, and the memory is unknown. */
clp_status clpi_limit_from_environment(const char *whose, size_t device_bytes, size_t *limit);

/* A limit as a part of the device's memory. CLP_INVALID_ARGUMENT: `fraction` is not 0 to 1.
 * CLP_NOT_SUPPORTED: the memory is unknown. */
clp_status clpi_limit_from_fraction(const char *whose, size_t device_bytes, double fraction,
                                    size_t *limit);

#endif
