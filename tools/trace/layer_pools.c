/* SPDX-License-Identifier: MIT */
/* Each context has a pool of the player. One more holds nothing: what is not pooled comes from
 * there. */
#include "trace/layer_pools.h"

#include "trace/error.h"

#include <clpool/bin.h>
#include <stdlib.h>
#include <sys/param.h>

enum { LARGE_BYTES = 1 << 20, LARGE_BITS = 6, PEAK_PART = 4, SMALL_BYTES = 16 << 20 };
enum { MANY_BLOCKS = 64, HELD_PART = 8 };

#define MOST_BYTES (SIZE_MAX / TRACE_LAYER_UNITS / 2)

static const uint64_t copy_host_pointer = UINT64_C(1) << 5; /* CL_MEM_COPY_HOST_PTR */

typedef struct trace_layer_context {
  clp_pool *pool;
  size_t live_bytes, peak_bytes; /* of objects, as asked for: now, and at most */
  size_t taken_units;            /* of blocks, held or not */
} layer_context;

clp_status trace_layer_pools_begin(trace_layer_pools *pools, trace_player *player,
                                   unsigned leading_bits, size_t slots, size_t contexts)
{
  *pools = (trace_layer_pools){.player = player,
                               .leading_bits = leading_bits,
                               .limit_units = player->options->limit_bytes,
                               .contexts = calloc(contexts + 1, sizeof(*pools->contexts)),
                               .context_count = contexts};
  if (!pools->contexts)
    return trace_error(CLP_OUT_OF_HOST_MEMORY, 0, "%s: no host memory for the pools of clpool run",
                       player->trace);
  clp_status status = trace_player_reserve(player, slots, contexts + 1);
  if (status)
    return status;
  for (size_t i = 0; i <= contexts; i++)
    pools->contexts[i].pool = player->pools[i].pool;
  (void)clp_pool_set_limit(pools->contexts[contexts].pool, 0);
  return clp_pool_stop_holding(pools->contexts[contexts].pool);
}

void trace_layer_pools_end(trace_layer_pools *pools)
{
  free(pools->contexts);
  *pools = (trace_layer_pools){0};
}

/* --- blocks --- */

static bool is_pooled(const trace_operation *operation)
{
  return operation->bytes > 0 && operation->kind <= TRACE_IMAGE &&
         (operation->flags & copy_host_pointer) == 0;
}

/* From 0 to 31: by what kernels may do (CL_MEM_READ_ONLY and its like), CL_MEM_ALLOC_HOST_PTR, and
 * what the host may do. Images have sizes that are hardly a buffer's. */
static size_t number_of_kind(uint64_t flags)
{
  return MIN(flags & 7, 3) | (flags >> 4 & 1) << 2 | MIN(flags >> 7 & 7, 3) << 3;
}

/* In units. Between two sizes of 8 leading bits, there are bins for 32 kinds; where a unit has bins
 * of its own, 64 units. */
static size_t block_units(const trace_layer_pools *pools, const trace_operation *operation,
                          bool rounds)
{
  const bool is_large = operation->bytes >= LARGE_BYTES;
  const unsigned bits = is_large ? MAX(pools->leading_bits, LARGE_BITS) : pools->leading_bits;
  const size_t number = number_of_kind(operation->flags);
  size_t bytes = operation->bytes;
  if (rounds && operation->kind != TRACE_IMAGE)
    bytes = clp_bin_size(bits, clp_bin_number(bits, bytes));
  const size_t units = MIN(bytes, MOST_BYTES) * TRACE_LAYER_UNITS;
  const size_t bin = clp_bin_number(TRACE_LAYER_BITS, units) + number;
  return MAX(clp_bin_size(TRACE_LAYER_BITS, bin), units + number);
}

/* --- bounds --- */

static size_t most_units(const trace_layer_pools *pools, size_t peak_bytes)
{
  const size_t bound = (peak_bytes + peak_bytes / PEAK_PART + SMALL_BYTES) * TRACE_LAYER_UNITS;
  return pools->limit_units ? MIN(bound, pools->limit_units) : bound;
}

/* The oldest blocks go; of many, an eighth at once, as the layer does with many sizes. */
static void trim(layer_context *context, size_t most)
{
  clp_pool_stats stats = CLP_POOL_STATS_INIT;
  if (context->taken_units <= most)
    return;
  clp_pool_get_stats(context->pool, &stats);
  if (stats.held_blocks == 0)
    return;
  const size_t part = stats.held_blocks > MANY_BLOCKS ? stats.held_bytes / HELD_PART : 0;
  (void)clp_pool_trim_to(context->pool, MIN(most, stats.managed_bytes - part));
  clp_pool_get_stats(context->pool, &stats);
  context->taken_units = stats.managed_bytes;
}

static bool has_held(clp_pool *pool, size_t units)
{
  clp_buffer *held;
  return clp_pool_try_allocate(pool, units, &held) && !clp_buffer_release(held);
}

/* For a new block, held ones go. False: they are not enough. */
static bool make_room(const trace_layer_pools *pools, layer_context *context, size_t units)
{
  const size_t live_bytes = context->live_bytes + units / TRACE_LAYER_UNITS;
  const size_t most = most_units(pools, MAX(context->peak_bytes, live_bytes));
  trim(context, most - MIN(most, units));
  return pools->limit_units == 0 || context->taken_units + units <= pools->limit_units;
}

/* --- operations --- */

/* Where a rounded size does not fit in the limit, the program's own may. */
static clp_status allocate(const trace_layer_pools *pools, const trace_operation *asked)
{
  trace_operation made = *asked;
  trace_play_slot *slot = &pools->player->slots[asked->slot];
  made.context = is_pooled(asked) ? asked->owner : (uint32_t)pools->context_count;
  layer_context *context = &pools->contexts[made.context];
  bool is_new = false;
  made.bytes = MIN(asked->bytes, MOST_BYTES) * TRACE_LAYER_UNITS;
  if (is_pooled(asked)) {
    made.bytes = block_units(pools, asked, true);
    is_new = !has_held(context->pool, made.bytes);
    if (is_new && !make_room(pools, context, made.bytes))
      made.bytes = block_units(pools, asked, false);
  }
  clp_status status = trace_player_run(pools->player, &made, 1);
  if (!slot->is_live)
    return status;
  context->taken_units += is_new ? made.bytes : 0;
  context->live_bytes += asked->bytes;
  context->peak_bytes = MAX(context->peak_bytes, context->live_bytes);
  trim(context, most_units(pools, context->peak_bytes));
  return status;
}

clp_status trace_layer_pools_run(trace_layer_pools *pools, const trace_operation *operations,
                                 size_t count)
{
  clp_status status = CLP_SUCCESS;
  for (size_t i = 0; i < count && !status; i++) {
    const trace_operation *it = &operations[i];
    const trace_play_slot *slot = &pools->player->slots[it->slot];
    if (!it->is_free) {
      status = allocate(pools, it);
      continue;
    }
    if (slot->is_live)
      pools->contexts[slot->pool].live_bytes -= it->bytes;
    status = trace_player_run(pools->player, it, 1);
  }
  return status;
}

void trace_layer_pools_forget_live(trace_layer_pools *pools)
{
  for (size_t i = 0; i < pools->context_count; i++)
    pools->contexts[i].live_bytes = 0;
}
