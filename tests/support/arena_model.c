/* SPDX-License-Identifier: MIT */
/* The model of an arena. */
#include "support/arena_model.h"

#include "core/allocator/allocator.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/param.h>

enum { GRAIN = 256, PAGE = 4096 };

void clpt_model_wrong(clpt_model *model, const char *format, ...)
{
  va_list arguments;
  va_start(arguments, format);
  if (!model->wrong[0])
    (void)vsnprintf(model->wrong, sizeof(model->wrong), format, arguments);
  va_end(arguments);
}

static void require(clpt_model *model, bool holds, const char *what)
{
  if (!holds)
    clpt_model_wrong(model, "%s", what);
}

static void require_equal(clpt_model *model, const char *what, uint64_t is, uint64_t must)
{
  if (is != must)
    clpt_model_wrong(model, "%s: %llu, not %llu", what, (unsigned long long)is,
                     (unsigned long long)must);
}

/* --- the device --- */

static bool is_refused(clpt_model *model)
{
  bool is = model->refusals;
  model->refusals -= is;
  return is;
}

/* Blocks are no better aligned than the device says. */
static clp_status device_allocate(void *self, size_t bytes, clp_memory *out)
{
  clpt_model *model = self;
  void (*meanwhile)(void) = model->meanwhile;
  model->meanwhile = NULL;
  if (meanwhile)
    meanwhile();
  bool fits = !model->capacity ||
              (model->reserved <= model->capacity && bytes <= model->capacity - model->reserved);
  if (is_refused(model) || !fits || model->segment_count == CLPT_MOST_SEGMENTS)
    return CLP_OUT_OF_DEVICE_MEMORY;
  char *page = mmap(NULL, bytes + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED)
    return CLP_OUT_OF_DEVICE_MEMORY;
  *out = (clp_memory)(page + model->alignment);
  model->segments[model->segment_count++] = (clpt_interval){*out, bytes};
  model->reserved += bytes;
  model->peak_reserved = MAX(model->peak_reserved, model->reserved);
  model->users[model->user].taken++;
  return CLP_SUCCESS;
}

static clp_status device_free(void *self, clp_memory memory, size_t bytes)
{
  clpt_model *model = self;
  size_t i = 0;
  while (i < model->segment_count && model->segments[i].memory != memory)
    i++;
  if (i == model->segment_count || model->segments[i].bytes != bytes) {
    clpt_model_wrong(model, "a free of what is no segment");
    return CLP_SUCCESS;
  }
  for (const clpt_slot *slot = model->slots; slot < model->slots + CLPT_SLOTS; slot++)
    require(model, slot->at.memory - memory >= bytes, "a segment goes with a block in it");
  if (is_refused(model))
    return CLP_BACKEND_ERROR;
  model->segments[i] = model->segments[--model->segment_count];
  model->reserved -= bytes;
  model->users[model->user].given_back++;
  (void)munmap((char *)memory - model->alignment, bytes + PAGE);
  return CLP_SUCCESS;
}

void clpt_model_start(clpt_model *model, const clp_arena_options *options)
{
  clp_allocator_ops ops = CLP_ALLOCATOR_OPS_INIT;
  clp_allocator *upstream = NULL;
  model->alignment = model->alignment ? model->alignment : GRAIN;
  ops.name = "model";
  ops.allocate = device_allocate;
  ops.free = device_free;
  ops.alignment = model->alignment;
  ops.split = clpi_split_address;
  ops.unsplit = clpi_unsplit_address;
  model->user = CLPT_DIRECT;
  bool is_made = !clp_allocator_create(&ops, model, &upstream) &&
                 !clp_arena_allocator_create(upstream, options, &model->arena) &&
                 !clp_pool_create(model->arena, NULL, &model->pools[0]) &&
                 !clp_pool_create(model->arena, NULL, &model->pools[1]);
  require(model, is_made, "the arena and its pools could not be made");
  clp_allocator_release(upstream);
}

void clpt_model_end(clpt_model *model)
{
  clpt_model_free_all(model);
  for (unsigned i = 0; i < CLPT_DIRECT; i++)
    clp_pool_release(model->pools[i]);
  clp_allocator_release(model->arena);
  require_equal(model, "segments left on the device", model->segment_count, 0);
}

/* --- blocks --- */

static size_t room_of(const clpt_model *model, size_t bytes)
{
  size_t grain = MAX(model->alignment, GRAIN);
  return (bytes + grain - 1) / grain * grain;
}

static void put_content(clpt_model *model, clpt_slot *slot)
{
  slot->stamp = ++model->stamps;
  for (size_t i = 0; i + sizeof(slot->stamp) <= slot->bytes; i += GRAIN)
    memcpy((char *)slot->at.memory + i, &slot->stamp, sizeof(slot->stamp));
}

static void check_content(clpt_model *model, const clpt_slot *slot)
{
  for (size_t i = 0; i + sizeof(slot->stamp) <= slot->bytes; i += GRAIN)
    if (memcmp((const char *)slot->at.memory + i, &slot->stamp, sizeof(slot->stamp)) != 0)
      clpt_model_wrong(model, "a block has lost its content");
}

static bool is_within(const clpt_interval *block, const clpt_interval *segment)
{
  return block->memory >= segment->memory && block->bytes <= segment->bytes &&
         block->memory - segment->memory <= segment->bytes - block->bytes;
}

static void check_place(clpt_model *model, const clpt_slot *slot)
{
  const clpt_interval *at = &slot->at;
  size_t segments = 0;
  for (size_t i = 0; i < model->segment_count; i++)
    segments += is_within(at, &model->segments[i]);
  require(model, segments == 1, "a block is in no segment");
  require(model, at->memory % model->alignment == 0, "a block is not aligned");
  for (const clpt_slot *other = model->slots; other < model->slots + CLPT_SLOTS; other++)
    if (other != slot && other->at.memory && at->memory < other->at.memory + other->at.bytes &&
        other->at.memory < at->memory + at->bytes)
      clpt_model_wrong(model, "two blocks overlap");
}

static void compare_pool(clpt_model *model, unsigned number)
{
  const clpt_account *must = &model->users[number];
  clp_pool_stats is = CLP_POOL_STATS_INIT;
  require(model, !clp_pool_get_stats(model->pools[number], &is), "a pool tells no figures");
  require_equal(model, "held blocks", is.held_blocks + is.held_bytes, 0);
  require_equal(model, "active blocks", is.active_blocks, must->blocks);
  require_equal(model, "active bytes", is.active_bytes, must->bytes);
  require_equal(model, "managed bytes", is.managed_bytes, must->room);
  if (!model->is_nested)
    require_equal(model, "hits", is.hits, must->hits);
  require_equal(model, "allocations", is.allocations, must->hits + must->misses);
  if (!model->had_reserve &&
      !model->is_nested) { /* else the arena may have made a reserve whole again */
    require_equal(model, "device allocations", is.device_allocations, must->taken);
    require_equal(model, "device frees", is.device_frees, must->given_back);
  }
}

static size_t used_bytes(const clpt_model *model)
{
  size_t sum = 0;
  for (unsigned i = 0; i < CLPT_USERS; i++)
    sum += model->users[i].room;
  return sum;
}

static void count(clpt_model *model, const clpt_slot *slot, int sign)
{
  clpt_account *user = &model->users[slot->user];
  user->blocks += (size_t)sign;
  user->bytes += (size_t)sign * slot->bytes;
  user->room += (size_t)sign * slot->at.bytes;
  model->peak_used = MAX(model->peak_used, used_bytes(model));
}

static void free_slot(clpt_model *model, clpt_slot *slot)
{
  model->user = slot->user;
  check_content(model, slot);
  clp_status status = slot->buffer ? clp_buffer_release(slot->buffer)
                                   : clp_allocator_free(model->arena, slot->at.memory, slot->bytes);
  require(model, !status, "a block was not taken back");
  count(model, slot, -1);
  *slot = (clpt_slot){0};
}

static bool is_lack(clp_status status)
{
  return status == CLP_OUT_OF_DEVICE_MEMORY || status == CLP_LIMIT_EXCEEDED ||
         status == CLP_OUT_OF_HOST_MEMORY;
}

static void allocate(clpt_model *model, clpt_slot *slot)
{
  clpt_account *user = &model->users[slot->user];
  uint64_t taken = user->taken;
  bool is_direct = slot->user == CLPT_DIRECT;
  clp_status status = is_direct
                          ? clp_allocator_allocate(model->arena, slot->bytes, &slot->at.memory)
                          : clp_pool_allocate(model->pools[slot->user], slot->bytes, &slot->buffer);
  if (status) {
    require(model, model->may_lack && is_lack(status), "an allocation failed");
    require(model, !slot->at.memory && !slot->buffer, "a failed allocation has a block");
    model->refused++;
    *slot = (clpt_slot){0};
    return;
  }
  if (!is_direct)
    slot->at.memory = clp_buffer_memory(slot->buffer);
  slot->at.bytes = room_of(model, slot->bytes);
  if (!is_direct)
    require_equal(model, "capacity", clp_buffer_capacity(slot->buffer), slot->at.bytes);
  *(user->taken > taken ? &user->misses : &user->hits) += 1;
  count(model, slot, 1);
  check_place(model, slot);
  put_content(model, slot);
}

void clpt_model_toggle(clpt_model *model, unsigned slot, size_t bytes, unsigned user)
{
  clpt_slot *it = &model->slots[slot % CLPT_SLOTS];
  model->user = user;
  if (it->at.memory) {
    user = it->user;
    free_slot(model, it);
  } else {
    it->bytes = bytes;
    it->user = user;
    allocate(model, it);
  }
  if (user != CLPT_DIRECT)
    compare_pool(model, user);
}

void clpt_model_free_all(clpt_model *model)
{
  for (unsigned i = 0; i < CLPT_SLOTS; i++)
    if (model->slots[i].at.memory)
      clpt_model_toggle(model, i, 0, 0);
}

void clpt_model_trim(clpt_model *model, size_t most, unsigned user)
{
  user %= CLPT_DIRECT;
  model->user = user;
  clp_status status = clp_pool_trim_to(model->pools[user], most);
  if (status == CLP_BACKEND_ERROR && model->may_lack)
    return;
  require(model, !status, "a trim failed");
  for (size_t i = 0; i < model->segment_count && model->reserved > MAX(most, model->reserve); i++) {
    bool is_used = false, is_needed = model->reserved - model->segments[i].bytes < model->reserve;
    for (const clpt_slot *slot = model->slots; slot < model->slots + CLPT_SLOTS; slot++)
      is_used |= slot->at.memory && is_within(&slot->at, &model->segments[i]);
    require(model, is_used || is_needed, "an unused segment stays after a trim");
  }
}

void clpt_model_reserve(clpt_model *model, size_t bytes)
{
  model->user = CLPT_DIRECT;
  model->had_reserve |= bytes != 0;
  clp_status status = clp_arena_reserve(model->arena, bytes);
  if (!status)
    model->reserve = bytes;
  require(model, !status || (model->may_lack && is_lack(status)), "a reserve failed");
  require(model, status || model->reserved >= bytes, "a reserve is too small");
}

/* --- figures --- */

clp_arena_stats clpt_model_figures(clpt_model *model)
{
  clp_arena_stats stats = CLP_ARENA_STATS_INIT;
  require(model, !clp_arena_get_stats(model->arena, &stats), "the arena tells no figures");
  return stats;
}

/* The first block in the segment from an address on. */
static clpt_interval next_block(const clpt_model *model, const clpt_interval *segment,
                                clp_memory from)
{
  clpt_interval next = {segment->memory + segment->bytes, 0};
  for (const clpt_slot *slot = model->slots; slot < model->slots + CLPT_SLOTS; slot++)
    if (slot->at.memory >= from && slot->at.memory < next.memory)
      next = slot->at;
  return next;
}

static void sum_segment(const clpt_model *model, const clpt_interval *segment, clp_arena_stats *sum)
{
  size_t blocks = 0;
  for (clp_memory at = segment->memory; at <= segment->memory + segment->bytes;) {
    clpt_interval next = next_block(model, segment, at);
    size_t gap = next.memory - at;
    sum->free_ranges += gap > 0;
    sum->largest_free_bytes = MAX(sum->largest_free_bytes, gap);
    blocks += next.bytes > 0;
    at = next.bytes ? next.memory + next.bytes : next.memory + 1;
  }
  sum->free_segments += !blocks;
}

static void compare_places(clpt_model *model, const clp_arena_stats *is)
{
  clp_arena_stats must = CLP_ARENA_STATS_INIT;
  for (size_t i = 0; i < model->segment_count; i++)
    sum_segment(model, &model->segments[i], &must);
  require_equal(model, "free ranges", is->free_ranges, must.free_ranges);
  require_equal(model, "largest free bytes", is->largest_free_bytes, must.largest_free_bytes);
  require_equal(model, "free segments", is->free_segments, must.free_segments);
  size_t free_bytes = model->reserved - used_bytes(model);
  double part = free_bytes ? 1.0 - (double)must.largest_free_bytes / (double)free_bytes : 0.0;
  require(model, is->fragmentation - part < 1e-9 && part - is->fragmentation < 1e-9,
          "fragmentation");
}

void clpt_model_look(clpt_model *model)
{
  clp_arena_stats is = clpt_model_figures(model);
  clpt_account all = {0};
  for (unsigned i = 0; i < CLPT_USERS; i++) {
    all.blocks += model->users[i].blocks;
    all.taken += model->users[i].taken;
    all.given_back += model->users[i].given_back;
  }
  require_equal(model, "used bytes", is.used_bytes, used_bytes(model));
  require_equal(model, "used blocks", is.used_blocks, all.blocks);
  require_equal(model, "segments", is.segments, model->segment_count);
  require_equal(model, "reserved bytes", is.reserved_bytes, model->reserved);
  require_equal(model, "segments taken", is.segments_taken, all.taken);
  require_equal(model, "segments given back", is.segments_given_back, all.given_back);
  require_equal(model, "peak of used bytes", is.peak_used_bytes, model->peak_used);
  require_equal(model, "peak of reserved bytes", is.peak_reserved_bytes, model->peak_reserved);
  require_equal(model, "reserve", is.reserve_bytes, model->reserve);
  compare_places(model, &is);
  compare_pool(model, 0);
  compare_pool(model, 1);
}
