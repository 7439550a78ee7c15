/* SPDX-License-Identifier: MIT */
/* Costs by allocator, operation and size: kept in order, and looked up between the points. */
#include "trace/costs.h"

#include <string.h>

static const char *const operation_names[TRACE_COST_OPERATIONS] = {
    [TRACE_COST_ALLOCATE] = "allocate",       [TRACE_COST_FREE] = "free",
    [TRACE_COST_SUB_BUFFER] = "sub-buffer",   [TRACE_COST_FILL_FRESH] = "fill-fresh",
    [TRACE_COST_FILL_REUSED] = "fill-reused", [TRACE_COST_POOL_PAIR] = "pool-pair",
    [TRACE_COST_ARENA_PAIR] = "arena-pair",
};

const char *trace_cost_operation_name(trace_cost_operation operation)
{
  return operation_names[operation];
}

const trace_cost_table *trace_costs_find(const trace_costs *costs, const char *allocator)
{
  for (size_t i = 0; i < costs->count; i++)
    if (strcmp(costs->tables[i].allocator, allocator) == 0)
      return &costs->tables[i];
  return NULL;
}

/* A table for an allocator that has none; NULL: there is no room for it. */
static trace_cost_table *make_table(trace_costs *costs, const char *allocator)
{
  size_t length = strlen(allocator);
  if (costs->count == TRACE_COST_TABLES || length >= sizeof(costs->tables[0].allocator))
    return NULL;
  trace_cost_table *table = &costs->tables[costs->count++];
  *table = (trace_cost_table){0};
  memcpy(table->allocator, allocator, length);
  return table;
}

/* The number of points of smaller sizes. */
static size_t points_below(const trace_cost_curve *curve, size_t bytes)
{
  size_t first = 0, end = curve->count;
  while (first < end) {
    size_t middle = first + (end - first) / 2;
    if (curve->points[middle].bytes < bytes)
      first = middle + 1;
    else
      end = middle;
  }
  return first;
}

bool trace_costs_add(trace_costs *costs, const char *allocator, trace_cost_operation operation,
                     size_t bytes, double nanoseconds)
{
  trace_cost_table *table = (trace_cost_table *)trace_costs_find(costs, allocator);
  if (!table)
    table = make_table(costs, allocator);
  if (!table)
    return false;
  trace_cost_curve *curve = &table->curves[operation];
  size_t at = points_below(curve, bytes);
  bool is_there = at < curve->count && curve->points[at].bytes == bytes;
  if (is_there || curve->count == TRACE_COST_POINTS)
    return false;
  memmove(&curve->points[at + 1], &curve->points[at],
          (curve->count - at) * sizeof(curve->points[0]));
  curve->points[at].bytes = bytes;
  curve->points[at].nanoseconds = nanoseconds;
  curve->count++;
  return true;
}

double trace_cost_at(const trace_cost_table *table, trace_cost_operation operation, size_t bytes)
{
  const trace_cost_curve *curve = &table->curves[operation];
  if (curve->count == 0 || bytes == 0)
    return 0.0;
  if (curve->count == 1 || bytes <= curve->points[0].bytes)
    return curve->points[0].nanoseconds;
  size_t above = points_below(curve, bytes);
  if (above == curve->count)
    above--;
  size_t begin = curve->points[above - 1].bytes, end = curve->points[above].bytes;
  double begin_cost = curve->points[above - 1].nanoseconds;
  double end_cost = curve->points[above].nanoseconds;
  double part = (double)(bytes - begin) / (double)(end - begin);
  double cost = begin_cost * (1.0 - part) + end_cost * part; /* a point's own cost, at a point */
  return cost > 0.0 ? cost : 0.0;
}
