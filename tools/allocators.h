/* SPDX-License-Identifier: MIT */
/* The program's allocators, by name, and the OpenCL and CUDA devices of this machine. The interface
 * is the same with and without OpenCL support. */
#ifndef CLPOOL_TOOLS_ALLOCATORS_H
#define CLPOOL_TOOLS_ALLOCATORS_H

#include <clpool/allocator.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- devices: OpenCL's (opencl.c, no_opencl.c) and CUDA's (devices.c) --- */

typedef enum clpi_backend { CLPI_NO_BACKEND, CLPI_OPENCL, CLPI_CUDA, CLPI_BACKENDS } clpi_backend;

enum {
  CLPI_TEXT_BYTES = 256,
  CLPI_MOST_PLATFORMS = 32, /* further ones are left out */
  CLPI_MOST_DEVICES = 128   /* of both backends together; likewise */
};

/* If the driver does not report a property, texts are empty, pointers NULL and figures 0. */
typedef struct clpi_device {
  clpi_backend backend;
  char id[24];               /* for --device: "0.0" for OpenCL, "0" for CUDA */
  unsigned platform, number; /* the platform, only of OpenCL; on it or in CUDA */
  void *handle;              /* OpenCL's cl_device_id */
  char name[CLPI_TEXT_BYTES];
  uint64_t bytes;                                         /* its memory */
  char version[CLPI_TEXT_BYTES], driver[CLPI_TEXT_BYTES]; /* only OpenCL's, up to svm */
  unsigned opencl;                                        /* 120 for OpenCL 1.2 */
  const char *type; /* "CPU", "GPU", "accelerator", "custom" */
  uint64_t max_block_bytes, alignment_bytes;
  uint64_t svm;      /* kinds of shared virtual memory: the bits CL_DEVICE_SVM_... */
  bool has_mempools; /* only CUDA's */
} clpi_device;

/* An OpenCL platform. */
typedef struct clpi_platform {
  char name[CLPI_TEXT_BYTES], version[CLPI_TEXT_BYTES], vendor[CLPI_TEXT_BYTES];
  const char *missing; /* why it has no devices; else NULL */
} clpi_platform;

/* Begins as {0}. `missing` says why a backend has no devices, else it is NULL. CUDA's text is the
 * library's, and valid until one of its functions fails. */
typedef struct clpi_devices {
  clpi_platform platforms[CLPI_MOST_PLATFORMS];
  size_t platform_count;
  char cuda_version[24]; /* of the driver, "12.4" */
  const char *missing[CLPI_BACKENDS];
  clpi_device devices[CLPI_MOST_DEVICES];
  size_t count;
} clpi_devices;

/* Add a backend's devices to a list. */
void clpi_list_opencl(clpi_devices *list);
void clpi_list_cuda(clpi_devices *list);

/* Returns a place for one more device, which is {0}. NULL: the list is full. */
clpi_device *clpi_devices_add(clpi_devices *list);

/* Returns the listed device of a backend with this id. With a NULL id the first GPU, or else the
 * first device, because a CPU's platform is often before the GPU's. NULL: none. */
const clpi_device *clpi_devices_find(const clpi_devices *list, clpi_backend backend,
                                     const char *id);

/* --- allocators --- */

typedef enum clpi_allocator_kind {
  CLPI_ALLOCATOR_HOST,
  CLPI_ALLOCATOR_SIMULATED,
  CLPI_ALLOCATOR_CL_DEFERRED,
  CLPI_ALLOCATOR_CL_IMMEDIATE,
  CLPI_ALLOCATOR_CL_SVM,
  CLPI_ALLOCATOR_CUDA_ASYNC,
  CLPI_ALLOCATOR_KINDS
} clpi_allocator_kind;

/* An open allocator, and the device of its memory. */
typedef struct clpi_opened {
  clp_allocator *allocator;
  clpi_device device;    /* of its backend, else {0} */
  void *context, *queue; /* of OpenCL: a cl_context, and an in-order cl_command_queue */
} clpi_opened;

typedef struct clpi_allocator_row {
  const char *name;
  clpi_backend backend; /* it is on this backend's devices */
  bool has_addresses;   /* so a pool on an arena carves the requested size */
  clp_status (*create)(const clpi_opened *where, clp_allocator **out); /* NULL: not in this build */
  const char *calls;                                                   /* in one line */
} clpi_allocator_row;

/* The table of allocators, by kind. To add an allocator, add a row, a kind, and a constructor in
 * allocators.c or opencl.c. */
extern const clpi_allocator_row clpi_allocators[CLPI_ALLOCATOR_KINDS];

/* Finds an allocator by name, in this build or not. Returns an exit code, with a message if it is
 * not 0. */
int clpi_find_allocator(const char *name, clpi_allocator_kind *kind);

typedef struct clpi_allocator_choice {
  clpi_allocator_kind kind;
  const char *devices[CLPI_BACKENDS]; /* the ids of devices to use; NULL: the usual one */
} clpi_allocator_choice;

/* Takes a device's id from --device; one for each backend, of which only OpenCL's have a point.
 * Returns an exit code, with a message if it is not 0. */
int clpi_choose_device(clpi_allocator_choice *choice, const char *text);

/* Refuses chosen devices that no allocator of `kinds`, a bit each, uses: that is a mistake.
 * Returns an exit code, with a message if it is not 0. */
int clpi_check_devices(const clpi_allocator_choice *choice, unsigned kinds);

/* Makes the allocator on its device. Returns an exit code, with a message if it is not 0; then
 * nothing is open. */
int clpi_allocator_open(const clpi_allocator_choice *choice, clpi_opened *out);
void clpi_allocator_close(clpi_opened *opened);

/* OpenCL's part (opencl.c, no_opencl.c): makes the context and the queue on the device. Returns an
 * exit code, with a message if it is not 0. clpi_opencl_close closes what is open of them. */
int clpi_opencl_open(clpi_opened *opened);
void clpi_opencl_close(clpi_opened *opened);

/* OpenCL's constructors. */
clp_status clpi_create_cl_deferred(const clpi_opened *where, clp_allocator **out);
clp_status clpi_create_cl_immediate(const clpi_opened *where, clp_allocator **out);
clp_status clpi_create_cl_svm(const clpi_opened *where, clp_allocator **out);

/* For clpool bench: clpi_opencl_fill writes to every byte of `count` blocks, a multiple of 16 (from
 * OpenCL 1.2 on), and waits for the queue. clpi_opencl_make_parts makes and releases a sub-buffer
 * `times` times. Each returns an exit code, with a message if it is not 0. */
int clpi_opencl_fill(const clpi_opened *opened, bool is_svm, const clp_memory *blocks, size_t count,
                     size_t bytes);
int clpi_opencl_make_parts(clp_memory buffer, size_t bytes, size_t times);

/* Returns the most bytes that a CUDA device's default memory pool, beneath cuda-async, took in this
 * process. 0: the driver does not count. */
uint64_t clpi_cuda_peak_reserved(unsigned ordinal);

#endif
