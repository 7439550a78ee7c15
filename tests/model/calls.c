/* SPDX-License-Identifier: MIT */
/* The calls of a random program that are about pools, the device and time. */
#include "model.h"

/* The callback on_out_of_memory: releases a buffer, while the program has some to spare. */
bool model_release_some(clp_pool *pool, size_t bytes, void *user_data)
{
  model *it = user_data;
  bool is_released = false;
  it->callbacks++;
  model_set_outside(true);
  for (unsigned slot = 0; !is_released && it->spares > 0 && slot < MODEL_SLOTS; slot++)
    if (it->slots[slot].buffer) {
      it->spares--;
      model_do_release(it, &(model_call){.slot = slot, .stream = -1});
      is_released = true;
    }
  model_set_outside(false);
  return is_released;
}

void model_do_limit(model *it, const model_call *call)
{
  clp_pool *pool = it->pools[call->pool].pool;
  it->can_run_out = it->can_run_out || call->value > 0;
  REQUIRE(!LIB(clp_pool_set_limit(pool, call->value)));
  REQUIRE(clp_pool_get_limit(pool) == call->value);
}

/* Room for one more block of that size when nothing is held, or for a byte less; of the bin's size,
 * or of the one that serves where that is refused. */
void model_do_fit_limit(model *it, const model_call *call)
{
  clp_pool_stats stats = model_stats(it, call->pool);
  model_call limit = *call;
  limit.value = stats.managed_bytes - stats.held_bytes - call->slot % 2 +
                (call->slot < 2 ? model_block_bytes(it, call->pool, call->value)
                                : model_least_bytes(it, call->pool, call->value));
  model_do_limit(it, &limit);
}

void model_do_free_held(model *it, const model_call *call)
{
  clp_status status = LIB(clp_pool_free_held(it->pools[call->pool].pool));
  model_require_success(it, status);
  REQUIRE(status || model_stats(it, call->pool).held_blocks == 0);
}

void model_do_trim(model *it, const model_call *call)
{
  it->phase = MODEL_TRIMS;
  it->phase_pool = call->pool;
  it->phase_bytes = call->value;
  clp_status status = LIB(clp_pool_trim_to(it->pools[call->pool].pool, call->value));
  it->phase = MODEL_IDLE;
  clp_pool_stats stats = model_stats(it, call->pool);
  model_require_success(it, status);
  REQUIRE(status || stats.managed_bytes <= call->value || stats.held_blocks == 0);
  if (!status)
    model_check_trimmed(it, call->value);
}

void model_do_stop_holding(model *it, const model_call *call)
{
  model_pool *at = &it->pools[call->pool];
  model_require_success(it, LIB(clp_pool_stop_holding(at->pool)));
  at->is_stopped = true;
  model_held_drop(it, call->pool);
}

void model_do_reset_peaks(model *it, const model_call *call)
{
  model_pool *at = &it->pools[call->pool];
  REQUIRE(!LIB(clp_pool_reset_peaks(at->pool)));
  clp_pool_stats stats = model_stats(it, call->pool);
  REQUIRE(stats.peak_managed_bytes == stats.managed_bytes);
  REQUIRE(stats.peak_active_bytes == stats.active_bytes);
  at->peak_active = stats.active_bytes;
  at->peak_managed = stats.managed_bytes;
}

void model_do_replace_pool(model *it, const model_call *call)
{
  it->device.failing = 0; /* what an ending pool cannot give back is lost */
  model_hooks_end(it, (int)call->pool);
  model_end_pool(it, call->pool);
  model_make_pool(it, call->pool);
}

/* Several calls of the device fail at once, after `slot` that succeed and `pool` times. */
void model_do_fail(model *it, const model_call *call)
{
  if (!it->is_fake)
    return;
  it->device.failing = (unsigned)call->value;
  it->device.fault =
      (clpt_fault){call->slot % 5, 1 + call->pool, CLP_BACKEND_ERROR, 7, "on purpose"};
  it->may_fail = true;
}

void model_do_step(model *it, const model_call *call)
{
  clpt_chance chance = clpt_chance_seed(call->slot);
  for (size_t i = 0; i < call->value; i++)
    if (!clpt_late_step_any(&it->device, &chance))
      return;
}

/* clang-format off */
#define DO(name, ...)                                                                              \
  void model_do_##name(model *it, const model_call *call) { (void)call; __VA_ARGS__; }
DO(hook, model_hook_toggle(it, call->slot, call->stream < 0 ? (int)call->pool : -1))
DO(spare, it->spares = (unsigned)call->value)
DO(heal, it->device.failing = 0)
DO(run, clpt_late_run(&it->device, it->streams[call->stream]))
DO(finish, clpt_late_finish(&it->device, it->streams[call->stream]))
DO(finish_all, clpt_late_run_all(&it->device))
/* clang-format on */

void model_make_call(model *it, const model_call *call)
{
  static void (*const calls[])(model *, const model_call *) = {
#define X(name, often) model_do_##name,
      MODEL_VERBS(X)
#undef X
  };
  calls[call->verb](it, call);
}
