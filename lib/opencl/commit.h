/* SPDX-License-Identifier: MIT */
/* Making sure that a buffer's memory exists, without waiting. */
#ifndef CLPOOL_OPENCL_COMMIT_H
#define CLPOOL_OPENCL_COMMIT_H

#include <CL/cl.h>
#include <clpool/status.h>
#include <stdbool.h>
#include <stddef.h>

typedef enum clpi_cl_commit_method {
  CLPI_CL_COMMIT_BY_MIGRATION, /* clEnqueueMigrateMemObjects, from OpenCL 1.2 on */
  CLPI_CL_COMMIT_BY_FILL,      /* of a byte, on NVIDIA's devices, from OpenCL 1.2 on */
  CLPI_CL_COMMIT_BY_WRITE      /* of some bytes */
} clpi_cl_commit_method;

/* How the memory of new buffers is called for on one queue. */
typedef struct clpi_cl_commit {
  cl_command_queue queue; /* borrowed */
  clpi_cl_commit_method method;
  bool out_of_order; /* the queue needs a barrier after it */
} clpi_cl_commit;

/* Asks the queue and its device how it is done. */
clp_status clpi_cl_commit_init(clpi_cl_commit *commit, cl_command_queue queue);

/* Enqueues what makes the driver provide the memory of `mem`, whose content is undefined before and
 * after. On failure `mem` is as it was, and still the caller's. */
clp_status clpi_cl_commit_memory(const clpi_cl_commit *commit, cl_mem mem, size_t bytes);

#endif
