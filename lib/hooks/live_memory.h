/* SPDX-License-Identifier: MIT */
/* What a trace tells as allocated and has not told as freed: memory and its size. */
#ifndef CLPOOL_HOOKS_LIVE_MEMORY_H
#define CLPOOL_HOOKS_LIVE_MEMORY_H

#include <clpool/allocator.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct clpi_live_memory {
  struct clpi_live_entry *entries; /* a hash table, by memory */
  unsigned bits;                   /* it has 1 << bits places; 0: none yet */
  size_t count;                    /* of them taken */
  size_t nulls;                    /* live memory 0, of no bytes, which is not in the table */
} clpi_live_memory;

/* All zero is empty. */
void clpi_live_memory_end(clpi_live_memory *live);

/* Adds memory, which is not live unless it is 0. False: no host memory. */
bool clpi_live_memory_add(clpi_live_memory *live, clp_memory memory, size_t bytes);

/* Takes memory out, with its size. False: it was not live. */
bool clpi_live_memory_take(clpi_live_memory *live, clp_memory memory, size_t *bytes);

#endif
