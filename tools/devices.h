/* SPDX-License-Identifier: MIT */
/* The OpenCL and CUDA devices of this machine, the same with and without OpenCL support. */
#ifndef CLPOOL_TOOLS_DEVICES_H
#define CLPOOL_TOOLS_DEVICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum clpi_backend { CLPI_NO_BACKEND, CLPI_OPENCL, CLPI_CUDA, CLPI_BACKENDS } clpi_backend;

enum {
  CLPI_TEXT_BYTES = 256,
  CLPI_MOST_PLATFORMS = 32, /* further ones are left out, */
  CLPI_MOST_DEVICES = 128   /* of both backends together */
};

/* Texts are empty, pointers NULL and figures 0 where the driver does not tell. */
typedef struct clpi_device {
  clpi_backend backend;
  char id[24];               /* what --device takes: "0.0" for OpenCL, "0" for CUDA */
  unsigned platform, number; /* in a list's platforms, OpenCL's only; on it or in CUDA */
  void *handle;              /* OpenCL's cl_device_id */
  char name[CLPI_TEXT_BYTES];
  uint64_t bytes;                                         /* its memory */
  char version[CLPI_TEXT_BYTES], driver[CLPI_TEXT_BYTES]; /* OpenCL's only, to the end */
  unsigned opencl;                                        /* 120 for OpenCL 1.2 */
  const char *type; /* "CPU", "GPU", "accelerator", "custom" */
  uint64_t max_block_bytes, alignment_bytes;
  uint64_t svm;      /* kinds of shared virtual memory: the bits CL_DEVICE_SVM_... */
  bool has_mempools; /* CUDA's only */
} clpi_device;

/* One of OpenCL. */
typedef struct clpi_platform {
  char name[CLPI_TEXT_BYTES], version[CLPI_TEXT_BYTES], vendor[CLPI_TEXT_BYTES];
  const char *missing; /* why it has no devices; else NULL */
} clpi_platform;

/* Begins as {0}. `missing` tells why a backend has no devices, where that is so. CUDA's text is the
 * library's, and holds until one of its functions fails. */
typedef struct clpi_devices {
  clpi_platform platforms[CLPI_MOST_PLATFORMS];
  size_t platform_count;
  char cuda_version[24]; /* of the driver, "12.4" */
  const char *missing[CLPI_BACKENDS];
  clpi_device devices[CLPI_MOST_DEVICES];
  size_t count;
} clpi_devices;

/* Each adds a backend's devices to a list. */
void clpi_list_opencl(clpi_devices *list);
void clpi_list_cuda(clpi_devices *list);

/* A place for one more device, which is still {0}; NULL: the list is full. */
clpi_device *clpi_devices_add(clpi_devices *list);

/* The listed device of a backend that has that id. With a NULL id the first GPU, or else the first
 * device: where there is a GPU, the platform of a CPU is often before its own. NULL: none. */
const clpi_device *clpi_devices_find(const clpi_devices *list, clpi_backend backend,
                                     const char *id);

#endif
