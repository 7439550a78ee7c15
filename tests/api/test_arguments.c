/* SPDX-License-Identifier: MIT */
/* Wrong arguments of all calls that need neither OpenCL nor CUDA: the tables are in NAME.def, named
 * as the headers. A refused call returns the right status, sets the last error and the out-pointer,
 * and changes nothing. */
#include "api/rows.h"
#include "core/allocator/allocator.h"
#include "support/arenas.h"
#include "support/late_rig.h"
#include "support/pools.h"
#include "support/suite.h"

#include <clpool/clpool.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>

/* --- what the rows use --- */

enum {
  LARGEST_BLOCK = 1000,     /* bytes, of rig's device */
  MOST_LATE_BYTES = 100000, /* of late's device */
  NONE_HELD = 50000,        /* bytes for which late's pool holds no block */
  MEASURED_BYTES = 10000,   /* of memory, that only one device tells */
  LIMIT = 5000,
};

static clpt_rig rig;        /* cannot order streams, or split; does not know its memory */
static clp_buffer *buffer;  /* of rig, active */
static clpt_rig measured;   /* knows its memory; its pool has a LIMIT */
static clpt_late_rig late;  /* orders streams, and has a home stream */
static clpt_late_rig other; /* its streams are none of late's */
static clp_buffer *late_buffer, *bound_buffer; /* of late, active; the latter is bound to late.s */
static clp_memory arena_block, arena_freed;    /* of clpt_arena, 1000 bytes each */
static clp_allocator *simulated, *made_allocator; /* made_: by rows of SIZED */
static clp_pool *made_pool;
static clp_line_profile *profile;
static clp_hook hook = CLP_HOOK_INIT, nameless = CLP_HOOK_INIT; /* not registered */

#define POOL_OPTIONS(...)                                                                          \
  (&(const clp_pool_options){.struct_size = sizeof(clp_pool_options), __VA_ARGS__})
#define ARENA_OPTIONS(...)                                                                         \
  (&(const clp_arena_options){.struct_size = sizeof(clp_arena_options), __VA_ARGS__})
#define OPS(...) (&(const clp_allocator_ops){.struct_size = sizeof(clp_allocator_ops), __VA_ARGS__})

#define BOTH_OPS(...) OPS(.allocate = NEVER(allocate), .free = NEVER(free), __VA_ARGS__)

/* An operation of allocators that are never made. */
static void never(void)
{
  ck_abort_msg("an operation was called");
}
#define NEVER(field) ((__typeof__(((clp_allocator_ops *)NULL)->field))never)

enum { ALL_ORDER_OPS = 127 };

/* Operations of which some order streams: those whose bits are set. */
static const clp_allocator_ops *ops_that_order(unsigned chosen)
{
  static clp_allocator_ops ops;
  const clp_allocator_ops *whole = &late.device.ops;
  ops = *BOTH_OPS(.name = "some");
  ops.mark_create = chosen & 1u ? whole->mark_create : NULL;
  ops.mark_destroy = chosen & 2u ? whole->mark_destroy : NULL;
  ops.mark_is_done = chosen & 4u ? whole->mark_is_done : NULL;
  ops.stream_wait = chosen & 8u ? whole->stream_wait : NULL;
  ops.host_wait = chosen & 16u ? whole->host_wait : NULL;
  ops.stream_retain = chosen & 32u ? whole->stream_retain : NULL;
  ops.stream_release = chosen & 64u ? whole->stream_release : NULL;
  return &ops;
}

/* Operations that order streams and use a home stream, which is not there. */
static const clp_allocator_ops *ops_that_use_home(void)
{
  static clp_allocator_ops ops;
  ops = *ops_that_order(ALL_ORDER_OPS);
  ops.allocate_uses_home = true;
  return &ops;
}

/* clang-format off */
#include "api/allocator.def"
#include "api/arena.def"
#include "api/bin.def"
#include "api/buffer.def"
#include "api/bytes.def"
#include "api/hook.def"
#include "api/log.def"
#include "api/pool.def"
#include "api/profile.def"
#include "api/trace.def"
/* clang-format on */

/* --- each row on its own --- */

static void start_rigs(void)
{
  clpt_device_init(&rig.device);
  rig.device.ops.max_block_bytes = LARGEST_BLOCK;
  clpt_rig_start_with(&rig, NULL);
  clpt_device_init(&measured.device);
  measured.device.ops.device_bytes = MEASURED_BYTES;
  clpt_rig_start_with(&measured, NULL);
  clpt_ok(clp_pool_set_limit(measured.pool, LIMIT));
  clpt_hold(rig.pool, 100, 2);
  buffer = clpt_allocate(rig.pool, 100);
}

static void start_streams(void)
{
  clpt_late_init(&late.device);
  late.device.ops.max_block_bytes = MOST_LATE_BYTES;
  late.home = clpt_late_stream_new(&late.device);
  clpt_late_rig_start_on(&late, NULL);
  clpt_late_rig_start(&other, CLPT_REUSE_EITHER);
  clpt_late_hold(&other, other.s); /* its pool knows the stream */
  late_buffer = clpt_late_take(&late, late.s);
  bound_buffer = clpt_late_take(&late, late.s);
  clpt_ok(clp_buffer_bind(bound_buffer, late.s));
  clpt_late_hold(&late, late.s);
}

static void setup(void)
{
  start_rigs();
  start_streams();
  clpt_arena_setup();
  clpt_arena_start(NULL);
  arena_block = clpt_memory(clpt_arena, 1000);
  arena_freed = clpt_memory(clpt_arena, 1000);
  clpt_arena_give(arena_freed, 1000);
  clpt_ok(clp_simulated_allocator_create(0, &simulated));
  clpt_ok(clp_line_profile_create(0, &profile));
  hook.name = "hook";
}

/* Both buffers are known to be used on late.s alone: their blocks serve that stream at once. */
static void end_streams(void)
{
  clpt_ok(clp_buffer_release_on(late_buffer, late.s));
  clpt_ok(clp_buffer_release(bound_buffer));
  clpt_late_clear(&late.device);
  late_buffer = clpt_late_take_held(&late, late.s);
  bound_buffer = clpt_late_take_held(&late, late.s);
  clpt_ok(clp_buffer_release_on(late_buffer, late.s));
  clpt_ok(clp_buffer_release_on(bound_buffer, late.s));
  ck_assert_uint_eq(late.device.calls[CLPT_LATE_STREAM_WAIT], 0);
  clpt_late_rig_end(&late);
  clpt_late_rig_end(&other);
}

static void teardown(void)
{
  clp_line_profile_destroy(profile);
  clp_allocator_release(simulated);
  clpt_arena_give(arena_block, 1000);
  clpt_arena_end();
  end_streams();
  clpt_ok(clp_buffer_release(buffer));
  clpt_rig_end(&measured);
  clpt_rig_end(&rig);
}

/* What a refused call must leave as it is. */
typedef struct figures {
  clp_pool_stats rig, measured, late;
  clp_arena_stats arena;
  size_t limits[2];
  size_t blocks[3];
  unsigned stream_references;
} figures;

static void read_figures(void *all)
{
  figures *read = all;
  read->rig = clpt_stats(rig.pool);
  read->measured = clpt_stats(measured.pool);
  read->late = clpt_stats(late.pool);
  read->arena = clpt_arena_figures();
  read->limits[0] = clp_pool_get_limit(rig.pool);
  read->limits[1] = clp_pool_get_limit(measured.pool);
  read->blocks[0] = rig.device.live_blocks;
  read->blocks[1] = late.device.live_blocks;
  read->blocks[2] = clpt_arena_device.live_blocks;
  read->stream_references = clpt_late_retains(&late.device);
}

CLPT_MAIN("arguments", clpt_run)
{
  clpt_add_rows(suite, setup, teardown, read_figures, sizeof(figures));
}
