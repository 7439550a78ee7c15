/* SPDX-License-Identifier: MIT */
/* Warm pairs: nothing is taken from the device, and nothing goes back, while they are timed. */
#include "measure_pairs.h"

#include "program.h"
#include "timing.h"
#include "trace/replay.h"

#include <clpool/arena.h>
#include <clpool/buffer.h>
#include <clpool/pool.h>

/* --- Parts --- */

typedef struct parted_block {
  const clpi_measured *memory;
  clp_memory block;
  size_t bytes;
} parted_block;

static int run_parts(void *self, size_t times)
{
  const parted_block *it = self;
  return it->memory->make_parts(it->memory->self, it->block, it->bytes, times);
}

int clpi_measure_parts(const clpi_measured *memory, size_t bytes, double budget, double *pair)
{
  parted_block it = {.memory = memory, .bytes = bytes};
  clp_status status = clp_allocator_allocate(memory->opened.allocator, bytes, &it.block);
  if (status)
    return clpi_failed(status);
  int code = memory->settle ? memory->settle(memory->self) : CLPI_EXIT_SUCCESS;
  if (!code)
    code = clpi_time(run_parts, &it, budget, pair);
  status = clp_allocator_free(memory->opened.allocator, it.block, bytes);
  return !code && status ? clpi_failed(status) : code;
}

/* --- Pools --- */

typedef struct pooled_block {
  clp_pool *pool;
  size_t bytes;
} pooled_block;

static int run_pool(void *self, size_t times)
{
  const pooled_block *it = self;
  clp_buffer *buffer;
  clp_status status = CLP_SUCCESS;
  for (size_t i = 0; i < times && !status; i++) {
    status = clp_pool_allocate(it->pool, it->bytes, &buffer);
    if (!status)
      status = clp_buffer_release(buffer);
  }
  return status ? clpi_failed(status) : CLPI_EXIT_SUCCESS;
}

int clpi_measure_pool(const clpi_measured *memory, size_t bytes, double budget, double *pair)
{
  pooled_block it = {.bytes = bytes};
  const clp_pool_options options = TRACE_POOL_OPTIONS_INIT;
  clp_status status = clp_pool_create(memory->opened.allocator, &options, &it.pool);
  if (!status)
    status = clp_pool_set_limit(it.pool, 0); /* CLPOOL_MEMORY_LIMIT is for programs' pools */
  int code = status ? clpi_failed(status) : clpi_time(run_pool, &it, budget, pair);
  clp_pool_release(it.pool);
  return code;
}

/* --- Arenas --- */

typedef struct carved_block {
  clp_allocator *arena;
  size_t bytes;
} carved_block;

static int run_arena(void *self, size_t times)
{
  const carved_block *it = self;
  clp_memory block;
  clp_status status = CLP_SUCCESS;
  for (size_t i = 0; i < times && !status; i++) {
    status = clp_allocator_allocate(it->arena, it->bytes, &block);
    if (!status)
      status = clp_allocator_free(it->arena, block, it->bytes);
  }
  return status ? clpi_failed(status) : CLPI_EXIT_SUCCESS;
}

/* Another block in the segment keeps the arena from giving it back. */
int clpi_measure_arena(const clpi_measured *memory, size_t bytes, double budget, double *pair)
{
  enum { OTHER_BYTES = 4096 };
  clp_arena_options options = TRACE_ARENA_OPTIONS_INIT;
  carved_block it = {.bytes = bytes};
  clp_memory other = 0;
  options.min_segment_bytes = bytes + 2 * OTHER_BYTES;
  clp_status status = clp_arena_allocator_create(memory->opened.allocator, &options, &it.arena);
  if (!status)
    status = clp_allocator_allocate(it.arena, OTHER_BYTES, &other);
  int code = status ? clpi_failed(status) : clpi_time(run_arena, &it, budget, pair);
  if (other)
    status = clp_allocator_free(it.arena, other, OTHER_BYTES);
  clp_allocator_release(it.arena);
  return !code && status ? clpi_failed(status) : code;
}
