/* SPDX-License-Identifier: MIT */
/* The program's references to an object, of which the driver sees one. Any thread. */
#ifndef CLPOOL_LAYER_REFERENCES_H
#define CLPOOL_LAYER_REFERENCES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* False: there are none any more, and none is added. */
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

/* How many there were. What threads did before is seen by the one that drops the last. */
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
