/* SPDX-License-Identifier: MIT */
/* What streams may still do with a range. A set never changes, so the parts of a range that was cut
 * share it. NULL is the empty set. All is guarded by the arena's lock. */
#ifndef CLPOOL_ARENA_USE_SET_H
#define CLPOOL_ARENA_USE_SET_H

#include "core/streams/use.h"

typedef struct clpi_use_set {
  unsigned references; /* one for each range that has it */
  size_t count;
  clpi_use uses[];
} clpi_use_set;

/* A set of one use; NULL: no host memory. Needs no lock. */
clpi_use_set *clpi_use_set_create(clpi_use use);

/* Drops a reference; NULL does nothing. */
void clpi_use_set_release(clpi_use_set *set);

/* Replaces `*set` by the union with `other`, without uses that are done. Takes over the reference
 * to `other`. False: no host memory, and nothing has changed. */
bool clpi_use_set_join(clpi_use_set **set, clpi_use_set *other);

/* Whether all uses are settled for `by` (clpi_use_is_settled_locked), which may be NULL. */
bool clpi_use_set_is_settled(const clpi_use_set *set, const clpi_stream *by);

#endif
