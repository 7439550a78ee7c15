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
