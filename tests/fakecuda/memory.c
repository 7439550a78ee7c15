/* SPDX-License-Identifier: MIT */
/* Memory of pools: which free range an allocation gets, growth, giving back, filling and copying.
 */
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

static size_t rounded(size_t bytes, size_t to)
{
  return bytes > SIZE_MAX - to ? SIZE_MAX : (bytes + to - 1) / to * to;
}

static void raise_to(uint64_t *high, uint64_t value)
{
  *high = *high < value ? value : *high;
}

static fake_range *grow_locked(CUmemoryPool mempool, size_t bytes, fake_segment **in)
{
  size_t taken = rounded(bytes, GRANULARITY), most = mempool->props.max_bytes;
  if (taken == SIZE_MAX || (most && mempool->reserved + taken > rounded(most, GRANULARITY) &&
                            fakecuda_planted != FAKECUDA_LARGEST_SIZE_IS_IGNORED))
    return NULL;
  *in = fake_segment_new_locked(mempool, taken);
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

/* On a stream, which waits for another stream where it must. */
static CUresult allocate_locked(CUdeviceptr *pointer, size_t bytes, CUmemoryPool mempool,
                                CUstream stream)
{
  const fake_clock nothing = {{0}};
  size_t taken = rounded(bytes, FAKE_ALIGNMENT);
  fake_segment *segment = NULL;
  fake_range *range = NULL;

  if (!bytes || mempool->imported)
    return CLPI_CUDA_INVALID_VALUE;
  fake_begin_locked(stream);
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

CUresult cuMemAllocFromPoolAsync(CUdeviceptr *pointer, size_t bytes, CUmemoryPool mempool,
                                 CUstream stream)
{
  FAKE_ENTER(cuMemAllocFromPoolAsync);
  FAKE_TRY(fake_uncaptured_locked(&stream));
  FAKE_TRY(fake_mempool_locked(mempool));
  return allocate_locked(pointer, bytes, mempool, stream);
}

static CUresult allocate_of_device_locked(CUdeviceptr *pointer, size_t bytes, CUstream *stream)
{
  CUresult code;
  FAKE_TRY(fake_uncaptured_locked(stream));
  FAKE_TRY(fake_default_mempool_locked((*stream)->ctx->device));
  return allocate_locked(pointer, bytes, fake_devices[(*stream)->ctx->device].mempool, *stream);
}

CUresult cuMemAllocAsync(CUdeviceptr *pointer, size_t bytes, CUstream stream)
{
  FAKE_ENTER(cuMemAllocAsync);
  return allocate_of_device_locked(pointer, bytes, &stream);
}

static CUresult free_locked(CUdeviceptr pointer, CUstream stream)
{
  CUresult code;
  fake_segment *segment;
  fake_range *range;
  FAKE_TRY(fake_uncaptured_locked(&stream));
  FAKE_TRY(fake_allocation_locked(pointer, &segment, &range));
  fake_begin_locked(stream);
  if (!fake_clock_has(&stream->clock, range->point))
    return fake_violation_locked(CLPI_CUDA_INVALID_VALUE, "memory is freed on a stream that is not "
                                                          "ordered after its allocation");
  FAKE_TRY(fake_uses_precede_locked(range, &stream->clock));
  uint64_t position = fake_give_locked(stream, &(fake_command){.bytes = 0});
  if (!segment->mempool->imported && fakecuda_planted != FAKECUDA_FREES_DO_NOT_COUNT)
    segment->mempool->used -= range->bytes;
  fake_range_free(range, fakecuda_planted == FAKECUDA_FREES_ARE_EARLY ? FAKE_FREE : FAKE_FREED,
                  (fake_point){stream, position});
  return CLPI_CUDA_SUCCESS;
}

CUresult cuMemFreeAsync(CUdeviceptr pointer, CUstream stream)
{
  FAKE_ENTER(cuMemFreeAsync);
  return free_locked(pointer, stream);
}

/* --- without a stream: all of the context's work is waited for --- */

CUresult cuMemAlloc(CUdeviceptr *pointer, size_t bytes)
{
  FAKE_ENTER(cuMemAlloc);
  CUstream legacy = NULL;
  FAKE_TRY(allocate_of_device_locked(pointer, bytes, &legacy));
  fake_reach_all_locked(legacy->ctx);
  return CLPI_CUDA_SUCCESS;
}

CUresult cuMemFree(CUdeviceptr pointer)
{
  FAKE_ENTER(cuMemFree);
  CUcontext ctx;
  FAKE_TRY(fake_current_locked(&ctx));
  fake_reach_all_locked(ctx);
  return pointer ? free_locked(pointer, NULL) : CLPI_CUDA_SUCCESS;
}

/* --- filling and copying --- */

CUresult cuMemsetD8Async(CUdeviceptr pointer, unsigned char byte, size_t count, CUstream stream)
{
  FAKE_ENTER(cuMemsetD8Async);
  fake_command command = {.byte = byte, .bytes = count};
  FAKE_TRY(fake_uncaptured_locked(&stream));
  fake_begin_locked(stream);
  FAKE_TRY(fake_use_locked(stream, pointer, count, true, &command.to));
  (void)fake_give_locked(stream, &command);
  return CLPI_CUDA_SUCCESS;
}

/* `to_host`: NULL, or where to copy instead of to `to`. */
static CUresult copy_locked(void *to_host, CUdeviceptr to, CUdeviceptr from, size_t bytes,
                            CUstream stream)
{
  CUresult code;
  unsigned char *source;
  fake_command command = {.to = to_host, .bytes = bytes};
  FAKE_TRY(fake_uncaptured_locked(&stream));
  fake_begin_locked(stream);
  FAKE_TRY(fake_use_locked(stream, from, bytes, false, &source));
  if (!to_host)
    FAKE_TRY(fake_use_locked(stream, to, bytes, true, &command.to));
  command.from = source;
  (void)fake_give_locked(stream, &command);
  return CLPI_CUDA_SUCCESS;
}

CUresult cuMemcpyDtoHAsync(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
  FAKE_ENTER(cuMemcpyDtoHAsync);
  return copy_locked(to, 0, from, bytes, stream);
}

CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
  FAKE_ENTER(cuMemcpyDtoDAsync);
  return copy_locked(NULL, to, from, bytes, stream);
}

/* --- giving back --- */

/* Segments that are free as far as the host knows. */
void fake_mempool_release_locked(CUmemoryPool mempool, uint64_t keep)
{
  fake_segment *next;
  settle_all_locked(mempool);
  for (fake_segment *segment = fake_segments; segment; segment = next) {
    next = segment->next;
    if (segment->mempool != mempool || segment->ranges->state != FAKE_FREE || segment->ranges->next)
      continue;
    if (!mempool->imported && mempool->reserved - segment->bytes < keep)
      continue;
    mempool->reserved -= mempool->imported ? 0 : segment->bytes;
    fake_segment_delete_locked(segment);
  }
}
