/* SPDX-License-Identifier: MIT */
/* Creating and destroying an arena, and operations that depend on its upstream. */
#include "arena/arena.h"
#include "core/base/bytes.h"
#include "core/base/cancel.h"
#include "core/base/options.h"
#include "core/pool/pool.h"

#include <stdlib.h>
#include <string.h>

enum { LEAST_ALIGNMENT = 256 }; /* bytes; smaller blocks would not be worth a range each */

static clp_status read_options(const clp_arena_options *given, clp_arena_options *options)
{
  clp_arena_options defaults = CLP_ARENA_OPTIONS_INIT;
  *options = defaults;
  size_t least = offsetof(clp_arena_options, slack) + sizeof(given->slack);
  clp_status status =
      clpi_options_read(options, sizeof(*options), given, least, "clp_arena_options");
  if (!status)
    status = clpi_options_check_initialized(options->initialized, "clp_arena_options");
  if (status)
    return status;
  bool is_zero_set = given && given->initialized;
  if (!options->min_segment_bytes && !is_zero_set)
    options->min_segment_bytes = defaults.min_segment_bytes;
  if (options->slack == CLP_DEFAULT_SLACK || (options->slack == 0.0 && !is_zero_set)) {
    options->slack = 0.016;
    status = clpi_environment_part("CLPOOL_ARENA_SLACK", &options->slack);
  }
  if (status)
    return status;
  if (!(options->slack >= 0.0 && options->slack <= 1.0))
    return clpi_error(CLP_INVALID_ARGUMENT, 0, "clp_arena_options: slack is %g; expected 0 to 1",
                      options->slack);
  if (options->max_segment_bytes && options->max_segment_bytes < options->min_segment_bytes)
    return clpi_error(CLP_INVALID_ARGUMENT, 0,
                      "clp_arena_options: max_segment_bytes is %zu, below min_segment_bytes, %zu",
                      options->max_segment_bytes, options->min_segment_bytes);
  return CLP_SUCCESS;
}

/* --- streams --- */

static void note_uses_locked(const clpi_range_uses *uses)
{
  for (size_t i = 0; i < uses->count; i++)
    clpi_use_note_needed_locked(&uses->all[i]);
}

/* Free ranges forget uses that are done. Those of a block are in use without the lock. */
static void note_needed_locked(clpi_streams *streams)
{
  clpi_arena *arena = clpi_list_entry(streams, clpi_arena, streams);
  clpi_segments *segments = &arena->segments;
  clpi_loop_forget_stream_locked(arena);
  clpi_segments_settle_locked(segments);
  for (size_t i = 0; i < segments->count; i++)
    for (const clpi_range *range = segments->all[i]->first; range; range = range->after)
      note_uses_locked(&range->uses);
  for (const clpi_moving *each = arena->leaving; each; each = each->next)
    note_uses_locked(&each->segment->first->uses);
  memset((void *)arena->recent, 0, sizeof(arena->recent));
}

static void lock_all(clpi_streams *streams)
{
  clpi_arena_lock(clpi_list_entry(streams, clpi_arena, streams));
}

static void unlock_all(clpi_streams *streams)
{
  clpi_arena_unlock(clpi_list_entry(streams, clpi_arena, streams));
}

static const clpi_streams_owner owner_of_streams = {lock_all, unlock_all, note_needed_locked};

/* Also waits for the uses of free ranges. If there were any, it succeeds even if upstream cannot
 * drain. */
static clp_status drain(void *self)
{
  clpi_arena *arena = self;
  bool has_waited = clpi_arena_wait(arena);
  const clp_allocator *upstream = arena->upstream;
  clp_status status = upstream->ops.drain(upstream->self);
  return has_waited && status == CLP_NOT_SUPPORTED ? CLP_SUCCESS : status;
}

/* Makes the free ranges forget it, and then upstream. */
static clp_status forget_stream(void *self, clp_stream stream)
{
  clpi_arena *arena = self;
  clp_status status = clpi_stream_forget(&arena->streams, stream, !clpi_is_in_callback());
  return status ? status : arena->upstream->ops.forget_stream(arena->upstream->self, stream);
}

static clp_status return_cached(void *self)
{
  return clpi_arena_return_cached(self, 0, SIZE_MAX);
}

/* --- creating --- */

void clpi_arena_destroy(void *self)
{
  clpi_arena *arena = self;
  clpi_arena_return_segments(arena);
  clpi_streams_end(&arena->streams);
  clpi_segments_end(&arena->segments);
  clpi_loop_end(&arena->loop);
  pthread_cond_destroy(&arena->pending.end);
  pthread_mutex_destroy(&arena->reserving);
  pthread_mutex_destroy(&arena->mutex);
  clp_allocator_release(arena->upstream);
  free(arena);
}

/* Whether parts of cl_mems may be kept: all work may use them in one order. */
static bool keeps_parts(const clp_allocator *upstream, bool is_exclusive)
{
  return upstream->ops.memory_kind == CLP_MEMORY_CL_MEM && !is_exclusive &&
         (upstream->ops.free_is_ordered || !clpi_allocator_orders_streams(upstream));
}

/* NULL: no host memory. */
static clpi_arena *make_arena(clp_allocator *upstream, const clp_arena_options *options)
{
  clpi_arena *arena = aligned_alloc(alignof(clpi_arena), sizeof(*arena));
  if (!arena)
    return NULL;
  bool has_addresses = upstream->ops.split == clpi_split_address;
  bool is_exclusive = upstream->ops.exclusive_parts && !options->one_thread;
  *arena = (clpi_arena){.options = *options,
                        .has_addresses = has_addresses,
                        .is_exclusive = is_exclusive,
                        .keeps_parts = keeps_parts(upstream, is_exclusive),
                        .loop.may_be = has_addresses && !is_exclusive,
                        .alignment = MAX(upstream->ops.alignment, LEAST_ALIGNMENT)};
  arena->upstream = clp_allocator_retain(upstream);
  pthread_mutex_init(&arena->mutex, NULL);
  pthread_mutex_init(&arena->reserving, NULL);
  pthread_cond_init(&arena->pending.end, NULL);
  clpi_streams_init(&arena->streams, upstream, &arena->mutex, &owner_of_streams);
  return arena;
}

static clp_allocator_ops operations(const clpi_arena *arena)
{
  const clp_allocator_ops *theirs = &arena->upstream->ops;
  clp_allocator_ops ops = CLP_ALLOCATOR_OPS_INIT;
  ops.name = "arena";
  ops.deferred = theirs->deferred;
  ops.device_id = theirs->device_id;
  ops.memory_kind = theirs->memory_kind;
  ops.alignment = arena->alignment;
  ops.device_bytes = theirs->device_bytes;
  ops.home_stream = theirs->home_stream;
  ops.exclusive_parts = arena->is_exclusive;
  /* A block's room is a multiple of the alignment, and must fit into a segment. */
  ops.max_block_bytes = MAX(theirs->max_block_bytes & ~(arena->alignment - 1), 1); /* 0: no bound */
  ops.allocate = clpi_arena_allocate;
  ops.allocate_within = clpi_arena_allocate_within;
  ops.free = clpi_arena_free;
  ops.drain = drain;
  ops.return_cached = return_cached;
  ops.destroy = clpi_arena_destroy;
  return ops;
}

static clp_status create(clp_allocator *upstream, const clp_arena_options *options,
                         clp_allocator **out)
{
  clpi_arena *arena = make_arena(upstream, options);
  if (!arena)
    return clpi_error(CLP_OUT_OF_HOST_MEMORY, 0, "no host memory for an arena");
  clp_allocator_ops ops = operations(arena);
  clp_status status = clp_allocator_create(&ops, arena, out);
  if (status)
    clpi_arena_destroy(arena);
  if (status)
    return status;
  (*out)->orders = upstream->orders;
  if (clpi_allocator_orders_streams(upstream)) {
    (*out)->ops.free_on = clpi_arena_free_on;
    (*out)->ops.forget_stream = forget_stream;
  }
  (*out)->carver = &clpi_arena_carver;
  if (arena->loop.may_be)
    (*out)->carver_lock = &arena->lock;
  return CLP_SUCCESS;
}

clp_status clp_arena_allocator_create(clp_allocator *upstream, const clp_arena_options *options,
                                      clp_allocator **out)
{
  CLPI_UNCANCELLED;
  if (!out)
    return clpi_error(CLP_INVALID_ARGUMENT, 0, "clp_arena_allocator_create: out is NULL");
  *out = NULL;
  if (!upstream)
    return clpi_error(CLP_INVALID_ARGUMENT, 0, "clp_arena_allocator_create: upstream is NULL");
  clp_arena_options checked;
  clp_status status = read_options(options, &checked);
  if (!status)
    status = clpi_allocator_check(upstream, "clp_arena_allocator_create");
  if (status)
    return status;
  if (!upstream->ops.split)
    return clpi_error(CLP_NOT_SUPPORTED, 0,
                      "allocator %s cannot split blocks, so it cannot have an arena",
                      upstream->name);
  status = create(upstream, &checked, out);
  if (!status)
    status = clpi_arena_fill_reserve((*out)->self, &checked.reserve_bytes);
  if (status) {
    clp_allocator_release(*out);
    *out = NULL;
  }
  return status;
}

const clpi_arena_maker clpi_default_arena = clp_arena_allocator_create;
