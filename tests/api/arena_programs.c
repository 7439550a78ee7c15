/* SPDX-License-Identifier: MIT */
/* Random programs on an arena, by its pools and by itself, beside a model (support/arena_model.h);
 * and programs that repeat themselves, which the arena follows as a loop. */
#include "support/arena_model.h"
#include "support/suite.h"

static clpt_model model;

/* How an arena is made, and who uses it. */
typedef struct way {
  double slack;
  size_t least, most, alignment;
  unsigned users; /* 1: a pool; 2: both; 3: and the arena's own calls */
} way;

static const way ways[] = {
    {.slack = 0.1, .least = 4096, .users = 1},
    {.slack = 0.016, .least = 4096, .users = 3},
    {.slack = 0.0, .least = 256, .users = 2},
    {.slack = 0.0, .least = 65536, .most = 65536, .users = 3, .alignment = 64},
    {.slack = 0.1, .least = 4096, .most = 20000, .users = 2, .alignment = 512},
    {.slack = 1.0, .least = 1 << 20, .users = 3, .alignment = 1024},
};

static unsigned users; /* that steps are of, by their slots */

static void start(const way *it)
{
  clp_arena_options options = CLP_ARENA_OPTIONS_INIT;
  memset(&model, 0, sizeof(model));
  users = it->users;
  model.alignment = it->alignment;
  options.slack = it->slack;
  options.min_segment_bytes = it->least;
  options.max_segment_bytes = it->most;
  clpt_model_start(&model, &options);
}

static void end(void)
{
  clpt_model_end(&model);
  ck_assert_str_eq(model.wrong, "");
}

/* Of all magnitudes up to 64 KiB. */
static size_t draw_bytes(clpt_chance *chance)
{
  return 1 + (size_t)clpt_chance_below(chance, 64u << clpt_chance_below(chance, 11));
}

/* The device is full most of the time, limits come and go, and so do reserves. */
static void make_scarce(clpt_chance *chance, unsigned user)
{
  size_t bytes = (size_t)clpt_chance_below(chance, 300000);
  switch (clpt_chance_below(chance, 50)) {
  case 0:
    model.capacity = bytes;
    break;
  case 1:
    clpt_ok(clp_pool_set_limit(model.pools[user % CLPT_DIRECT], bytes));
    break;
  case 2:
    clpt_model_reserve(&model, bytes / 3);
    break;
  case 3:
    model.refusals = (unsigned)bytes % 3;
    break;
  default:;
  }
}

START_TEST(each_step_is_as_the_model_says)
{
  const way *it = &ways[_i / 2];
  bool is_scarce = _i % 2;
  unsigned steps = 1500 + clpt_iterations(4500);
  clpt_chance chance = clpt_chance_seed((unsigned)_i);
  start(it);
  model.may_lack = is_scarce;
  for (unsigned i = 0; i < steps; i++) {
    unsigned user = (unsigned)clpt_chance_below(&chance, it->users);
    unsigned slots = i / 500 % 2 ? 4 : CLPT_SLOTS; /* in waves, so that segments come and go */
    clpt_model_toggle(&model, (unsigned)clpt_chance_below(&chance, slots), draw_bytes(&chance),
                      user);
    if (i % 500 == 499)
      clpt_model_free_all(&model);
    if (!clpt_chance_below(&chance, 200))
      clpt_model_trim(&model, (size_t)clpt_chance_below(&chance, 1 << 18), user);
    if (is_scarce)
      make_scarce(&chance, user);
    clpt_model_look(&model);
    ck_assert_msg(!model.wrong[0], "step %u: %s", i, model.wrong);
  }
  ck_assert(model.refused > steps / 200 || !is_scarce);
  model.refusals = 0;
  end();
}
END_TEST

/* --- loops --- */

enum { STEPS = 500, LIVE = 40, FIRST = 6, NEVER = STEPS };

/* What is other in a pass. */
typedef enum mischief { NONE, SIZE, ORDER, FREE, MORE, TRIM, FIGURES, RESERVE, MISCHIEFS } mischief;

static void step(unsigned slot, size_t bytes)
{
  clpt_model_toggle(&model, slot, bytes, slot % users);
}

static void make_mischief(mischief what, unsigned slot, size_t bytes)
{
  if (what == SIZE)
    step(slot, bytes + 5000);
  else if (what == FREE)
    for (slot = 0; slot < LIVE && !model.slots[slot].at.memory; slot++)
      ;
  else if (what == TRIM)
    clpt_model_trim(&model, 0, 0);
  else if (what == FIGURES)
    clpt_model_look(&model);
  else if (what == RESERVE)
    clpt_model_reserve(&model, model.reserve + 70000);
  if (what == FREE || what == MORE)
    step(slot % LIVE, 7777);
}

/* A pass of the program that the seed says, after which nothing more is in use than before. Returns
 * how many blocks began. */
static unsigned pass(unsigned seed, mischief what, unsigned when)
{
  clpt_chance chance = clpt_chance_seed(seed);
  uint64_t before = model.users[0].hits + model.users[0].misses;
  unsigned kept = 0;
  size_t kept_bytes = 0;
  for (unsigned i = 0; i < STEPS; i++) {
    unsigned slot = (unsigned)clpt_chance_below(&chance, LIVE);
    size_t bytes = draw_bytes(&chance);
    if (i == when && what == ORDER) {
      kept = slot, kept_bytes = bytes;
      continue;
    }
    if (i == when)
      make_mischief(what, slot, bytes);
    if (i != when || what != SIZE)
      step(slot, bytes);
    if (i == when + 1 && what == ORDER)
      step(kept, kept_bytes);
  }
  for (unsigned slot = 0; slot < LIVE; slot++)
    if (model.slots[slot].at.memory)
      step(slot, 0);
  return (unsigned)(model.users[0].hits + model.users[0].misses - before);
}

static uint64_t repeated(void)
{
  return clpt_model_figures(&model).repeated_blocks;
}

/* From the third pass on, each block is where the loop has placed it. */
START_TEST(a_program_that_repeats_is_followed)
{
  start(&ways[0]);
  for (unsigned i = 0; i < FIRST; i++) {
    uint64_t before = repeated();
    unsigned blocks = pass((unsigned)_i, NONE, NEVER);
    if (i >= 2)
      ck_assert_uint_eq(repeated() - before, blocks);
    clpt_model_look(&model);
  }
  uint64_t taken = model.users[0].taken;
  (void)pass((unsigned)_i, NONE, NEVER);
  ck_assert_uint_eq(model.users[0].taken, taken);
  end();
}
END_TEST

/* It is followed again after any pass that was other, wherever it left the loop. */
START_TEST(a_loop_is_followed_again)
{
  clpt_chance chance = clpt_chance_seed(5);
  start(&ways[0]);
  for (unsigned i = 0; i < FIRST; i++)
    (void)pass(3, NONE, NEVER);
  for (unsigned i = 0; i < clpt_iterations(30); i++) {
    for (unsigned count = 1 + i % 3; count > 0; count--)
      (void)pass(3, (mischief)_i, (unsigned)clpt_chance_below(&chance, STEPS - 1));
    for (unsigned count = 0; count < 2; count++) {
      uint64_t before = repeated();
      unsigned blocks = pass(3, NONE, NEVER);
      if (count)
        ck_assert_msg(repeated() - before == blocks, "%llu of %u blocks, mischief %d",
                      (unsigned long long)(repeated() - before), blocks, _i);
    }
    clpt_model_look(&model);
    ck_assert_str_eq(model.wrong, "");
  }
  end();
}
END_TEST

/* Blocks that stay in use all the time. */
START_TEST(a_loop_beside_other_blocks_is_followed)
{
  start(&ways[0]);
  step(50, 3000);
  step(51, 70000);
  for (unsigned i = 0; i < FIRST; i++) {
    uint64_t before = repeated();
    unsigned blocks = pass(9, NONE, NEVER);
    if (i >= 4)
      ck_assert_uint_eq(repeated() - before, blocks);
  }
  ck_assert_uint_eq(model.users[0].blocks, 2);
  end();
}
END_TEST

/* A program that becomes another one, and then the first again; which may begin alike. */
START_TEST(the_loop_of_another_program)
{
  enum { PASSES = 12, FOUND = 8 };
  start(&ways[0]);
  for (unsigned i = 0; i < 8 * PASSES; i++) {
    uint64_t before = repeated();
    if (_i)
      step(60, 5000);
    unsigned blocks = pass(11 + i / PASSES % 2, NONE, NEVER) + (unsigned)_i;
    clpt_model_free_all(&model);
    if (i % PASSES >= FOUND)
      ck_assert_uint_eq(repeated() - before, blocks);
    ck_assert_str_eq(model.wrong, "");
  }
  end();
}
END_TEST

/* Many segments come while a loop is followed, which is then left with many blocks. */
START_TEST(a_reserve_in_a_loop)
{
  enum { MOST = 64 << 10, SEGMENTS = 200 };
  const way bounded = {.slack = 0.1, .least = 4096, .most = MOST, .users = 1};
  start(&bounded);
  for (unsigned i = 0; i < FIRST; i++) {
    for (unsigned round = 0; round < 5; round++) {
      for (unsigned slot = 0; slot < CLPT_SLOTS; slot++)
        step(slot, 400 + round);
      if (i == FIRST - 1 && round == 2) {
        clpt_model_reserve(&model, (size_t)SEGMENTS * MOST);
        clpt_model_look(&model);
      }
      for (unsigned slot = 0; slot < CLPT_SLOTS; slot++)
        step(slot * 5, 0);
    }
  }
  ck_assert_uint_gt(repeated(), 0);
  clpt_model_look(&model);
  end();
}
END_TEST

/* Rounds of blocks in another order than they began in, from one slot on. */
static void rounds(unsigned count, unsigned first, size_t bytes)
{
  for (unsigned round = 0; round < count; round++) {
    for (unsigned slot = 0; slot < 30; slot++)
      step(first + slot, slot ? bytes * (1 + (slot + round) % 5) : 1000 + 100 * first);
    for (unsigned slot = 0; slot < 30; slot++)
      step(first + slot * 7 % 30, 0);
  }
}

static size_t bytes_meanwhile;
static bool is_refused_then;

static void repeat_meanwhile(void)
{
  rounds(400, 30, bytes_meanwhile);
  model.refusals = is_refused_then;
}

/* While the segment of a loop is taken, or refused, another one is found, which needs more, or
 * less.
 */
START_TEST(a_loop_that_is_found_meanwhile)
{
  size_t bytes = _i % 2 ? 300 : 3000;
  start(&ways[0]);
  bytes_meanwhile = 3300 - bytes;
  is_refused_then = _i / 2;
  model.is_nested = true;
  rounds(3, 0, bytes);
  model.meanwhile = repeat_meanwhile;
  for (unsigned i = 0; i < 40 && model.meanwhile; i++)
    rounds(1, 0, bytes);
  ck_assert_ptr_null(model.meanwhile);
  model.refusals = 0;
  rounds(400, 30, bytes_meanwhile);
  rounds(40, 0, bytes);
  clpt_model_look(&model);
  ck_assert_uint_gt(repeated(), 0);
  end();
}
END_TEST

/* No new memory is wanted for what is planned where the device has no more. */
START_TEST(a_full_device_fails_no_loop)
{
  start(&ways[0]);
  (void)pass(4, NONE, NEVER);
  model.capacity = model.peak_reserved;
  for (unsigned i = 0; i < FIRST; i++)
    (void)pass(4, NONE, NEVER);
  end();
}
END_TEST

CLPT_SUITE("programs on an arena")
{
  enum { WAYS = sizeof(ways) / sizeof(ways[0]) };
  TCase *tests = clpt_case(suite, "programs"), *loops = clpt_case(suite, "loops");
  tcase_add_loop_test(tests, each_step_is_as_the_model_says, 0, 2 * WAYS);
  tcase_add_loop_test(loops, a_program_that_repeats_is_followed, 0, 12);
  tcase_add_loop_test(loops, a_loop_is_followed_again, 0, MISCHIEFS);
  tcase_add_test(loops, a_loop_beside_other_blocks_is_followed);
  tcase_add_loop_test(loops, the_loop_of_another_program, 0, 2);
  tcase_add_test(loops, a_reserve_in_a_loop);
  tcase_add_loop_test(loops, a_loop_that_is_found_meanwhile, 0, 4);
  tcase_add_test(loops, a_full_device_fails_no_loop);
}
