/* SPDX-License-Identifier: MIT */
/* A block ends in two steps: its part is kept, and then its address is free. */
#include "arena/part_ops.h"

#include "arena/ahead.h"
#include "arena/direct.h"
#include "core/base/error.h"

/* Makes the block at an address memory, or frees it. */
static clp_status begin(clpi_arena *arena, clp_memory address, size_t bytes, clp_stream stream,
                        clp_memory *out)
{
  clp_status status = clpi_parts_begin(arena->parts, address, bytes, out);
  if (status && stream && arena->orders_streams)
    (void)clpi_arena_free_on(arena, address, bytes, stream);
  else if (status)
    (void)clpi_arena_free(arena, address, bytes);
  return status;
}

static clp_status allocate(void *self, size_t bytes, clp_memory *out)
{
  clpi_arena *arena = self;
  clp_memory address;
  clp_status status = clpi_arena_allocate(self, bytes, &address);
  return status ? status : begin(arena, address, bytes, arena->upstream->ops.home_stream, out);
}

static clp_status allocate_within(void *self, const clp_memory_request *request, clp_memory *out)
{
  clp_memory address;
  clp_status status = clpi_arena_allocate_within(self, request, &address);
  return status ? status : begin(self, address, request->bytes, request->stream, out);
}

static clp_status free_part(void *self, clp_memory memory, size_t bytes)
{
  const clpi_arena *arena = self;
  clp_memory address = clpi_parts_end(arena->parts, memory, bytes);
  clp_status status = clpi_arena_free(self, address, bytes);
  if (status && address)
    clpi_parts_resume(arena->parts, memory);
  return status;
}

static clp_status free_part_on(void *self, clp_memory memory, size_t bytes, clp_stream stream)
{
  const clpi_arena *arena = self;
  clp_memory address = clpi_parts_end(arena->parts, memory, bytes);
  clp_status status = clpi_arena_free_on(self, address, bytes, stream);
  if (status && address)
    clpi_parts_resume(arena->parts, memory);
  return status;
}

void clpi_arena_put_part_ops(clp_allocator_ops *ops)
{
  ops->allocate = allocate;
  ops->allocate_within = allocate_within;
  ops->free = free_part;
  ops->free_on = ops->free_on ? free_part_on : NULL;
}

/* --- direct pools --- */

static clp_memory obtain_direct(void *self, size_t bytes)
{
  clpi_arena *arena = self;
  clpi_kept_error kept;
  clp_memory memory = 0, address = clpi_arena_direct.begin(self, bytes);
  if (!address)
    return 0;
  clpi_error_keep(&kept);
  if (begin(arena, address, bytes, arena->upstream->ops.home_stream, &memory))
    clpi_error_restore(&kept);
  return memory;
}

/* What comes next on the tape, if its part is there. */
static clp_memory begin_direct(void *self, size_t bytes)
{
  clpi_arena *arena = self;
  if (clpi_arena_is_left(arena) || !clpi_arena_enter(arena))
    return 0;
  clp_memory address = clpi_tape_next_memory(&arena->tape, bytes);
  clp_memory memory = address ? clpi_parts_take_kept(arena->parts, address, bytes) : 0;
  if (memory)
    (void)clpi_ahead_begin_next(arena, bytes);
  clpi_spinlock_unlock(&arena->door);
  return memory;
}

static bool end_direct(void *self, clp_memory memory, size_t bytes)
{
  const clpi_arena *arena = self;
  clp_memory address = clpi_parts_end(arena->parts, memory, bytes);
  bool is_done = address && clpi_arena_direct.end(self, address, bytes);
  if (address && !is_done)
    clpi_parts_resume(arena->parts, memory);
  return is_done;
}

static bool should_hold(void *self, bool is_direct)
{
  return clpi_arena_direct.should_hold(self, is_direct);
}

const clpi_direct_ops clpi_arena_direct_parts = {begin_direct, obtain_direct, end_direct,
                                                 should_hold};
