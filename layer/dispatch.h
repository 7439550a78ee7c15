/* SPDX-License-Identifier: MIT */
/* A layer of the OpenCL loader: the loader gives the program's calls to the layer's functions,
 * which make calls of their own by the target's: the next layer's, or the loader's way to the
 * driver. They never call OpenCL by its names, which would come back to the layer. */
#ifndef CLPOOL_LAYER_DISPATCH_H
#define CLPOOL_LAYER_DISPATCH_H

#include <CL/cl_layer.h>
#include <stdbool.h>

/* What the library is; each has one. */
typedef struct clpi_layer {
  const char *name;
  const cl_icd_dispatch *functions; /* NULL: the target's, at no cost */
  /* False, after a complaint: the program runs without it. */
  bool (*begin)(const cl_icd_dispatch *target);
} clpi_layer;

extern const clpi_layer clpi_this_layer;

/* Set before any function of the layer is called. */
extern const cl_icd_dispatch *clpi_target;

/* An address in the loader. Set before the layer begins. */
extern const void *clpi_loader;

/* Answers a query as OpenCL's functions of information do. */
cl_int clpi_layer_answer(const void *value, size_t size, size_t room, void *to, size_t *size_ret);

/* The layer is of use to the program, or has something to show. Not by two threads at once. */
void clpi_layer_is_used(void);

/* Writes one line to standard error. */
void clpi_layer_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
