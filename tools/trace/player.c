/* SPDX-License-Identifier: MIT */
/* The player: from operations to calls of a pool or an allocator, and what they came to. */
#include "trace/player.h"

#include "trace/error.h"

#include <clpool/hook.h>
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

static clp_memory memory_in(const trace_play_slot *slot)
{
  return slot->buffer ? clp_buffer_memory(slot->buffer) : slot->memory;
}

/* The line is another one for each allocation of a pass. */
static clp_status fill(const trace_player *player, const trace_operation *operation,
                       trace_play_slot *slot)
{
  const trace_replay_contents *contents = player->options->contents;
  slot->word = (uint32_t)operation->line;
  slot->bytes = operation->bytes;
  if (!memory_in(slot))
    return CLP_SUCCESS;
  return contents->fill(memory_in(slot), slot->bytes, slot->word, contents->user_data);
}

static clp_status check(const trace_player *player, const trace_play_slot *slot)
{
  const trace_replay_contents *contents = player->options->contents;
  if (!contents->check || !memory_in(slot))
    return CLP_SUCCESS;
  return contents->check(memory_in(slot), slot->bytes, slot->word, contents->user_data);
}

static void count_refusal(trace_play_tally *tally, const trace_operation *operation)
{
  if (tally->failures == 0)
    tally->first_failure = operation->event;
  tally->failures++;
}

static void count_active(trace_play_tally *tally, size_t bytes)
{
  tally->active_bytes += bytes;
  if (tally->peak_active_bytes < tally->active_bytes)
    tally->peak_active_bytes = tally->active_bytes;
}

/* The two ways to run operations are written out, so that what is timed is the operations alone. */

static clp_status run_pooled(trace_player *player, const trace_operation *operations, size_t count)
{
  const bool counts = player->pool_count > 1;
  trace_play_tally tally = player->tally;
  clp_status status = CLP_SUCCESS;
  for (size_t i = 0; i < count; i++) {
    const trace_operation *operation = &operations[i];
    trace_play_slot *slot = &player->slots[operation->slot];
    if (!operation->is_free) {
      clp_pool *pool = player->pools[operation->context].pool;
      status = clp_pool_allocate(pool, operation->bytes, &slot->buffer);
      if (is_refusal(status)) {
        count_refusal(&tally, operation);
        continue;
      }
      tally.allocations += status == CLP_SUCCESS;
      tally.kinds[operation->kind] += status == CLP_SUCCESS;
      if (!status && counts)
        count_active(&tally, operation->bytes);
      if (!status && player->options->contents)
        status = fill(player, operation, slot);
      if (status)
        return failed_at(player, operation, status);
    } else if (slot->buffer) {
      status = player->options->contents ? check(player, slot) : CLP_SUCCESS;
      if (!status) {
        status = clp_buffer_release(slot->buffer);
        slot->buffer = NULL;
      }
      tally.active_bytes -= counts ? operation->bytes : 0;
      tally.frees++;
      if (status)
        return failed_at(player, operation, status);
    }
  }
  player->tally = tally;
  return CLP_SUCCESS;
}

static clp_status run_bare(trace_player *player, const trace_operation *operations, size_t count)
{
  trace_play_tally tally = player->tally;
  clp_status status = CLP_SUCCESS;
  for (size_t i = 0; i < count; i++) {
    const trace_operation *operation = &operations[i];
    trace_play_slot *slot = &player->slots[operation->slot];
    if (!operation->is_free) {
      slot->source = player->pools[operation->context].source;
      status = clp_allocator_allocate(slot->source, operation->bytes, &slot->memory);
      slot->bytes = operation->bytes;
      if (is_refusal(status)) {
        count_refusal(&tally, operation);
        continue;
      }
      tally.allocations += status == CLP_SUCCESS;
      tally.kinds[operation->kind] += status == CLP_SUCCESS;
      if (!status)
        count_active(&tally, operation->bytes);
      if (!status && player->options->contents)
        status = fill(player, operation, slot);
      if (status)
        return failed_at(player, operation, status);
    } else if (slot->memory || slot->bytes == 0) {
      status = player->options->contents ? check(player, slot) : CLP_SUCCESS;
      if (!status)
        status = clp_allocator_free(slot->source, slot->memory, slot->bytes);
      if (status)
        return failed_at(player, operation, status);
      slot->memory = 0;
      tally.active_bytes -= slot->bytes;
      tally.frees++;
    }
  }
  player->tally = tally;
  return CLP_SUCCESS;
}

clp_status trace_player_run(trace_player *player, const trace_operation *operations, size_t count)
{
  return player->options->pooled ? run_pooled(player, operations, count)
                                 : run_bare(player, operations, count);
}

void trace_player_release_live(trace_player *player)
{
  for (size_t i = 0; i < player->slot_count; i++) {
    trace_play_slot *slot = &player->slots[i];
    if (slot->buffer)
      (void)clp_buffer_release(slot->buffer);
    if (slot->memory)
      (void)clp_allocator_free(slot->source, slot->memory, slot->bytes);
    *slot = (trace_play_slot){0};
  }
  player->tally.active_bytes = 0;
}

static clp_status open_arena(trace_player *player, trace_play_pool *pool)
{
  const clp_arena_options *options = &player->options->arena_options;
  clp_status status = clp_arena_allocator_create(player->metering, options, &pool->arena);
  pool->source = pool->arena;
  return status;
}

/* A hook that tells the observer of a pool's blocks. */
typedef struct trace_play_watch {
  clp_hook hook;
  trace_player *player;
  size_t pool;
} trace_play_watch;

static void tell_block(const trace_play_watch *watch, const clp_hook_event *event, bool is_taken)
{
  const trace_replay_observer *observer = watch->player->options->observer;
  if (!event->memory)
    return;
  watch->player->blocks += is_taken;
  observer->on_block(watch->pool, event->mem_size, is_taken, observer->user_data);
}

static void tell_taken(const clp_hook_event *event, void *watch)
{
  tell_block(watch, event, true);
}

static void tell_given_back(const clp_hook_event *event, void *watch)
{
  tell_block(watch, event, false);
}

static clp_status watch_pool(trace_player *player, trace_play_pool *pool)
{
  pool->watch = malloc(sizeof(*pool->watch));
  if (!pool->watch)
    return trace_error(CLP_OUT_OF_HOST_MEMORY, 0, "no host memory to observe a pool");
  *pool->watch = (trace_play_watch){.hook = {.struct_size = sizeof(clp_hook),
                                             .name = "observer",
                                             .user_data = pool->watch,
                                             .alloc_postprocess = tell_taken,
                                             .device_free_postprocess = tell_given_back},
                                    .player = player,
                                    .pool = player->pool_count - 1};
  clp_status status = clp_pool_add_hook(pool->pool, &pool->watch->hook);
  if (status) { /* end_watch must not remove it: that error would hide this one */
    free(pool->watch);
    pool->watch = NULL;
  }
  return status;
}

static void end_watch(trace_play_pool *pool)
{
  if (pool->watch)
    (void)clp_pool_remove_hook(pool->pool, &pool->watch->hook);
  free(pool->watch);
}

static clp_status open_pool(trace_player *player)
{
  const trace_replay_options *options = player->options;
  trace_play_pool *pool = &player->pools[player->pool_count++];
  *pool = (trace_play_pool){.source = player->metering};
  clp_status status = options->on_arena ? open_arena(player, pool) : CLP_SUCCESS;
  if (!status && options->pooled)
    status = clp_pool_create(pool->source, &options->pool_options, &pool->pool);
  if (!status && options->pooled && options->has_limit)
    status = clp_pool_set_limit(pool->pool, options->limit_bytes);
  if (!status && options->pooled && options->observer)
    status = watch_pool(player, pool);
  return status;
}

/* From the second pool on, the tally counts what is active in all. */
static void count_first_pool(trace_player *player)
{
  clp_pool_stats stats = CLP_POOL_STATS_INIT;
  if (player->pool_count != 1 || !player->options->pooled)
    return;
  clp_pool_get_stats(player->pools[0].pool, &stats);
  player->tally.active_bytes = stats.active_bytes;
  player->tally.peak_active_bytes = stats.peak_active_bytes;
}

static bool grow_pools(trace_player *player, size_t wanted)
{
  if (wanted <= player->pool_capacity)
    return true;
  trace_play_pool *pools = reallocarray(player->pools, wanted, 2 * sizeof(*pools));
  if (!pools)
    return false;
  player->pools = pools;
  player->pool_capacity = 2 * wanted;
  return true;
}

static clp_status open_pools(trace_player *player, size_t wanted, uint64_t line)
{
  if (player->pool_count >= wanted)
    return CLP_SUCCESS;
  if (!grow_pools(player, wanted))
    return trace_error(CLP_OUT_OF_HOST_MEMORY, 0, "%s:%" PRIu64 ": no host memory for %zu pools",
                       player->trace, line, wanted);
  count_first_pool(player);
  clp_status status = CLP_SUCCESS;
  while (player->pool_count < wanted && !status)
    status = open_pool(player);
  return status;
}

static clp_status reserve_slots(trace_player *player, size_t wanted, uint64_t line)
{
  if (player->slot_count >= wanted)
    return CLP_SUCCESS;
  trace_play_slot *slots = reallocarray(player->slots, wanted, sizeof(*slots));
  if (!slots)
    return trace_error(CLP_OUT_OF_HOST_MEMORY, 0,
                       "%s:%" PRIu64 ": no host memory for %zu live blocks", player->trace, line,
                       wanted);
  for (size_t i = player->slot_count; i < wanted; i++)
    slots[i] = (trace_play_slot){0};
  player->slots = slots;
  player->slot_count = wanted;
  return CLP_SUCCESS;
}

clp_status trace_player_reserve(trace_player *player, size_t slots, size_t contexts, uint64_t line)
{
  clp_status status = reserve_slots(player, slots, line);
  return status ? status : open_pools(player, contexts, line);
}

clp_status trace_player_open(trace_player *player, const char *trace, clp_allocator *allocator,
                             const trace_replay_options *options)
{
  *player = (trace_player){.trace = trace, .options = options};
  clp_status status = trace_metering_allocator_create(allocator, &player->metering);
  return status ? status : open_pools(player, 1, 1);
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
    if (player->pool_count == 1)
      result->peak_active_bytes = stats.peak_active_bytes;
  }
  result->limit_bytes = clp_pool_get_limit(player->pools[0].pool);
  if (player->pool_count == 1 || player->options->on_arena)
    result->peak_managed_bytes = managed;
}

void trace_player_read(const trace_player *player, trace_replay_result *result)
{
  trace_meter meter = trace_metering_allocator_read(player->metering);
  const trace_play_tally *tally = &player->tally;
  *result = (trace_replay_result){
      .pools = player->pool_count,
      .allocations = tally->allocations,
      .frees = tally->frees,
      .misses = tally->allocations,
      .device_allocations = meter.allocations,
      .device_frees = meter.frees,
      .failures = tally->failures,
      .first_failure = tally->first_failure,
      .peak_active_bytes = tally->peak_active_bytes,
      .peak_managed_bytes = meter.peak_bytes,
      .peak_device_bytes = meter.peak_bytes,
  };
  memcpy(result->kinds, tally->kinds, sizeof(result->kinds));
  if (player->options->pooled)
    read_pool_figures(player, result);
  if (result->peak_active_bytes > 0)
    result->footprint = (double)result->peak_device_bytes / (double)result->peak_active_bytes;
}

void trace_player_close(trace_player *player)
{
  for (size_t i = 0; i < player->pool_count; i++)
    end_watch(&player->pools[i]);
  trace_player_release_live(player);
  for (size_t i = 0; i < player->pool_count; i++) {
    clp_pool_release(player->pools[i].pool);
    clp_allocator_release(player->pools[i].arena);
  }
  clp_allocator_release(player->metering);
  free(player->pools);
  free(player->slots);
  *player = (trace_player){0};
}
