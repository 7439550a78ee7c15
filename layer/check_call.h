/* SPDX-License-Identifier: MIT */
/* Calls that use memory, and what is wrong about them. On the thread that makes the call. */
#ifndef CLPOOL_LAYER_CHECK_CALL_H
#define CLPOOL_LAYER_CHECK_CALL_H

#include "checked.h"

typedef struct clpi_check_call {
  char name[128];                  /* the function, or the kernel that is enqueued */
  clpi_check_queue *queue;         /* NULL: it is not known */
  clpi_check_context *context;     /* of the queue; NULL: it is not known */
  cl_kernel kernel;                /* that is enqueued, or NULL */
  clpi_checked *mapped, *unmapped; /* or NULL */
} clpi_check_call;

/* Tells an error of memory at this place, of which the text is "NAME does WHAT of N bytes". */
void clpi_check_tell(clpi_finding_kind kind, const char *name, const char *does,
                     const clpi_checked *it);

/* The call uses memory, which it may write, or nothing that is known: tells if that has been
 * released, or is of another context. Returns the memory. */
clpi_checked *clpi_check_use(const clpi_check_call *call, clpi_checked *it, bool writes);

/* The call enqueues a kernel, and has done so. */
void clpi_check_run(clpi_check_call *call, cl_kernel kernel);
void clpi_check_after_run(const clpi_check_call *call);

/* Sets the functions for kernels. */
void clpi_check_fill_kernels(cl_icd_dispatch *functions);

#endif
