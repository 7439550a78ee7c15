/* SPDX-License-Identifier: MIT */
/* Estimating: what was done, times what that costs. */
#include "trace/tune_estimate.h"

#include "trace/metering_allocator.h"

/* A sub-buffer takes as long for any size. */
static const size_t any_bytes = 65536;

void trace_tune_estimate_block(size_t bytes, bool is_taken, void *user_data)
{
  trace_tune_estimate *estimate = user_data;
  const trace_cost_table *costs = estimate->costs;
  if (!is_taken) {
    estimate->device += trace_cost_at(costs, TRACE_COST_FREE, bytes);
    return;
  }
  double fresh = trace_cost_at(costs, TRACE_COST_FILL_FRESH, bytes);
  double reused = trace_cost_at(costs, TRACE_COST_FILL_REUSED, bytes);
  estimate->device += trace_cost_at(costs, TRACE_COST_ALLOCATE, bytes);
  estimate->first_use += fresh > reused ? fresh - reused : 0.0;
}

bool trace_tune_estimate_has_parts(const trace_cost_table *costs)
{
  return trace_cost_at(costs, TRACE_COST_SUB_BUFFER, any_bytes) > 0;
}

static trace_tune_time read_all(const trace_tune_estimate *estimate, const trace_player *player)
{
  double sub_buffer = trace_cost_at(estimate->costs, TRACE_COST_SUB_BUFFER, any_bytes);
  uint64_t parts = trace_metering_allocator_read(player->metering).parts;
  return (trace_tune_time){
      .host = estimate->host,
      .sub_buffers = (double)parts * sub_buffer,
      .device = estimate->device,
      .first_use = estimate->first_use,
  };
}

void trace_tune_estimate_restart(trace_tune_estimate *estimate, const trace_player *player)
{
  estimate->before = read_all(estimate, player);
  estimate->operations_before = trace_play_operations(&player->tally);
}

trace_tune_time trace_tune_estimate_read(const trace_tune_estimate *estimate,
                                         const trace_player *player, uint64_t *operations)
{
  trace_tune_time time = read_all(estimate, player);
  time.host -= estimate->before.host;
  time.sub_buffers -= estimate->before.sub_buffers;
  time.device -= estimate->before.device;
  time.first_use -= estimate->before.first_use;
  *operations = trace_play_operations(&player->tally) - estimate->operations_before;
  return time;
}
