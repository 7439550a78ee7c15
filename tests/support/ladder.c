/* SPDX-License-Identifier: MIT */
/* Asking a pool on a full device. */
#include "ladder.h"

#include "suite.h"

bool clpt_help(clp_pool *pool, size_t bytes, void *user_data)
{
  clpt_helper *self = user_data;

  clpt_device_note(self->device, CLPT_CALLBACK, bytes);
  self->seen_pool = pool;
  self->seen_bytes = bytes;
  if (self->uses != NULL)
    clpt_hold(self->uses, 10, 1);
  if (self->releases[self->released] != NULL)
    clpt_ok(clp_buffer_release(self->releases[self->released++]));
  if (self->says_yes == 0)
    return false;
  self->says_yes--;
  return true;
}

void clpt_start_with_helper(clpt_rig *rig, clpt_helper *self, size_t capacity)
{
  clp_pool_options options = CLP_POOL_OPTIONS_INIT;

  memset(self, 0, sizeof(*self));
  self->device = &rig->device;
  options.on_out_of_memory = clpt_help;
  options.user_data = self;
  clpt_device_init(&rig->device);
  rig->device.capacity = capacity;
  clpt_rig_start_with(rig, &options);
}

void clpt_assert_served(clpt_rig *rig, const char *trace)
{
  clp_buffer *buffer;

  clpt_device_clear_trace(&rig->device);
  buffer = clpt_allocate(rig->pool, 1023);
  clpt_device_trace_is(&rig->device, trace);
  clpt_ok(clp_buffer_release(buffer));
}

void clpt_assert_refused(clpt_rig *rig, clp_status status, const char *trace)
{
  clp_buffer *buffer = (clp_buffer *)rig;
  clp_pool_stats before = clpt_stats(rig->pool), after;

  clpt_device_clear_trace(&rig->device);
  clpt_fails(status, clp_pool_allocate(rig->pool, 1023, &buffer));
  ck_assert_ptr_null(buffer);
  clpt_device_trace_is(&rig->device, trace);
  after = clpt_stats(rig->pool);
  ck_assert_uint_eq(after.managed_bytes, rig->device.live_bytes);
  ck_assert_uint_eq(after.managed_bytes - after.held_bytes,
                    before.managed_bytes - before.held_bytes);
  ck_assert_uint_eq(after.held_blocks + after.active_blocks, rig->device.live_blocks);
  before.held_blocks = after.held_blocks;
  before.held_bytes = after.held_bytes;
  before.managed_bytes = after.managed_bytes;
  clpt_assert_same_figures(&before, &after);
}
