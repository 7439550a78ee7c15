/* SPDX-License-Identifier: MIT */
/* The allocators of the program, by name, and the OpenCL and CUDA devices of this machine, the same
 * with and without OpenCL support. */
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

/* An allocator that is open, and where its memory is. */
typedef struct clpi_opened {
  clp_allocator *allocator;
  clpi_device device;    /* that of its backend, else {0} */
  void *context, *queue; /* of OpenCL: a cl_context, and an in-order cl_command_queue */
} clpi_opened;

typedef struct clpi_allocator_row {
  const char *name;
  clpi_backend backend; /* whose devices it is on */
  bool has_addresses;   /* so that a pool on an arena carves what is asked for */
  clp_status (*create)(const clpi_opened *where, clp_allocator **out); /* NULL: not in this build */
  const char *calls;                                                   /* in a line */
} clpi_allocator_row;

/* The one table, by kind: a row, a constructor in allocators.c or opencl.c and a kind are all that
 * a further allocator takes. */
extern const clpi_allocator_row clpi_allocators[CLPI_ALLOCATOR_KINDS];

/* Finds an allocator by name, of this build or not. Returns an exit code, with a complaint if it is
 * not 0. */
int clpi_find_allocator(const char *name, clpi_allocator_kind *kind);

typedef struct clpi_allocator_choice {
  clpi_allocator_kind kind;
  const char *devices[CLPI_BACKENDS]; /* the ids of those to be on; NULL: the usual one */
} clpi_allocator_choice;

/* Takes a device's id as --device has it; one of each backend, which a point tells apart. Returns
 * an exit code, with a complaint if it is not 0. */
int clpi_choose_device(clpi_allocator_choice *choice, const char *text);

/* Refuses devices on which no allocator is of those whose bits `kinds` has: they were not meant so.
 * Returns an exit code, with a complaint if it is not 0. */
int clpi_check_devices(const clpi_allocator_choice *choice, unsigned kinds);

/* Makes the allocator on its device. Returns an exit code, with a complaint if it is not 0; then
 * nothing is open. */
int clpi_allocator_open(const clpi_allocator_choice *choice, clpi_opened *out);
void clpi_allocator_close(clpi_opened *opened);

/* OpenCL's part (opencl.c, no_opencl.c): makes the context and the queue of what is to be opened on
 * its device. Returns an exit code, with a complaint if it is not 0. Closing leaves out what is not
 * open. */
int clpi_opencl_open(clpi_opened *opened);
void clpi_opencl_close(clpi_opened *opened);

/* Its constructors. */
clp_status clpi_create_cl_deferred(const clpi_opened *where, clp_allocator **out);
clp_status clpi_create_cl_immediate(const clpi_opened *where, clp_allocator **out);
clp_status clpi_create_cl_svm(const clpi_opened *where, clp_allocator **out);

/* For clpool bench: writes to every byte of `count` blocks, a multiple of 16 (from OpenCL 1.2 on),
 * and waits for the queue; makes the whole buffer a part of itself, and releases that, `times`
 * times. Each returns an exit code, with a complaint if it is not 0. */
int clpi_opencl_fill(const clpi_opened *opened, bool is_svm, const clp_memory *blocks, size_t count,
                     size_t bytes);
int clpi_opencl_make_parts(clp_memory buffer, size_t bytes, size_t times);

/* The most bytes that a CUDA device's default memory pool, which is beneath cuda-async, took from
 * the device in this process; 0: the driver does not count. */
uint64_t clpi_cuda_peak_reserved(unsigned ordinal);

#endif
