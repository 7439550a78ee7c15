/* SPDX-License-Identifier: MIT */
/* A layer of the OpenCL loader: the loader passes the program's calls to the layer's functions.
 * These call the target's functions: the next layer's, or the loader's, which lead to the driver.
 * They never call OpenCL by its names, because such calls would come back to the layer. */
#ifndef CLPOOL_LAYER_DISPATCH_H
#define CLPOOL_LAYER_DISPATCH_H

#include <CL/cl_layer.h>
#include <stdbool.h>

/* The layer that a library is; each library has one. */
typedef struct clpi_layer {
  const char *name;
  const cl_icd_dispatch *functions; /* a NULL one: the target's, at no cost */
  /* Starts the layer. False, after a message: the program runs without the layer. */
  bool (*begin)(const cl_icd_dispatch *target);
} clpi_layer;

extern const clpi_layer clpi_this_layer;

/* Set before any function of the layer is called. */
extern const cl_icd_dispatch *clpi_target;

/* An address in the loader. Set before the layer begins. */
extern const void *clpi_loader;

/* Answers a query, as OpenCL's clGet...Info functions do. */
cl_int clpi_layer_answer(const void *value, size_t size, size_t room, void *to, size_t *size_ret);

cl_int clpi_layer_answer_count(size_t count, size_t room, void *to, size_t *size_ret);

/* CL_COMPLETE, more before that or if the driver does not say, or the work's error. */
cl_int clpi_layer_progress(cl_event event);

/* Whether a call may have failed for want of memory. */
static inline bool clpi_layer_is_lack(cl_int code)
{
  return code == CL_MEM_OBJECT_ALLOCATION_FAILURE || code == CL_OUT_OF_RESOURCES ||
         code == CL_OUT_OF_HOST_MEMORY;
}

/* Notes that the layer is of use to the program, or has output. Any thread. */
void clpi_layer_is_used(void);

/* Writes one line to standard error. */
void clpi_layer_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
