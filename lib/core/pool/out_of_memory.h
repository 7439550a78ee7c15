/* SPDX-License-Identifier: MIT */
/* Freeing memory for a request that found none. */
#ifndef CLPOOL_CORE_POOL_OUT_OF_MEMORY_H
#define CLPOOL_CORE_POOL_OUT_OF_MEMORY_H

#include "core/pool/request.h"

/* For a request that clpi_ask_device refused: frees what can be spared, step by step,
 * and tries again after each. Under no lock; the caller keeps the pool alive. Returns the status of
 * the last attempt; on CLP_SUCCESS wanted->memory or wanted->held is set. */
clp_status clpi_free_and_retry(clpi_request *wanted);

#endif
