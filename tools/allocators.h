/* SPDX-License-Identifier: MIT */
/* The allocators of the program, by name. */
#ifndef CLPOOL_TOOLS_ALLOCATORS_H
#define CLPOOL_TOOLS_ALLOCATORS_H

#include "devices.h"

#include <clpool/allocator.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The one table of allocators: X(kind, name, whose devices it is on, whether its memory is an
 * address, so that a pool on an arena carves what is asked for, constructor, in a line what it
 * calls). A row and its constructor, in allocators.c or opencl.c, are all that a further one takes.
 */
#define CLPI_ALLOCATORS(X)                                                                         \
  X(HOST, "host", CLPI_NO_BACKEND, true, create_host, "posix_memalign")                            \
  X(SIMULATED, "simulated", CLPI_NO_BACKEND, true, create_simulated, "nothing: memory is counted") \
  X(CL_DEFERRED, "cl-deferred", CLPI_OPENCL, false, CLPI_CL(clpi_create_cl_deferred),              \
    "clCreateBuffer")                                                                              \
  X(CL_IMMEDIATE, "cl-immediate", CLPI_OPENCL, false, CLPI_CL(clpi_create_cl_immediate),           \
    "clCreateBuffer and making sure of the memory")                                                \
  X(CL_SVM, "cl-svm", CLPI_OPENCL, true, CLPI_CL(clpi_create_cl_svm), "clSVMAlloc")                \
  X(CUDA_ASYNC, "cuda-async", CLPI_CUDA, true, create_cuda_async, "cuMemAllocFromPoolAsync")

typedef enum clpi_allocator_kind {
#define CLPI_ALLOCATOR_ENUMERATOR(kind, ...) CLPI_ALLOCATOR_##kind,
  CLPI_ALLOCATORS(CLPI_ALLOCATOR_ENUMERATOR)
#undef CLPI_ALLOCATOR_ENUMERATOR
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
  clpi_backend backend;
  bool has_addresses;
  clp_status (*create)(const clpi_opened *where, clp_allocator **out); /* NULL: not in this build */
  const char *calls;
} clpi_allocator_row;

/* By kind. */
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
 * its device; complains about a call that failed with that cl_int. Each returns an exit code, with
 * a complaint if it is not 0. Closing leaves out what is not open. */
int clpi_opencl_open(clpi_opened *opened);
void clpi_opencl_close(clpi_opened *opened);
int clpi_opencl_failed(const char *call, int code);

/* Its constructors. */
clp_status clpi_create_cl_deferred(const clpi_opened *where, clp_allocator **out);
clp_status clpi_create_cl_immediate(const clpi_opened *where, clp_allocator **out);
clp_status clpi_create_cl_svm(const clpi_opened *where, clp_allocator **out);

/* For clpool bench: waits for the queue; writes to every byte of blocks, a multiple of 16, and
 * waits for that (from OpenCL 1.2 on); makes the whole buffer a part of itself, and releases that,
 * `times` times. Each returns an exit code, with a complaint if it is not 0. */
int clpi_opencl_finish(const clpi_opened *opened);
int clpi_opencl_fill(const clpi_opened *opened, bool is_svm, const clp_memory *blocks, size_t count,
                     size_t bytes);
int clpi_opencl_make_parts(clp_memory buffer, size_t bytes, size_t times);

/* The most bytes that a CUDA device's default memory pool, which is beneath cuda-async, took from
 * the device in this process; 0: the driver does not count. */
uint64_t clpi_cuda_peak_reserved(unsigned ordinal);

#endif
