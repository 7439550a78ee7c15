/* SPDX-License-Identifier: MIT */
/* Making the driver provide a buffer's memory now, without waiting for it. */
#ifndef CLPOOL_OPENCL_COMMIT_H
#define CLPOOL_OPENCL_COMMIT_H

#include <CL/cl.h>
#include <clpool/status.h>
#include <stdbool.h>
#include <stddef.h>

/* How one queue is made to provide the memory of new buffers. */
typedef struct clpi_cl_commit {
  cl_command_queue queue; /* borrowed */
  /* A migration from OpenCL 1.2 on, but a fill on NVIDIA's devices; before 1.2 a write. */
  clp_status (*method)(const struct clpi_cl_commit *commit, cl_mem mem, size_t bytes);
  bool out_of_order;  /* the queue needs a barrier after it */
  cl_mem_flags flags; /* that the buffers need besides their own */
} clpi_cl_commit;

/* Asks the queue and its device how it is done. */
clp_status clpi_cl_commit_init(clpi_cl_commit *commit, cl_command_queue queue);

/* Enqueues what makes the driver provide the memory of `mem`, whose content is undefined before and
 * after. On failure `mem` is as it was, and still the caller's. */
clp_status clpi_cl_commit_memory(const clpi_cl_commit *commit, cl_mem mem, size_t bytes);

#endif
