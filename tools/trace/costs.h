/* SPDX-License-Identifier: MIT */
/* The times that operations on a device's memory take: clpool bench measures them and writes them
 * to a file, and clpool tune looks them up.
 *
 * A cost file is CSV, which may be gzipped: the header Allocator,Operation,Bytes,Nanoseconds and at
 * least one row, with one figure in each. Lines that begin with # are comments; the first one that
 * begins with "# device: " names the device. Rows may be in any order; each figure comes once.
 * Allocators' names have letters, digits and hyphens. Times are decimal numbers, such as 1250.5. */
#ifndef CLPOOL_TRACE_COSTS_H
#define CLPOOL_TRACE_COSTS_H

#include <clpool/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* The operations, in the order in which clpool bench does them with a block. */
typedef enum trace_cost_operation {
  TRACE_COST_ALLOCATE,    /* an allocation, with its memory if the allocator makes sure of that */
  TRACE_COST_FILL_FRESH,  /* the first write to all of the new memory */
  TRACE_COST_FILL_REUSED, /* a second write */
  TRACE_COST_SUB_BUFFER,  /* a part of a buffer made and released; only if parts are objects */
  TRACE_COST_POOL_PAIR,   /* a warm allocation from a pool and its release */
  TRACE_COST_ARENA_PAIR,  /* a block carved from an arena's segment, and its free */
  TRACE_COST_FREE,        /* the free of the allocation */
  TRACE_COST_OPERATIONS
} trace_cost_operation;

/* Their names in cost files. */
extern const char *const trace_cost_names[TRACE_COST_OPERATIONS];

/* Whether an operation takes the same time for all sizes. */
static inline bool trace_cost_is_pair(trace_cost_operation operation)
{
  return operation >= TRACE_COST_SUB_BUFFER && operation <= TRACE_COST_ARENA_PAIR;
}

enum { TRACE_COST_POINTS = 64, TRACE_COST_TABLES = 8, TRACE_COST_NAME_BYTES = 32 };

/* The times of one operation, by ascending size. */
typedef struct trace_cost_curve {
  size_t count;
  struct {
    size_t bytes;
    double nanoseconds;
  } points[TRACE_COST_POINTS];
} trace_cost_curve;

/* The curves of one allocator. */
typedef struct trace_cost_table {
  char allocator[TRACE_COST_NAME_BYTES]; /* its name in clpool info */
  trace_cost_curve curves[TRACE_COST_OPERATIONS];
} trace_cost_table;

/* Begins as {0}. Large: not for the stack. */
typedef struct trace_costs {
  char device[128]; /* "": unknown */
  size_t count;
  trace_cost_table tables[TRACE_COST_TABLES];
} trace_costs;

/* Sets the device's name, unless there is one. Control characters become question marks. */
void trace_costs_set_device(trace_costs *costs, const char *name);

/* Returns the table of an allocator, by name. NULL: there is none. */
const trace_cost_table *trace_costs_find(const trace_costs *costs, const char *allocator);

/* Adds a figure, and a table for the allocator if there is none yet. False: there is no room, or
 * the figure is there already. */
bool trace_costs_add(trace_costs *costs, const char *allocator, trace_cost_operation operation,
                     size_t bytes, double nanoseconds);

/* Returns the nanoseconds for `bytes`, by linear interpolation. Below the smallest point they are
 * that point's; above the largest they follow the last line, but are at least 0. 0 if the curve has
 * no point, and for 0 bytes. */
double trace_cost_at(const trace_cost_table *table, trace_cost_operation operation, size_t bytes);

/* Reads the cost file at `path`, "-" for standard input. On failure `*costs` is empty.
 * CLP_INVALID_ARGUMENT: the file is not a cost file, or malformed, with file, line and column.
 * CLP_IO_ERROR: it cannot be read. CLP_OUT_OF_HOST_MEMORY. */
clp_status trace_costs_read(const char *path, trace_costs *costs);

/* Writes `costs`, which must not be empty, as a cost file, with 15 digits of each time. Check
 * ferror afterwards. */
void trace_costs_write(const trace_costs *costs, FILE *file);

#endif
