/* SPDX-License-Identifier: MIT */
/* As in the layer, a pool's "bytes" are the number of a kind, KINDS and more, and each is a bin. */
#include "trace/layer_pools.h"

#include "trace/error.h"

#include <clpool/bin.h>
#include <stdlib.h>

enum {
  LARGE_BYTES = 1 << 20,
  LARGE_BITS = 6,
  PEAK_PART = 4,
  SMALL_BYTES = 16 << 20,
  KIND_BITS = 13,
  KINDS = 1 << KIND_BITS,
  MANY_KINDS = 64, /* of more, a part of what is held goes at once */
  HELD_PART = 8
};

static const uint64_t copy_host_pointer = UINT64_C(1) << 5; /* CL_MEM_COPY_HOST_PTR */

typedef struct trace_layer_kind {
  size_t bytes; /* of a block */
  uint64_t flags;
  bool is_image;
  size_t next; /* of the same size; 0: none */
} layer_kind;

typedef struct trace_layer_context {
  trace_layer_pools *all;
  clp_pool *pool;
  size_t taken_bytes, active_bytes;   /* of blocks: of all, and of those that are not held */
  size_t live_bytes, peak_live_bytes; /* of objects, as asked for */
} layer_context;

static clp_status no_host_memory(const trace_layer_pools *pools)
{
  return trace_error(CLP_OUT_OF_HOST_MEMORY, 0, "%s: no host memory for the pools of clpool run",
                     pools->trace);
}

/* --- the pools' allocator --- */

static layer_kind *kind_of(const layer_context *context, size_t number)
{
  return &context->all->kinds[number - KINDS];
}

static size_t bound_of(size_t peak)
{
  return peak + peak / PEAK_PART + SMALL_BYTES;
}

/* What is held goes before there would be more than the bound. */
static clp_status allocate_block(void *self, size_t number, clp_memory *out)
{
  layer_context *context = self;
  const size_t bytes = kind_of(context, number)->bytes;
  const size_t live = context->live_bytes + bytes, peak = context->peak_live_bytes;
  if (context->taken_bytes > context->active_bytes &&
      context->taken_bytes + bytes > bound_of(live > peak ? live : peak))
    return trace_error(CLP_LIMIT_EXCEEDED, 0, "%s: something is held", context->all->trace);
  clp_status status = clp_allocator_allocate(context->all->device, bytes, out);
  context->taken_bytes += status ? 0 : bytes;
  return status;
}

static clp_status free_block(void *self, clp_memory memory, size_t number)
{
  layer_context *context = self;
  const size_t bytes = kind_of(context, number)->bytes;
  context->taken_bytes -= bytes;
  return clp_allocator_free(context->all->device, memory, bytes);
}

static clp_status make_pool(layer_context *context)
{
  clp_allocator *allocator;
  clp_allocator_ops ops = CLP_ALLOCATOR_OPS_INIT;
  clp_pool_options options = TRACE_POOL_OPTIONS_INIT;
  ops.allocate = allocate_block;
  ops.free = free_block;
  options.leading_bits_in_bin_id = KIND_BITS;
  clp_status status = clp_allocator_create(&ops, context, &allocator);
  if (status)
    return status;
  status = clp_pool_create(allocator, &options, &context->pool);
  clp_allocator_release(allocator);
  return status ? status : clp_pool_set_limit(context->pool, 0);
}

clp_status trace_layer_pools_begin(trace_layer_pools *pools, const char *trace,
                                   clp_allocator *device, unsigned leading_bits, size_t slots,
                                   size_t contexts)
{
  *pools = (trace_layer_pools){.trace = trace, .device = device, .leading_bits = leading_bits};
  pools->slots = calloc(slots + 1, sizeof(*pools->slots));
  pools->contexts = calloc(contexts + 1, sizeof(*pools->contexts));
  if (!pools->slots || !pools->contexts)
    return no_host_memory(pools);
  pools->slot_count = slots;
  clp_status status = CLP_SUCCESS;
  while (pools->context_count < contexts && !status) {
    layer_context *context = &pools->contexts[pools->context_count++];
    context->all = pools;
    status = make_pool(context);
  }
  return status;
}

void trace_layer_pools_end(trace_layer_pools *pools)
{
  trace_layer_pools_release_live(pools);
  for (size_t i = 0; i < pools->context_count; i++)
    clp_pool_release(pools->contexts[i].pool);
  clpi_map_end(&pools->kinds_by_size);
  free(pools->kinds);
  free(pools->contexts);
  free(pools->slots);
  *pools = (trace_layer_pools){0};
}

/* --- kinds --- */

static bool is_pooled(const trace_operation *operation)
{
  return operation->bytes > 0 && operation->kind <= TRACE_IMAGE &&
         (operation->flags & copy_host_pointer) == 0;
}

static size_t block_bytes(const trace_layer_pools *pools, const trace_operation *operation)
{
  unsigned bits = pools->leading_bits;
  if (operation->kind == TRACE_IMAGE)
    return operation->bytes;
  if (operation->bytes >= LARGE_BYTES && bits < LARGE_BITS)
    bits = LARGE_BITS;
  return clp_bin_size(bits, clp_bin_number(bits, operation->bytes));
}

static bool grow_kinds(trace_layer_pools *pools)
{
  const size_t count = pools->kind_count + 1;
  if ((count & (count - 1)) > 0) /* there is room up to the next power of two */
    return true;
  layer_kind *kinds = reallocarray(pools->kinds, 2 * count, sizeof(*kinds));
  pools->kinds = kinds ? kinds : pools->kinds;
  return kinds;
}

/* `*number` is 0 where there are too many. */
static clp_status find_kind(trace_layer_pools *pools, const trace_operation *operation,
                            size_t *number)
{
  layer_kind wanted = {.bytes = block_bytes(pools, operation),
                       .flags = operation->flags,
                       .is_image = operation->kind == TRACE_IMAGE};
  const uint64_t *newest = clpi_map_find(&pools->kinds_by_size, wanted.bytes);
  wanted.next = newest ? (size_t)*newest : 0;
  *number = wanted.next;
  for (const layer_kind *it; *number > 0; *number = it->next) {
    it = &pools->kinds[*number - KINDS];
    if (it->flags == wanted.flags && it->is_image == wanted.is_image)
      return CLP_SUCCESS;
  }
  if (pools->kind_count == KINDS)
    return CLP_SUCCESS;
  if (!grow_kinds(pools) || !clpi_map_reserve(&pools->kinds_by_size))
    return no_host_memory(pools);
  *number = KINDS + pools->kind_count;
  pools->kinds[pools->kind_count++] = wanted;
  clpi_map_put(&pools->kinds_by_size, wanted.bytes, *number);
  return CLP_SUCCESS;
}

/* --- operations --- */

/* One "byte" less is one block less. False: nothing is held. */
static bool free_oldest(const layer_context *context)
{
  clp_pool_stats stats = CLP_POOL_STATS_INIT;
  clp_pool_get_stats(context->pool, &stats);
  const size_t part = context->all->kind_count > MANY_KINDS ? stats.held_bytes / HELD_PART : 1;
  return stats.held_blocks > 0 &&
         !clp_pool_trim_to(context->pool, stats.managed_bytes - (part ? part : 1));
}

static clp_status allocate(trace_layer_pools *pools, const trace_operation *operation)
{
  trace_play_slot *slot = &pools->slots[operation->slot];
  layer_context *context = &pools->contexts[operation->owner];
  size_t kind = 0;
  clp_status status = is_pooled(operation) ? find_kind(pools, operation, &kind) : CLP_SUCCESS;
  *slot = (trace_play_slot){.bytes = operation->bytes, .word = operation->owner};
  if (!status && kind == 0)
    return clp_allocator_allocate(pools->device, operation->bytes, &slot->memory);
  if (status)
    return status;
  do
    status = clp_pool_allocate(context->pool, kind, &slot->buffer);
  while (status == CLP_LIMIT_EXCEEDED && free_oldest(context));
  if (status)
    return status;
  context->active_bytes += kind_of(context, kind)->bytes;
  context->live_bytes += operation->bytes;
  if (context->peak_live_bytes < context->live_bytes)
    context->peak_live_bytes = context->live_bytes;
  while (context->taken_bytes > bound_of(context->peak_live_bytes) && free_oldest(context))
    continue;
  return CLP_SUCCESS;
}

static void release(trace_layer_pools *pools, trace_play_slot *slot)
{
  layer_context *context = &pools->contexts[slot->word];
  if (slot->buffer) {
    context->live_bytes -= slot->bytes;
    context->active_bytes -= kind_of(context, clp_buffer_capacity(slot->buffer))->bytes;
    (void)clp_buffer_release(slot->buffer);
  } else if (slot->memory) {
    (void)clp_allocator_free(pools->device, slot->memory, slot->bytes);
  }
  *slot = (trace_play_slot){0};
}

clp_status trace_layer_pools_run(trace_layer_pools *pools, const trace_operation *operations,
                                 size_t count)
{
  for (size_t i = 0; i < count; i++) {
    const trace_operation *operation = &operations[i];
    if (operation->is_free) {
      pools->tally.frees += pools->slots[operation->slot].bytes > 0;
      release(pools, &pools->slots[operation->slot]);
      continue;
    }
    clp_status status = allocate(pools, operation);
    if (status == CLP_OUT_OF_HOST_MEMORY)
      return no_host_memory(pools);
    pools->tally.allocations += !status;
    pools->tally.failures += status != CLP_SUCCESS;
    if (status)
      pools->slots[operation->slot] = (trace_play_slot){0};
  }
  return CLP_SUCCESS;
}

void trace_layer_pools_release_live(trace_layer_pools *pools)
{
  for (size_t i = 0; i < pools->slot_count; i++)
    release(pools, &pools->slots[i]);
}
