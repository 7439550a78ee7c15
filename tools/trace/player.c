/* SPDX-License-Identifier: MIT */
/* The player: from operations to calls of a pool or an allocator, and what they came to. */
#include "trace/player.h"

#include "trace/error.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A failure that a program could have met and survived; others end the replay. */
static bool is_refusal(clp_status status)
{
  return status == CLP_OUT_OF_DEVICE_MEMORY || status == CLP_LIMIT_EXCEEDED ||
         status == CLP_INVALID_ARGUMENT;
}

/* Adds to the last error, which an operation just set, where in the trace it happened. */
static clp_status failed_at(const trace_player *player, const trace_operation *operation,
                            clp_status status)
{
  const clp_error *error = clp_last_error();
  return trace_error(status, error->native_code, "%s:%" PRIu64 ": %s of %zu bytes: %s",
                     player->trace, operation->line, operation->is_free ? "free" : "allocation",
                     operation->bytes, error->message);
}

static clp_status give_back(trace_player *player, trace_play_slot *slot)
{
  clp_status status = slot->buffer ? clp_buffer_release(slot->buffer)
                                   : clp_allocator_free(player->pools[slot->pool].source,
                                                        slot->memory, slot->bytes);
  if (status)
    return status;
  player->active_bytes -= slot->bytes;
  slot->buffer = NULL;
  slot->is_live = false;
  return CLP_SUCCESS;
}

static clp_status play_free(trace_player *player, trace_play_slot *slot)
{
  if (!slot->is_live)
    return CLP_SUCCESS;
  player->tally.frees++;
  return give_back(player, slot);
}

static clp_status play_allocation(trace_player *player, const trace_operation *operation,
                                  trace_play_slot *slot)
{
  const trace_play_pool *pool = &player->pools[operation->context];
  trace_play_tally *tally = &player->tally;
  slot->pool = operation->context;
  slot->bytes = operation->bytes;
  clp_status status = pool->pool
                          ? clp_pool_allocate(pool->pool, operation->bytes, &slot->buffer)
                          : clp_allocator_allocate(pool->source, operation->bytes, &slot->memory);
  if (is_refusal(status)) {
    tally->first_failure = tally->failures++ ? tally->first_failure : operation->event;
    return CLP_SUCCESS;
  }
  if (status)
    return status;
  slot->is_live = true;
  tally->allocations++;
  tally->kinds[operation->kind]++;
  player->active_bytes += operation->bytes;
  if (tally->peak_active_bytes < player->active_bytes)
    tally->peak_active_bytes = player->active_bytes;
  return CLP_SUCCESS;
}

clp_status trace_player_run(trace_player *player, const trace_operation *operations, size_t count)
{
  for (size_t i = 0; i < count; i++) {
    const trace_operation *operation = &operations[i];
    trace_play_slot *slot = &player->slots[operation->slot];
    clp_status status =
        operation->is_free ? play_free(player, slot) : play_allocation(player, operation, slot);
    if (status)
      return failed_at(player, operation, status);
  }
  return CLP_SUCCESS;
}

void trace_player_release_live(trace_player *player)
{
  for (size_t i = 0; i < player->slot_count; i++)
    if (player->slots[i].is_live)
      (void)give_back(player, &player->slots[i]);
}

static clp_status open_pool(trace_player *player)
{
  const trace_replay_options *options = player->options;
  trace_play_pool *pool = &player->pools[player->pool_count++];
  clp_status status = CLP_SUCCESS;
  *pool = (trace_play_pool){0};
  if (options->on_arena)
    status = clp_arena_allocator_create(player->metering, &options->arena_options, &pool->source);
  else
    pool->source = clp_allocator_retain(player->metering);
  if (!status && options->pooled)
    status = clp_pool_create(pool->source, &options->pool_options, &pool->pool);
  if (!status && options->pooled && options->has_limit)
    status = clp_pool_set_limit(pool->pool, options->limit_bytes);
  return status;
}

static clp_status open_pools(trace_player *player, size_t wanted)
{
  trace_play_pool *pools =
      trace_grow(player->pools, &player->pool_capacity, wanted, sizeof(*pools), "pools");
  clp_status status = pools ? CLP_SUCCESS : CLP_OUT_OF_HOST_MEMORY;
  player->pools = pools ? pools : player->pools;
  while (player->pool_count < wanted && !status)
    status = open_pool(player);
  return status;
}

clp_status trace_player_reserve(trace_player *player, size_t slots, size_t contexts)
{
  trace_play_slot *all =
      trace_grow(player->slots, &player->slot_count, slots, sizeof(*all), "live blocks");
  if (!all && slots > 0)
    return CLP_OUT_OF_HOST_MEMORY;
  player->slots = all;
  return open_pools(player, contexts);
}

clp_status trace_player_open(trace_player *player, const char *trace, clp_allocator *allocator,
                             const trace_replay_options *options)
{
  *player = (trace_player){.trace = trace, .options = options};
  clp_status status = trace_metering_allocator_create(allocator, &player->metering);
  return status ? status : open_pools(player, 1);
}

/* When several pools manage most is not known where arenas stand between them and the device; at
 * most it is what each of them managed at its own peak. */
static void read_pool_figures(const trace_player *player, trace_replay_result *result)
{
  size_t managed = 0;
  result->misses = 0;
  for (size_t i = 0; i < player->pool_count; i++) {
    clp_pool_stats stats = CLP_POOL_STATS_INIT;
    clp_pool_get_stats(player->pools[i].pool, &stats);
    result->hits += stats.hits;
    result->misses += stats.misses;
    managed += stats.peak_managed_bytes;
  }
  result->limit_bytes = clp_pool_get_limit(player->pools[0].pool);
  if (player->pool_count == 1 || player->options->on_arena)
    result->peak_managed_bytes = managed;
}

void trace_player_read(const trace_player *player, trace_replay_result *result)
{
  trace_meter meter = *trace_meter_of(player->metering);
  *result = player->tally;
  result->pools = player->pool_count;
  result->misses = result->allocations;
  result->device_allocations = meter.allocations;
  result->device_frees = meter.frees;
  result->peak_managed_bytes = result->peak_device_bytes = meter.peak_bytes;
  if (player->options->pooled)
    read_pool_figures(player, result);
  if (result->peak_active_bytes > 0)
    result->footprint = (double)result->peak_device_bytes / (double)result->peak_active_bytes;
}

void trace_player_close(trace_player *player)
{
  trace_player_release_live(player);
  for (size_t i = 0; i < player->pool_count; i++) {
    clp_pool_release(player->pools[i].pool);
    clp_allocator_release(player->pools[i].source);
  }
  clp_allocator_release(player->metering);
  free(player->pools);
  free(player->slots);
  *player = (trace_player){0};
}
