/* SPDX-License-Identifier: MIT */
/* The allocators of the program, by name. */
#ifndef CLPOOL_TOOLS_ALLOCATORS_H
#define CLPOOL_TOOLS_ALLOCATORS_H

#include "devices.h"

#include <clpool/allocator.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum clpi_allocator_kind {
  CLPI_ALLOCATOR_HOST,
  CLPI_ALLOCATOR_SIMULATED,
  CLPI_ALLOCATOR_CUDA_ASYNC,
  CLPI_ALLOCATOR_CL_DEFERRED,
  CLPI_ALLOCATOR_CL_IMMEDIATE,
  CLPI_ALLOCATOR_CL_SVM,
  CLPI_ALLOCATOR_KINDS
} clpi_allocator_kind;

/* Their names; the first clpi_allocator_name_count() are in this program. */
extern const char *const clpi_allocator_names[CLPI_ALLOCATOR_KINDS];
size_t clpi_allocator_name_count(void);

/* Finds an allocator by name. Returns an exit code, with a complaint if it is not 0. */
int clpi_find_allocator(const char *name, clpi_allocator_kind *kind);

/* Whether the allocator is on an OpenCL device. */
bool clpi_is_on_device(clpi_allocator_kind kind);

/* Whether its memory is an address, so that a pool on an arena carves what is asked for. */
bool clpi_has_addresses(clpi_allocator_kind kind);

typedef struct clpi_allocator_choice {
  clpi_allocator_kind kind;
  clpi_device_id device; /* for OpenCL */
  unsigned ordinal;      /* for CUDA */
  size_t capacity;       /* of a simulated device, bytes; 0: no bound */
} clpi_allocator_choice;

/* Makes the allocator; `*device_name` is for free(), NULL where there is no device or it does not
 * tell. Returns an exit code, with a complaint if it is not 0. */
int clpi_allocator_open(const clpi_allocator_choice *choice, clp_allocator **out,
                        char **device_name);

/* The same on a CUDA device. */
int clpi_cuda_allocator_create(unsigned ordinal, clp_allocator **out, char **device_name);

/* The same on an OpenCL device, of a kind that clpi_is_on_device. */
int clpi_device_allocator_create(clpi_device_id id, clpi_allocator_kind kind, clp_allocator **out,
                                 char **device_name);

/* The most bytes that a CUDA device's default memory pool, which is beneath cuda-async, took from
 * the device in this process; 0: the driver does not count. */
uint64_t clpi_cuda_peak_reserved(unsigned ordinal);

#endif
