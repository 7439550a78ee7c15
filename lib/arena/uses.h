/* SPDX-License-Identifier: MIT */
/* What streams may still do with a range: at most one use for each stream, and few of them. */
#ifndef CLPOOL_ARENA_USES_H
#define CLPOOL_ARENA_USES_H

#include "core/allocator/allocator.h"
#include "core/streams/use.h"

enum { CLPI_RANGE_USES = CLPI_MOST_FREE_STREAMS };

typedef struct clpi_range_uses {
  uint32_t count;
  clpi_use all[CLPI_RANGE_USES];
} clpi_range_uses;

/* Whether all of them come before what the stream, which is in order, gets from now on. Needs no
 * lock of the streams. */
static inline bool clpi_uses_are_own(const clpi_range_uses *uses, const clpi_stream *by)
{
  return !uses->count || (uses->count == 1 && uses->all[0].stream == by && by->is_in_order);
}

/* Adds one; false: there is no room, and nothing has changed. */
static inline bool clpi_uses_add(clpi_range_uses *uses, clpi_use use)
{
  uint32_t i = 0;
  while (i < uses->count && uses->all[i].stream != use.stream)
    i++;
  if (i == CLPI_RANGE_USES)
    return false;
  if (i == uses->count)
    uses->all[uses->count++] = use;
  else if (uses->all[i].epoch < use.epoch)
    uses->all[i].epoch = use.epoch;
  return true;
}

/* Adds all of the others; false: there is no room, and nothing has changed. */
static inline bool clpi_uses_join(clpi_range_uses *uses, const clpi_range_uses *others)
{
  clpi_range_uses joined = *uses;
  for (uint32_t i = 0; i < others->count; i++)
    if (!clpi_uses_add(&joined, others->all[i]))
      return false;
  *uses = joined;
  return true;
}

/* Whether all are settled for `by` (clpi_use_is_settled_locked), which may be NULL. */
static inline bool clpi_uses_are_settled_locked(const clpi_range_uses *uses, const clpi_stream *by)
{
  for (uint32_t i = 0; i < uses->count; i++)
    if (!clpi_use_is_settled_locked(&uses->all[i], by))
      return false;
  return true;
}

/* Drops those that are done. */
static inline void clpi_uses_drop_done_locked(clpi_range_uses *uses)
{
  uint32_t count = 0;
  for (uint32_t i = 0; i < uses->count; i++)
    if (!clpi_use_is_settled_locked(&uses->all[i], NULL))
      uses->all[count++] = uses->all[i];
  uses->count = count;
}

#endif
