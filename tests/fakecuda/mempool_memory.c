/* SPDX-License-Identifier: MIT */
/* Memory in pools: which free range an allocation gets, growth, and giving back. */
#include "fake.h"

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
  switch (way) {
  case SAME_STREAM:
    return range->state == FAKE_FREED && range->point.stream == stream;
  case FREE:
    return range->state == FAKE_FREE;
  case FOLLOW_EVENTS:
    return range->state == FAKE_FREED && mempool->reuse[0] != 0 &&
           fake_clock_has(&stream->clock, range->point);
  case OPPORTUNISTIC:
    return range->state == FAKE_FREED && mempool->reuse[1] != 0 &&
           fake_is_done_locked(range->point);
  case INTERNAL_DEPENDENCY:
    return range->state == FAKE_FREED && mempool->reuse[2] != 0;
  default:
    return false;
  }
}

/* The smallest that is large enough. */
static fake_range *best_locked(CUmemoryPool mempool, size_t bytes, CUstream stream, reuse_way way,
                               fake_segment **in)
{
  fake_range *best = NULL;

  for (fake_segment *segment = fake_segments; segment != NULL; segment = segment->next) {
    if (segment->mempool != mempool)
      continue;
    for (fake_range *range = segment->ranges; range != NULL; range = range->next)
      if (range->bytes >= bytes && (best == NULL || range->bytes < best->bytes) &&
          is_allowed_locked(mempool, range, stream, way)) {
        best = range;
        *in = segment;
      }
  }
  return best;
}

static size_t rounded(size_t bytes, size_t to)
{
  return bytes > SIZE_MAX - to ? SIZE_MAX : (bytes + to - 1) / to * to;
}

static fake_range *grow_locked(CUmemoryPool mempool, size_t bytes, fake_segment **in)
{
  size_t taken = rounded(bytes, fake_granularity);
  size_t most = mempool->props.max_bytes;

  if (taken == SIZE_MAX)
    return NULL;
  if (most > 0 && mempool->reserved + taken > rounded(most, fake_granularity))
    return NULL;
  *in = fake_segment_new_locked(mempool, fake_mempool_device(mempool), taken);
  if (*in == NULL)
    return NULL;
  mempool->reserved += taken;
  if (mempool->reserved_high < mempool->reserved)
    mempool->reserved_high = mempool->reserved;
  return (*in)->ranges;
}

static void settle_all_locked(CUmemoryPool mempool)
{
  for (fake_segment *segment = fake_segments; segment != NULL; segment = segment->next)
    if (segment->mempool == mempool)
      fake_segment_settle_locked(segment);
}

CUresult fake_mempool_take_locked(CUmemoryPool mempool, size_t bytes, CUstream stream,
                                  CUdeviceptr *pointer)
{
  size_t taken = rounded(bytes, FAKE_ALIGNMENT);
  fake_segment *segment = NULL;
  fake_range *range = NULL;

  settle_all_locked(mempool);
  for (reuse_way way = 0; range == NULL && way < WAYS; way++)
    range = way == GROW ? grow_locked(mempool, taken, &segment)
                        : best_locked(mempool, taken, stream, way, &segment);
  if (range == NULL)
    return CLPI_CUDA_OUT_OF_MEMORY;
  if (range->state == FAKE_FREED) {
    fake_clock nothing = {{0}};

    fake_wait_for_locked(stream, range->point, &nothing);
  }
  fake_range_take(range, taken, bytes,
                  (fake_point){stream, fake_give_locked(stream, &(fake_command){.bytes = 0})});
  mempool->used += taken;
  if (mempool->used_high < mempool->used)
    mempool->used_high = mempool->used;
  *pointer = fake_address(segment, range);
  return CLPI_CUDA_SUCCESS;
}

/* Segments that are free as far as the host knows. */
void fake_mempool_release_locked(CUmemoryPool mempool, uint64_t keep)
{
  fake_segment *next;

  settle_all_locked(mempool);
  for (fake_segment *segment = fake_segments; segment != NULL; segment = next) {
    next = segment->next;
    if (segment->mempool != mempool || !fake_segment_is_free(segment))
      continue;
    if (segment->imported) {
      fake_segment_delete_locked(segment);
    } else if (mempool->reserved >= segment->bytes && mempool->reserved - segment->bytes >= keep) {
      mempool->reserved -= segment->bytes;
      fake_segment_delete_locked(segment);
    }
  }
}
