/* SPDX-License-Identifier: MIT */
/* What the crowd's members do besides allocating and releasing. */
#include "crowd.h"

#include "support/pools.h"

static size_t some_bytes(crowd_member *self)
{
  const crowd_plan *plan = &self->crowd->plan;

  return (size_t)clpt_chance_below(&self->chance, plan->threads * plan->kept * plan->most_bytes);
}

/* While others are at work, the figures agree with each other, and cover what this thread has. */
/* Where all blocks have one size, figures of one moment agree to the byte. */
static void check_one_size(crowd *all, const clp_pool *pool, const clp_pool_stats *stats)
{
  const crowd_plan *plan = &all->plan;
  size_t bytes = plan->most_bytes;
  size_t capacity = clp_pool_alloc_size(pool, clp_pool_bin_number(pool, bytes));
  size_t blocks = stats->held_blocks + stats->active_blocks;
  bool is_refused = plan->limit > 0 || plan->capacity > 0 || crowd_plan_has(plan, CROWD_set_limit);

  if (plan->sizes != CROWD_ONE_SIZE || plan->uses_zero || plan->is_on_arena || is_refused)
    return;
  if (stats->active_bytes != stats->active_blocks * bytes ||
      stats->held_bytes != stats->held_blocks * capacity ||
      stats->managed_bytes != blocks * capacity ||
      stats->device_allocations - stats->device_frees != blocks)
    crowd_wrong(all, "%zu held, %zu active blocks, but %zu, %zu of %zu bytes", stats->held_blocks,
                stats->active_blocks, stats->held_bytes, stats->active_bytes, stats->managed_bytes);
}

static clp_status crowd_call_get_stats(crowd_member *self, crowd_pool *pool)
{
  crowd *all = self->crowd;
  clp_pool_stats stats = CLP_POOL_STATS_INIT;
  clp_status status = clp_pool_get_stats(pool->pool, &stats);
  const char *disagreement = clpt_disagreement(pool->pool, &stats);
  size_t blocks = 0, bytes = 0;

  if (disagreement != NULL)
    crowd_wrong(all, "%s", disagreement);
  for (size_t i = 0; i < self->count; i++)
    if (self->kept[i].pool == pool - all->pools) {
      blocks++;
      bytes += self->kept[i].bytes;
    }
  if (stats.active_blocks < blocks || stats.active_bytes < bytes)
    crowd_wrong(all, "one thread has %zu blocks, %zu bytes; the pool says %zu, %zu", blocks, bytes,
                stats.active_blocks, stats.active_bytes);
  check_one_size(all, pool->pool, &stats);
  if (stats.active_blocks > all->plan.threads * (all->plan.kept + 2) + CROWD_MAILBOX)
    crowd_wrong(all, "%zu active blocks are more than all threads have", stats.active_blocks);
  return status;
}

static clp_status crowd_call_free_held(crowd_member *self, crowd_pool *pool)
{
  (void)self;
  return clp_pool_free_held(pool->pool);
}

static clp_status crowd_call_trim_to(crowd_member *self, crowd_pool *pool)
{
  return clp_pool_trim_to(pool->pool, some_bytes(self));
}

static clp_status crowd_call_trim_idle(crowd_member *self, crowd_pool *pool)
{
  return clp_pool_trim_idle(pool->pool, clpt_chance_below(&self->chance, 3));
}

static clp_status crowd_call_free_all_held(crowd_member *self, crowd_pool *pool)
{
  (void)self, (void)pool;
  return clp_free_all_held();
}

static clp_status crowd_call_set_limit(crowd_member *self, crowd_pool *pool)
{
  size_t bytes = clpt_chance_below(&self->chance, 2) == 0 ? 0 : some_bytes(self);

  return clp_pool_set_limit(pool->pool, bytes);
}

static clp_status crowd_call_reset_peaks(crowd_member *self, crowd_pool *pool)
{
  (void)self;
  return clp_pool_reset_peaks(pool->pool);
}

static clp_status crowd_call_stop_holding(crowd_member *self, crowd_pool *pool)
{
  if (clpt_chance_below(&self->chance, 50) > 0)
    return CLP_SUCCESS;
  atomic_store(&pool->has_stopped_holding, true);
  return clp_pool_stop_holding(pool->pool);
}

static clp_status crowd_call_own_pool(crowd_member *self, crowd_pool *unused)
{
  clp_pool *pool = NULL;
  clp_status status = crowd_create_pool(self->crowd, &pool);

  (void)unused;
  for (int i = 0; i < 6 && pool != NULL && self->count < self->crowd->plan.kept; i++)
    (void)crowd_take(self, pool, CROWD_NO_POOL);
  clp_pool_release(pool);
  return status;
}

void crowd_call_any(crowd_member *self)
{
  static const struct {
    const char *name;
    clp_status (*run)(crowd_member *self, crowd_pool *pool);
  } calls[] = {
#define X(name) {#name, crowd_call_##name},
      CROWD_CALLS(X)
#undef X
  };
  crowd *all = self->crowd;
  crowd_pool *pool = &all->pools[clpt_chance_below(&self->chance, all->plan.pools)];
  crowd_call call;

  do {
    call = (crowd_call)clpt_chance_below(&self->chance, CROWD_CALL_COUNT);
  } while (!crowd_plan_has(&all->plan, call));
  (void)crowd_note(all, calls[call].name, calls[call].run(self, pool));
}
