/* SPDX-License-Identifier: MIT */
/* Threads whose streams come and go, on addresses that come back, while blocks of them go from
 * thread to thread through one pool. */
#include "support/late_rig.h"
#include "support/suite.h"
#include "support/workers.h"

enum { WORKERS = 4, ROUNDS = 1000 };

typedef struct shared {
  clpt_late_rig rig;
  atomic_uint at_work;
} shared;

static void check(clpt_worker *self, const char *what, clp_status status)
{
  if (status != CLP_SUCCESS)
    clpt_wrong(self, "%s: %s", what, clp_last_error()->message);
}

static void step(clpt_worker *self, uint64_t most)
{
  shared *it = self->shared;

  for (uint64_t steps = clpt_chance_below(&self->chance, most); steps > 0; steps--)
    (void)clpt_late_step_any(&it->rig.device, &self->chance);
}

/* A buffer that two streams of the thread use, or one. */
static void use_buffer(clpt_worker *self, clp_stream stream, clp_stream other)
{
  shared *it = self->shared;
  size_t bytes = (size_t)100 << clpt_chance_below(&self->chance, 3);
  clp_buffer *buffer = NULL;

  check(self, "allocate_on", clp_pool_allocate_on(it->rig.pool, bytes, stream, &buffer));
  if (buffer == NULL)
    return;
  clpt_late_use(&it->rig, buffer, stream);
  if (clpt_chance_below(&self->chance, 3) == 0) {
    clpt_late_share(&it->rig, buffer, stream, other);
    check(self, "record_use", clp_buffer_record_use(buffer, other));
  }
  check(self, "release_on", clp_buffer_release_on(buffer, stream));
}

static void renew(clpt_worker *self, clp_stream *stream)
{
  shared *it = self->shared;

  check(self, "forget_stream", clp_pool_forget_stream(it->rig.pool, *stream));
  clpt_late_stream_destroy(&it->rig.device, *stream);
  *stream = clpt_late_stream_new(&it->rig.device);
}

static void come_and_go(clpt_worker *self)
{
  shared *it = self->shared;
  clp_stream streams[2] = {clpt_late_stream_new(&it->rig.device),
                           clpt_late_stream_new(&it->rig.device)};

  for (unsigned round = 0; round < self->rounds; round++) {
    uint64_t which = clpt_chance_below(&self->chance, 2);
    use_buffer(self, streams[which], streams[1 - which]);
    if (clpt_chance_below(&self->chance, 8) == 0)
      renew(self, &streams[which]);
    step(self, 8);
  }
  atomic_fetch_sub(&it->at_work, 1);
}

/* The fifth thread: gives memory back while the others are at work. */
static void reclaim(clpt_worker *self)
{
  shared *it = self->shared;

  while (atomic_load(&it->at_work) > 0) {
    check(self, "trim_to", clp_pool_trim_to(it->rig.pool, 1000));
    step(self, 100);
  }
}

static void run_threads(shared *it, unsigned reclaimers)
{
  static const clpt_work work[] = {come_and_go, come_and_go, come_and_go, come_and_go, reclaim};
  static clpt_workers all;

  it->rig.device.streams.reuse_addresses = true;
  atomic_store(&it->at_work, WORKERS);
  clpt_workers_start(&all, WORKERS + reclaimers, work, WORKERS + reclaimers,
                     clpt_iterations(ROUNDS), it);
  clpt_workers_join(&all);
  ck_assert_uint_gt(it->rig.device.reads, 0);
  clpt_late_rig_end(&it->rig);
}

START_TEST(streams_come_and_go)
{
  static shared it;

  clpt_late_rig_start(&it.rig, (unsigned)_i);
  run_threads(&it, 0);
}
END_TEST

START_TEST(streams_come_and_go_while_memory_goes_back)
{
  static shared it;

  clpt_late_rig_start_freeing(&it.rig, CLPT_REUSE_EITHER, (clpt_late_freeing)_i);
  run_threads(&it, 1);
}
END_TEST

CLPT_SUITE("streams of threads")
{
  TCase *tests = clpt_case(suite, "threads");

  tcase_add_loop_test(tests, streams_come_and_go, 0, CLPT_REUSE_CHOICES);
  tcase_add_loop_test(tests, streams_come_and_go_while_memory_goes_back, 0, CLPT_LATE_FREEINGS);
}
