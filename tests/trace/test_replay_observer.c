/* SPDX-License-Identifier: MIT */
/* Observed replays: what each row came to, which blocks moved, and that nothing else changes. */
#include "support/replays.h"
#include "support/suite.h"
#include "support/traces.h"
#include "trace/batch.h"
#include "trace/replay.h"

#include <stdio.h>

/* What was observed, in short: a letter a row (h, m, r, f, s) and, before it, + or - with the bytes
 * of a block. */
typedef struct notes {
  char text[512];
  size_t length;
  size_t bytes[16], block_bytes[16], slots[16]; /* by row */
  unsigned rows;
  unsigned rows_to_go; /* until a step fails; 0: none does */
} notes;

static void note_block(size_t pool, size_t bytes, bool is_taken, void *user_data)
{
  ck_assert_uint_eq(pool, 0);
  notes *seen = user_data;
  seen->length += (size_t)snprintf(seen->text + seen->length, sizeof(seen->text) - seen->length,
                                   "%c%zu ", is_taken ? '+' : '-', bytes);
}

static clp_status note_step(const trace_replay_step *step, void *user_data)
{
  static const char letters[] = {
      [TRACE_REPLAY_HIT] = 'h',   [TRACE_REPLAY_MISS] = 'm',    [TRACE_REPLAY_REFUSED] = 'r',
      [TRACE_REPLAY_FREED] = 'f', [TRACE_REPLAY_SKIPPED] = 's',
  };
  notes *seen = user_data;
  seen->length += (size_t)snprintf(seen->text + seen->length, sizeof(seen->text) - seen->length,
                                   "%c ", letters[step->outcome]);
  ck_assert_uint_eq(step->event->line, seen->rows + 2);
  if (seen->rows < 16) {
    seen->bytes[seen->rows] = step->bytes;
    seen->block_bytes[seen->rows] = step->block_bytes;
    seen->slots[seen->rows] = step->slot;
  }
  seen->rows++;
  if (seen->rows_to_go > 0 && --seen->rows_to_go == 0)
    return clp_set_last_error(CLP_BUSY, 0, "seen enough");
  return CLP_SUCCESS;
}

static clp_status observe(notes *seen, const char *rows, size_t capacity,
                          trace_replay_options options, trace_replay_result *result)
{
  trace_replay_observer observer = {note_step, note_block, seen};
  options.observer = &observer;
  return clpt_replay_rows(rows, capacity, options, result);
}

START_TEST(pooled)
{
  notes seen = {0};
  trace_replay_result result;
  clpt_ok(observe(&seen, "a1=100 f1=100 x0=7 a2=100 a0=0 a1=90 f2=100 f0=0", 0, clpt_pooled(),
                  &result));
  ck_assert_str_eq(seen.text, "+103 m f s h h +91 m f f ");
  ck_assert_uint_eq(seen.bytes[0], 100);
  ck_assert_uint_eq(seen.block_bytes[0], 103);
  ck_assert_uint_eq(seen.bytes[2], 0);
  ck_assert_uint_eq(seen.block_bytes[3], 103);
  ck_assert_uint_eq(seen.block_bytes[4], 0);
  ck_assert_uint_eq(seen.block_bytes[6], 0);
  ck_assert_uint_eq(seen.slots[1], seen.slots[0]);
  ck_assert_uint_eq(seen.slots[6], seen.slots[3]);
  ck_assert_uint_ne(seen.slots[5], seen.slots[3]);
  ck_assert_uint_eq(result.hits, 2);
  ck_assert_uint_eq(result.misses, 2);
}
END_TEST

/* Without a pool there are no blocks but what is asked for. */
START_TEST(bare)
{
  notes seen = {0};
  trace_replay_result result;
  clpt_ok(observe(&seen, "a1=100 a2=50 f1=100", 0, clpt_bare(), &result));
  ck_assert_str_eq(seen.text, "m m f ");
  ck_assert_uint_eq(seen.block_bytes[1], 50);
}
END_TEST

/* The blocks that an allocation cost come before it; the free of what was refused is skipped. */
START_TEST(short_of_memory)
{
  notes seen = {0};
  trace_replay_result result;
  clpt_ok(
      observe(&seen, "a1=600 f1=600 a2=900 a3=600 f3=600 f2=900", 1000, clpt_pooled(), &result));
  ck_assert_str_eq(seen.text, "+607 m f -607 +927 m r s f ");
  ck_assert_uint_eq(seen.bytes[3], 600);
  ck_assert_uint_eq(result.failures, 1);
}
END_TEST

START_TEST(scaled)
{
  notes seen = {0};
  trace_replay_result result;
  trace_replay_options options = clpt_bare();
  options.scale = 0.5;
  clpt_ok(observe(&seen, "a1=100 f1=100", 0, options, &result));
  ck_assert_uint_eq(seen.bytes[0], 50);
  ck_assert_uint_eq(seen.bytes[1], 50);
}
END_TEST

START_TEST(a_step_ends_the_replay)
{
  notes seen = {.rows_to_go = 2};
  trace_replay_result result;
  clpt_fails(CLP_BUSY, observe(&seen, "a1=100 a2=100 a3=100", 0, clpt_pooled(), &result));
  clpt_message_has("seen enough");
  ck_assert_str_eq(seen.text, "+103 m +103 m ");
}
END_TEST

START_TEST(no_rows_no_steps)
{
  notes seen = {0};
  trace_replay_result result;
  clpt_ok(observe(&seen, "", 0, clpt_pooled(), &result));
  ck_assert_uint_eq(seen.rows, 0);
}
END_TEST

static clp_status count_step(const trace_replay_step *step, void *user_data)
{
  (void)step;
  ++*(unsigned *)user_data;
  return CLP_SUCCESS;
}

static void ignore_block(size_t pool, size_t bytes, bool is_taken, void *user_data)
{
  (void)pool, (void)bytes, (void)is_taken, (void)user_data;
}

/* More rows than a batch has: each is told, and the figures are those of a replay that nobody
 * observes. */
START_TEST(same_figures)
{
  enum { TIMES = TRACE_BATCH_ROWS / 2 };
  char *text = clpt_trace_text("a1=100 a2=300 f1=100 x0=1 a1=95 f2=300 f1=95", TIMES);
  unsigned rows = 0;
  trace_replay_observer observer = {count_step, ignore_block, &rows};
  trace_replay_result results[2];
  for (int i = 0; i < 2; i++) {
    trace_reader *reader = clpt_trace(text);
    clp_allocator *allocator = clpt_simulated(0);
    trace_replay_options options = clpt_pooled();
    options.observer = i > 0 ? &observer : NULL;
    clpt_ok(trace_replay(reader, allocator, &options, &results[i]));
    results[i].ns_per_operation = 0.0;
    clp_allocator_release(allocator);
    trace_close(reader);
  }
  free(text);
  ck_assert_uint_eq(rows, 7 * TIMES);
  ck_assert_mem_eq(&results[0], &results[1], sizeof(results[0]));
}
END_TEST

CLPT_MAIN("replay observer", clpt_run)
{
  TCase *tests = clpt_case(suite, "steps");
  tcase_add_test(tests, pooled);
  tcase_add_test(tests, bare);
  tcase_add_test(tests, short_of_memory);
  tcase_add_test(tests, scaled);
  tcase_add_test(tests, a_step_ends_the_replay);
  tcase_add_test(tests, no_rows_no_steps);
  tcase_add_test(tests, same_figures);
}
