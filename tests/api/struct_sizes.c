/* SPDX-License-Identifier: MIT */
/* Structs that begin with their size, of callers who are older or newer than the library. What
 * fields mean that a caller's struct lacks is in tests/api/pool_defaults.c. */
#include "api/rows.h"
#include "support/pools.h"
#include "support/suite.h"

#include <clpool/clpool.h>

static clpt_rig rig; /* can split, for arenas */
static clp_allocator *arena, *allocator;
static clp_pool *pool;
static clp_buffer *buffer; /* so that the figures of the rig and the arena are not all 0 */
static clp_memory memory;
static clpt_device scratch;

static void setup(void)
{
  clpt_device_init(&scratch);
  clpt_device_init_split(&rig.device);
  clpt_rig_start_with(&rig, NULL);
  clpt_hold(rig.pool, 100, 3);
  buffer = clpt_allocate(rig.pool, 100);
  clpt_ok(clp_arena_allocator_create(rig.allocator, NULL, &arena));
  memory = clpt_memory(arena, 1000);
}

static void teardown(void)
{
  clpt_ok(clp_allocator_free(arena, memory, 1000));
  clp_allocator_release(arena);
  clpt_ok(clp_buffer_release(buffer));
  clpt_rig_end(&rig);
}

static const clp_pool_options pool_options = CLP_POOL_OPTIONS_INIT;
static const clp_arena_options arena_options = CLP_ARENA_OPTIONS_INIT;
static const clp_hook a_hook = {.struct_size = sizeof(clp_hook), .name = "hook"};

CLPT_MAKE(create_pool, clp_pool_create(rig.allocator, given, &pool), clp_pool_release(pool))
CLPT_MAKE(create_arena, clp_arena_allocator_create(rig.allocator, given, &allocator),
          clp_allocator_release(allocator))
CLPT_MAKE(create_allocator, clp_allocator_create(given, &scratch, &allocator),
          clp_allocator_release(allocator))
CLPT_MAKE(push_hook, clp_hook_push(given), status = clp_hook_pop(given))
CLPT_MAKE(add_hook, clp_pool_add_hook(rig.pool, given),
          status = clp_pool_remove_hook(rig.pool, given))
CLPT_MAKE(get_stats, clp_pool_get_stats(rig.pool, given), (void)0)
CLPT_MAKE(get_bin_stats,
          clp_pool_get_bin_stats(rig.pool, clp_pool_bin_number(rig.pool, 100), given), (void)0)
CLPT_MAKE(get_arena_stats, clp_arena_get_stats(arena, given), (void)0)

static const clpt_sized structs[] = {
    CLPT_SIZED(clp_pool_create, clp_pool_options, leading_bits_in_bin_id, &pool_options,
               create_pool),
    CLPT_SIZED(clp_arena_allocator_create, clp_arena_options, slack, &arena_options, create_arena),
    CLPT_SIZED(clp_allocator_create, clp_allocator_ops, free, &scratch.ops, create_allocator),
    CLPT_SIZED(clp_hook_push, clp_hook, name, &a_hook, push_hook),
    CLPT_SIZED(clp_pool_add_hook, clp_hook, name, &a_hook, add_hook),
    CLPT_SIZED(clp_pool_get_stats, clp_pool_stats, held_blocks, NULL, get_stats),
    CLPT_SIZED(clp_pool_get_bin_stats, clp_bin_stats, bin, NULL, get_bin_stats),
    CLPT_SIZED(clp_arena_get_stats, clp_arena_stats, segments, NULL, get_arena_stats),
};

START_TEST(each_struct)
{
  clpt_check_sized(&structs[_i]);
}
END_TEST

CLPT_SUITE("struct sizes")
{
  TCase *tests = clpt_case(suite, "structs");
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_loop_test(tests, each_struct, 0, sizeof(structs) / sizeof(structs[0]));
}
