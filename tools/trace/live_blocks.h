/* SPDX-License-Identifier: MIT */
/* The live blocks of a trace: maps recorded pointers to small, dense slot numbers. */
#ifndef CLPOOL_TRACE_LIVE_BLOCKS_H
#define CLPOOL_TRACE_LIVE_BLOCKS_H

#include "core/base/map.h"
#include "trace/event.h"
#include "trace/reader.h"

#include <clpool/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Begins as {0}. Lists of slots are linked by their numbers plus 1; 0 ends them. */
typedef struct trace_live_blocks {
  clpi_map by_pointer;             /* the slots of live blocks, except null pointers */
  struct trace_live_block *blocks; /* by slot */
  size_t slots;                    /* all numbers so far are below */
  size_t capacity;                 /* of `blocks` */
  size_t spare, nulls;             /* lists: slots to use again, and live null pointers */
} trace_live_blocks;

void trace_live_blocks_end(trace_live_blocks *live);

/* Adds the block of an allocate row and gives it a slot number that no other live block has. There
 * are never more numbers than blocks were live at once.
 * CLP_INVALID_ARGUMENT: its pointer is live already; the message has its place in the trace.
 * CLP_OUT_OF_HOST_MEMORY. */
clp_status trace_live_blocks_add(trace_live_blocks *live, const trace_reader *reader,
                                 const trace_event *event, size_t *slot);

/* Whether the pointer of a free row is live. */
bool trace_live_blocks_has(const trace_live_blocks *live, const trace_event *event);

/* Removes the block of a free row and gives the slot number that it had.
 * CLP_INVALID_ARGUMENT: its pointer is not live, or was allocated with another size. */
clp_status trace_live_blocks_remove(trace_live_blocks *live, const trace_reader *reader,
                                    const trace_event *event, size_t *slot);

#endif
