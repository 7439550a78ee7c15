/* SPDX-License-Identifier: MIT */
/* Memory in pools: which free range an allocation gets, growth, and giving back. */
#include "fake.h"

enum { GRANULARITY = 2 << 20 };

/* How an allocation on a stream may come by a free range, in the order in which it is tried. */
typedef enum reuse_way {
  SAME_STREAM,
  FREE,
  FOLLOW_EVENTS,
  OPPORTUNISTIC,
  GROW,
  INTERNAL_DEPENDENCY,
  WAYS
} reuse_way;

static bool is_allowed_locked(const struct CUmemPoolHandle_st *mempool, const fake_range *range,
                              CUstream stream, reuse_way way)
{
  if (way == FREE || range->state != FAKE_FREED)
    return way == FREE && range->state == FAKE_FREE;
  switch (way) {
  case SAME_STREAM:
    return range->point.stream == stream;
  case FOLLOW_EVENTS:
    return mempool->reuse[0] && fake_clock_has(&stream->clock, range->point);
  case OPPORTUNISTIC:
    return mempool->reuse[1] && fake_is_done_locked(range->point);
  default:
    return mempool->reuse[2];
  }
}

/* The smallest that is large enough. */
static fake_range *best_locked(CUmemoryPool mempool, size_t bytes, CUstream stream, reuse_way way,
                               fake_segment **in)
{
  fake_range *best = NULL;
  for (fake_segment *segment = fake_segments; segment; segment = segment->next)
    for (fake_range *range = segment->mempool == mempool ? segment->ranges : NULL; range;
         range = range->next)
      if (range->bytes >= bytes && (!best || range->bytes < best->bytes) &&
          is_allowed_locked(mempool, range, stream, way)) {
        best = range;
        *in = segment;
      }
  return best;
}

size_t fake_rounded(size_t bytes, size_t to)
{
  return bytes > SIZE_MAX - to ? SIZE_MAX : (bytes + to - 1) / to * to;
}

static void raise_to(uint64_t *high, uint64_t value)
{
  *high = *high < value ? value : *high;
}

static fake_range *grow_locked(CUmemoryPool mempool, size_t bytes, fake_segment **in)
{
  size_t taken = fake_rounded(bytes, GRANULARITY);
  size_t most = mempool->props.max_bytes;
  if (taken == SIZE_MAX || (most && mempool->reserved + taken > fake_rounded(most, GRANULARITY) &&
                            fake_defect != FAKECUDA_LARGEST_SIZE_IS_IGNORED))
    return NULL;
  *in = fake_segment_new_locked(mempool, fake_mempool_device(mempool), taken);
  if (!*in)
    return NULL;
  mempool->reserved += taken;
  raise_to(&mempool->reserved_high, mempool->reserved);
  return (*in)->ranges;
}

static void settle_all_locked(CUmemoryPool mempool)
{
  for (fake_segment *segment = fake_segments; segment; segment = segment->next)
    if (segment->mempool == mempool)
      fake_segment_settle_locked(segment);
}

CUresult fake_mempool_take_locked(CUmemoryPool mempool, size_t bytes, CUstream stream,
                                  CUdeviceptr *pointer)
{
  const fake_clock nothing = {{0}};
  size_t taken = fake_rounded(bytes, FAKE_ALIGNMENT);
  fake_segment *segment = NULL;
  fake_range *range = NULL;

  settle_all_locked(mempool);
  for (reuse_way way = 0; !range && way < WAYS; way++)
    range = way == GROW ? grow_locked(mempool, taken, &segment)
                        : best_locked(mempool, taken, stream, way, &segment);
  if (!range)
    return CLPI_CUDA_OUT_OF_MEMORY;
  if (range->state == FAKE_FREED)
    fake_wait_for_locked(stream, range->point, &nothing);
  uint64_t position = fake_give_locked(stream, &(fake_command){.bytes = 0});
  fake_range_take(range, taken, bytes, (fake_point){stream, position});
  mempool->used += taken;
  raise_to(&mempool->used_high, mempool->used);
  *pointer = fake_address(segment, range);
  return CLPI_CUDA_SUCCESS;
}

/* Segments that are free as far as the host knows. */
void fake_mempool_release_locked(CUmemoryPool mempool, uint64_t keep)
{
  fake_segment *next;
  settle_all_locked(mempool);
  for (fake_segment *segment = fake_segments; segment; segment = next) {
    next = segment->next;
    if (segment->mempool != mempool || segment->ranges->state != FAKE_FREE || segment->ranges->next)
      continue;
    if (!segment->imported && mempool->reserved - segment->bytes < keep)
      continue;
    mempool->reserved -= segment->imported ? 0 : segment->bytes;
    fake_segment_delete_locked(segment);
  }
}
