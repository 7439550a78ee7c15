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

/* What is wrong is also written at once, in case that another thread never comes back. */
void crowd_wrong(crowd *all, const char *format, ...)
{
  va_list arguments;
  int state;

  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state); /* fprintf is a cancellation point */
  pthread_mutex_lock(&all->lock);
  if (all->wrong[0] == '\0') {
    va_start(arguments, format);
    (void)vsnprintf(all->wrong, sizeof(all->wrong), format, arguments);
    va_end(arguments);
    fprintf(stderr, "%s\n", all->wrong);
    atomic_store_explicit(&all->is_wrong, true, memory_order_relaxed);
  }
  pthread_mutex_unlock(&all->lock);
  pthread_setcancelstate(state, NULL);
}

bool crowd_is_wrong(const crowd *all)
{
  return atomic_load_explicit(&all->is_wrong, memory_order_relaxed);
}

bool crowd_note(crowd *all, const char *call, clp_status status)
{
  bool is_planned = status == CLP_BACKEND_ERROR && all->plan.faults > 0 &&
                    !atomic_load_explicit(&all->is_sound, memory_order_relaxed);

  if (status != CLP_SUCCESS && !is_planned)
    crowd_wrong(all, "%s: %s: %s", call, clp_status_name(status), clp_last_error()->message);
  return status == CLP_SUCCESS;
}

/* Blocks become more until a target is reached, then fewer until another one is: members hold few
 * and many blocks, and the peaks of all are now and then at once. */
static void use_blocks(crowd_member *self)
{
  crowd *all = self->crowd;
  unsigned pool = (unsigned)clpt_chance_below(&self->chance, all->plan.pools);

  if (self->count == self->target)
    self->target = (size_t)clpt_chance_below(&self->chance, all->plan.kept + 1);
  if (self->count < self->target)
    (void)crowd_take(self, all->pools[pool].pool, (int)pool);
  else if (all->plan.hands_over && self->count > 0 &&
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
      (void)clpt_late_step_any(&all->late, &self->chance);
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
    (void)crowd_take(self, self->crowd->pools[0].pool, 0);
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

  while (self->steps_left > 0 && !crowd_is_wrong(self->crowd)) {
    self->steps_left--;
    step(self);
    if (self->crowd->plan.relays && clpt_chance_below(&self->chance, STEPS_PER_RELAY) == 0 &&
        start_next(self))
      return NULL;
  }
  return NULL;
}

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
}

clp_status crowd_create_pool(crowd *all, clp_pool **pool)
{
  clp_pool_options options = CLP_POOL_OPTIONS_INIT;

  if (all->plan.hold)
    options.hold_bytes = all->plan.hold - 1;
  options.leading_bits_in_bin_id = (unsigned)all->plan.leading_bits;
  options.reuse_flags = (unsigned)all->plan.reuse_flags;
  return clp_pool_create(all->allocator, &options, pool);
}

static void start_pool(crowd *all, crowd_pool *pool)
{
  clpt_ok(crowd_create_pool(all, &pool->pool));
  clpt_ok(clp_pool_set_limit(pool->pool, all->plan.limit));
  if (all->plan.has_hooks)
    crowd_add_hook(pool);
}

static void start(crowd *all, const crowd_plan *plan)
{
  memset(all, 0, sizeof(*all));
  all->plan = *plan;
  pthread_mutex_init(&all->lock, NULL);
  crowd_device_start(all);
  for (unsigned i = 0; i < plan->pools; i++)
    start_pool(all, &all->pools[i]);
  for (unsigned i = 0; i < plan->threads; i++) {
    crowd_member *self = &all->members[i];
    self->crowd = all;
    self->number = i;
    self->chance = clpt_chance_seed((unsigned)plan->seed * CROWD_MOST_THREADS + i + 1);
    for (unsigned j = 0; j < plan->streams; j++)
      self->streams[j] = clpt_late_stream_new(&all->late);
  }
}

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
    clp_pool_stats stats = CLP_POOL_STATS_INIT;
    (void)crowd_note(all, "free_held", clp_pool_free_held(all->pools[i].pool));
    (void)crowd_note(all, "get_stats", clp_pool_get_stats(all->pools[i].pool, &stats));
    if (stats.managed_bytes != 0 ||
        (!all->plan.is_on_arena && stats.device_allocations != stats.device_frees))
      crowd_wrong(all, "%zu bytes are left in a pool without blocks", stats.managed_bytes);
    clp_pool_release(all->pools[i].pool);
  }
}

const char *crowd_run(const crowd_plan *plan)
{
  static void (*const ends[])(crowd *) = {release_blocks, crowd_check_at_rest, crowd_check_limits,
                                          end_pools, crowd_device_end};
  static crowd all;

  start(&all, plan);
  for (unsigned i = 0; i < plan->phases && !crowd_is_wrong(&all); i++)
    run_phase(&all);
  atomic_store(&all.is_sound, true);
  /* What is wrong may keep what follows from ending. */
  for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]) && !crowd_is_wrong(&all); i++)
    ends[i](&all);
  return crowd_is_wrong(&all) ? all.wrong : NULL;
}
