/* SPDX-License-Identifier: MIT */
/* Counting the program's references to an object; the driver sees one. Any thread. */
#ifndef CLPOOL_LAYER_REFERENCES_H
#define CLPOOL_LAYER_REFERENCES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* Adds a reference, unless there are none any more. False: there are none. */
static inline bool clpi_references_add(atomic_size_t *references)
{
  size_t count = atomic_load_explicit(references, memory_order_relaxed);
  do {
    if (count == 0)
      return false;
  } while (!atomic_compare_exchange_weak_explicit(references, &count, count + 1,
                                                  memory_order_relaxed, memory_order_relaxed));
  return true;
}

/* Drops a reference. Returns how many there were. The thread that drops the last one sees what
 * other threads did before they dropped theirs. */
static inline size_t clpi_references_drop(atomic_size_t *references)
{
  size_t count = atomic_load_explicit(references, memory_order_relaxed);
  do {
    if (count == 0)
      return 0;
  } while (!atomic_compare_exchange_weak_explicit(references, &count, count - 1,
                                                  memory_order_acq_rel, memory_order_relaxed));
  return count;
}

#endif
