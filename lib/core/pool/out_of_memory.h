/* SPDX-License-Identifier: MIT */
/* What is done when a request finds no memory. */
#ifndef CLPOOL_CORE_POOL_OUT_OF_MEMORY_H
#define CLPOOL_CORE_POOL_OUT_OF_MEMORY_H

#include "core/pool/request.h"

/* Goes on with a request that clpi_ask_device refused with `status`: frees what can be spared step
 * by step and asks again after each. Under no lock; the caller keeps the pool alive. The status
 * that it came to; CLP_SUCCESS: with new memory, or a held block of the bin. */
clp_status clpi_free_and_retry(clpi_request *wanted, clp_status status);

#endif
