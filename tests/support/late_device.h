/* SPDX-License-Identifier: MIT */
/* A device whose streams run late: work that is given to them is done when the test says so, in any
 * order that the waits between them allow. It is an allocator of host memory with all that stream
 * order needs, finds every use of memory that comes too early, too late or after its end, counts
 * what it is asked for, and fails on purpose. Any thread; it has one lock. */
#ifndef CLPT_LATE_DEVICE_H
#define CLPT_LATE_DEVICE_H

#include "failing_allocator.h"
#include "late_streams.h"

/* clang-format off */
/** The functions of the allocator. */
typedef enum clpt_late_call {
  CLPT_LATE_ALLOCATE, CLPT_LATE_FREE, CLPT_LATE_FREE_ON, CLPT_LATE_DRAIN, CLPT_LATE_STREAM_RETAIN,
  CLPT_LATE_STREAM_RELEASE, CLPT_LATE_MARK_CREATE, CLPT_LATE_MARK_RELEASE, CLPT_LATE_MARK_IS_DONE,
  CLPT_LATE_STREAM_WAIT, CLPT_LATE_HOST_WAIT, CLPT_LATE_SPLIT, CLPT_LATE_UNSPLIT, CLPT_LATE_CALLS
} clpt_late_call;
/* clang-format on */

/** How it takes memory back that streams may still use; see clp_allocator_ops. */
typedef enum clpt_late_freeing {
  CLPT_LATE_FREES_AT_ONCE, /**< so the pool has to wait */
  CLPT_LATE_FREES_IN_ORDER,
  CLPT_LATE_FREES_ON_STREAMS,
  CLPT_LATE_FREEINGS
} clpt_late_freeing;

/** What the device gets wrong, so that a test can show that it would notice. */
typedef enum clpt_late_defect {
  CLPT_LATE_SOUND,
  CLPT_LATE_STREAMS_DO_NOT_WAIT,
  CLPT_LATE_MARKS_ARE_DONE_AT_ONCE,
  CLPT_LATE_MARKS_MISS_THE_LAST_WORK,
  CLPT_LATE_HOST_DOES_NOT_WAIT
} clpt_late_defect;

/** A block, or a part of one. It ends when it was freed and no work uses it any more; where
 * free_is_ordered is not set, the first has to come after the second. The uses of a part are its
 * block's too. Its content is a tag at the beginning of each grain. */
struct clpt_late_block {
  struct clpt_late_block *whole; /* NULL: it is no part */
  unsigned parts;                /* that were not united yet */
  clp_memory memory;
  unsigned char *content;
  uint64_t given; /* the tag of the last write that a stream was given */
  size_t bytes;
  unsigned uses; /* by work that is not done */
  bool leaving;  /* freed */
  struct clpt_late_block *next;
};

struct clpt_late_device {
  /* Set by the test, after clpt_late_init. */
  clp_allocator_ops ops; /**< what clpt_late_allocator makes an allocator of */
  size_t capacity;       /**< out of memory past so many bytes; 0: never */
  bool marks_are_work;   /**< a mark is given to its stream, to be done, as a marker is */
  bool addresses;        /**< see clpt_late_set_addresses */
  bool opaque;           /**< memory is a handle, as a cl_mem is, and no two parts may overlap */
  clpt_late_defect defect;
  unsigned failing; /**< which calls `fault` is for: 1u << CLPT_LATE_..., or-ed */
  clpt_fault fault;
  /** Called before each call does its work, under no lock. NULL: nothing. */
  void (*on_call)(clpt_late_device *device, clpt_late_call call);
  void *on_call_data;
  /** Called with true when the library calls the device, and with false when it returns from there:
   * what the device allocates for itself in between is not the library's. NULL: nothing. */
  void (*outside)(bool is_outside);
  /** Called when the library frees a block, not a part, under the device's lock. NULL: nothing. */
  void (*on_free)(clpt_late_device *device, clp_memory memory);
  void *on_free_data;
  struct {
    clpt_late_stream *newest;
    bool reuse_addresses; /**< a new stream is made where one was that ended */
  } streams;
  clp_stream frees; /**< its own, for what no stream of the test's can order; NULL: none */

  /* What happened. */
  unsigned calls[CLPT_LATE_CALLS];
  unsigned destroyed;
  size_t live_blocks, live_bytes; /**< those that were freed and are not back count too */
  size_t peak_bytes;              /**< the most of live_bytes */
  size_t live_marks;
  unsigned refusals; /**< allocations that failed for lack of memory */
  unsigned faults;   /**< calls that failed on purpose */
  uint64_t reads;    /**< so often a block was read */
  char wrong[128];   /**< what was first found wrong; empty: nothing */

  pthread_mutex_t lock; /* guards all that happened, and all below */
  uint64_t last_tag;
  clp_memory last_handle;
  size_t leaving_blocks, leaving_bytes; /* freed, and not back */
  clpt_late_block *blocks;
  clpt_late_mark *marks; /* those that were released too, so that a second release is seen */
};

/** A device of unbounded memory, which frees at once; no home stream, no streams. */
void clpt_late_init(clpt_late_device *device);

/** For before clpt_late_allocator: how memory goes back; memory is an address, and so is that of
 * parts, of which the device is not told; no functions of stream order. */
void clpt_late_set_freeing(clpt_late_device *device, clpt_late_freeing freeing);
void clpt_late_set_addresses(clpt_late_device *device);
void clpt_late_without_streams(clpt_late_device *device);

/** An allocator on `device`, which must outlive it. The caller's reference. */
clp_allocator *clpt_late_allocator(clpt_late_device *device);

/** Where parts are addresses: one begins to be used, which must not overlap another one; and ends,
 * but for work that streams were given. */
void clpt_late_open(clpt_late_device *device, clp_memory memory, size_t bytes);
void clpt_late_close(clpt_late_device *device, clp_memory memory, size_t bytes);

/** The address of the block or part of at least `bytes` that `memory` names; NULL: there is none.
 */
unsigned char *clpt_late_content(clpt_late_device *device, clp_memory memory, size_t bytes);

/** What was ever wrong, or did not come back of memory, marks and streams once the allocator has
 * ended; NULL: nothing. Work that is left is done before. */
const char *clpt_late_find_wrong(clpt_late_device *device);

/** Frees what the fake is made of; the second asserts before that nothing was wrong, as above. */
void clpt_late_end(clpt_late_device *device);
void clpt_late_assert_ended(clpt_late_device *device);

/** Gives the stream work that writes something new to the block, or that finds whether the block
 * then has what the last write that was given before, to whichever stream, wrote. */
void clpt_late_write(clpt_late_device *device, clp_stream stream, clp_memory memory);
void clpt_late_read(clpt_late_device *device, clp_stream stream, clp_memory memory);

/** How many calls there were, of any function; clears the counts of calls. */
unsigned clpt_late_all_calls(clpt_late_device *device);
void clpt_late_clear(clpt_late_device *device);

#endif
