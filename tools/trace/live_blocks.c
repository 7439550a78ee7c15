/* SPDX-License-Identifier: MIT */
/* A tree of live blocks by pointer, and a stack of the slot numbers that are free again. */
#include "trace/live_blocks.h"

#include "trace/error.h"

#include <inttypes.h>
#include <search.h>
#include <stdlib.h>

enum { FIRST_CAPACITY = 256 };

typedef struct live_block {
  uint64_t pointer; /* the key, with `nth`: */
  uint64_t nth;     /* 0 but for null pointers, of which several may be live: how many before it */
  uint64_t size;
  uint64_t line; /* of its allocation */
  size_t slot;
} live_block;

static int compare_blocks(const void *left, const void *right)
{
  const live_block *a = left, *b = right;
  if (a->pointer != b->pointer)
    return a->pointer < b->pointer ? -1 : 1;
  return (a->nth > b->nth) - (a->nth < b->nth);
}

void trace_live_blocks_init(trace_live_blocks *live)
{
  *live = (trace_live_blocks){0};
}

void trace_live_blocks_end(trace_live_blocks *live)
{
  tdestroy(live->tree, free);
  free(live->spare);
  trace_live_blocks_init(live);
}

static clp_status no_host_memory(const trace_live_blocks *live, const trace_reader *reader,
                                 const trace_event *event)
{
  return trace_error(CLP_OUT_OF_HOST_MEMORY, 0,
                     "%s:%" PRIu64 ": no host memory to follow more than %zu live blocks",
                     trace_name(reader), event->line, live->slots - live->spare_count);
}

/* Makes room for one more number, so that giving one back cannot fail. */
static bool reserve_slot(trace_live_blocks *live)
{
  if (live->spare_count > 0 || live->slots < live->capacity)
    return true;
  size_t capacity = live->capacity ? 2 * live->capacity : FIRST_CAPACITY;
  size_t *spare = reallocarray(live->spare, capacity, sizeof(*spare));
  if (!spare)
    return false;
  live->spare = spare;
  live->capacity = capacity;
  return true;
}

static size_t take_slot(trace_live_blocks *live)
{
  return live->spare_count > 0 ? live->spare[--live->spare_count] : live->slots++;
}

clp_status trace_live_blocks_add(trace_live_blocks *live, const trace_reader *reader,
                                 const trace_event *event, size_t *slot)
{
  live_block *block = malloc(sizeof(*block));
  if (!block || !reserve_slot(live))
    goto no_memory;
  *block = (live_block){.pointer = event->pointer,
                        .nth = event->pointer ? 0 : live->live_nulls,
                        .size = event->size,
                        .line = event->line};
  live_block **node = tsearch(block, &live->tree, compare_blocks);
  if (!node)
    goto no_memory;
  if (*node != block) {
    free(block);
    return trace_reject(reader, event->line, event->columns[TRACE_POINTER],
                        "expected a pointer that is not live, found 0x%" PRIx64
                        ", allocated in line %" PRIu64 " and not freed since",
                        event->pointer, (*node)->line);
  }
  live->live_nulls += event->pointer == 0;
  *slot = block->slot = take_slot(live);
  return CLP_SUCCESS;

no_memory:
  free(block);
  return no_host_memory(live, reader, event);
}

/* Without live nulls, nth becomes UINT64_MAX, which none has. */
static live_block key_of(const trace_live_blocks *live, const trace_event *event)
{
  return (live_block){.pointer = event->pointer, .nth = event->pointer ? 0 : live->live_nulls - 1};
}

bool trace_live_blocks_has(const trace_live_blocks *live, const trace_event *event)
{
  live_block key = key_of(live, event);
  return tfind(&key, &live->tree, compare_blocks) != NULL;
}

clp_status trace_live_blocks_remove(trace_live_blocks *live, const trace_reader *reader,
                                    const trace_event *event, size_t *slot)
{
  live_block key = key_of(live, event);
  live_block **node = tfind(&key, &live->tree, compare_blocks);
  if (!node)
    return trace_reject(reader, event->line, event->columns[TRACE_POINTER],
                        "expected a pointer that is live, found 0x%" PRIx64
                        " (--lenient leaves such frees out)",
                        event->pointer);
  live_block *block = *node;
  if (block->size != event->size)
    return trace_reject(reader, event->line, event->columns[TRACE_SIZE],
                        "expected the size %" PRIu64 " that line %" PRIu64
                        " allocated, found %" PRIu64,
                        block->size, block->line, event->size);
  tdelete(&key, &live->tree, compare_blocks);
  live->live_nulls -= event->pointer == 0;
  *slot = block->slot;
  live->spare[live->spare_count++] = block->slot;
  free(block);
  return CLP_SUCCESS;
}
