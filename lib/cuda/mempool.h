/* SPDX-License-Identifier: MIT */
/* What the calls on memory pools have in common. */
#ifndef CLPOOL_LIB_CUDA_MEMPOOL_H
#define CLPOOL_LIB_CUDA_MEMPOOL_H

#include "cuda/driver.h"

#include <clpool/cuda_mempool.h>

enum { CLPI_CUDA_COUNTING_VERSION = 11030 }; /* from here on the driver counts pools' bytes */

/* The driver for a call on a memory pool. CLP_INVALID_ARGUMENT: it is NULL; or as
 * clpi_cuda_driver_get. */
clp_status clpi_cuda_mempool_driver(const char *function, clp_cuda_mempool mempool,
                                    const clpi_cuda_driver **driver);

/* The status CLP_NOT_SUPPORTED of a device without memory pools. */
clp_status clpi_cuda_no_mempools(int device);

/* As clp_cuda_mempool_default and clp_cuda_mempool_current. */
clp_status clpi_cuda_mempool_of(int device, clp_cuda_mempool_choice choice, clp_cuda_mempool *out);

#endif
