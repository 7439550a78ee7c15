/* SPDX-License-Identifier: MIT */
/* Parts of cl_mems, kept where a block was: lib/arena/parts.c, part_ops.c. The device is one whose
 * parts must not overlap, in use or not. */
#include "core/allocator/allocator.h"
#include "support/arena_programs.h"
#include "support/failmalloc.h"
#include "support/suite.h"

#include <string.h>

enum { MOST_PARTS = 256 };

static struct {
  clpt_block parts[MOST_PARTS]; /* that there are; of memory 0: none */
  unsigned made, failing;       /* the call that fails, counted down; 0: none */
  const char *wrong;
} device;

static bool fails(void)
{
  return device.failing && !--device.failing;
}

static clp_status split(void *self, clp_memory block, size_t offset, size_t bytes, clp_memory *part)
{
  clpt_block *at = NULL;
  (void)self;
  if (fails())
    return clp_set_last_error(CLP_BACKEND_ERROR, -5, "no part");
  if (offset % 256)
    device.wrong = "a part is not aligned";
  *part = block + offset;
  for (clpt_block *other = device.parts; other < device.parts + MOST_PARTS; other++) {
    if (!other->memory)
      at = other;
    else if (other->memory < *part + bytes && *part < other->memory + other->bytes)
      device.wrong = "two parts overlap";
  }
  *at = (clpt_block){*part, bytes};
  device.made++;
  return CLP_SUCCESS;
}

static clp_status unsplit(void *self, clp_memory part, size_t bytes)
{
  (void)self;
  if (fails())
    return clp_set_last_error(CLP_BACKEND_ERROR, -5, "it stays");
  for (clpt_block *at = device.parts; at < device.parts + MOST_PARTS; at++)
    if (at->memory == part && at->bytes == bytes) {
      at->memory = 0;
      return CLP_SUCCESS;
    }
  device.wrong = "a part was ended that there is not";
  return CLP_SUCCESS;
}

static void setup(void)
{
  clpt_apart_setup();
  memset(&device, 0, sizeof(device));
  clpt_arena_device.ops.memory_kind = CLP_MEMORY_CL_MEM;
  clpt_arena_device.ops.alignment = 256;
  clpt_arena_device.ops.split = split;
  clpt_arena_device.ops.unsplit = unsplit;
}

/* Nothing is left of it. */
static void end(void)
{
  clpt_arena_end();
  for (size_t i = 0; i < MOST_PARTS; i++)
    ck_assert_uint_eq(device.parts[i].memory, 0);
  ck_assert_pstr_eq(device.wrong, NULL);
}

/* Nothing goes wrong in some passes of a program, and nothing is left of it. */
static void pass_to_the_end(clpt_program *it, unsigned seed)
{
  for (unsigned pass = 0; pass < CLPT_PASSES; pass++)
    clpt_program_pass(it, seed);
  ck_assert_pstr_eq(it->wrong, NULL);
  ck_assert_uint_eq(clpt_arena_figures().used_blocks, 0);
  end();
}

START_TEST(a_part_is_kept_for_the_same_block)
{
  clpt_arena_start();
  clp_memory first = clpt_arena_take(1000);
  clpt_arena_give(first, 1000);
  ck_assert_uint_eq(clpt_arena_take(1000), first);
  ck_assert_uint_eq(device.made, 1);
  clpt_arena_give(first, 1000);
  clp_memory other = clpt_arena_take(1001); /* of as much room, at the same place */
  ck_assert_uint_eq(device.made, 2);
  clp_memory behind = clpt_arena_take(300);
  clpt_arena_give(other, 1001);
  clpt_arena_give(behind, 300);
  clp_memory both = clpt_arena_take(1500); /* in the place of two that are kept */
  ck_assert_uint_eq(device.made, 4);
  clpt_arena_give(both, 1500);
  end();
}
END_TEST

START_TEST(wrong_blocks_are_refused)
{
  clpt_arena_start();
  clp_memory block = clpt_arena_take(1000);
  clpt_fails(CLP_INVALID_ARGUMENT, clp_allocator_free(clpt_arena, block, 999));
  clpt_fails(CLP_INVALID_ARGUMENT, clp_allocator_free(clpt_arena, block + 256, 1000));
  ck_assert_uint_eq(clpt_arena_figures().used_blocks, 1);
  clpt_arena_give(block, 1000);
  clpt_fails(CLP_INVALID_ARGUMENT, clp_allocator_free(clpt_arena, block, 1000));
  end();
}
END_TEST

/* A program that repeats itself is planned, in several segments, and then takes no segment any
 * more. Some of its parts are kept, although it has hardly two blocks of the same size. */
START_TEST(what_repeats_itself_keeps_its_parts)
{
  enum { PROGRAMS = 16 };
  unsigned made = 0, begun = 0, several = 0;
  for (unsigned seed = 0; seed < PROGRAMS; seed++) {
    clpt_program it = {0};
    setup();
    clpt_apart_start(0.016);
    const clpi_arena *arena = clpt_arena->self;
    for (unsigned pass = 1; pass < CLPT_PASSES; pass++)
      clpt_program_pass(&it, seed);
    uint64_t taken = clpt_arena_figures().segments_taken;
    made -= device.made;
    clpt_program_pass(&it, seed);
    made += device.made;
    begun += (unsigned)arena->foresight.planned / 2;
    ck_assert_pstr_eq(it.wrong, NULL);
    ck_assert_uint_ge(arena->foresight.planned, CLPT_STEPS / 2);
    ck_assert_uint_eq(clpt_arena_figures().segments_taken, taken);
    several += clpt_arena_figures().segments > 1;
    end();
  }
  ck_assert_uint_lt(made, begun / 100 * 94);
  ck_assert_uint_gt(several, 0);
}
END_TEST

START_TEST(no_parts_overlap_whatever_happens)
{
  clpt_program it = {.rarely = 10u + 30u * (unsigned)(_i % 2)};

  clpt_apart_start(0.016);
  pass_to_the_end(&it, (unsigned)_i);
}
END_TEST

/* Each call of the device that makes or ends a part fails once. */
START_TEST(a_failure_loses_nothing)
{
  static const size_t sizes[] = {1000, 300, 1000, 1500, 5000, 300};
  enum { COUNT = sizeof(sizes) / sizeof(sizes[0]) };
  clp_memory blocks[COUNT];

  clpt_arena_start();
  for (unsigned nth = 1; nth < 20; nth++) {
    size_t refused = 0;
    device.failing = nth;
    for (size_t i = 0; i < COUNT; i++)
      if (clp_allocator_allocate(clpt_arena, sizes[i], &blocks[i])) {
        ck_assert_int_eq(clp_last_error()->native_code, -5);
        blocks[i] = 0;
        refused++;
      }
    device.failing = 0;
    ck_assert_uint_le(refused, 1);
    ck_assert_uint_eq(clpt_arena_figures().used_blocks, COUNT - refused);
    for (size_t i = 0; i < COUNT; i++)
      if (blocks[i])
        clpt_arena_give(blocks[i], sizes[i]);
    clp_memory all = clpt_arena_take(CLPT_SEGMENT - 256 * nth); /* ends what is kept */
    clpt_arena_give(all, CLPT_SEGMENT - 256 * nth);
  }
  clpt_arena_give(clpt_arena_take(700), 700);
  device.failing = 1;
  clpt_fails(CLP_BACKEND_ERROR, clpt_arena->ops.return_cached(clpt_arena->self));
  ck_assert_uint_eq(clpt_arena_figures().segments, 1);
  end();
}
END_TEST

START_TEST(lack_of_host_memory_loses_nothing)
{
  for (unsigned long nth = 0;; nth++) {
    clp_memory blocks[3] = {0};
    clpt_arena_start();
    clpt_host_start(CLPT_HOST_FAILS_ONCE, nth);
    for (size_t i = 0; i < 3; i++) {
      clp_status status = clp_allocator_allocate(clpt_arena, 1000, &blocks[i]);
      if (status && status != CLP_OUT_OF_HOST_MEMORY)
        device.wrong = "another status";
    }
    clpt_host_stop();
    for (size_t i = 0; i < 3; i++)
      if (blocks[i])
        clpt_arena_give(blocks[i], 1000);
    ck_assert_uint_eq(clpt_arena_figures().used_blocks, 0);
    end();
    if (!clpt_host_failed())
      break;
    setup();
  }
}
END_TEST

/* Not all segments of a plan can be had: the program goes on as without it. */
START_TEST(a_part_of_a_plan_does_no_harm)
{
  clpt_program it = {0};

  clpt_apart_start(0.016);
  clpt_program_pass(&it, (unsigned)_i);
  clpt_arena_device.allocate_fault =
      (clpt_fault){.after = 1, .count = 1, .status = CLP_OUT_OF_DEVICE_MEMORY};
  pass_to_the_end(&it, (unsigned)_i);
}
END_TEST

/* Segments would be larger than the device allows; with parts, and with addresses. */
START_TEST(a_plan_keeps_to_the_largest_block)
{
  enum { LARGEST = 128 << 10 };
  clpt_program it = {0};
  clp_arena_options options = clpt_arena_small();

  if (_i % 2) {
    clpt_arena_device.ops.split = clpi_split_address;
    clpt_arena_device.ops.unsplit = clpi_unsplit_address;
  }
  clpt_arena_device.ops.max_block_bytes = LARGEST;
  options.slack = 0.016;
  options.min_segment_bytes = LARGEST + CLPT_SEGMENT;
  clpt_arena_start_with(&options);
  pass_to_the_end(&it, (unsigned)_i / 2);
}
END_TEST

CLPT_MAIN("parts", clpt_run)
{
  TCase *tests = clpt_case(suite, "parts");

  tcase_add_checked_fixture(tests, setup, NULL);
  tcase_add_test(tests, a_part_is_kept_for_the_same_block);
  tcase_add_test(tests, wrong_blocks_are_refused);
  tcase_add_test(tests, what_repeats_itself_keeps_its_parts);
  tcase_add_loop_test(tests, no_parts_overlap_whatever_happens, 0, 32);
  tcase_add_test(tests, a_failure_loses_nothing);
  tcase_add_test(tests, lack_of_host_memory_loses_nothing);
  tcase_add_loop_test(tests, a_plan_keeps_to_the_largest_block, 0, 16);
  tcase_add_loop_test(tests, a_part_of_a_plan_does_no_harm, 0, 8);
}
