/* SPDX-License-Identifier: MIT */
/* Placing items. */
#include "arena/loop.h"

#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

static int compare(const void *a, const void *b)
{
  const clpi_item *one = *(clpi_item *const *)a, *other = *(clpi_item *const *)b;
  if (one->bytes != other->bytes)
    return one->bytes > other->bytes ? -1 : 1;
  return one->begin < other->begin ? -1 : 1;
}

size_t clpi_plan_place(clpi_item *items, size_t count, size_t most, clpi_item **order,
                       clpi_item **placed, size_t *work)
{
  size_t top = 0;
  for (size_t i = 0; i < count; i++)
    order[i] = &items[i];
  qsort((void *)order, count, sizeof(*order), compare);
  for (size_t i = 0; i < count; i++) {
    clpi_item *item = order[i];
    size_t offset = 0, at = 0; /* where it fits, and its place among those that are placed */
    for (size_t j = 0; j < i; j++) {
      const clpi_item *other = placed[j];
      bool is_meanwhile = other->begin < item->end && other->end > item->begin;
      if (is_meanwhile && other->offset >= offset + item->bytes)
        break;
      if (is_meanwhile)
        offset = MAX(offset, other->offset + other->bytes);
    }
    *work += i;
    while (at < i && placed[at]->offset < offset)
      at++;
    memmove((void *)&placed[at + 1], (void *)&placed[at], (i - at) * sizeof(*placed));
    placed[at] = item;
    item->offset = offset;
    top = MAX(top, offset + item->bytes);
    if (top > most)
      return 0;
  }
  return top;
}

void clpi_plan_end(clpi_plan *plan)
{
  free(plan->steps);
  free(plan->order);
  free(plan->live);
  *plan = (clpi_plan){0};
}
