/* SPDX-License-Identifier: MIT */
#include "trace/live_blocks.h"

#include "trace/error.h"

#include <inttypes.h>
#include <stdlib.h>

typedef struct trace_live_block {
  uint64_t size;
  uint64_t line; /* of its allocation */
  size_t next;   /* in its list */
} live_block;

void trace_live_blocks_end(trace_live_blocks *live)
{
  clpi_map_end(&live->by_pointer);
  free(live->blocks);
  *live = (trace_live_blocks){0};
}

static size_t push(trace_live_blocks *live, size_t *list, size_t slot)
{
  live->blocks[slot].next = *list;
  *list = slot + 1;
  return slot;
}

static size_t pop(trace_live_blocks *live, size_t *list)
{
  size_t slot = *list - 1;
  *list = live->blocks[slot].next;
  return slot;
}

/* The slot of a live pointer, plus 1; 0: it is not live. Null pointers, which several blocks of no
 * bytes may have, are found last come, first. */
static size_t find(const trace_live_blocks *live, uint64_t pointer)
{
  const uint64_t *slot = pointer ? clpi_map_find(&live->by_pointer, pointer) : NULL;
  return slot ? (size_t)*slot + 1 : pointer ? 0 : live->nulls;
}

static bool reserve(trace_live_blocks *live, uint64_t pointer)
{
  live_block *blocks = trace_grow(live->blocks, &live->capacity, live->slots + !live->spare,
                                  sizeof(*blocks), "live blocks");
  live->blocks = blocks ? blocks : live->blocks;
  return blocks && (!pointer || clpi_map_reserve(&live->by_pointer));
}

clp_status trace_live_blocks_add(trace_live_blocks *live, const trace_reader *reader,
                                 const trace_event *event, size_t *slot)
{
  size_t found = event->pointer ? find(live, event->pointer) : 0;
  if (found)
    return trace_error_at(reader->lines.name, event->line, event->columns[TRACE_POINTER],
                          "expected a pointer that is not live, found 0x%" PRIx64
                          ", allocated in line %" PRIu64 " and not freed since",
                          event->pointer, live->blocks[found - 1].line);
  if (!reserve(live, event->pointer))
    return trace_error(CLP_OUT_OF_HOST_MEMORY, 0,
                       "%s:%" PRIu64 ": no host memory to follow more than %zu live blocks",
                       reader->lines.name, event->line, live->slots);
  *slot = live->spare ? pop(live, &live->spare) : live->slots++;
  live->blocks[*slot] = (live_block){.size = event->size, .line = event->line};
  if (event->pointer)
    clpi_map_put(&live->by_pointer, event->pointer, *slot);
  else
    push(live, &live->nulls, *slot);
  return CLP_SUCCESS;
}

bool trace_live_blocks_has(const trace_live_blocks *live, const trace_event *event)
{
  return find(live, event->pointer) != 0;
}

clp_status trace_live_blocks_remove(trace_live_blocks *live, const trace_reader *reader,
                                    const trace_event *event, size_t *slot)
{
  size_t found = find(live, event->pointer);
  uint64_t taken;
  if (!found)
    return trace_error_at(reader->lines.name, event->line, event->columns[TRACE_POINTER],
                          "expected a pointer that is live, found 0x%" PRIx64
                          " (--lenient skips such frees)",
                          event->pointer);
  const live_block *block = &live->blocks[found - 1];
  if (block->size != event->size)
    return trace_error_at(reader->lines.name, event->line, event->columns[TRACE_SIZE],
                          "expected the size %" PRIu64 " that line %" PRIu64
                          " allocated, found %" PRIu64,
                          block->size, block->line, event->size);
  if (event->pointer)
    clpi_map_take(&live->by_pointer, event->pointer, &taken);
  else
    pop(live, &live->nulls);
  *slot = push(live, &live->spare, found - 1);
  return CLP_SUCCESS;
}
