/* SPDX-License-Identifier: MIT */
/* What streams may still do with a range. A set never changes, and is shared by the ranges that one
 * was cut into. NULL is the empty set. All is guarded by the arena's lock. */
#ifndef CLPOOL_ARENA_USE_SET_H
#define CLPOOL_ARENA_USE_SET_H

#include "core/streams/use.h"

typedef struct clpi_use_set {
  unsigned references;
  size_t count;
  clpi_use uses[];
} clpi_use_set;

/* A set of one use; NULL: no host memory. Needs no lock. */
clpi_use_set *clpi_use_set_create(clpi_use use);

clpi_use_set *clpi_use_set_retain(clpi_use_set *set);
void clpi_use_set_release(clpi_use_set *set);

/* Makes `*set` one that has the uses of `other` as well, but for those that are done, and takes
 * over the reference to `other`. False: no host memory, and nothing has changed. */
bool clpi_use_set_join(clpi_use_set **set, clpi_use_set *other);

/* Whether all uses are done, or come before what `by` is given from now on; `by` may be NULL. */
bool clpi_use_set_is_settled(const clpi_use_set *set, const clpi_stream *by);

#endif
