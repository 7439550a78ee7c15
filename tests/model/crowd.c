/* SPDX-License-Identifier: MIT */
/* A program of the crowd, from its beginning to its end. */
#include "crowd.h"

#include "support/suite.h"

#include <sched.h>
#include <stdarg.h>
#include <stdio.h>

/* One in so many steps of a member makes a call of another kind, and so on. */
enum {
  STEPS_PER_CALL = 24,
  STEPS_PER_HAND_OVER = 6,
  STEPS_PER_RELAY = 200,
  STEPS_PER_YIELD = 32, /* so that threads meet, also on one processor */
  DEVICE_STEPS = 8
};

/* --- what is wrong --- */

void crowd_wrong(crowd *all, const char *format, ...)
{
  va_list arguments;

  pthread_mutex_lock(&all->lock);
  if (all->wrong[0] == '\0') {
    va_start(arguments, format);
    (void)vsnprintf(all->wrong, sizeof(all->wrong), format, arguments);
    va_end(arguments);
    fprintf(stderr, "%s\n", all->wrong); /* in case that another thread never comes back */
    atomic_store_explicit(&all->is_wrong, true, memory_order_relaxed);
  }
  pthread_mutex_unlock(&all->lock);
}

bool crowd_is_wrong(const crowd *all)
{
  return atomic_load_explicit(&all->is_wrong, memory_order_relaxed);
}

bool crowd_note(crowd *all, const char *call, clp_status status)
{
  bool is_planned = status == CLP_BACKEND_ERROR && all->plan.faults > 0 &&
                    !atomic_load_explicit(&all->device.is_sound, memory_order_relaxed);

  if (status != CLP_SUCCESS && !is_planned)
    crowd_wrong(all, "%s: %s: %s", call, clp_status_name(status), clp_last_error()->message);
  return status == CLP_SUCCESS;
}

/* --- a member --- */

/* Blocks become more until a target is reached, then fewer until another one is: all sizes of
 * caches are met, and the peaks of all members now and then at once. */
static void use_blocks(crowd_member *self)
{
  const crowd_plan *plan = &self->crowd->plan;
  unsigned pool = (unsigned)clpt_chance_below(&self->chance, plan->pools);

  if (self->count == self->target)
    self->target = (size_t)clpt_chance_below(&self->chance, plan->kept + 1);
  if (self->count < self->target) {
    (void)crowd_take(self, self->has_reference[pool] ? pool : 0);
    return;
  }
  if (plan->hands_over && self->count > 0 &&
      clpt_chance_below(&self->chance, STEPS_PER_HAND_OVER) == 0)
    crowd_hand_over(self);
  else
    (void)crowd_give_any(self);
}

static void step(crowd_member *self)
{
  crowd *all = self->crowd;

  if (clpt_chance_below(&self->chance, STEPS_PER_YIELD) == 0)
    (void)sched_yield();
  use_blocks(self);
  if (clpt_chance_below(&self->chance, STEPS_PER_CALL) == 0)
    crowd_call_any(self);
  if (all->plan.backend == CROWD_LATE)
    for (uint64_t i = clpt_chance_below(&self->chance, DEVICE_STEPS); i > 0; i--)
      (void)clpt_late_step_any(&all->device.late, &self->chance);
}

static void *run_relay(void *member);

/* Another thread goes on with what this one has. Whether it does. */
static bool start_next(crowd_member *self)
{
  crowd_relay *relay = &self->relays[self->relay], *next = relay + 1;
  bool cancels = self->crowd->plan.cancels && clpt_chance_below(&self->chance, 2) == 0;

  if (self->relay + 1 == CROWD_MOST_RELAYS)
    return false;
  if (cancels) {
    pthread_cancel(pthread_self()); /* what follows is no cancellation point */
    (void)crowd_give_any(self);
    (void)crowd_take(self, 0);
  }
  *next = (crowd_relay){.is_followed = false};
  relay->is_cancelled = cancels;
  self->relay++;
  relay->is_followed = pthread_create(&next->thread, NULL, run_relay, self) == 0;
  if (!relay->is_followed)
    crowd_wrong(self->crowd, "no thread could be made");
  if (cancels)
    pthread_testcancel();
  return true;
}

static void *run_relay(void *member)
{
  crowd_member *self = member;
  const crowd_plan *plan = &self->crowd->plan;

  crowd_act_as(self);
  if (plan->has_thread_hooks)
    (void)crowd_note(self->crowd, "hook_push", clp_hook_push(&self->sight.hook));
  while (self->steps_left > 0 && !crowd_is_wrong(self->crowd)) {
    self->steps_left--;
    step(self);
    if (plan->relays && clpt_chance_below(&self->chance, STEPS_PER_RELAY) == 0 && start_next(self))
      return NULL;
  }
  if (plan->has_thread_hooks && clpt_chance_below(&self->chance, 2) == 0)
    (void)crowd_note(self->crowd, "hook_pop", clp_hook_pop(&self->sight.hook));
  return NULL;
}

static void start_member(crowd *all, unsigned number)
{
  crowd_member *self = &all->members[number];

  self->crowd = all;
  self->number = number;
  self->chance = clpt_chance_seed(all->plan.seed * CROWD_MOST_THREADS + number + 1);
  crowd_sight_start(&self->sight, "member", number);
  for (unsigned i = 0; i < all->plan.pools; i++) {
    self->has_reference[i] = true;
    (void)clp_pool_retain(all->pools[i].known);
  }
  for (unsigned i = 0; i < all->plan.streams; i++)
    self->streams[i] = clpt_late_stream_new(&all->device.late);
}

/* --- phases --- */

static void join_member(crowd *all, crowd_member *member)
{
  const crowd_relay *relay = member->relays;
  void *result;

  for (bool is_last = false; !is_last; relay++) {
    ck_assert_int_eq(pthread_join(relay->thread, &result), 0);
    if ((result == PTHREAD_CANCELED) != relay->is_cancelled)
      crowd_wrong(all, "a thread was cancelled inside of a call, or was not after it");
    is_last = !relay->is_followed;
  }
}

static void run_phase(crowd *all)
{
  for (unsigned i = 0; i < all->plan.threads; i++) {
    crowd_member *member = &all->members[i];
    member->steps_left = all->plan.steps;
    member->relay = 0;
    member->relays[0] = (crowd_relay){.is_followed = false};
    ck_assert_int_eq(pthread_create(&member->relays[0].thread, NULL, run_relay, member), 0);
  }
  for (unsigned i = 0; i < all->plan.threads; i++)
    join_member(all, &all->members[i]);
  crowd_check_at_rest(all);
  crowd_check_thread_hooks(all);
}

/* --- the beginning --- */

static void start_pool(crowd *all, unsigned number)
{
  const crowd_plan *plan = &all->plan;
  crowd_pool *pool = &all->pools[number];
  clp_pool_options options = CLP_POOL_OPTIONS_INIT;

  options.leading_bits_in_bin_id = plan->leading_bits;
  options.reuse_flags = plan->reuse_flags;
  options.on_out_of_memory = plan->frees_room ? crowd_free_room : NULL;
  clpt_ok(clp_pool_create(all->device.allocator, &options, &pool->pool));
  pool->known = pool->pool;
  clpt_ok(clp_pool_set_limit(pool->pool, plan->limit));
  crowd_sight_start(&pool->sight, "pool", number);
  if (plan->has_pool_hooks)
    clpt_ok(clp_pool_add_hook(pool->pool, &pool->sight.hook));
}

static void start(crowd *all, const crowd_plan *plan)
{
  memset(all, 0, sizeof(*all));
  all->plan = *plan;
  pthread_mutex_init(&all->lock, NULL);
  crowd_ranges_start(&all->ranges, plan->backend != CROWD_LATE);
  crowd_device_start(&all->device, plan, plan->checks_ranges ? &all->ranges : NULL);
  for (unsigned i = 0; i < plan->pools; i++)
    start_pool(all, i);
  for (unsigned i = 0; i < plan->threads; i++)
    start_member(all, i);
}

/* --- the end --- */

/* The main thread releases what the members have left, in their places. */
static void release_blocks(crowd *all)
{
  for (unsigned i = 0; i < all->plan.threads; i++)
    while (crowd_give_any(&all->members[i]))
      ;
  for (unsigned i = 0; i < CROWD_MAILBOX; i++) {
    crowd_block *block = atomic_exchange(&all->mailbox[i], NULL);
    if (block == NULL)
      continue;
    if (all->plan.backend == CROWD_LATE)
      crowd_receive_late(&all->members[0], block);
    crowd_give(&all->members[0], block);
    free(block);
  }
}

static void end_pools(crowd *all)
{
  for (unsigned i = 0; i < all->plan.pools; i++) {
    crowd_pool *pool = &all->pools[i];
    if (pool->pool != NULL) {
      clp_pool_stats stats = CLP_POOL_STATS_INIT;
      (void)crowd_note(all, "free_held", clp_pool_free_held(pool->pool));
      (void)crowd_note(all, "get_stats", clp_pool_get_stats(pool->pool, &stats));
      if (stats.managed_bytes != 0 || stats.device_allocations != stats.device_frees)
        crowd_wrong(all, "%zu bytes are left in a pool without blocks", stats.managed_bytes);
    }
    for (unsigned j = 0; j < all->plan.threads; j++)
      if (all->members[j].has_reference[i])
        clp_pool_release(pool->known);
    clp_pool_release(pool->pool);
  }
}

static void end_device(crowd *all)
{
  const char *wrong = crowd_device_end(&all->device);

  if (wrong != NULL)
    crowd_wrong(all, "%s", wrong);
  wrong = crowd_ranges_end(&all->ranges);
  if (wrong != NULL)
    crowd_wrong(all, "%s", wrong);
}

/* What is wrong may keep what follows from ending. */
static void end(crowd *all)
{
  static void (*const parts[])(crowd *) = {release_blocks, crowd_check_at_rest, crowd_check_limits,
                                           end_pools, end_device};

  atomic_store(&all->device.is_sound, true);
  for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]) && !crowd_is_wrong(all); i++)
    parts[i](all);
}

const char *crowd_run(const crowd_plan *plan, double *most_taken)
{
  static crowd all;

  start(&all, plan);
  for (unsigned i = 0; i < plan->phases && !crowd_is_wrong(&all); i++) {
    crowd_pool *last = &all.pools[plan->pools - 1];
    if (i + 1 == plan->phases && crowd_plan_has(plan, CROWD_GIVE_UP)) {
      clp_pool_release(last->pool); /* the members have references */
      last->pool = NULL;
    }
    run_phase(&all);
  }
  end(&all);
  *most_taken = all.device.upstream != NULL && all.most_in_use > 0
                    ? (double)all.device.most_live_bytes / (double)all.most_in_use
                    : 0;
  return crowd_is_wrong(&all) ? all.wrong : NULL;
}
