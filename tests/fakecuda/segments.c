/* SPDX-License-Identifier: MIT */
/* Segments of device memory and the ranges in them. Each is mapped twice: where its device address
 * is nobody may touch it, and for the streams' commands elsewhere. */
#include "fake.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { FIRST_GRANULARITY = 2 << 20 };

fake_segment *fake_segments;
size_t fake_granularity = FIRST_GRANULARITY;

/* --- taking and giving back --- */

static bool map(fake_segment *segment)
{
  segment->device_address =
      mmap(NULL, segment->bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (segment->device_address == MAP_FAILED)
    return false;
  segment->bytes_at = mmap(NULL, segment->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, segment->fd,
                           (off_t)segment->file_offset);
  if (segment->bytes_at != MAP_FAILED)
    return true;
  munmap(segment->device_address, segment->bytes);
  return false;
}

/* A part of its own file, or the next of the mempool's. */
static bool reserve_locked(fake_segment *segment)
{
  CUmemoryPool mempool = segment->mempool;

  if (mempool == NULL) {
    segment->fd = memfd_create("fakecuda", MFD_CLOEXEC);
    return segment->fd >= 0 && ftruncate(segment->fd, (off_t)segment->bytes) == 0;
  }
  segment->fd = fake_mempool_file_locked(mempool);
  segment->file_offset = mempool->file_end;
  mempool->file_end += segment->bytes;
  return segment->fd >= 0 && ftruncate(segment->fd, (off_t)mempool->file_end) == 0;
}

static fake_segment *add_locked(const fake_segment *wanted)
{
  fake_segment *segment = fake_new(sizeof(*segment));

  *segment = *wanted;
  if (!map(segment)) {
    free(segment);
    return NULL;
  }
  segment->ranges = fake_new(sizeof(*segment->ranges));
  segment->ranges->bytes = segment->bytes;
  segment->next = fake_segments;
  fake_segments = segment;
  return segment;
}

fake_segment *fake_segment_new_locked(CUmemoryPool mempool, int device, size_t bytes)
{
  fake_segment wanted = {.mempool = mempool, .device = device, .bytes = bytes, .fd = -1};
  fake_segment *segment;

  if (device >= 0 && bytes > fake_devices[device].bytes - fake_devices[device].taken)
    return NULL;
  segment = reserve_locked(&wanted) ? add_locked(&wanted) : NULL;
  if (segment == NULL) {
    if (mempool == NULL && wanted.fd >= 0)
      close(wanted.fd);
    return NULL;
  }
  if (device >= 0)
    fake_devices[device].taken += bytes;
  return segment;
}

fake_segment *fake_segment_map_locked(CUmemoryPool mempool, uint64_t file_offset, size_t bytes)
{
  return add_locked(&(fake_segment){.mempool = mempool,
                                    .device = -1,
                                    .imported = true,
                                    .bytes = bytes,
                                    .fd = mempool->fd,
                                    .file_offset = file_offset});
}

/* So that the file's memory goes, too. */
static void give_back(const fake_segment *segment)
{
  if (segment->mempool == NULL)
    close(segment->fd);
  else if (!segment->imported)
    (void)madvise(segment->bytes_at, segment->bytes, MADV_REMOVE);
}

void fake_segment_delete_locked(fake_segment *segment)
{
  fake_segment **link = &fake_segments;

  while (*link != segment)
    link = &(*link)->next;
  *link = segment->next;
  if (segment->device >= 0)
    fake_devices[segment->device].taken -= segment->bytes;
  while (segment->ranges != NULL) {
    fake_range *range = segment->ranges;

    segment->ranges = range->next;
    fake_uses_drop(range);
    free(range);
  }
  give_back(segment);
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
  for (fake_segment *known = fake_segments; known != NULL; known = known->next) {
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
  return range->state == next->state && range->state != FAKE_IN_USE &&
         (range->state == FAKE_FREE || range->point.stream == next->point.stream);
}

static void unite_with_next(fake_range *range)
{
  fake_range *next = range->next;

  range->bytes += next->bytes;
  if (range->point.position < next->point.position)
    range->point.position = next->point.position;
  range->next = next->next;
  free(next);
}

void fake_segment_settle_locked(fake_segment *segment)
{
  for (fake_range *range = segment->ranges; range != NULL; range = range->next)
    if (range->state == FAKE_FREED && fake_clock_has(&fake_observed, range->point))
      fake_range_free(range, FAKE_FREE, (fake_point){.stream = NULL});
  for (fake_range *range = segment->ranges; range != NULL; range = range->next)
    while (range->next != NULL && are_alike(range, range->next))
      unite_with_next(range);
}

bool fake_segment_is_free(const fake_segment *segment)
{
  return segment->ranges->state == FAKE_FREE && segment->ranges->next == NULL;
}

/* --- what is left, and what tests ask --- */

static void count_locked(size_t *count, size_t *bytes)
{
  *count = *bytes = 0;
  for (const fake_segment *segment = fake_segments; segment != NULL; segment = segment->next)
    for (const fake_range *range = segment->ranges; range != NULL; range = range->next) {
      *count += range->state == FAKE_IN_USE;
      *bytes += range->asked;
    }
}

void fake_memory_check_locked(void)
{
  size_t count, bytes;

  count_locked(&count, &bytes);
  if (count > 0)
    (void)fake_violation_locked(0, "%zu allocations of %zu bytes were not freed", count, bytes);
}

void fake_segments_reset_locked(void)
{
  while (fake_segments != NULL)
    fake_segment_delete_locked(fake_segments);
  fake_granularity = FIRST_GRANULARITY;
}

size_t fakecuda_live_allocations(void)
{
  size_t count, bytes;

  fake_lock_it();
  count_locked(&count, &bytes);
  fake_unlock_it();
  return count;
}

size_t fakecuda_live_bytes(void)
{
  size_t count, bytes;

  fake_lock_it();
  count_locked(&count, &bytes);
  fake_unlock_it();
  return bytes;
}

void fakecuda_set_granularity(size_t bytes)
{
  fake_lock_it();
  fake_granularity = bytes;
  fake_unlock_it();
}
