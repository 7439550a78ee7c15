/* SPDX-License-Identifier: MIT */
/* What a device's memory costs, in time: measured by clpool bench, kept in a file, and looked up by
 * clpool tune.
 *
 * A cost file is CSV, which may be gzipped: the header Allocator,Operation,Bytes,Nanoseconds and a
 * row for each figure, one at least. Lines that begin with # are remarks, wherever they stand; the
 * first that begins "# device: " names the device. Rows may come in any order, but no figure twice.
 * Allocators are told by letters, digits and hyphens, times by decimal numbers, such as 1250.5. */
#ifndef CLPOOL_TRACE_COSTS_H
#define CLPOOL_TRACE_COSTS_H

#include <clpool/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* In the order in which clpool bench does them to a block. */
typedef enum trace_cost_operation {
  TRACE_COST_ALLOCATE,    /* of memory that exists, as far as the allocator sees to that */
  TRACE_COST_FILL_FRESH,  /* memory just allocated is written to for the first time */
  TRACE_COST_FILL_REUSED, /* and again */
  TRACE_COST_SUB_BUFFER,  /* a part of a buffer made and released; only where parts are objects */
  TRACE_COST_POOL_PAIR,   /* a warm allocation from a pool and its release */
  TRACE_COST_ARENA_PAIR,  /* a block carved from an arena's segment, and its free */
  TRACE_COST_FREE,        /* of what was allocated */
  TRACE_COST_OPERATIONS
} trace_cost_operation;

/* As cost files have them. */
extern const char *const trace_cost_names[TRACE_COST_OPERATIONS];

/* Whether an operation takes as long for any size. */
static inline bool trace_cost_is_pair(trace_cost_operation operation)
{
  return operation >= TRACE_COST_SUB_BUFFER && operation <= TRACE_COST_ARENA_PAIR;
}

enum { TRACE_COST_POINTS = 64, TRACE_COST_TABLES = 8, TRACE_COST_NAME_BYTES = 32 };

/* One operation's times by size, ascending. */
typedef struct trace_cost_curve {
  size_t count;
  struct {
    size_t bytes;
    double nanoseconds;
  } points[TRACE_COST_POINTS];
} trace_cost_curve;

/* One allocator's. */
typedef struct trace_cost_table {
  char allocator[TRACE_COST_NAME_BYTES]; /* as clpool info names them */
  trace_cost_curve curves[TRACE_COST_OPERATIONS];
} trace_cost_table;

/* Begins as {0}. Large: not for the stack. */
typedef struct trace_costs {
  char device[128]; /* "" where it is unknown */
  size_t count;
  trace_cost_table tables[TRACE_COST_TABLES];
} trace_costs;

/* Sets the device's name, unless there is one. Control characters become question marks. */
void trace_costs_set_device(trace_costs *costs, const char *name);

/* The table of an allocator, by name; NULL: none. */
const trace_cost_table *trace_costs_find(const trace_costs *costs, const char *allocator);

/* Adds a figure, and a table for the allocator where there is none yet. False: there is no room, or
 * the figure is there already. */
bool trace_costs_add(trace_costs *costs, const char *allocator, trace_cost_operation operation,
                     size_t bytes, double nanoseconds);

/* Nanoseconds for `bytes`: on the straight line between the two points around it; as the smallest
 * point below that, on along the last line beyond the largest (never less than 0). 0 where the
 * curve has no point, 0 for no bytes. */
double trace_cost_at(const trace_cost_table *table, trace_cost_operation operation, size_t bytes);

/* Reads the cost file at `path`, "-" for standard input. On failure `*costs` is empty.
 * CLP_INVALID_ARGUMENT: it is none, or malformed, with file, line and column. CLP_IO_ERROR: it
 * cannot be read. CLP_OUT_OF_HOST_MEMORY. */
clp_status trace_costs_read(const char *path, trace_costs *costs);

/* Writes a cost file that reads as `costs`, which are not empty, with 15 digits of each time.
 * Errors are left to ferror. */
void trace_costs_write(const trace_costs *costs, FILE *file);

#endif
