/* SPDX-License-Identifier: MIT */
/* Parts of segments. */
#include "arena/segments.h"

#include <stdlib.h>

void clpi_parts_append(clpi_part_list *parts, const clpi_part_list *behind)
{
  if (!behind->first)
    return;
  *(parts->first ? &parts->last->next : &parts->first) = behind->first;
  parts->last = behind->last;
}

clpi_part_list clpi_parts_split(clpi_part_list *parts, size_t offset)
{
  clpi_part *before = NULL, *part = parts->first;
  for (; part && part->offset < offset; part = part->next)
    before = part;
  clpi_part_list rest = {part, parts->last};
  *(before ? &before->next : &parts->first) = NULL;
  parts->last = before;
  return rest;
}

clp_status clpi_parts_drop(const clp_allocator *upstream, clpi_part_list *parts)
{
  for (clpi_part *part; (part = parts->first);) {
    clp_status status = clpi_allocator_call(upstream, "merging the parts of a segment", unsplit,
                                            part->memory, part->bytes);
    if (status)
      return status;
    parts->first = part->next;
    free(part);
  }
  return CLP_SUCCESS;
}

clp_status clpi_parts_make(const clp_allocator *upstream, clp_memory segment, size_t offset,
                           size_t bytes, clpi_part_list *parts)
{
  const clpi_part *found = parts->first;
  if (found && !found->next && found->offset == offset && found->bytes == bytes)
    return CLP_SUCCESS;
  clp_status status = clpi_parts_drop(upstream, parts);
  if (status)
    return status;
  clpi_part *made = malloc(sizeof(*made));
  if (!made)
    return clpi_error(CLP_OUT_OF_HOST_MEMORY, 0, "no host memory for a part of a segment");
  *made = (clpi_part){.offset = offset, .bytes = bytes};
  status = clpi_allocator_call(upstream, "splitting a segment", split, segment, offset, bytes,
                               &made->memory);
  if (status)
    free(made);
  else
    *parts = (clpi_part_list){made, made};
  return status;
}
