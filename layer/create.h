/* SPDX-License-Identifier: MIT */
/* The calls with which the program makes memory objects. */
#ifndef CLPOOL_LAYER_CREATE_H
#define CLPOOL_LAYER_CREATE_H

#include "watch.h"

/* Makes a buffer or image; for clpi_watcher.memory. */
cl_mem clpi_create(const clpi_request *wanted, cl_int *code);

/* clSVMAlloc. */
void *CL_API_CALL clpi_create_svm(cl_context context, cl_svm_mem_flags flags, size_t bytes,
                                  cl_uint alignment);

#endif
