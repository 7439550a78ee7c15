/* SPDX-License-Identifier: MIT */
/* Functions that the calls on memory pools share. */
#ifndef CLPOOL_LIB_CUDA_MEMPOOL_H
#define CLPOOL_LIB_CUDA_MEMPOOL_H

#include "cuda/driver.h"

#include <clpool/cuda_mempool.h>

enum { CLPI_CUDA_COUNTING_VERSION = 11030 }; /* the first that counts the bytes of pools */

/* Loads the driver for a call on a memory pool. CLP_INVALID_ARGUMENT: `mempool` is NULL; messages
 * name `function`. Others as clpi_cuda_load. */
clp_status clpi_cuda_mempool_check(const char *function, clp_cuda_mempool mempool);

/* Reports CLP_NOT_SUPPORTED: the device has no memory pools. */
clp_status clpi_cuda_no_mempools(int device);

/* As clp_cuda_mempool_default or clp_cuda_mempool_current, by `choice`. */
clp_status clpi_cuda_mempool_of(int device, clp_cuda_mempool_choice choice, clp_cuda_mempool *out);

#endif
