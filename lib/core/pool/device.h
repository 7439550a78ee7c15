/* SPDX-License-Identifier: MIT */
/* Calls to the device on behalf of a request. Under no lock. */
#ifndef CLPOOL_CORE_POOL_DEVICE_H
#define CLPOOL_CORE_POOL_DEVICE_H

#include "core/pool/request.h"

/* Allocates memory of block_bytes from the device, within the pool's limit, and shows that to the
 * hooks. On success the bytes stay reserved, until the caller counts them as managed and subtracts
 * them from reserved_bytes. CLP_LIMIT_EXCEEDED; CLP_OUT_OF_DEVICE_MEMORY, also if the
 * managed bytes would overflow a size_t; or the allocator's status. */
clp_status clpi_ask_device(clpi_request *wanted);

/* Makes the request's stream wait for the work on the home stream that touches the new memory; if
 * the stream cannot, the host waits. On failure the memory is freed. */
clp_status clpi_await_home(clpi_request *wanted);

#endif
