/* SPDX-License-Identifier: MIT */
/* Making the driver provide a buffer's memory now, without waiting for it. */
#ifndef CLPOOL_OPENCL_COMMIT_H
#define CLPOOL_OPENCL_COMMIT_H

#include <CL/cl.h>
#include <clpool/status.h>
#include <stdbool.h>
#include <stddef.h>

/* How to make the driver provide the memory of new buffers, through a queue. */
typedef struct clpi_cl_commit {
  cl_command_queue queue; /* borrowed */
  /* A migration from OpenCL 1.2 on, but a fill on NVIDIA's devices; before 1.2 a write. */
  clp_status (*method)(const struct clpi_cl_commit *commit, cl_mem mem, size_t bytes);
  bool out_of_order;  /* the queue needs a barrier after it */
  cl_mem_flags flags; /* additional flags that the buffers need */
} clpi_cl_commit;

/* Finds out how, from the queue and its device. */
clp_status clpi_cl_commit_init(clpi_cl_commit *commit, cl_command_queue queue);

/* Enqueues the command that makes the driver provide the memory of `mem`. The content is undefined
 * before and after. On failure `mem` does not change, and is still the caller's. */
clp_status clpi_cl_commit_memory(const clpi_cl_commit *commit, cl_mem mem, size_t bytes);

#endif
