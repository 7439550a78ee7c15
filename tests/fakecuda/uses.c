/* SPDX-License-Identifier: MIT */
/* Who uses which bytes of an allocation, and whether the order of the streams allows it. */
#include "fake.h"

#include <stdlib.h>

void fake_uses_drop(fake_range *range)
{
  while (range->uses != NULL) {
    fake_use *use = range->uses;

    range->uses = use->next;
    free(use);
  }
}

bool fake_uses_precede_locked(const fake_range *range, const fake_clock *clock, const char *what)
{
  for (const fake_use *use = range->uses; use != NULL; use = use->next)
    if (!fake_clock_has(clock, use->point)) {
      (void)fake_violation_locked(0, "%s while another stream may still use the memory", what);
      return false;
    }
  return true;
}

static bool overlap(const fake_use *one, const fake_use *other)
{
  return one->offset < other->offset + other->bytes && other->offset < one->offset + one->bytes;
}

/* Whether all that would conflict with `earlier` conflicts with `later`, too, or comes after it. */
static bool covers(const fake_use *later, const fake_use *earlier)
{
  return later->offset <= earlier->offset &&
         earlier->offset + earlier->bytes <= later->offset + later->bytes &&
         (later->writes || !earlier->writes);
}

/* Notes the use, and forgets those that it makes needless. */
static void add_locked(fake_range *range, const fake_use *added, const fake_clock *clock)
{
  fake_use **link = &range->uses;
  fake_use *copy = fake_new(sizeof(*copy));

  while (*link != NULL) {
    fake_use *use = *link;

    if (covers(added, use) && fake_clock_has(clock, use->point)) {
      *link = use->next;
      free(use);
    } else {
      link = &use->next;
    }
  }
  *copy = *added;
  copy->next = range->uses;
  range->uses = copy;
}

static bool is_allowed_locked(const fake_range *range, const fake_use *wanted,
                              const fake_clock *clock)
{
  if (!fake_clock_has(clock, range->point)) {
    (void)fake_violation_locked(0, "memory is used on a stream that is not ordered after its "
                                   "allocation");
    return false;
  }
  for (const fake_use *use = range->uses; use != NULL; use = use->next)
    if ((use->writes || wanted->writes) && overlap(use, wanted) &&
        !fake_clock_has(clock, use->point)) {
      (void)fake_violation_locked(0, "two streams use the same memory without order");
      return false;
    }
  return true;
}

static bool has_access_locked(const fake_segment *segment, CUdevice device)
{
  if (segment->mempool != NULL)
    return fake_mempool_allows(segment->mempool, device);
  return fake_can_access_locked(device, segment->device);
}

unsigned char *fake_use_locked(CUstream stream, CUdeviceptr pointer, size_t bytes, bool writes)
{
  fake_segment *segment;
  fake_range *range;
  fake_use use = {.bytes = bytes, .writes = writes, .point = {stream, stream->given + 1}};
  size_t offset;

  if (!fake_find_locked(pointer, &segment, &range)) {
    (void)fake_violation_locked(0, "a stream uses what is no device memory");
    return NULL;
  }
  offset = pointer - (uintptr_t)segment->device_address;
  use.offset = offset - range->offset;
  if (range->state != FAKE_IN_USE) {
    (void)fake_violation_locked(0, "a stream uses memory that is free");
    return NULL;
  }
  if (bytes > range->asked || use.offset > range->asked - bytes) {
    (void)fake_violation_locked(0, "a stream uses memory past the end of its allocation");
    return NULL;
  }
  if (!has_access_locked(segment, stream->ctx->device)) {
    (void)fake_violation_locked(0, "device %d has no access to the memory", stream->ctx->device);
    return NULL;
  }
  if (!is_allowed_locked(range, &use, &stream->clock))
    return NULL;
  add_locked(range, &use, &stream->clock);
  return segment->bytes_at + offset;
}
