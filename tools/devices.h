/* SPDX-License-Identifier: MIT */
/* The OpenCL devices of this machine in plain C, the same with and without OpenCL support. */
#ifndef CLPOOL_TOOLS_DEVICES_H
#define CLPOOL_TOOLS_DEVICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether this program was built with OpenCL. */
extern const bool clpi_has_opencl;

/* Shared virtual memory; NULL where a device does not have the kind. */
enum { CLPI_SVM_KINDS = 4 };

/* Texts are NULL and figures 0 where the driver does not tell. */
typedef struct clpi_device {
  char *name;
  char *version;
  char *driver;
  const char *type; /* "CPU", "GPU", "accelerator", "custom" */
  uint64_t global_bytes;
  uint64_t max_block_bytes;
  uint64_t alignment_bytes;
  const char *svm[CLPI_SVM_KINDS]; /* the first svm_count are its kinds */
  size_t svm_count;
  bool has_svm;  /* OpenCL 2.0 or later, where a device can be asked */
  bool migrates; /* OpenCL 1.2 or later: clEnqueueMigrateMemObjects is there */
} clpi_device;

typedef struct clpi_platform {
  char *name;
  char *version;
  char *vendor;
  clpi_device *devices;
  size_t device_count;
} clpi_platform;

typedef struct clpi_platforms {
  clpi_platform *platforms;
  size_t count;
} clpi_platforms;

/* Asks for everything; none without OpenCL or drivers. Returns an exit code, with a complaint if it
 * is not 0: the driver loader failed, or no host memory. */
int clpi_platforms_read(clpi_platforms *out);
void clpi_platforms_free(clpi_platforms *platforms);

/* Where a replay runs: numbers as clpool info tells them. */
typedef struct clpi_device_id {
  bool is_given; /* false: the usual one */
  unsigned platform;
  unsigned device;
} clpi_device_id;

/* The first GPU, or else the first device: where there is a GPU, the platform of a CPU is often
 * before its own. 0.0 without any. */
clpi_device_id clpi_usual_device(const clpi_platforms *platforms);

/* NULL: there is no such device. */
const clpi_device *clpi_find_device(const clpi_platforms *platforms, clpi_device_id id);

#endif
