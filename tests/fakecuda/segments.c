/* SPDX-License-Identifier: MIT */
/* Segments of device memory and the ranges in them. Each is mapped twice: where its device address
 * is nobody may touch it, and for the streams' commands elsewhere. */
#include "fake.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

fake_segment *fake_segments;

/* --- taking and giving back --- */

static void drop_uses(fake_range *range)
{
  while (range->uses) {
    fake_use *use = range->uses;
    range->uses = use->next;
    free(use);
  }
}

fake_segment *fake_segment_map_locked(CUmemoryPool mempool, uint64_t file_offset, size_t bytes)
{
  unsigned char *device_address =
      mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  unsigned char *bytes_at =
      mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, mempool->fd, (off_t)file_offset);
  if (device_address == MAP_FAILED || bytes_at == MAP_FAILED) {
    if (device_address != MAP_FAILED)
      munmap(device_address, bytes);
    return NULL;
  }
  fake_segment *segment = fake_new(sizeof(*segment));
  *segment = (fake_segment){.mempool = mempool,
                            .device_address = device_address,
                            .bytes_at = bytes_at,
                            .bytes = bytes,
                            .file_offset = file_offset,
                            .ranges = fake_new(sizeof(*segment->ranges)),
                            .next = fake_segments};
  segment->ranges->bytes = bytes;
  return fake_segments = segment;
}

fake_segment *fake_segment_new_locked(CUmemoryPool mempool, size_t bytes)
{
  int device = fake_mempool_device(mempool);
  uint64_t offset = mempool->file_end;
  if ((device >= 0 && bytes > fakecuda_has.bytes - fake_devices[device].taken) ||
      fake_mempool_file_locked(mempool) < 0 || ftruncate(mempool->fd, (off_t)(offset + bytes)))
    return NULL;
  mempool->file_end += bytes;
  fake_segment *segment = fake_segment_map_locked(mempool, offset, bytes);
  if (segment && device >= 0)
    fake_devices[device].taken += bytes;
  return segment;
}

void fake_segment_delete_locked(fake_segment *segment)
{
  int device = fake_mempool_device(segment->mempool);
  fake_segment **link = &fake_segments;
  while (*link != segment)
    link = &(*link)->next;
  *link = segment->next;
  if (device >= 0)
    fake_devices[device].taken -= segment->bytes;
  while (segment->ranges) {
    fake_range *range = segment->ranges;
    segment->ranges = range->next;
    drop_uses(range);
    free(range);
  }
  if (!segment->mempool->imported) /* so that the file's memory goes, too */
    (void)madvise(segment->bytes_at, segment->bytes, MADV_REMOVE);
  munmap(segment->bytes_at, segment->bytes);
  munmap(segment->device_address, segment->bytes);
  free(segment);
}

/* --- ranges --- */

CUdeviceptr fake_address(const fake_segment *segment, const fake_range *range)
{
  return (uintptr_t)segment->device_address + range->offset;
}

bool fake_find_locked(CUdeviceptr pointer, fake_segment **segment, fake_range **range)
{
  for (fake_segment *known = fake_segments; known; known = known->next) {
    uintptr_t first = (uintptr_t)known->device_address;
    if (pointer < first || pointer - first >= known->bytes)
      continue;
    *segment = known;
    *range = known->ranges;
    while ((*range)->offset + (*range)->bytes <= pointer - first)
      *range = (*range)->next;
    return true;
  }
  return false;
}

CUresult fake_allocation_locked(CUdeviceptr pointer, fake_segment **segment, fake_range **range)
{
  if (fake_find_locked(pointer, segment, range) && (*range)->state == FAKE_IN_USE &&
      fake_address(*segment, *range) == pointer)
    return CLPI_CUDA_SUCCESS;
  return fake_violation_locked(CLPI_CUDA_INVALID_VALUE,
                               "what is freed or exported is no allocation, or free");
}

void fake_range_take(fake_range *range, size_t bytes, size_t asked, fake_point born)
{
  if (bytes < range->bytes) {
    fake_range *rest = fake_new(sizeof(*rest));
    *rest = *range;
    rest->offset += bytes;
    rest->bytes -= bytes;
    range->next = rest;
    range->bytes = bytes;
  }
  range->asked = asked;
  range->state = FAKE_IN_USE;
  range->point = born;
}

void fake_range_free(fake_range *range, fake_range_state state, fake_point point)
{
  drop_uses(range);
  range->state = state;
  range->point = point;
  range->asked = 0;
}

/* Free alike: both finally, or both on the same stream. */
static bool are_alike(const fake_range *range, const fake_range *next)
{
  return next && range->state == next->state && range->state != FAKE_IN_USE &&
         (range->state == FAKE_FREE || range->point.stream == next->point.stream);
}

void fake_segment_settle_locked(fake_segment *segment)
{
  for (fake_range *range = segment->ranges; range; range = range->next)
    if (range->state == FAKE_FREED && fake_clock_has(&fake_observed, range->point))
      fake_range_free(range, FAKE_FREE, (fake_point){0});
  for (fake_range *range = segment->ranges; range; range = range->next)
    while (are_alike(range, range->next)) {
      fake_range *next = range->next;
      range->bytes += next->bytes;
      if (range->point.position < next->point.position)
        range->point.position = next->point.position;
      range->next = next->next;
      free(next);
    }
}

/* --- who uses which bytes of an allocation, and whether the order of the streams allows it --- */

CUresult fake_uses_precede_locked(const fake_range *range, const fake_clock *clock)
{
  for (const fake_use *use = range->uses; use; use = use->next)
    if (!fake_clock_has(clock, use->point))
      return fake_violation_locked(CLPI_CUDA_INVALID_VALUE,
                                   "memory is freed while another stream may still use it");
  return CLPI_CUDA_SUCCESS;
}

static bool overlap(const fake_use *one, const fake_use *other)
{
  return one->offset < other->offset + other->bytes && other->offset < one->offset + one->bytes;
}

/* Why the stream must not use the memory so; NULL: it may. */
static const char *why_not_locked(CUstream stream, const fake_segment *segment,
                                  const fake_range *range, const fake_use *wanted)
{
  if (range->state != FAKE_IN_USE)
    return "a stream uses memory that is free";
  if (wanted->bytes > range->asked || wanted->offset > range->asked - wanted->bytes)
    return "a stream uses memory past the end of its allocation";
  if (segment->mempool->access[stream->ctx->device] != CLPI_CUDA_ACCESS_READ_WRITE)
    return "a device has no access to the memory";
  if (!fake_clock_has(&stream->clock, range->point))
    return "memory is used on a stream that is not ordered after its allocation";
  for (const fake_use *use = range->uses; use; use = use->next)
    if ((use->writes || wanted->writes) && overlap(use, wanted) &&
        !fake_clock_has(&stream->clock, use->point))
      return "two streams use the same memory without order";
  return NULL;
}

CUresult fake_use_locked(CUstream stream, CUdeviceptr pointer, size_t bytes, bool writes,
                         unsigned char **at)
{
  fake_segment *segment;
  fake_range *range;
  fake_use use = {.bytes = bytes, .writes = writes, .point = {stream, stream->given + 1}};
  const char *why_not = "a stream uses what is no device memory";

  if (fake_find_locked(pointer, &segment, &range)) {
    use.offset = pointer - fake_address(segment, range);
    why_not = why_not_locked(stream, segment, range, &use);
  }
  if (why_not)
    return fake_violation_locked(FAKECUDA_ILLEGAL_ADDRESS, "%s", why_not);
  fake_use *noted = fake_new(sizeof(*noted));
  *noted = use;
  noted->next = range->uses;
  range->uses = noted;
  *at = segment->bytes_at + range->offset + use.offset;
  return CLPI_CUDA_SUCCESS;
}

/* --- what is left --- */

static size_t count_locked(void)
{
  size_t count = 0;
  for (const fake_segment *segment = fake_segments; segment; segment = segment->next)
    for (const fake_range *range = segment->ranges; range; range = range->next)
      count += range->state == FAKE_IN_USE;
  return count;
}

size_t fakecuda_live_allocations(void)
{
  FAKE_LOCK;
  return count_locked();
}

void fake_segments_reset_locked(void)
{
  if (count_locked() > 0)
    (void)fake_violation_locked(0, "%zu allocations were not freed", count_locked());
  while (fake_segments)
    fake_segment_delete_locked(fake_segments);
}
