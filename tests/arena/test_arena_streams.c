/* SPDX-License-Identifier: MIT */
/* Random programs on streams that run late, on an arena: no block is on memory that another stream
 * may still use. The device finds it. */
#include "support/late_arena.h"
#include "support/suite.h"

#include <time.h>

enum { SLOTS = 24, MOST_STREAMS = 4, STEPS = 150, PASSES = 5 };

typedef struct program {
  clpt_late_rig rig;
  clp_stream streams[MOST_STREAMS];
  unsigned count; /* of streams */
  bool in_turn;   /* a pass has one stream */
  bool is_plain;  /* which alone uses its buffers, and nothing is trimmed */
  clp_buffer *buffers[SLOTS];
  unsigned of[SLOTS]; /* each buffer's stream */
  clpt_chance chance, time;
} program;

/* The library's naps, during which the device goes on; NULL: it does not. */
static program *napping;

int __wrap_nanosleep(const struct timespec *duration, struct timespec *left);
int __wrap_nanosleep(const struct timespec *duration, struct timespec *left)
{
  (void)duration, (void)left;
  if (napping)
    (void)clpt_late_step_any(&napping->rig.device, &napping->time);
  return 0;
}

/* Parts that are told to the device; addresses; parts that exclude each other, by many threads and
 * by one; the last with addresses. */
typedef enum kind { PARTS, ADDRESSES, EXCLUSIVE, ONE_THREAD, ONE_THREAD_ADDRESSES, KINDS } kind;

static void start(program *it, kind of, clpt_late_freeing freeing, unsigned reuse_flags)
{
  clpt_late_init(&it->rig.device);
  clpt_late_set_freeing(&it->rig.device, freeing);
  if (of == ADDRESSES || of == ONE_THREAD_ADDRESSES)
    clpt_late_set_addresses(&it->rig.device);
  it->rig.device.ops.exclusive_parts = of >= EXCLUSIVE;
  it->rig.device.streams.reuse_addresses = true;
  it->rig.home = NULL;
  clpt_late_arena_start_on(&it->rig, reuse_flags, of >= ONE_THREAD, 0.1);
  if (of >= ONE_THREAD) /* the device would find overlaps, which are right then */
    it->rig.device.ops.exclusive_parts = false;
  for (unsigned i = 0; i < it->count; i++)
    it->streams[i] = clpt_late_stream_new(&it->rig.device);
  it->time = clpt_chance_seed(1);
  napping = it;
}

static void end(program *it)
{
  napping = NULL;
  for (unsigned i = 0; i < it->count; i++)
    clpt_late_stream_drop(&it->rig.device, it->streams[i]);
  clpt_late_rig_end(&it->rig);
}

/* Another stream reads the buffer first, which is noted; or it is the one that releases it. */
static void give(program *it, unsigned slot)
{
  clpt_late_rig *rig = &it->rig;
  clp_buffer *buffer = it->buffers[slot];
  clp_stream own = it->streams[it->of[slot]];
  clp_stream other = it->streams[clpt_chance_below(&it->time, it->count)];
  unsigned how = it->is_plain ? 0 : (unsigned)clpt_chance_below(&it->time, 8);
  if (how == 0)
    clpt_late_use(rig, buffer, own);
  if ((how == 1 || how == 2) && other != own)
    clpt_late_share(rig, buffer, own, other);
  if (how == 1 && other != own)
    clpt_ok(clp_buffer_record_use(buffer, other));
  clpt_late_release_on(rig, buffer, how == 2 ? other : own);
  it->buffers[slot] = NULL;
}

static void toggle(program *it, unsigned slot, size_t bytes, unsigned stream)
{
  if (it->buffers[slot]) {
    give(it, slot);
    return;
  }
  it->of[slot] = stream;
  it->buffers[slot] = clpt_late_take_from(&it->rig, it->rig.pool, bytes, it->streams[stream]);
}

static void free_all(program *it)
{
  for (unsigned i = 0; i < SLOTS; i++)
    if (it->buffers[i])
      give(it, i);
}

/* The handle comes back as another stream. */
static void replace_stream(program *it, unsigned number)
{
  clp_stream *stream = &it->streams[number];
  clpt_ok(clp_pool_forget_stream(it->rig.pool, *stream));
  clpt_late_stream_destroy(&it->rig.device, *stream);
  *stream = clpt_late_stream_new(&it->rig.device);
}

static void pass(program *it, unsigned number)
{
  it->chance = clpt_chance_seed(3);
  for (unsigned i = 0; i < STEPS; i++) {
    unsigned slot = (unsigned)clpt_chance_below(&it->chance, SLOTS);
    size_t bytes = 1 + (size_t)clpt_chance_below(&it->chance, 64u << (i % 7));
    unsigned stream = it->in_turn ? number : (unsigned)clpt_chance_below(&it->chance, it->count);
    toggle(it, slot, bytes, stream % it->count);
    for (uint64_t steps = clpt_chance_below(&it->time, 6); steps > 0; steps--)
      (void)clpt_late_step_any(&it->rig.device, &it->time);
    ck_assert_msg(!it->rig.device.wrong[0], "pass %u, step %u: %s", number, i,
                  it->rig.device.wrong);
    if (!it->is_plain && !clpt_chance_below(&it->time, 400))
      clpt_ok(clp_pool_free_held(it->rig.pool));
  }
  free_all(it);
}

START_TEST(no_block_is_on_memory_in_use)
{
  static const unsigned counts[] = {1, 2, 4};
  program it = {.in_turn = _i % 2, .count = counts[_i / 2 % 3]};
  unsigned rest = (unsigned)_i / 6;
  kind of = (kind)(rest / CLPT_REUSE_CHOICES / CLPT_LATE_FREEINGS);
  start(&it, of, (clpt_late_freeing)(rest / CLPT_REUSE_CHOICES % CLPT_LATE_FREEINGS),
        rest % CLPT_REUSE_CHOICES);
  for (unsigned i = 0; i < PASSES; i++) {
    pass(&it, i);
    if (i == PASSES - 2)
      replace_stream(&it, i % it.count);
  }
  ck_assert_uint_gt(it.rig.device.reads, 0);
  end(&it);
}
END_TEST

/* A loop of one stream is followed, and what another stream gets in between is safe. */
START_TEST(a_loop_is_followed_between_streams)
{
  enum { LOOPS = 12 };
  program it = {.in_turn = true, .is_plain = true, .count = 2};
  start(&it, ADDRESSES, (clpt_late_freeing)(_i % CLPT_LATE_FREEINGS),
        (unsigned)_i / CLPT_LATE_FREEINGS);
  for (unsigned i = 0; i < LOOPS; i++) {
    pass(&it, 0);
    pass(&it, 0);
    pass(&it, 0);
    if (i % 2)
      clpt_late_hold(&it.rig, it.streams[1]);
  }
  ck_assert_uint_gt(clpt_late_arena_figures(&it.rig).repeated_blocks, 0);
  end(&it);
}
END_TEST

/* --- while a block of another thread is on its way --- */

static void (*meanwhile)(program *it);

/* What another thread does while one waits for the device. */
static void be_slow(clpt_late_device *device, clpt_late_call call)
{
  void (*work)(program *) = meanwhile;
  if (call != CLPT_LATE_STREAM_WAIT || !work)
    return;
  meanwhile = NULL;
  work(device->on_call_data);
}

enum { ROUNDS = 104 };

/* Blocks of two sizes in turn, of which the last may stay. The program begins in the second round,
 * when it is known how little is in use before. */
static void repeat(program *it, unsigned first, unsigned rounds, bool stays)
{
  for (unsigned i = first; i < rounds; i++) {
    toggle(it, 0, 8000, 0);
    toggle(it, 1, 300 + 256 * (i % 8), 0);
    toggle(it, 0, 0, 0);
    if (!stays || i + 1 < rounds)
      toggle(it, 1, 0, 0);
  }
}

static void follow_a_while(program *it)
{
  repeat(it, 1, 5, true);
}

/* Stream 1 gets a block. Before it has it, stream 0 begins to follow its loop. What stream 0 did
 * there is waited for by stream 1 all the same. */
START_TEST(a_loop_that_begins_meanwhile_keeps_its_stream)
{
  program it = {.in_turn = true, .is_plain = true, .count = 2};
  clp_buffer *others[8];
  start(&it, ADDRESSES, CLPT_LATE_FREES_IN_ORDER, CLPT_REUSE_EITHER);
  it.rig.device.on_call = be_slow;
  it.rig.device.on_call_data = &it;
  toggle(&it, 2, 1000, 0);
  for (unsigned i = 0; i < 6; i++)
    repeat(&it, 0, ROUNDS, false);
  clpt_late_run_all(&it.rig.device); /* which is known then */
  clpt_late_hold(&it.rig, it.streams[1]);
  toggle(&it, 3, 1000, 0);
  toggle(&it, 3, 0, 0);
  meanwhile = follow_a_while;
  others[0] = clpt_late_take_from(&it.rig, it.rig.pool, 1000, it.streams[1]);
  ck_assert_ptr_null(meanwhile);
  for (unsigned i = 1; i < 8; i++)
    others[i] = clpt_late_take_from(&it.rig, it.rig.pool, 2000, it.streams[1]);
  for (unsigned i = 0; i < 8; i++)
    clpt_late_release_on(&it.rig, others[i], it.streams[1]);
  free_all(&it);
  ck_assert_uint_gt(clpt_late_arena_figures(&it.rig).repeated_blocks, 0);
  end(&it);
}
END_TEST

enum { MOST = 4096 };
static clp_buffer *many[MOST];
static size_t wanted;

static void take_many(program *it)
{
  for (size_t i = 0; i < wanted; i++)
    clpt_ok(clp_pool_allocate_on(it->rig.pool, 200, it->streams[0], &many[i]));
}

/* As above, where the other thread uses the same stream and takes so many blocks that what the
 * arena remembers is full. */
START_TEST(many_blocks_meanwhile)
{
  static const size_t counts[] = {MOST / 2 - 1, MOST / 2, MOST / 2 + 1, MOST - 1, MOST};
  program it = {.in_turn = true, .is_plain = true, .count = 2};
  start(&it, ADDRESSES, CLPT_LATE_FREES_IN_ORDER, CLPT_REUSE_EITHER);
  it.rig.device.on_call = be_slow;
  it.rig.device.on_call_data = &it;
  toggle(&it, 2, 1000, 0);
  clpt_late_hold(&it.rig, it.streams[1]);
  meanwhile = take_many;
  wanted = counts[_i];
  toggle(&it, 3, 1000, 0);
  ck_assert_ptr_null(meanwhile);
  for (size_t i = 0; i < wanted; i++)
    clpt_ok(clp_buffer_release_on(many[i], it.streams[0]));
  free_all(&it);
  ck_assert_uint_eq(clpt_late_arena_figures(&it.rig).used_blocks, 0);
  end(&it);
}
END_TEST

CLPT_MAIN("streams on an arena", clpt_run)
{
  TCase *tests = clpt_case(suite, "programs"), *loops = clpt_case(suite, "loops");
  tcase_add_loop_test(tests, no_block_is_on_memory_in_use, 0,
                      6 * CLPT_REUSE_CHOICES * CLPT_LATE_FREEINGS * KINDS);
  tcase_add_loop_test(loops, a_loop_is_followed_between_streams, 0,
                      CLPT_REUSE_CHOICES * CLPT_LATE_FREEINGS);
  tcase_add_test(loops, a_loop_that_begins_meanwhile_keeps_its_stream);
  tcase_add_loop_test(loops, many_blocks_meanwhile, 0, 5);
}
