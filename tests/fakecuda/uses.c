/* SPDX-License-Identifier: MIT */
/* Who uses which bytes of an allocation, and whether the order of the streams allows it. */
#include "fake.h"

#include <stdlib.h>

void fake_uses_drop(fake_range *range)
{
  while (range->uses) {
    fake_use *use = range->uses;
    range->uses = use->next;
    free(use);
  }
}

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
  while (*link) {
    fake_use *use = *link;
    if (covers(added, use) && fake_clock_has(clock, use->point)) {
      *link = use->next;
      free(use);
    } else {
      link = &use->next;
    }
  }
  fake_use *copy = fake_new(sizeof(*copy));
  *copy = *added;
  copy->next = range->uses;
  range->uses = copy;
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
  add_locked(range, &use, &stream->clock);
  *at = segment->bytes_at + range->offset + use.offset;
  return CLPI_CUDA_SUCCESS;
}
