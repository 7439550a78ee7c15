/* SPDX-License-Identifier: MIT */
/* Sets of uses, with one use for each stream. */
#include "arena/use_set.h"

#include <stdlib.h>

static clpi_use_set *create(size_t capacity)
{
  clpi_use_set *set = malloc(sizeof(*set) + capacity * sizeof(set->uses[0]));
  if (set)
    *set = (clpi_use_set){.references = 1};
  return set;
}

clpi_use_set *clpi_use_set_create(clpi_use use)
{
  clpi_use_set *set = create(1);
  if (set)
    set->uses[set->count++] = use;
  return set;
}

void clpi_use_set_release(clpi_use_set *set)
{
  if (set && --set->references == 0)
    free(set);
}

/* Whether the one use of `set` is of the same stream as that of `other`, and no earlier. */
static bool covers(const clpi_use_set *set, const clpi_use_set *other)
{
  return set->count == 1 && other->count == 1 && set->uses[0].stream == other->uses[0].stream &&
         set->uses[0].epoch >= other->uses[0].epoch;
}

/* Adds a use, or raises that of the same stream. There is room. */
static void add(clpi_use_set *set, const clpi_use *use)
{
  size_t i = 0;
  while (i < set->count && set->uses[i].stream != use->stream)
    i++;
  if (i == set->count)
    set->uses[set->count++] = *use;
  else if (set->uses[i].epoch < use->epoch)
    set->uses[i].epoch = use->epoch;
}

static void add_all(clpi_use_set *set, const clpi_use_set *from)
{
  for (size_t i = 0; i < from->count; i++)
    if (!clpi_use_is_settled_locked(&from->uses[i], NULL))
      add(set, &from->uses[i]);
}

bool clpi_use_set_join(clpi_use_set **set, clpi_use_set *other)
{
  if (*set == other || clpi_use_set_is_settled(other, NULL) || (*set && covers(*set, other))) {
    clpi_use_set_release(other);
    return true;
  }
  if (clpi_use_set_is_settled(*set, NULL) || covers(other, *set)) {
    clpi_use_set_release(*set);
    *set = other;
    return true;
  }
  clpi_use_set *joined = create((*set)->count + other->count);
  if (!joined)
    return false;
  add_all(joined, *set);
  add_all(joined, other);
  clpi_use_set_release(*set);
  clpi_use_set_release(other);
  *set = joined;
  return true;
}

bool clpi_use_set_is_settled(const clpi_use_set *set, const clpi_stream *by)
{
  for (size_t i = 0; set && i < set->count; i++)
    if (!clpi_use_is_settled_locked(&set->uses[i], by))
      return false;
  return true;
}
