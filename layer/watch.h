/* SPDX-License-Identifier: MIT */
/* The calls that make contexts, queues and memory, in one form for all layers. */
#ifndef CLPOOL_LAYER_WATCH_H
#define CLPOOL_LAYER_WATCH_H

#include <CL/cl_layer.h>
#include <stdbool.h>

/* A call that makes a buffer, an image, or shared virtual memory, whose pointer is its handle. */
typedef struct clpi_request {
  cl_context context;
  const cl_mem_properties *properties;
  cl_mem_flags flags;
  size_t bytes;      /* not of an image */
  cl_uint alignment; /* of shared virtual memory */
  bool is_image, is_svm;
  const cl_image_format *format;
  const cl_image_desc *desc; /* of any image; only what the call sets */
  void *host;
  cl_mem (*make)(const struct clpi_request *request, cl_int *code); /* calls the target */
} clpi_request;

/* A layer's functions for these calls. */
typedef struct clpi_watcher {
  void (*context)(cl_context made);
  void (*queue)(cl_context of, cl_command_queue made);
  /* Makes the memory. `*code` is CL_SUCCESS before. */
  cl_mem (*memory)(const clpi_request *wanted, cl_int *code);
  /* The program gets a function that is not seen, and may do anything; NULL: that is nothing to
   * the layer. */
  void (*extension)(void);
} clpi_watcher;

/* clGetExtensionFunctionAddress, which the layer may wrap. */
void *CL_API_CALL clpi_watch_extension(const char *name);

/* Sets the layer's functions for these calls. Once, before any of them is called. */
void clpi_watch(const clpi_watcher *watcher, cl_icd_dispatch *functions);

#endif
