/* SPDX-License-Identifier: MIT */
/* Random programs on streams that run late, on an arena: no block is on memory that another stream
 * may still use. The device finds it. */
#include "support/late_arena.h"
#include "support/suite.h"

#include <time.h>

/* The library's naps, during which the device goes on; NULL: it does not. */
static clpt_late_program *napping;

int __wrap_nanosleep(const struct timespec *duration, struct timespec *left);
int __wrap_nanosleep(const struct timespec *duration, struct timespec *left)
{
  (void)duration, (void)left;
  if (napping)
    (void)clpt_late_step_any(&napping->rig.device, &napping->time);
  return 0;
}

START_TEST(no_block_is_on_memory_in_use)
{
  enum { PASSES = 5 };
  static const unsigned counts[] = {1, 2, 4, 6};
  clpt_late_program it = {.in_turn = _i % 2,
                          .uses_home = _i / 2 % 2,
                          .capacity = _i / 4 % 2 ? 15000 : 0,
                          .count = counts[_i / 8 % 4]};
  unsigned rest = (unsigned)_i / 32;
  if (clpt_is_on_valgrind() && _i % 7)
    return; /* some of them do */
  clpt_late_kind of = (clpt_late_kind)(rest / CLPT_REUSE_CHOICES / CLPT_LATE_FREEINGS);
  clpt_late_program_start(&it, of,
                          (clpt_late_freeing)(rest / CLPT_REUSE_CHOICES % CLPT_LATE_FREEINGS),
                          rest % CLPT_REUSE_CHOICES);
  napping = &it;
  for (unsigned i = 0; i < PASSES; i++) {
    clpt_late_program_pass(&it, i);
    if (i == PASSES - 2)
      clpt_late_program_replace_stream(&it, i % it.count);
  }
  napping = NULL;
  ck_assert_uint_gt(it.rig.device.reads, 0);
  clpt_late_program_end(&it);
}
END_TEST

/* A loop of one stream is followed, and what another stream gets in between is safe, and in place
 * of the first. */
START_TEST(a_loop_is_followed_between_streams)
{
  enum { LOOPS = 12, OTHERS = 16 };
  clp_buffer *others[OTHERS];
  clpt_late_program it = {.in_turn = true, .is_plain = true, .count = 2};
  clpt_late_program_start(&it, CLPT_LATE_ADDRESSES, (clpt_late_freeing)(_i % CLPT_LATE_FREEINGS),
                          (unsigned)_i / CLPT_LATE_FREEINGS);
  for (unsigned i = 0; i < LOOPS; i++) {
    for (unsigned j = 0; j < 4; j++) {
      it.in_turn = j != 2 || i < 2;
      clpt_late_program_pass(&it, 0);
    }
    for (unsigned j = 0; j < OTHERS; j++)
      others[j] = clpt_late_take(&it.rig, it.streams[1]);
    for (unsigned j = 0; j < OTHERS; j++)
      clpt_late_release_on(&it.rig, others[j], it.streams[1]);
  }
  ck_assert_uint_gt(clpt_late_arena_figures(&it.rig).repeated_blocks, 0);
  clpt_late_program_end(&it);
}
END_TEST

/* --- while a block of another thread is on its way --- */

static void (*meanwhile)(clpt_late_program *it);

/* What another thread does while one waits for the device. */
static void be_slow(clpt_late_device *device, clpt_late_call call)
{
  void (*work)(clpt_late_program *) = meanwhile;
  if (call != CLPT_LATE_STREAM_WAIT || !work)
    return;
  meanwhile = NULL;
  work(device->on_call_data);
}

enum { ROUNDS = 104 };

/* Blocks of two sizes in turn, of which the last may stay. The program begins in the second round,
 * when it is known how little is in use before. */
static void repeat(clpt_late_program *it, unsigned first, unsigned rounds, bool stays)
{
  for (unsigned i = first; i < rounds; i++) {
    clpt_late_program_toggle(it, 0, 8000, 0);
    clpt_late_program_toggle(it, 1, 300 + 256 * (i % 8), 0);
    clpt_late_program_toggle(it, 0, 0, 0);
    if (!stays || i + 1 < rounds)
      clpt_late_program_toggle(it, 1, 0, 0);
  }
}

static void follow_a_while(clpt_late_program *it)
{
  repeat(it, 1, 5, true);
}

/* Stream 1 gets a block, beside the loop's segment or in it. Before it has it, stream 0 begins to
 * follow its loop, if it can. What stream 0 did there is waited for by stream 1 all the same. */
START_TEST(a_loop_that_begins_meanwhile_keeps_its_stream)
{
  clpt_late_program it = {.in_turn = true, .is_plain = true, .count = 2};
  clp_buffer *others[8];
  clpt_late_program_start(&it, CLPT_LATE_ADDRESSES, CLPT_LATE_FREES_IN_ORDER, CLPT_REUSE_EITHER);
  it.rig.device.on_call = be_slow;
  it.rig.device.on_call_data = &it;
  clpt_late_program_toggle(&it, 2, 1000, 0);
  for (unsigned i = 0; i < 6; i++)
    repeat(&it, 0, ROUNDS, false);
  clpt_late_run_all(&it.rig.device); /* which is known then */
  clpt_late_hold(&it.rig, it.streams[1]);
  if (_i) {
    repeat(&it, 1, 2, false);
  } else {
    clpt_late_program_toggle(&it, 3, 1000, 0);
    clpt_late_program_toggle(&it, 3, 0, 0);
  }
  meanwhile = follow_a_while;
  others[0] = clpt_late_take_from(&it.rig, it.rig.pool, _i ? 9900 : 1000, it.streams[1]);
  ck_assert_ptr_null(meanwhile);
  for (unsigned i = 1; i < 8; i++)
    others[i] = clpt_late_take_from(&it.rig, it.rig.pool, 2000, it.streams[1]);
  for (unsigned i = 0; i < 8; i++)
    clpt_late_release_on(&it.rig, others[i], it.streams[1]);
  clpt_late_program_free_all(&it);
  ck_assert_uint_gt(clpt_late_arena_figures(&it.rig).repeated_blocks, 0);
  clpt_late_program_end(&it);
}
END_TEST

enum { MOST = 4096 };
static clp_buffer *many[MOST];
static size_t wanted;

static void take_many(clpt_late_program *it)
{
  for (size_t i = 0; i < wanted; i++)
    clpt_ok(clp_pool_allocate_on(it->rig.pool, 200, it->streams[0], &many[i]));
}

/* As above, where the other thread uses the same stream and takes so many blocks that what the
 * arena remembers is full. */
START_TEST(many_blocks_meanwhile)
{
  static const size_t counts[] = {MOST / 2 - 1, MOST / 2, MOST / 2 + 1, MOST - 1, MOST};
  clpt_late_program it = {.in_turn = true, .is_plain = true, .count = 2};
  clpt_late_program_start(&it, CLPT_LATE_ADDRESSES, CLPT_LATE_FREES_IN_ORDER, CLPT_REUSE_EITHER);
  it.rig.device.on_call = be_slow;
  it.rig.device.on_call_data = &it;
  clpt_late_program_toggle(&it, 2, 1000, 0);
  clpt_late_hold(&it.rig, it.streams[1]);
  meanwhile = take_many;
  wanted = counts[_i];
  clpt_late_program_toggle(&it, 3, 1000, 0);
  ck_assert_ptr_null(meanwhile);
  for (size_t i = 0; i < wanted; i++)
    clpt_ok(clp_buffer_release_on(many[i], it.streams[0]));
  clpt_late_program_free_all(&it);
  ck_assert_uint_eq(clpt_late_arena_figures(&it.rig).used_blocks, 0);
  clpt_late_program_end(&it);
}
END_TEST

CLPT_MAIN("streams on an arena", clpt_run)
{
  TCase *tests = clpt_case(suite, "programs"), *loops = clpt_case(suite, "loops");
  tcase_add_loop_test(tests, no_block_is_on_memory_in_use, 0,
                      32 * CLPT_REUSE_CHOICES * CLPT_LATE_FREEINGS * CLPT_LATE_KINDS);
  tcase_add_loop_test(loops, a_loop_is_followed_between_streams, 0,
                      CLPT_REUSE_CHOICES * CLPT_LATE_FREEINGS);
  tcase_add_loop_test(loops, a_loop_that_begins_meanwhile_keeps_its_stream, 0, 2);
  tcase_add_loop_test(loops, many_blocks_meanwhile, 0, 5);
}
