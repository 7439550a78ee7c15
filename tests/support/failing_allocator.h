/* SPDX-License-Identifier: MIT */
/* A device for tests: an allocator of made-up memory that records its calls, is out of memory past
 * a capacity, and fails on purpose. It takes no host memory, so host failures are never its own. */
#ifndef CLPT_FAILING_ALLOCATOR_H
#define CLPT_FAILING_ALLOCATOR_H

#include <check.h>
#include <clpool/allocator.h>
#include <clpool/pool.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

enum { CLPT_MAX_BLOCKS = 2048, CLPT_TRACE_BYTES = 2048 };

/** What one function does wrong: `count` calls fail, after `after` that do not. */
typedef struct clpt_fault {
  unsigned after, count;
  clp_status status;
  int native_code;
  const char *message; /**< for clp_set_last_error; NULL: fails without a word */
} clpt_fault;

/** Counts a call, which fails if its turn has come. */
clp_status clpt_fault_next(clpt_fault *fault);

/** The calls of a device, as its trace writes them. */
typedef enum clpt_call {
  CLPT_ALLOCATE = 'A',
  CLPT_FREE = 'F',
  CLPT_DRAIN = 'D',
  CLPT_RETURN_CACHED = 'R',
  CLPT_CALLBACK = 'C', /**< noted by a test's own on_out_of_memory */
  CLPT_DESTROY = 'X'
} clpt_call;

typedef struct clpt_device clpt_device;

struct clpt_device {
  /* Set by the test, after clpt_device_init. */
  clp_allocator_ops ops; /**< what clpt_device_allocator makes an allocator of */
  size_t capacity;       /**< out of memory past so many bytes; 0: never */
  size_t pending_bytes;  /**< of the capacity, usable after drain */
  size_t cached_bytes;   /**< of the capacity, usable after return_cached */
  bool frees_are_pending;
  clpt_fault allocate_fault, free_fault, drain_fault, return_cached_fault;
  /** Called before each call does its work, under no lock. NULL: nothing. */
  void (*on_call)(clpt_device *device, clpt_call call, size_t bytes);
  void *on_call_data;

  /* What happened. */
  size_t live_blocks, live_bytes;
  /** Misuses: frees of what is not live or of other size, zero bytes, use after destroy. */
  unsigned destroyed, misuses;
  char trace[CLPT_TRACE_BYTES];

  pthread_mutex_t lock; /* guards all below, and what happened */
  size_t trace_length;
  clp_memory last_memory;
  struct {
    clp_memory memory;
    size_t bytes;
  } blocks[CLPT_MAX_BLOCKS];
};

/** A device of unbounded memory, without faults, with all of drain and return_cached. */
void clpt_device_init(clpt_device *device);

/** The same, whose blocks can be split, as memory is an address. */
void clpt_device_init_split(clpt_device *device);

/** An allocator on `device`, which must outlive it. The caller's reference. */
clp_allocator *clpt_device_allocator(clpt_device *device);

/** Adds a call to the trace, as the device's own functions do. */
void clpt_device_note(clpt_device *device, clpt_call call, size_t bytes);

/** The calls since the start or clpt_device_clear_trace, such as "A67! F135 D R C67 A67": `!` marks
 * a call that failed. */
#define clpt_device_trace_is(device, expected) ck_assert_str_eq((device)->trace, (expected))

void clpt_device_clear_trace(clpt_device *device);

/** Asserts that the allocator ended once, and that all memory came back, as it was given. */
void clpt_device_assert_ended(clpt_device *device);

#endif
