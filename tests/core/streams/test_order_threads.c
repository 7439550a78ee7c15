/* SPDX-License-Identifier: MIT */
/* Stream order with many threads, each with a stream of its own: buffers go from hand to hand, and
 * nobody's work sees memory too early. */
#include "support/late_rig.h"
#include "support/suite.h"
#include "support/workers.h"

enum { WORKERS = 4, PARCELS = 4, ROUNDS = 20000, MEETINGS = 300 };

/* A buffer on its way to whoever finds it, with the stream that used it last. */
typedef struct parcel {
  clp_buffer *buffer;
  clp_stream stream;
} parcel;

typedef struct shared {
  clpt_late_rig rig;
  clp_stream streams[WORKERS];
  pthread_mutex_t lock; /* guards the parcels */
  parcel parcels[PARCELS];
  atomic_uint at_work;
  clp_stream meetings[MEETINGS];
  unsigned meeting_count;
} shared;

static bool exchange(shared *it, size_t place, parcel *mine)
{
  parcel found;

  pthread_mutex_lock(&it->lock);
  found = it->parcels[place];
  it->parcels[place] = *mine;
  pthread_mutex_unlock(&it->lock);
  *mine = found;
  return found.buffer != NULL;
}

static void check(clpt_worker *self, const char *what, clp_status status)
{
  if (status != CLP_SUCCESS)
    clpt_wrong(self, "%s: %s", what, clp_last_error()->message);
}

/* Uses a buffer that another thread's stream used, and gives it back in one of several ways. */
static void finish_parcel(clpt_worker *self, const parcel *found)
{
  shared *it = self->shared;
  clpt_late_device *device = &it->rig.device;
  clp_stream stream = it->streams[self->number];
  clp_memory memory = clp_buffer_memory(found->buffer);

  clpt_late_order(device, found->stream, stream);
  clpt_late_read(device, stream, memory);
  switch (clpt_chance_below(&self->chance, 4)) {
  case 0: /* noted, and released where it came from */
    check(self, "record_use", clp_buffer_record_use(found->buffer, stream));
    check(self, "release_on", clp_buffer_release_on(found->buffer, found->stream));
    return;
  case 1:
    check(self, "bind", clp_buffer_bind(found->buffer, found->stream));
    check(self, "bind", clp_buffer_bind(found->buffer, stream));
    clpt_late_write(device, stream, memory);
    check(self, "release", clp_buffer_release(found->buffer));
    return;
  default:
    clpt_late_write(device, stream, memory);
    check(self, "release_on", clp_buffer_release_on(found->buffer, stream));
  }
}

static void pass_buffers_on(clpt_worker *self)
{
  shared *it = self->shared;
  clp_stream stream = it->streams[self->number];

  for (unsigned round = 0; round < self->rounds; round++) {
    size_t bytes = (size_t)100 << clpt_chance_below(&self->chance, 4);
    parcel mine = {.stream = stream};
    check(self, "allocate_on", clp_pool_allocate_on(it->rig.pool, bytes, stream, &mine.buffer));
    if (mine.buffer == NULL)
      break;
    clpt_late_use(&it->rig, mine.buffer, stream);
    if (clpt_chance_below(&self->chance, 2) == 0)
      check(self, "release_on", clp_buffer_release_on(mine.buffer, stream));
    else if (exchange(it, (size_t)clpt_chance_below(&self->chance, PARCELS), &mine))
      finish_parcel(self, &mine);
    for (uint64_t steps = clpt_chance_below(&self->chance, 12); steps > 0; steps--)
      (void)clpt_late_step_any(&it->rig.device, &self->chance);
  }
  atomic_fetch_sub(&it->at_work, 1);
}

/* The fifth thread: gives memory back while the others are at work. */
static void reclaim(clpt_worker *self)
{
  shared *it = self->shared;
  clp_pool_stats stats = CLP_POOL_STATS_INIT;
  const char *disagreement;

  while (atomic_load(&it->at_work) > 0) {
    check(self, "trim_to", clp_pool_trim_to(it->rig.pool, 1000));
    check(self, "free_held", clp_pool_free_held(it->rig.pool));
    check(self, "get_stats", clp_pool_get_stats(it->rig.pool, &stats));
    disagreement = clpt_disagreement(&stats);
    if (disagreement != NULL)
      clpt_wrong(self, "%s", disagreement);
    for (unsigned steps = 0; steps < 100; steps++)
      (void)clpt_late_step_any(&it->rig.device, &self->chance);
  }
}

/* Every stream is new to the pool when all threads use it at once. */
static void meet_at_new_streams(clpt_worker *self)
{
  shared *it = self->shared;

  for (unsigned i = 0; i < it->meeting_count; i++) {
    clp_buffer *buffer = NULL;
    clp_stream stream = it->meetings[i];
    check(self, "allocate_on", clp_pool_allocate_on(it->rig.pool, 100, stream, &buffer));
    if (buffer == NULL)
      break;
    clpt_late_read(&it->rig.device, stream, clp_buffer_memory(buffer));
    check(self, "release_on", clp_buffer_release_on(buffer, stream));
  }
}

static void run_threads(unsigned reuse_flags, clpt_late_freeing freeing, unsigned reclaimers)
{
  static const clpt_work work[] = {pass_buffers_on, pass_buffers_on, pass_buffers_on,
                                   pass_buffers_on, reclaim};
  static shared it;
  static clpt_workers all;

  memset(&it, 0, sizeof(it));
  clpt_late_rig_start_freeing(&it.rig, reuse_flags, freeing);
  for (size_t i = 0; i < WORKERS; i++)
    it.streams[i] = clpt_late_stream_new(&it.rig.device);
  ck_assert_int_eq(pthread_mutex_init(&it.lock, NULL), 0);
  atomic_store(&it.at_work, WORKERS);
  clpt_workers_start(&all, WORKERS + reclaimers, work, WORKERS + reclaimers,
                     clpt_iterations(ROUNDS), &it);
  clpt_workers_join(&all);
  for (size_t i = 0; i < PARCELS; i++)
    if (it.parcels[i].buffer != NULL)
      clpt_ok(clp_buffer_release_on(it.parcels[i].buffer, it.parcels[i].stream));
  ck_assert_uint_eq(clpt_stats(it.rig.pool).active_blocks, 0);
  ck_assert_uint_gt(it.rig.device.reads, 0);
  if (freeing != CLPT_LATE_FREES_AT_ONCE || reclaimers == 0)
    ck_assert_uint_eq(it.rig.device.calls[CLPT_LATE_HOST_WAIT], 0);
  pthread_mutex_destroy(&it.lock);
  clpt_late_rig_end(&it.rig);
}

START_TEST(buffers_go_from_hand_to_hand)
{
  run_threads((unsigned)_i, CLPT_LATE_FREES_AT_ONCE, 0);
}
END_TEST

START_TEST(buffers_go_from_hand_to_hand_while_memory_goes_back)
{
  run_threads(CLPT_REUSE_EITHER, (clpt_late_freeing)_i, 1);
}
END_TEST

START_TEST(threads_meet_at_new_streams)
{
  static const clpt_work work[] = {meet_at_new_streams};
  static shared it;
  static clpt_workers all;

  memset(&it, 0, sizeof(it));
  clpt_late_rig_start(&it.rig, CLPT_REUSE_EITHER);
  for (; it.meeting_count < MEETINGS; it.meeting_count++)
    it.meetings[it.meeting_count] = clpt_late_stream_new(&it.rig.device);
  clpt_workers_start(&all, WORKERS, work, 1, 1, &it);
  clpt_workers_join(&all);
  ck_assert_uint_eq(clpt_stats(it.rig.pool).allocations, WORKERS * MEETINGS);
  clpt_late_rig_end(&it.rig);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("order: threads");
  TCase *tests = clpt_case(suite, "threads");

  tcase_add_loop_test(tests, buffers_go_from_hand_to_hand, 0, CLPT_REUSE_CHOICES);
  tcase_add_loop_test(tests, buffers_go_from_hand_to_hand_while_memory_goes_back, 0,
                      CLPT_LATE_FREEINGS);
  tcase_add_test(tests, threads_meet_at_new_streams);
  return clpt_run(suite);
}
