/* SPDX-License-Identifier: MIT */
/* Memory from an allocator that keeps some, such as an arena. */
#ifndef CLPOOL_CORE_POOL_FIT_H
#define CLPOOL_CORE_POOL_FIT_H

#include "core/pool/request.h"

/* Allocates the request's memory from what the allocator has. If it does not fit there, gives all
 * held blocks back, and lets the allocator grow within the pool's limit. Under no lock. Statuses as
 * clp_allocator_allocate, and CLP_LIMIT_EXCEEDED. */
clp_status clpi_fit(clpi_request *wanted);

#endif
