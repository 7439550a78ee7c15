/* SPDX-License-Identifier: MIT */
/* The calls of a random program. */
#include "model.h"

#include <clpool/arena.h>
#include <stdlib.h>

/* The callback on_out_of_memory: releases a buffer, while the program has some to spare. */
bool model_release_some(clp_pool *pool, size_t bytes, void *user_data)
{
  model *it = user_data;
  bool is_released = false;
  (void)pool, (void)bytes;
  it->callbacks++;
  model_set_outside(true);
  for (unsigned slot = 0; !is_released && it->spares > 0 && slot < MODEL_SLOTS; slot++)
    if (it->slots[slot].buffer) {
      it->spares--;
      model_release(it, slot, -1);
      is_released = true;
    }
  model_set_outside(false);
  return is_released;
}

static void set_limit(model *it, unsigned pool, size_t bytes)
{
  it->can_run_out = it->can_run_out || bytes > 0;
  model_require(it, MODEL_LIBRARY(clp_pool_set_limit(it->pools[pool].pool, bytes)) == CLP_SUCCESS);
  model_require(it, clp_pool_get_limit(it->pools[pool].pool) == bytes);
}

/* Room for one more block of that size when nothing is held, or for a byte less; of the bin's size,
 * or of the one that serves where that is refused. */
static void fit_limit(model *it, const model_call *call)
{
  clp_pool_stats stats = model_stats(it, call->pool);
  size_t block = call->slot < 2 ? model_block_bytes(it, call->pool, call->value)
                                : model_least_bytes(it, call->pool, call->value);
  set_limit(it, call->pool, stats.managed_bytes - stats.held_bytes + block - call->slot % 2);
}

static void free_held(model *it, unsigned pool)
{
  clp_status status = MODEL_LIBRARY(clp_pool_free_held(it->pools[pool].pool));
  model_require_success(it, status);
  model_require(it, status || model_stats(it, pool).held_blocks == 0);
}

static void trim(model *it, unsigned pool, size_t bytes)
{
  it->phase = MODEL_TRIMS;
  it->phase_pool = pool;
  it->phase_bytes = bytes;
  clp_status status = MODEL_LIBRARY(clp_pool_trim_to(it->pools[pool].pool, bytes));
  it->phase = MODEL_IDLE;
  clp_pool_stats stats = model_stats(it, pool);
  model_require_success(it, status);
  model_require(it, status || stats.managed_bytes <= bytes || stats.held_blocks == 0);
}

static void stop_holding(model *it, unsigned pool)
{
  clp_status status = MODEL_LIBRARY(clp_pool_stop_holding(it->pools[pool].pool));
  model_require_success(it, status);
  it->pools[pool].is_stopped = true;
  model_held_drop(it, pool);
}

static void reset_peaks(model *it, unsigned pool)
{
  model_pool *at = &it->pools[pool];
  model_require(it, MODEL_LIBRARY(clp_pool_reset_peaks(at->pool)) == CLP_SUCCESS);
  clp_pool_stats stats = model_stats(it, pool);
  model_require(it, stats.peak_managed_bytes == stats.managed_bytes);
  model_require(it, stats.peak_active_bytes == stats.active_bytes);
  at->peak_active = stats.active_bytes;
  at->peak_managed = stats.managed_bytes;
}

static void replace_pool(model *it, unsigned pool)
{
  it->device.failing = 0; /* what an ending pool cannot give back is lost */
  model_hooks_end(it, (int)pool);
  model_end_pool(it, pool);
  model_make_pool(it, pool);
}

static void dump(model *it)
{
  if (!it->config->arena)
    return;
  char *text = NULL;
  size_t length = 0;
  FILE *file = open_memstream(&text, &length);
  clp_status status = file ? clp_arena_dump(it->allocator, file) : CLP_IO_ERROR;
  model_require_success(it, status);
  (void)fclose(file);
  model_require(it, length > 2 && text[0] == '{');
  free(text);
}

/* Several calls of the device fail at once, after `slot` that succeed and `pool` times. */
static void make_fail(model *it, const model_call *call)
{
  if (!it->is_fake)
    return;
  it->device.failing = (unsigned)call->value;
  it->device.fault =
      (clpt_fault){call->slot % 5, 1 + call->pool, CLP_BACKEND_ERROR, 7, "on purpose"};
  it->may_fail = true;
}

static void pass_time(model *it, const model_call *call)
{
  clpt_chance chance = clpt_chance_seed(call->slot);
  if (!it->has_streams)
    return;
  if (call->verb == MODEL_run)
    clpt_late_run(&it->device, it->streams[call->stream]);
  if (call->verb == MODEL_finish)
    clpt_late_finish(&it->device, it->streams[call->stream]);
  if (call->verb == MODEL_finish_all)
    clpt_late_run_all(&it->device);
  for (size_t i = 0; call->verb == MODEL_step && i < call->value; i++)
    if (!clpt_late_step_any(&it->device, &chance))
      break;
}

static void call_buffer(model *it, const model_call *call)
{
  int stream = it->has_streams ? call->stream : -1;
  switch (call->verb) {
  case MODEL_allocate:
    model_allocate(it, call->slot, call->pool, stream, call->value);
    break;
  case MODEL_release:
    model_release(it, call->slot, stream);
    break;
  case MODEL_write:
    model_write(it, call->slot, stream);
    break;
  case MODEL_read:
    model_read(it, call->slot, stream);
    break;
  case MODEL_bind:
    model_bind(it, call->slot, stream);
    break;
  case MODEL_unbind:
    model_unbind(it, call->slot);
    break;
  case MODEL_replace_stream:
    model_replace_stream(it, stream);
    break;
  case MODEL_mark_stream:
    model_mark_stream(it, call->pool, stream);
    break;
  default:
    pass_time(it, call);
  }
}

static void call_pool(model *it, const model_call *call)
{
  switch (call->verb) {
  case MODEL_free_held:
    free_held(it, call->pool);
    break;
  case MODEL_trim:
    trim(it, call->pool, call->value);
    break;
  case MODEL_limit:
    set_limit(it, call->pool, call->value);
    break;
  case MODEL_fit_limit:
    fit_limit(it, call);
    break;
  case MODEL_reset_peaks:
    reset_peaks(it, call->pool);
    break;
  case MODEL_hook:
    model_hook_toggle(it, call->slot, call->stream < 0 ? (int)call->pool : -1);
    break;
  case MODEL_spare:
    it->spares = (unsigned)call->value;
    break;
  case MODEL_stop_holding:
    stop_holding(it, call->pool);
    break;
  case MODEL_replace_pool:
    replace_pool(it, call->pool);
    break;
  case MODEL_without_pool:
    model_without_pool(it, call->value);
    break;
  case MODEL_dump:
    dump(it);
    break;
  case MODEL_heal:
    it->device.failing = 0;
    break;
  default:
    make_fail(it, call);
  }
}

void model_make_call(model *it, const model_call *call)
{
  if (call->verb <= MODEL_finish_all)
    call_buffer(it, call);
  else
    call_pool(it, call);
}
