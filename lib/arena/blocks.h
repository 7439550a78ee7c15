/* SPDX-License-Identifier: MIT */
/* Blocks: carving them, and taking them back. */
#ifndef CLPOOL_ARENA_BLOCKS_H
#define CLPOOL_ARENA_BLOCKS_H

#include "arena/arena.h"

/* The allocator's operations. Under no lock. */
clp_status clpi_arena_allocate(void *self, size_t bytes, clp_memory *out);
clp_status clpi_arena_allocate_within(void *self, const clp_memory_request *request,
                                      clp_memory *out);
clp_status clpi_arena_free(void *self, clp_memory memory, size_t bytes);
clp_status clpi_arena_free_on(void *self, clp_memory memory, size_t bytes, clp_stream stream);

/* For pools that hold nothing. */
extern const clpi_carver clpi_arena_carver;

#endif
