/* SPDX-License-Identifier: MIT */
/* Creating and destroying an arena. */
#include "arena/ahead.h"
#include "arena/direct.h"
#include "arena/part_ops.h"
#include "arena/reserve.h"
#include "arena/trim.h"
#include "arena/upstream.h"
#include "core/allocator/allocator.h"
#include "core/base/bytes.h"
#include "core/base/cancel.h"
#include "core/base/error.h"
#include "core/base/options.h"
#include "core/pool/defaults.h"
#include "core/streams/stream.h"

#include <stdlib.h>

enum { LEAST_ALIGNMENT = 256 }; /* bytes; smaller blocks would not be worth a range each */

static void put_defaults_for_zeros(clp_arena_options *options, const clp_arena_options *defaults)
{
  if (options->slack == 0.0)
    options->slack = defaults->slack;
  if (!options->min_segment_bytes)
    options->min_segment_bytes = defaults->min_segment_bytes;
}

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
  if (!given || !given->initialized) {
    status = clpi_environment_part("CLPOOL_ARENA_SLACK", &defaults.slack);
    if (status)
      return status;
    if (!given)
      *options = defaults;
    put_defaults_for_zeros(options, &defaults);
  }
  if (!(options->slack >= 0.0 && options->slack <= 1.0))
    return clpi_error(CLP_INVALID_ARGUMENT, 0,
                      "clp_arena_options: a slack of %g is not between 0 and 1", options->slack);
  if (options->max_segment_bytes && options->max_segment_bytes < options->min_segment_bytes)
    return clpi_error(CLP_INVALID_ARGUMENT, 0,
                      "clp_arena_options: the largest segment, %zu bytes, is below the smallest, "
                      "%zu bytes",
                      options->max_segment_bytes, options->min_segment_bytes);
  return CLP_SUCCESS;
}

static void note_set(const clpi_use_set *set)
{
  for (size_t i = 0; set && i < set->count; i++)
    clpi_use_note_needed_locked(&set->uses[i]);
}

/* A free range whose uses are done needs none. Those of a block may be in use without the lock. */
static void note_range(clpi_range *range)
{
  if (!range->is_used && clpi_use_set_is_settled(range->uses, NULL))
    clpi_range_drop_uses(range);
  note_set(range->uses);
}

static void note_needed_locked(clpi_streams *streams)
{
  clpi_arena *arena = clpi_list_entry(streams, clpi_arena, streams);
  (void)clpi_arena_claim_locked(arena); /* until the owner of the door unlocks the arena itself */
  clpi_arena_settle_locked(arena);
  clpi_list_each (clpi_segment, segment, &arena->segments.all, on_all)
    for (clpi_range *range = segment->first; range; range = range->after)
      note_range(range);
  clpi_list_each (clpi_segment, segment, &arena->segments.leaving, on_all)
    note_set(segment->first->uses);
}

static void lock(clpi_streams *streams)
{
  pthread_mutex_lock(streams->lock);
}

static void unlock(clpi_streams *streams)
{
  pthread_mutex_unlock(streams->lock);
}

static const clpi_streams_owner owner_of_streams = {lock, unlock, note_needed_locked};

void clpi_arena_destroy(void *self)
{
  clpi_arena *arena = self;
  clpi_arena_return_segments(arena);
  clpi_streams_end(&arena->streams);
  clpi_segments_end(&arena->segments);
  clpi_sites_end(&arena->sites);
  clpi_tape_destroy(&arena->tape);
  clpi_use_set_release(arena->home_uses);
  pthread_cond_destroy(&arena->pending.end);
  pthread_mutex_destroy(&arena->reserving);
  pthread_mutex_destroy(&arena->lock);
  clp_allocator_release(arena->upstream);
  free(arena);
}

static clp_status arena_return_cached(void *self)
{
  clpi_arena *arena = self;
  clp_status status = clpi_arena_trim(arena, 0, 0, true);
  if (status)
    return status;
  status = arena->upstream->ops.return_cached(arena->upstream->self);
  return status == CLP_NOT_SUPPORTED ? CLP_SUCCESS : status;
}

static bool is_exclusive(const clp_allocator *upstream, const clp_arena_options *options)
{
  return upstream->ops.exclusive_parts && !options->one_thread;
}

/* Whether its parts may be kept: cl_mems that all work may use in one order. */
static bool can_keep_parts(const clp_allocator *upstream, const clp_arena_options *options)
{
  const clp_allocator_ops *ops = &upstream->ops;
  return ops->memory_kind == CLP_MEMORY_CL_MEM && ops->split != clpi_split_address &&
         !is_exclusive(upstream, options) &&
         (ops->free_is_ordered || !clpi_allocator_orders_streams(upstream));
}

/* NULL: no host memory. */
static clpi_arena *make_arena(clp_allocator *upstream, const clp_arena_options *options)
{
  clpi_arena *arena = aligned_alloc(alignof(clpi_arena), sizeof(*arena));
  if (!arena)
    return NULL;
  size_t alignment = upstream->ops.alignment;
  *arena = (clpi_arena){.options = *options,
                        .orders_streams = clpi_allocator_orders_streams(upstream),
                        .has_addresses = upstream->ops.split == clpi_split_address,
                        .is_exclusive = is_exclusive(upstream, options),
                        .foresight.least_limit = SIZE_MAX,
                        .alignment = alignment > LEAST_ALIGNMENT ? alignment : LEAST_ALIGNMENT};
  arena->upstream = clp_allocator_retain(upstream);
  pthread_mutex_init(&arena->lock, NULL);
  pthread_mutex_init(&arena->reserving, NULL);
  pthread_cond_init(&arena->pending.end, NULL);
  clpi_segments_init(&arena->segments);
  clpi_call_budget_init(&arena->budget);
  clpi_streams_init(&arena->streams, upstream, &arena->lock, &owner_of_streams);
  clpi_stream *home = &arena->streams.home;
  if (home->is_ordered && home->is_in_order)
    arena->home_uses = clpi_use_set_create(clpi_use_now(home));
  bool is_one_order = arena->home_uses || !home->is_ordered;
  arena->may_track = is_one_order && arena->has_addresses && !arena->is_exclusive;
  return arena;
}

static clp_allocator_ops operations(const clpi_arena *arena)
{
  clp_allocator_ops ops = CLP_ALLOCATOR_OPS_INIT;
  clpi_arena_take_after(arena->upstream, &ops);
  ops.name = "arena";
  ops.exclusive_parts = arena->is_exclusive;
  /* A block's room is a multiple of the alignment, and must fit into a segment. */
  ops.max_block_bytes = arena->upstream->ops.max_block_bytes & ~(arena->alignment - 1);
  ops.allocate = clpi_arena_allocate;
  ops.allocate_within = clpi_arena_allocate_within;
  ops.free = clpi_arena_free;
  ops.return_cached = arena_return_cached;
  ops.destroy = clpi_arena_destroy;
  return ops;
}

/* `parts`: NULL, or those that upstream is of. */
static clp_status create_on(clp_allocator *upstream, clpi_parts *parts,
                            const clp_arena_options *options, clp_allocator **out)
{
  clpi_arena *arena = make_arena(upstream, options);
  if (!arena)
    return clpi_error(CLP_OUT_OF_HOST_MEMORY, 0, "no host memory for an arena");
  clp_allocator_ops ops = operations(arena);
  arena->parts = parts;
  if (parts)
    clpi_arena_put_part_ops(&ops);
  clp_status status = clp_allocator_create(&ops, arena, out);
  if (status)
    clpi_arena_destroy(arena);
  else if (arena->may_track)
    (*out)->direct = parts ? &clpi_arena_direct_parts : &clpi_arena_direct;
  return status;
}

static clp_status create(clp_allocator *upstream, const clp_arena_options *options,
                         clp_allocator **out)
{
  clp_allocator *addresses;
  clpi_parts *parts;
  if (!can_keep_parts(upstream, options))
    return create_on(upstream, NULL, options, out);
  clp_status status = clpi_parts_create(upstream, &addresses, &parts);
  if (status)
    return status;
  status = create_on(addresses, parts, options, out);
  clp_allocator_release(addresses);
  return status;
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
  if (!clpi_allocator_splits(upstream))
    return clpi_error(CLP_NOT_SUPPORTED, 0, "an arena over allocator %s, which cannot split blocks",
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
