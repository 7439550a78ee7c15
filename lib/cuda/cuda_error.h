/* SPDX-License-Identifier: MIT */
/* Reporting failed driver calls as statuses, with CUDA's names for the errors. */
#ifndef CLPOOL_CUDA_CUDA_ERROR_H
#define CLPOOL_CUDA_CUDA_ERROR_H

#include "cuda/driver.h"

#include <stdbool.h>

/* Reports CLP_INVALID_ARGUMENT: an argument of a public function is NULL. */
clp_status clpi_cuda_refuse_null(const char *function, const char *argument);

/* Returns the status of `call`, such as "cuMemPoolTrimTo"; `code` becomes the native code. The
 * message has the driver's name for it, and says if a host function or a capture is the cause.
 * CLP_SUCCESS: it has not failed. CLP_INVALID_ARGUMENT: an invalid handle, device, context or
 * value. CLP_OUT_OF_DEVICE_MEMORY, CLP_NOT_SUPPORTED, else CLP_BACKEND_ERROR. */
clp_status clpi_cuda_check(const char *call, clpi_cuda_result code);

/* Calls a function of the driver, and checks its result. */
#define clpi_cuda_call(function, ...) clpi_cuda_check(#function, clpi_cuda.function(__VA_ARGS__))

/* Whether a call failed because a stream is being captured. */
bool clpi_cuda_is_of_capture(clpi_cuda_result code);

/* As clpi_cuda_check, for a call that should allocate `bytes`; the message says so. */
clp_status clpi_cuda_memory_error(const char *call, clpi_cuda_result code, size_t bytes);

#endif
