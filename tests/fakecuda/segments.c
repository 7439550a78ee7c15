/* SPDX-License-Identifier: MIT */
/* Segments of device memory and the ranges in them. Each is mapped twice: where its device address
 * is nobody may touch it, and for the streams' commands elsewhere. */
#include "fake.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

fake_segment *fake_segments;

/* --- taking and giving back --- */

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
    fake_uses_drop(range);
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
  fake_uses_drop(range);
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
