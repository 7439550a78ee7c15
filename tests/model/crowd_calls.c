/* SPDX-License-Identifier: MIT */
/* What the crowd's members do besides allocating and releasing. */
#include "crowd.h"

#include "support/pools.h"

#include <stdlib.h>

enum { MOST_BINS = 256, OWN_BUFFERS = 6, HOOKED_BUFFERS = 4 };

/* A pool that the member has a reference to. The first one is never given up. */
static unsigned pick_pool(crowd_member *self)
{
  unsigned pool = (unsigned)clpt_chance_below(&self->chance, self->crowd->plan.pools);

  return self->has_reference[pool] ? pool : 0;
}

static size_t some_bytes(crowd_member *self)
{
  const crowd_plan *plan = &self->crowd->plan;

  return (size_t)clpt_chance_below(&self->chance, plan->threads * plan->kept * plan->most_bytes);
}

/* --- figures --- */

/* With one size, bytes follow from blocks, so that figures of two moments do not agree. Blocks on
 * their way back to the device are managed, but neither active nor held. */
static bool agree_with_one_size(const crowd *all, clp_pool *pool, const clp_pool_stats *stats)
{
  size_t bytes = all->plan.most_bytes;
  size_t capacity = clp_pool_alloc_size(pool, clp_pool_bin_number(pool, bytes));
  size_t managed_blocks = (size_t)(stats->device_allocations - stats->device_frees);

  return stats->active_bytes == stats->active_blocks * bytes &&
         stats->held_bytes == stats->held_blocks * capacity &&
         stats->managed_bytes == managed_blocks * capacity &&
         stats->held_blocks + stats->active_blocks <= managed_blocks;
}

/* While others are at work, the figures agree with each other, and cover what this thread has. */
static void read_stats(crowd_member *self, unsigned number)
{
  crowd *all = self->crowd;
  clp_pool *pool = all->pools[number].known;
  clp_pool_stats stats = CLP_POOL_STATS_INIT;
  const char *disagreement;
  size_t blocks = 0, bytes = 0;

  if (!crowd_note(all, "get_stats", clp_pool_get_stats(pool, &stats)))
    return;
  disagreement = clpt_disagreement(&stats);
  if (disagreement != NULL)
    crowd_wrong(all, "%s", disagreement);
  for (size_t i = 0; i < self->count; i++)
    if (self->kept[i].pool == (int)number) {
      blocks++;
      bytes += self->kept[i].bytes;
    }
  if (stats.active_blocks < blocks || stats.active_bytes < bytes ||
      stats.allocations < self->allocations[number])
    crowd_wrong(all, "one thread has %zu blocks, %zu bytes; the pool says %zu, %zu", blocks, bytes,
                stats.active_blocks, stats.active_bytes);
  if (stats.active_blocks > all->plan.threads * (all->plan.kept + 2) + CROWD_MAILBOX)
    crowd_wrong(all, "%zu active blocks are more than all threads have", stats.active_blocks);
  if (all->plan.sizes == CROWD_ONE_SIZE && !all->plan.uses_zero &&
      !agree_with_one_size(all, pool, &stats))
    crowd_wrong(all, "%zu held, %zu active blocks of %llu, but %zu, %zu of %zu bytes",
                stats.held_blocks, stats.active_blocks,
                (unsigned long long)(stats.device_allocations - stats.device_frees),
                stats.held_bytes, stats.active_bytes, stats.managed_bytes);
}

static void read_bins(crowd_member *self, unsigned number)
{
  crowd *all = self->crowd;
  clp_pool *pool = all->pools[number].known;
  clp_bin_stats stats = CLP_BIN_STATS_INIT;
  size_t bins[MOST_BINS], count = 0;

  (void)crowd_note(all, "get_bins", clp_pool_get_bins(pool, bins, MOST_BINS, &count));
  for (size_t i = 0; i < count && i < MOST_BINS; i++) {
    size_t own = 0;
    (void)crowd_note(all, "get_bin_stats", clp_pool_get_bin_stats(pool, bins[i], &stats));
    for (size_t j = 0; j < self->count; j++)
      own += self->kept[j].pool == (int)number && self->kept[j].bytes > 0 &&
             clp_pool_bin_number(pool, self->kept[j].bytes) == bins[i];
    if (stats.held_bytes != stats.held_blocks * stats.block_bytes || stats.active_blocks < own ||
        stats.padding_bytes > stats.active_blocks * stats.block_bytes)
      crowd_wrong(all, "bin %zu: %zu held blocks, %zu bytes; %zu active, %zu padding; %zu are here",
                  bins[i], stats.held_blocks, stats.held_bytes, stats.active_blocks,
                  stats.padding_bytes, own);
  }
}

/* --- pools and hooks that come and go --- */

static void use_own_pool(crowd_member *self)
{
  const crowd_plan *plan = &self->crowd->plan;
  clp_pool_options options = CLP_POOL_OPTIONS_INIT;
  clp_pool *pool = NULL;

  options.leading_bits_in_bin_id = plan->leading_bits;
  options.reuse_flags = plan->reuse_flags;
  if (!crowd_note(self->crowd, "pool_create",
                  clp_pool_create(self->crowd->device.allocator, &options, &pool)))
    return;
  for (int i = 0; i < OWN_BUFFERS && self->count < plan->kept; i++)
    (void)crowd_take_from(self, pool);
  clp_pool_release(pool);
}

static void give_up_pool(crowd_member *self)
{
  unsigned last = self->crowd->plan.pools - 1;

  if (last == 0 || !self->has_reference[last] || clpt_chance_below(&self->chance, 4) > 0)
    return;
  self->has_reference[last] = false;
  clp_pool_release(self->crowd->pools[last].known);
}

/* Once it is removed, nobody calls the hook any more, so that its memory may go. */
static void add_hook(crowd_member *self, unsigned number)
{
  clp_pool *pool = self->crowd->pools[number].known;
  crowd_sight *sight = calloc(1, sizeof(*sight));

  if (sight == NULL)
    abort();
  crowd_sight_start(sight, "passing", self->number);
  if (crowd_note(self->crowd, "add_hook", clp_pool_add_hook(pool, &sight->hook))) {
    for (int i = 0; i < HOOKED_BUFFERS && self->count < self->crowd->plan.kept; i++)
      if (crowd_take(self, number))
        (void)crowd_give_any(self);
    (void)crowd_note(self->crowd, "remove_hook", clp_pool_remove_hook(pool, &sight->hook));
  }
  if (atomic_load(&sight->open) != 0)
    crowd_wrong(self->crowd, "a hook was removed between a preprocess and its postprocess");
  free(sight);
}

/* --- calls by chance --- */

static void stop_holding(crowd_member *self, unsigned number)
{
  crowd_pool *pool = &self->crowd->pools[number];

  if (clpt_chance_below(&self->chance, 50) > 0)
    return;
  atomic_store(&pool->has_stopped_holding, true);
  (void)crowd_note(self->crowd, "stop_holding", clp_pool_stop_holding(pool->known));
}

static void set_limit(crowd_member *self, unsigned number)
{
  size_t bytes = clpt_chance_below(&self->chance, 2) == 0 ? 0 : some_bytes(self);

  (void)crowd_note(self->crowd, "set_limit",
                   clp_pool_set_limit(self->crowd->pools[number].known, bytes));
}

static void call_pool(crowd_member *self, crowd_call call, unsigned number)
{
  crowd *all = self->crowd;
  clp_pool *pool = all->pools[number].known;

  switch (call) {
  case CROWD_READ_STATS:
    read_stats(self, number);
    return;
  case CROWD_READ_BINS:
    read_bins(self, number);
    return;
  case CROWD_FREE_HELD:
    (void)crowd_note(all, "free_held", clp_pool_free_held(pool));
    return;
  case CROWD_TRIM:
    (void)crowd_note(all, "trim_to", clp_pool_trim_to(pool, some_bytes(self)));
    return;
  case CROWD_SET_LIMIT:
    set_limit(self, number);
    return;
  case CROWD_RESET_PEAKS:
    (void)crowd_note(all, "reset_peaks", clp_pool_reset_peaks(pool));
    return;
  case CROWD_STOP_HOLDING:
    stop_holding(self, number);
    return;
  case CROWD_ADD_HOOK:
    add_hook(self, number);
    return;
  default:
    return;
  }
}

void crowd_call_any(crowd_member *self)
{
  crowd_call call;

  do {
    call = (crowd_call)clpt_chance_below(&self->chance, CROWD_CALLS);
  } while (!crowd_plan_has(&self->crowd->plan, call));
  switch (call) {
  case CROWD_OWN_POOL:
    use_own_pool(self);
    return;
  case CROWD_GIVE_UP:
    give_up_pool(self);
    return;
  case CROWD_FORK:
    if (atomic_fetch_add(&self->crowd->forks, 1) < CROWD_MOST_FORKS)
      crowd_fork(self);
    return;
  case CROWD_MARK_STREAM:
    crowd_mark_stream(self);
    return;
  case CROWD_FORGET_STREAM:
    crowd_forget_stream(self);
    return;
  default:
    call_pool(self, call, pick_pool(self));
  }
}
