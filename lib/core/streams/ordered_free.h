/* SPDX-License-Identifier: MIT */
/* Giving memory that streams may still use back to an allocator. */
#ifndef CLPOOL_CORE_STREAMS_ORDERED_FREE_H
#define CLPOOL_CORE_STREAMS_ORDERED_FREE_H

#include "core/streams/use.h"

/* Uses of one piece of memory. */
typedef struct clpi_uses {
  clpi_use *uses;
  size_t count;
} clpi_uses;

/* Frees memory after all its uses, whose streams stay needed until that is so. Waits on the host
 * only where the allocator can do no better. Under no lock. The allocator's status; on failure the
 * memory is still the caller's. */
clp_status clpi_ordered_free(clpi_streams *streams, clp_allocator *allocator, clp_memory memory,
                             size_t bytes, clpi_uses uses);

#endif
