/* SPDX-License-Identifier: MIT */
/* The figures of pools, bins and arenas beside the model's, and when a request may be refused. */
#include "model.h"

#include "support/pools.h"

#include <clpool/arena.h>

enum { BINS_MAX = 256 };
#define ALL_BINS SIZE_MAX

clp_pool_stats model_stats(const model *it, unsigned pool)
{
  clp_pool_stats stats = CLP_POOL_STATS_INIT;
  REQUIRE(!LIB(clp_pool_get_stats(it->pools[pool].pool, &stats)));
  return stats;
}

size_t model_block_bytes(const model *it, unsigned pool, size_t bytes)
{
  const clp_pool *asked = it->pools[pool].pool;
  return clp_pool_alloc_size(asked, clp_pool_bin_number(asked, bytes));
}

/* What serves where the bin's size is refused: the requested size, rounded up to the alignment. */
size_t model_least_bytes(const model *it, unsigned pool, size_t bytes)
{
  static const size_t alignments[] = {
      [MODEL_LATE] = 1, [MODEL_PLAIN] = 1, [MODEL_HOST] = 64, [MODEL_SIMULATED] = 256};
  size_t block = model_block_bytes(it, pool, bytes);
  size_t alignment = alignments[it->config->device];
  size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  return rounded < block ? rounded : block;
}

bool model_slot_is_of(const model *it, const model_slot *slot, unsigned pool)
{
  return slot->pool == pool && slot->generation == it->pools[pool].generation;
}

/* --- refusals --- */

/* Whether what failed on purpose in this call, or a limit, can have this status. */
static bool is_failure_on_purpose(const model *it, clp_status status)
{
  const model_config *config = it->config;
  bool has_failed = it->device.faults != it->faults_before;
  switch (status) {
  case CLP_LIMIT_EXCEEDED:
    return it->can_run_out;
  case CLP_OUT_OF_DEVICE_MEMORY: /* the device memory of the host allocator is the host's */
    return it->can_run_out || (has_failed && config->nth_is_memory) ||
           (config->nth_host && config->device == MODEL_HOST);
  case CLP_OUT_OF_HOST_MEMORY:
    return config->nth_host > 0;
  default:
    return status == CLP_BACKEND_ERROR && has_failed && !config->nth_is_memory;
  }
}

static size_t all_held_blocks(const model *it)
{
  size_t held = 0;
  for (unsigned pool = 0; pool < it->pool_count; pool++)
    held += model_stats(it, pool).held_blocks;
  return held;
}

/* An arena's blocks are multiples of this, bytes. */
static size_t on_arena(size_t bytes)
{
  return (bytes + 255) / 256 * 256;
}

static size_t reserved_bytes(const model *it)
{
  clp_arena_stats stats = CLP_ARENA_STATS_INIT;
  REQUIRE(!LIB(clp_arena_get_stats(it->allocator, &stats)));
  return stats.reserved_bytes;
}

/* A limit refuses only what would pass it, when nothing is held any more and the callback did not
 * help, or at once what is larger than the limit by itself. */
static void check_limit_refusal(const model *it, unsigned pool, size_t block)
{
  clp_pool_stats stats = model_stats(it, pool);
  size_t limit = clp_pool_get_limit(it->pools[pool].pool);
  block = it->config->arena ? on_arena(block) : block;
  REQUIRE(limit > 0);
  REQUIRE(block > limit || stats.held_blocks == 0);
  REQUIRE(it->config->arena || (it->callbacks > 0) == (block <= limit));
  if (it->config->arena)
    REQUIRE(reserved_bytes(it) + it->device.leaving_bytes + block > limit);
  else
    REQUIRE(stats.managed_bytes + block > limit);
}

/* What a simulated device has given: to pools, and to buffers of pools that their user has not any
 * more. */
static size_t simulated_bytes(const model *it)
{
  size_t bytes = 0;
  for (unsigned pool = 0; pool < it->pool_count; pool++)
    bytes += model_stats(it, pool).managed_bytes;
  for (const model_slot *slot = it->slots; slot < it->slots + MODEL_SLOTS; slot++)
    if (slot->buffer && !model_slot_is_of(it, slot, slot->pool))
      bytes += slot->capacity;
  return bytes;
}

/* Whether a pool has ended: nobody waits for what it has freed, where the allocator cannot. */
static bool pool_has_ended(const model *it)
{
  for (unsigned pool = 0; pool < it->pool_count; pool++)
    if (it->pools[pool].generation > 0)
      return true;
  return false;
}

/* A device is out of memory only when no pool holds any, all that was freed is back, and the block
 * would not fit. */
static void check_device_refusal(const model *it, size_t block)
{
  const clpt_late_device *device = &it->device;
  REQUIRE(it->config->capacity > 0);
  REQUIRE(all_held_blocks(it) == 0);
  REQUIRE(!it->is_fake || device->leaving_blocks == 0 ||
          (it->config->no_drain && pool_has_ended(it)));
  if (it->is_fake)
    REQUIRE(device->live_bytes + (it->config->arena ? on_arena(block) : block) > device->capacity);
  else if (!it->config->arena)
    REQUIRE(simulated_bytes(it) + block > it->config->capacity);
}

void model_check_refusal(model *it, unsigned pool, size_t bytes, clp_status status)
{
  size_t block = model_least_bytes(it, pool, bytes), largest = it->config->max_block_bytes;
  if (largest && bytes > largest) {
    REQUIRE(status == CLP_INVALID_ARGUMENT);
    return;
  }
  if (model_may_have_failed(it)) {
    REQUIRE(is_failure_on_purpose(it, status));
    return;
  }
  REQUIRE(bytes > 0);
  if (status == CLP_LIMIT_EXCEEDED) {
    check_limit_refusal(it, pool, block);
  } else {
    REQUIRE(status == CLP_OUT_OF_DEVICE_MEMORY);
    check_device_refusal(it, block);
  }
}

bool model_is_never_held(const model *it, const model_slot *slot)
{
  return !it->config->arena && slot->capacity != model_block_bytes(it, slot->pool, slot->bytes);
}

/* A new buffer has a block of its bin's size, unless that was refused when the pool held none: by
 * the device, or by the limit. What the callback released came after that. */
void model_check_capacity(const model *it, const model_slot *new, unsigned refusals)
{
  size_t block = model_block_bytes(it, new->pool, new->bytes);
  if (!new->bytes || !model_is_never_held(it, new))
    return;
  REQUIRE(new->capacity == model_least_bytes(it, new->pool, new->bytes));
  if (it->callbacks || it->may_fail)
    return;
  clp_pool_stats stats = model_stats(it, new->pool);
  size_t limit = clp_pool_get_limit(it->pools[new->pool].pool);
  bool is_device_full = it->device.refusals != refusals || it->config->device == MODEL_SIMULATED;
  REQUIRE(stats.held_blocks == 0);
  REQUIRE(is_device_full || (limit && stats.managed_bytes - new->capacity + block > limit));
}

/* --- pools --- */

/* Of the buffers of a pool, or of one of its bins, which those without bytes are not in. */
typedef struct sums {
  size_t blocks, empty, asked, capacity;
} sums;

static sums add_up(const model *it, unsigned pool, size_t bin)
{
  sums all = {0};
  for (const model_slot *slot = it->slots; slot < it->slots + MODEL_SLOTS; slot++) {
    if (!slot->buffer || !model_slot_is_of(it, slot, pool) ||
        (bin != ALL_BINS &&
         (!slot->bytes || clp_pool_bin_number(it->pools[pool].pool, slot->bytes) != bin)))
      continue;
    all.blocks++;
    all.empty += slot->bytes == 0;
    all.asked += slot->bytes;
    all.capacity += slot->capacity;
  }
  return all;
}

/* The peak of managed bytes grows only with a miss, and then by no more than the block. */
static void check_peaks(const model *it, model_pool *at, const clp_pool_stats *stats)
{
  if (at->peak_active < stats->active_bytes)
    at->peak_active = stats->active_bytes;
  REQUIRE(stats->peak_active_bytes == at->peak_active);
  REQUIRE(stats->peak_managed_bytes >= stats->managed_bytes);
  REQUIRE(stats->peak_managed_bytes >= at->peak_managed);
  size_t most = at->managed + at->largest_asked;
  if (most < stats->managed_bytes)
    most = stats->managed_bytes;
  bool may_grow = it->config->arena || stats->misses > at->misses;
  REQUIRE(stats->peak_managed_bytes <= at->peak_managed ||
          (may_grow && stats->peak_managed_bytes <= most));
  at->peak_managed = stats->peak_managed_bytes;
}

static void check_counts(const model *it, const model_pool *at, const clp_pool_stats *stats)
{
  REQUIRE(stats->allocations == stats->hits + stats->misses);
  REQUIRE(stats->allocations == at->allocated);
  REQUIRE(!it->is_fake || it->config->arena || stats->out_of_memory_reactions == at->reactions);
  if (!it->hooks[MODEL_THREAD_HOOKS + (at - it->pools)].order)
    return;
  REQUIRE(stats->allocations == at->mallocs);
  REQUIRE(it->may_fail || stats->device_allocations == at->allocs);
  REQUIRE(it->may_fail || stats->device_frees == at->frees);
}

static void check_pool(model *it, unsigned pool)
{
  model_pool *at = &it->pools[pool];
  clp_pool_stats stats = model_stats(it, pool);
  sums all = add_up(it, pool, ALL_BINS);
  REQUIRE(stats.active_blocks == all.blocks);
  REQUIRE(stats.active_bytes == all.asked);
  REQUIRE(stats.managed_bytes == stats.held_bytes + all.capacity);
  if (!it->config->arena)
    REQUIRE(stats.device_allocations - stats.device_frees ==
            stats.held_blocks + all.blocks - all.empty);
  REQUIRE(!at->is_stopped || it->may_fail || stats.held_blocks == 0);
  check_peaks(it, at, &stats);
  check_counts(it, at, &stats);
  size_t limit = clp_pool_get_limit(at->pool);
  REQUIRE(!limit || stats.managed_bytes <= limit || stats.managed_bytes <= at->managed);
  it->misses += stats.misses - at->misses;
  at->managed = stats.managed_bytes;
  at->misses = stats.misses;
  at->largest_asked = 0;
}

/* --- bins --- */

static size_t held_in(const model *it, unsigned pool, size_t bin)
{
  size_t blocks = 0;
  for (const model_held *held = it->held; held < it->held + it->held_count; held++)
    blocks += held->pool == pool && held->bin == bin;
  return blocks;
}

static void check_bins(const model *it, unsigned pool)
{
  const clp_pool *asked = it->pools[pool].pool;
  size_t bins[BINS_MAX], count = 0;
  clp_bin_stats sum = CLP_BIN_STATS_INIT;
  REQUIRE(!LIB(clp_pool_get_bins(asked, bins, BINS_MAX, &count)));
  REQUIRE(count <= BINS_MAX);
  for (size_t i = 0; i < count; i++) {
    clp_bin_stats stats = CLP_BIN_STATS_INIT;
    REQUIRE(!LIB(clp_pool_get_bin_stats(asked, bins[i], &stats)));
    REQUIRE(i == 0 || bins[i - 1] < bins[i]);
    REQUIRE(stats.bin == bins[i]);
    REQUIRE(stats.block_bytes == clp_pool_alloc_size(asked, bins[i]));
    /* What the device did not take back may be smaller, or larger where an arena aligns it. */
    size_t most = stats.held_blocks * stats.block_bytes;
    REQUIRE(stats.held_bytes == most ||
            (it->may_fail && (stats.held_bytes < most || it->config->arena)));
    sums users = add_up(it, pool, bins[i]);
    REQUIRE(stats.active_blocks == users.blocks);
    REQUIRE(stats.padding_bytes == (clpt_holds_nothing(asked) ? 0 : users.capacity - users.asked));
    REQUIRE(!it->follows_held || it->may_fail || stats.held_blocks == held_in(it, pool, bins[i]));
    sum.held_blocks += stats.held_blocks;
    sum.held_bytes += stats.held_bytes;
    sum.active_blocks += stats.active_blocks;
    sum.misses += stats.misses;
  }
  clp_pool_stats all = model_stats(it, pool);
  REQUIRE(sum.held_blocks == all.held_blocks);
  REQUIRE(sum.held_bytes == all.held_bytes);
  REQUIRE(sum.active_blocks == all.active_blocks - add_up(it, pool, ALL_BINS).empty);
  REQUIRE(sum.misses == all.misses);
}

/* --- the arena --- */

/* The largest free range is no smaller than their mean. */
static void check_free_ranges(const model *it, const clp_arena_stats *stats)
{
  size_t free_bytes = stats->reserved_bytes - stats->used_bytes,
         largest = stats->largest_free_bytes;
  double outside = free_bytes ? 1 - (double)largest / (double)free_bytes : 0;
  REQUIRE((stats->free_ranges > 0) == (free_bytes > 0));
  REQUIRE(largest <= free_bytes);
  REQUIRE(largest * stats->free_ranges >= free_bytes);
  REQUIRE(stats->fragmentation > outside - 1e-9 && stats->fragmentation < outside + 1e-9);
}

static size_t blocks_in_use(const model *it)
{
  size_t blocks = all_held_blocks(it);
  for (const model_slot *slot = it->slots; slot < it->slots + MODEL_SLOTS; slot++)
    blocks += slot->buffer && slot->memory;
  return blocks;
}

/* Whether the device knows all that an arena does: no stream uses anything, and no handle of a free
 * part stays to serve again. */
static bool is_plain_arena(const model *it)
{
  return it->config->arena && it->config->device == MODEL_PLAIN && !it->config->opaque &&
         !it->may_fail;
}

void model_note_used(model *it)
{
  size_t used = 0;
  for (const clpt_late_block *part = it->device.blocks; part && is_plain_arena(it);
       part = part->next)
    used += part->whole ? on_arena(part->bytes) : 0;
  if (it->peak_used < used)
    it->peak_used = used;
}

/* A segment without blocks stays only where the arena's reserve needs it. */
void model_check_trimmed(const model *it, size_t bytes)
{
  size_t reserved = it->device.live_bytes;
  for (const clpt_late_block *whole = it->device.blocks; whole && is_plain_arena(it);
       whole = whole->next)
    REQUIRE(whole->whole || whole->parts || reserved <= bytes ||
            reserved < whole->bytes + it->reserve_bytes);
}

/* A request misses where the device gave a segment for it. */
static void check_misses(model *it, model_verb verb)
{
  uint64_t taken = it->device.calls[CLPT_LATE_ALLOCATE] - it->device.refusals;
  if (is_plain_arena(it) && !it->config->reserve_bytes && verb == MODEL_allocate)
    REQUIRE(it->misses == taken - it->taken);
  it->taken = taken;
  it->misses = 0;
}

/* What is free is what the device gave and has no part over it. */
static void check_places(const model *it, const clp_arena_stats *stats)
{
  size_t ranges = 0, segments = 0, largest = 0, used = 0;
  for (const clpt_late_block *whole = it->device.blocks; whole; whole = whole->next) {
    const unsigned char *from = whole->content, *end = from + whole->bytes;
    if (whole->whole)
      used += on_arena(whole->bytes);
    for (const clpt_late_block *next; !whole->whole && from < end;
         from = next ? next->content + on_arena(next->bytes) : end) {
      next = NULL;
      for (const clpt_late_block *part = it->device.blocks; part; part = part->next)
        if (part->whole == whole && part->content >= from &&
            (!next || part->content < next->content))
          next = part;
      size_t gap = (size_t)((next ? next->content : end) - from);
      ranges += gap > 0;
      largest = gap > largest ? gap : largest;
      segments += gap == whole->bytes;
    }
  }
  REQUIRE(stats->used_bytes == used);
  REQUIRE(stats->free_ranges == ranges);
  REQUIRE(stats->free_segments == segments);
  REQUIRE(stats->largest_free_bytes == largest);
}

static void check_arena(const model *it)
{
  clp_arena_stats stats = CLP_ARENA_STATS_INIT;
  bool looks_at_blocks = model_checks_all || it->at % 8 == 7;
  REQUIRE(!LIB(clp_arena_get_stats(it->allocator, &stats)));
  REQUIRE(stats.used_bytes <= stats.reserved_bytes);
  REQUIRE(stats.peak_used_bytes >= stats.used_bytes);
  REQUIRE(stats.peak_used_bytes <= stats.peak_reserved_bytes);
  REQUIRE(stats.peak_reserved_bytes >= stats.reserved_bytes);
  REQUIRE(stats.segments == stats.segments_taken - stats.segments_given_back);
  REQUIRE(stats.free_segments <= stats.segments);
  REQUIRE(stats.free_ranges >= stats.free_segments);
  REQUIRE(stats.reserve_bytes == it->reserve_bytes);
  REQUIRE(stats.reserved_bytes >= it->reserve_bytes || it->can_run_out || it->may_fail);
  check_free_ranges(it, &stats);
  if (it->is_fake && !it->may_fail)
    REQUIRE(stats.reserved_bytes == it->device.live_bytes - it->device.leaving_bytes);
  if (looks_at_blocks && !it->may_fail)
    REQUIRE(stats.used_blocks == blocks_in_use(it));
  if (!looks_at_blocks || !is_plain_arena(it))
    return;
  check_places(it, &stats);
  REQUIRE(stats.peak_reserved_bytes == it->device.peak_bytes);
  REQUIRE(stats.peak_used_bytes == it->peak_used);
}

void model_check(model *it)
{
  for (unsigned pool = 0; pool < it->pool_count; pool++)
    check_pool(it, pool);
  model_note_used(it);
  check_misses(it, it->program->calls[it->at].verb);
  for (unsigned pool = 0; pool < it->pool_count; pool++)
    if (model_checks_all || it->at % (8 * it->pool_count) == 8 * pool)
      check_bins(it, pool);
  if (it->config->arena && (!it->config->seldom_looks || it->at % 512 == 511))
    check_arena(it);
  model_hooks_check(it);
  if (it->is_fake && it->device.wrong[0])
    model_fail(it, "the device", 0, it->device.wrong);
}
