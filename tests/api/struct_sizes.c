/* SPDX-License-Identifier: MIT */
/* Structs that begin with their size, of callers who are older or newer than the library. What
 * fields mean that a caller's struct lacks is in tests/api/options.c. */
#include "api/sized.h"
#include "support/pools.h"
#include "support/suite.h"

#include <clpool/clpool.h>

static clpt_rig rig; /* can split, for arenas */
static clp_allocator *arena;
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

static clp_status create_pool(void *options)
{
  clp_pool *pool;
  clp_status status = clp_pool_create(rig.allocator, options, &pool);

  clp_pool_release(pool);
  return status;
}

static clp_status create_arena(void *options)
{
  clp_allocator *made;
  clp_status status = clp_arena_allocator_create(rig.allocator, options, &made);

  clp_allocator_release(made);
  return status;
}

static clp_status create_allocator(void *ops)
{
  clp_allocator *allocator;
  clp_status status = clp_allocator_create(ops, &scratch, &allocator);

  clp_allocator_release(allocator);
  return status;
}

static clp_status push_hook(void *given)
{
  clp_status status = clp_hook_push(given);

  return status ? status : clp_hook_pop(given);
}

static clp_status add_hook(void *given)
{
  clp_status status = clp_pool_add_hook(rig.pool, given);

  return status ? status : clp_pool_remove_hook(rig.pool, given);
}

static clp_status get_stats(void *stats)
{
  return clp_pool_get_stats(rig.pool, stats);
}

static clp_status get_bin_stats(void *stats)
{
  return clp_pool_get_bin_stats(rig.pool, clp_pool_bin_number(rig.pool, 100), stats);
}

static clp_status get_arena_stats(void *stats)
{
  return clp_arena_get_stats(arena, stats);
}

#define END_OF(type, field) (offsetof(type, field) + sizeof(((type *)NULL)->field))

static const clpt_sized structs[] = {
    {"clp_pool_create", "clp_pool_options", sizeof(clp_pool_options),
     END_OF(clp_pool_options, leading_bits_in_bin_id), &pool_options, create_pool},
    {"clp_arena_allocator_create", "clp_arena_options", sizeof(clp_arena_options),
     END_OF(clp_arena_options, slack), &arena_options, create_arena},
    {"clp_allocator_create", "clp_allocator_ops", sizeof(clp_allocator_ops),
     END_OF(clp_allocator_ops, free), &scratch.ops, create_allocator},
    {"clp_hook_push", "clp_hook", sizeof(clp_hook), END_OF(clp_hook, name), &a_hook, push_hook},
    {"clp_pool_add_hook", "clp_hook", sizeof(clp_hook), END_OF(clp_hook, name), &a_hook, add_hook},
    {"clp_pool_get_stats", "clp_pool_stats", sizeof(clp_pool_stats),
     END_OF(clp_pool_stats, held_blocks), NULL, get_stats},
    {"clp_pool_get_bin_stats", "clp_bin_stats", sizeof(clp_bin_stats), END_OF(clp_bin_stats, bin),
     NULL, get_bin_stats},
    {"clp_arena_get_stats", "clp_arena_stats", sizeof(clp_arena_stats),
     END_OF(clp_arena_stats, segments), NULL, get_arena_stats},
};
enum { STRUCTS = sizeof(structs) / sizeof(structs[0]) };

START_TEST(each_struct)
{
  clpt_check_sized(&structs[_i]);
}
END_TEST

CLPT_SUITE("struct sizes")
{
  TCase *tests = clpt_case(suite, "structs");
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_loop_test(tests, each_struct, 0, STRUCTS);
}
