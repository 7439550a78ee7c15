/* SPDX-License-Identifier: MIT */
/* The device of a program of the crowd, and the allocator on it. It counts what it gives, lets
 * other threads run, fails on purpose, and compares what comes back with what it gave. */
#ifndef CLPT_MODEL_CROWD_DEVICE_H
#define CLPT_MODEL_CROWD_DEVICE_H

#include "crowd_plan.h"
#include "crowd_ranges.h"

#include "support/late_device.h"

#include <stdatomic.h>

/* Atomics are relaxed: the counts order nothing, so that a checker sees the library's own order. */
typedef struct crowd_device {
  clp_allocator *allocator; /**< what the pools stand on; the program's reference */
  clp_allocator *upstream;  /**< of the library: what is counted; NULL for a late device */
  crowd_ranges *ranges;     /**< NULL: addresses are not checked */
  clpt_late_device late;
  size_t capacity;
  unsigned fault_rate; /**< one in so many calls fails; 0: none */
  bool yields;

  atomic_bool is_sound; /**< no call fails any more */
  atomic_uint calls, destroyed;
  atomic_size_t live_blocks, live_bytes, most_live_bytes;
  _Atomic(const char *) wrong; /**< what was found wrong first; NULL: nothing */
} crowd_device;

/** Makes the device and its allocator. `ranges` may be NULL. */
void crowd_device_start(crowd_device *device, const crowd_plan *plan, crowd_ranges *ranges);

/** Drops the program's reference. Returns what was ever wrong, or did not come back; NULL: nothing.
 */
const char *crowd_device_end(crowd_device *device);

/** Raises `*most` to `value`, if that is more. */
void crowd_raise(atomic_size_t *most, size_t value);

#endif
