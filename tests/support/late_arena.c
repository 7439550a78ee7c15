/* SPDX-License-Identifier: MIT */
/* Late streams on an arena. */
#include "support/late_arena.h"

#include "support/suite.h"

void clpt_late_arena_start_on(clpt_late_rig *rig, unsigned reuse_flags, bool one_thread,
                              double slack)
{
  clp_pool_options options = CLP_POOL_OPTIONS_INIT;
  clp_arena_options small = CLP_ARENA_OPTIONS_INIT;
  clp_allocator *arena = NULL;

  clpt_late_rig_start_on(rig, &options);
  clp_pool_release(rig->pool);
  small.slack = slack;
  small.one_thread = one_thread;
  small.min_segment_bytes = CLPT_LATE_SEGMENT;
  clpt_ok(clp_arena_allocator_create(rig->allocator, &small, &arena));
  clp_allocator_release(rig->allocator);
  rig->allocator = arena;
  options.reuse_flags = reuse_flags;
  clpt_ok(clp_pool_create(arena, &options, &rig->pool));
}

void clpt_late_arena_start(clpt_late_rig *rig, unsigned reuse_flags, unsigned way)
{
  clpt_late_init(&rig->device);
  clpt_late_set_freeing(&rig->device, (clpt_late_freeing)(way % CLPT_LATE_FREEINGS));
  if (way >= CLPT_LATE_FREEINGS)
    clpt_late_set_addresses(&rig->device);
  rig->home = NULL;
  clpt_late_arena_start_on(rig, reuse_flags, false, 0.0);
}

void clpt_late_arena_start_exclusive(clpt_late_rig *rig, unsigned reuse_flags, bool one_thread)
{
  clpt_late_init(&rig->device);
  clpt_late_set_freeing(&rig->device, CLPT_LATE_FREES_IN_ORDER);
  rig->device.ops.exclusive_parts = true;
  rig->home = NULL;
  clpt_late_arena_start_on(rig, reuse_flags, one_thread, 0.0);
}

clp_arena_stats clpt_late_arena_figures(const clpt_late_rig *rig)
{
  clp_arena_stats stats = CLP_ARENA_STATS_INIT;
  clpt_ok(clp_arena_get_stats(rig->allocator, &stats));
  return stats;
}

/* --- programs --- */

void clpt_late_program_start(clpt_late_program *it, clpt_late_kind of, clpt_late_freeing freeing,
                             unsigned reuse_flags)
{
  clpt_late_init(&it->rig.device);
  clpt_late_set_freeing(&it->rig.device, freeing);
  if (of == CLPT_LATE_ADDRESSES || of == CLPT_LATE_ONE_THREAD_ADDRESSES)
    clpt_late_set_addresses(&it->rig.device);
  it->rig.device.ops.exclusive_parts = of >= CLPT_LATE_EXCLUSIVE;
  it->rig.device.streams.reuse_addresses = true;
  it->rig.device.ops.allocate_uses_home = it->uses_home;
  it->rig.device.capacity = it->capacity;
  it->rig.home = it->uses_home ? clpt_late_stream_new(&it->rig.device) : NULL;
  clpt_late_arena_start_on(&it->rig, reuse_flags, of >= CLPT_LATE_ONE_THREAD, 0.1);
  if (of >= CLPT_LATE_ONE_THREAD) /* the device would find overlaps, which are right then */
    it->rig.device.ops.exclusive_parts = false;
  for (unsigned i = 0; i < it->count; i++)
    it->streams[i] = clpt_late_stream_new(&it->rig.device);
  it->time = clpt_chance_seed(1);
}

void clpt_late_program_end(clpt_late_program *it)
{
  for (unsigned i = 0; i < it->count; i++)
    clpt_late_stream_drop(&it->rig.device, it->streams[i]);
  clpt_late_rig_end(&it->rig);
}

/* Another stream reads the buffer first, which is noted; or it is the one that releases it. */
static void give(clpt_late_program *it, unsigned slot)
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
  if (rig->device.addresses)
    clpt_late_close(&rig->device, clp_buffer_memory(buffer), clp_buffer_capacity(buffer));
  if (!clp_buffer_try_release_on(buffer, how == 2 ? other : own))
    clpt_ok(clp_buffer_release_on(buffer, how == 2 ? other : own));
  it->buffers[slot] = NULL;
}

void clpt_late_program_toggle(clpt_late_program *it, unsigned slot, size_t bytes, unsigned stream)
{
  if (it->buffers[slot]) {
    give(it, slot);
    return;
  }
  clp_buffer *buffer = NULL;
  clp_status status = CLP_SUCCESS;
  if (!clp_pool_try_allocate_on(it->rig.pool, bytes, it->streams[stream], &buffer))
    status = clp_pool_allocate_on(it->rig.pool, bytes, it->streams[stream], &buffer);
  if (status) {
    ck_assert_int_eq(status, it->capacity ? CLP_OUT_OF_DEVICE_MEMORY : CLP_SUCCESS);
    return;
  }
  it->of[slot] = stream;
  it->buffers[slot] = buffer;
  if (it->rig.device.addresses)
    clpt_late_open(&it->rig.device, clp_buffer_memory(buffer), clp_buffer_capacity(buffer));
  clpt_late_use(&it->rig, buffer, it->streams[stream]);
}

void clpt_late_program_free_all(clpt_late_program *it)
{
  for (unsigned i = 0; i < CLPT_LATE_SLOTS; i++)
    if (it->buffers[i])
      give(it, i);
}

/* The handle comes back as another stream. */
void clpt_late_program_replace_stream(clpt_late_program *it, unsigned number)
{
  clp_stream *stream = &it->streams[number];
  clpt_ok(clp_pool_forget_stream(it->rig.pool, *stream));
  clpt_late_stream_destroy(&it->rig.device, *stream);
  *stream = clpt_late_stream_new(&it->rig.device);
}

void clpt_late_program_pass(clpt_late_program *it, unsigned number)
{
  it->chance = clpt_chance_seed(3);
  for (unsigned i = 0; i < CLPT_LATE_STEPS; i++) {
    unsigned slot = (unsigned)clpt_chance_below(&it->chance, CLPT_LATE_SLOTS);
    size_t bytes = 1 + (size_t)clpt_chance_below(&it->chance, 64u << (i % 7));
    unsigned stream = (unsigned)clpt_chance_below(&it->chance, it->count);
    clpt_late_program_toggle(it, slot, bytes, it->in_turn ? number % it->count : stream);
    for (uint64_t steps = clpt_chance_below(&it->time, 6); steps > 0; steps--)
      (void)clpt_late_step_any(&it->rig.device, &it->time);
    ck_assert_msg(!it->rig.device.wrong[0], "pass %u, step %u: %s", number, i,
                  it->rig.device.wrong);
    if (!it->is_plain && !clpt_chance_below(&it->time, 400))
      clpt_ok(clp_pool_free_held(it->rig.pool));
  }
  clpt_late_program_free_all(it);
}
