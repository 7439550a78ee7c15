/* SPDX-License-Identifier: MIT */
#include "arena/parts.h"

#include <stdlib.h>

void clpi_segment_parts_init(clpi_segment_parts *own)
{
  clpi_list_init(&own->list);
  own->count = 0;
}

void clpi_parts_end(clpi_parts *parts)
{
  clpi_map_end(&parts->by_place);
}

/* Parts of one key are a chain, of one part but by a rare chance. Each part has an entry of the
 * map, or a reservation of one, so that only creating one can fail. */
static uint64_t key_of(uint64_t position, size_t bytes)
{
  uint64_t key = position * UINT64_C(0x9e3779b97f4a7c15) ^ bytes;
  return key ? key : 1;
}

clpi_part *clpi_part_create(clpi_parts *parts, uint64_t position, size_t bytes)
{
  clpi_part *part = malloc(sizeof(*part));
  if (!part || !clpi_map_reserve(&parts->by_place)) {
    free(part);
    return NULL;
  }
  *part = (clpi_part){.position = position, .bytes = bytes};
  return part;
}

void clpi_part_destroy(clpi_parts *parts, clpi_part *part)
{
  if (!part)
    return;
  clpi_map_unreserve(&parts->by_place);
  free(part);
}

void clpi_parts_keep(clpi_parts *parts, clpi_segment_parts *own, clpi_part *part)
{
  uint64_t key = key_of(part->position, part->bytes);
  uint64_t *first = clpi_map_find(&parts->by_place, key);
  clpi_list_push_back(&own->list, &part->on_segment);
  own->count++;
  part->next = first ? (clpi_part *)(uintptr_t)*first : NULL;
  if (first)
    *first = (uintptr_t)part;
  else
    clpi_map_put(&parts->by_place, key, (uintptr_t)part);
}

/* Takes the part that the link of a chain leads to. `first` is the entry of the chain. */
static clpi_part *take(clpi_parts *parts, uint64_t *first, clpi_part **link)
{
  clpi_part *part = *link, *head = (clpi_part *)(uintptr_t)*first;
  clpi_list_remove(&part->on_segment);
  if (part != head) {
    *link = part->next;
  } else if (part->next) {
    *first = (uintptr_t)part->next;
  } else {
    uint64_t taken;
    clpi_map_take(&parts->by_place, key_of(part->position, part->bytes), &taken);
    (void)clpi_map_reserve(&parts->by_place);
  }
  return part;
}

clpi_part *clpi_parts_take(clpi_parts *parts, clpi_segment_parts *own, uint64_t position,
                           size_t bytes)
{
  uint64_t *first = clpi_map_find(&parts->by_place, key_of(position, bytes));
  clpi_part *head = first ? (clpi_part *)(uintptr_t)*first : NULL;
  for (clpi_part **link = &head; *link; link = &(*link)->next)
    if ((*link)->position == position && (*link)->bytes == bytes) {
      own->count--;
      return take(parts, first, link);
    }
  return NULL;
}

clpi_part *clpi_parts_take_oldest(clpi_parts *parts, clpi_segment_parts *own, size_t most)
{
  if (own->count <= most)
    return NULL;
  const clpi_part *part = clpi_list_entry(own->list.next, clpi_part, on_segment);
  return clpi_parts_take(parts, own, part->position, part->bytes);
}
