/* SPDX-License-Identifier: MIT */
/* A limit, a device and its largest block are handed out as one block, whatever the bins. */
#include "core/allocator/allocator.h"
#include "support/failing_allocator.h"
#include "support/one_block.h"
#include "support/suite.h"

#include <clpool/arena.h>

/* Devices with a small alignment and large ones, and arenas on them, whose memory is a number or
 * which are told of parts. */
static const struct {
  size_t alignment;
  bool is_arena, has_parts, is_exclusive;
} kinds[] = {{1, false, false, false}, {64, false, false, false},  {4096, false, false, false},
             {1, true, false, false},  {4096, true, false, false}, {64, true, true, false},
             {64, true, true, true}};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static clpt_device device;

static clp_status split(void *self, clp_memory block, size_t offset, size_t bytes, clp_memory *part)
{
  return clpi_split_address(self, block, offset, bytes, part);
}

static clp_allocator *start(int kind, size_t capacity, size_t max_block_bytes)
{
  clp_allocator *arena = NULL;
  clpt_device_init(&device);
  device.capacity = capacity;
  device.ops.alignment = kinds[kind].alignment;
  device.ops.max_block_bytes = max_block_bytes;
  device.ops.split = kinds[kind].has_parts ? split : clpi_split_address;
  device.ops.unsplit = clpi_unsplit_address;
  device.ops.exclusive_parts = kinds[kind].is_exclusive;
  clp_allocator *allocator = clpt_device_allocator(&device);
  if (!kinds[kind].is_arena)
    return allocator;
  clpt_ok(clp_arena_allocator_create(allocator, NULL, &arena));
  clp_allocator_release(allocator);
  return arena;
}

static void end(clp_allocator *allocator)
{
  clp_allocator_release(allocator);
  clpt_device_assert_ended(&device);
}

static const size_t sizes[] = {1 << 20, (1 << 20) + 1, 1000001, 8192};
enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };

START_TEST(a_limit)
{
  clp_allocator *allocator = start(_i, 0, 0);
  for (int number = 0; number < CLPT_ONE_BLOCK_CASES; number++)
    for (size_t i = 0; i < SIZES; i++)
      clpt_limit_in_one_block(allocator, number, sizes[i]);
  end(allocator);
}
END_TEST

START_TEST(a_device)
{
  for (int number = 0; number < CLPT_ONE_BLOCK_CASES; number++)
    for (size_t i = 0; i < SIZES; i++) {
      clp_allocator *allocator = start(_i, sizes[i], 0);
      clpt_device_in_one_block(allocator, number, sizes[i]);
      end(allocator);
    }
}
END_TEST

START_TEST(a_largest_block)
{
  for (int number = 0; number < CLPT_ONE_BLOCK_CASES; number++)
    for (size_t i = 0; i < SIZES; i++) {
      clp_allocator *allocator = start(_i, 0, sizes[i]);
      clpt_device_in_one_block(allocator, number, 0);
      end(allocator);
    }
}
END_TEST

CLPT_MAIN("one block", clpt_run)
{
  TCase *tests = clpt_case(suite, "handed out as one block");
  tcase_add_loop_test(tests, a_limit, 0, KINDS);
  tcase_add_loop_test(tests, a_device, 0, KINDS);
  tcase_add_loop_test(tests, a_largest_block, 0, KINDS);
}
