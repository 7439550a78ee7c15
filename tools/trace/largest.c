/* SPDX-License-Identifier: MIT */
/* A short list in order. What falls off its end can never come back, for the larger ones stay: so
 * the counts of those that are in it at last are whole. */
#include "trace/largest.h"

#include <string.h>
#include <sys/param.h>

static bool is_same(const trace_large_kind *one, const trace_large_kind *other)
{
  return one->bytes == other->bytes && one->thread == other->thread &&
         one->stream == other->stream && one->stack == other->stack && one->memory == other->memory;
}

static trace_large_group *find(trace_largest *largest, const trace_large_kind *kind)
{
  for (size_t i = 0; i < largest->count; i++)
    if (is_same(&largest->groups[i].kind, kind))
      return &largest->groups[i];
  return NULL;
}

/* A place for a group of this size, behind all that are as large; NULL if that is off the end. */
static trace_large_group *make_place(trace_largest *largest, size_t bytes)
{
  size_t place = largest->count;
  while (place > 0 && largest->groups[place - 1].kind.bytes < bytes)
    place--;
  if (place == TRACE_LARGEST_GROUPS)
    return NULL;
  if (largest->count < TRACE_LARGEST_GROUPS)
    largest->count++;
  trace_large_group *group = &largest->groups[place];
  memmove(group + 1, group, (largest->count - 1 - place) * sizeof(*group));
  return group;
}

void trace_largest_add(trace_largest *largest, const trace_large_kind *kind, size_t block_bytes,
                       trace_moment when)
{
  trace_large_group *group = find(largest, kind);
  if (!group) {
    group = make_place(largest, kind->bytes);
    if (!group)
      return;
    *group = (trace_large_group){.kind = *kind, .block_bytes = block_bytes, .first = when};
  }
  group->times++;
}

void trace_largest_end(trace_largest *largest, const trace_large_kind *kind, trace_moment from,
                       trace_moment to, bool is_freed)
{
  trace_large_group *group = find(largest, kind);
  if (!group)
    return;
  group->most_rows = MAX(group->most_rows, to.row - from.row);
  group->most_nanoseconds = MAX(group->most_nanoseconds, to.nanoseconds - from.nanoseconds);
  group->kept += !is_freed;
}
