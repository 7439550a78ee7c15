/* SPDX-License-Identifier: MIT */
/* A device and its primary context, the one that the runtime API uses. */
#ifndef CLPOOL_CUDA_CONTEXT_H
#define CLPOOL_CUDA_CONTEXT_H

#include "cuda/driver.h"

typedef struct clpi_cuda_context {
  int ordinal;
  clpi_cuda_device device;
  clpi_cuda_ctx ctx; /* retained until clpi_cuda_context_release */
} clpi_cuda_context;

/* Gives the device with this ordinal, without its context. CLP_NOT_SUPPORTED: no driver.
 * CLP_INVALID_ARGUMENT: no such device; the message says how many there are. */
clp_status clpi_cuda_device_get(int ordinal, clpi_cuda_device *device);

/* Retains the primary context. Statuses as above, and CLP_BACKEND_ERROR,
 * CLP_OUT_OF_DEVICE_MEMORY. */
clp_status clpi_cuda_context_retain(int ordinal, clpi_cuda_context *out);
void clpi_cuda_context_release(clpi_cuda_context *context);

/* Makes the context current for the calling thread; clpi_cuda_leave restores the earlier one. Calls
 * nest, up to 64 deep. CLP_BACKEND_ERROR. */
clp_status clpi_cuda_enter(const clpi_cuda_context *context);
void clpi_cuda_leave(void);

/* Leaves, and returns the status of a call that was made inside. */
clp_status clpi_cuda_leave_after(clp_status status);

#endif
