/* SPDX-License-Identifier: MIT */
/* Costs by allocator, operation and size: kept in order, looked up between the points, read from
 * cost files and written to them. */
#include "trace/costs.h"

#include "trace/error.h"
#include "trace/event.h"
#include "trace/lines.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEADER "Allocator,Operation,Bytes,Nanoseconds"
#define DEVICE "# device: "

const char *const trace_cost_names[TRACE_COST_OPERATIONS] = {
    "allocate", "fill-fresh", "fill-reused", "sub-buffer", "pool-pair", "arena-pair", "free"};

void trace_costs_set_device(trace_costs *costs, const char *name)
{
  if (*costs->device)
    return;
  snprintf(costs->device, sizeof(costs->device), "%s", name);
  for (char *byte = costs->device; *byte; byte++)
    if (iscntrl((unsigned char)*byte))
      *byte = '?';
}

const trace_cost_table *trace_costs_find(const trace_costs *costs, const char *allocator)
{
  for (size_t i = 0; i < costs->count; i++)
    if (strcmp(costs->tables[i].allocator, allocator) == 0)
      return &costs->tables[i];
  return NULL;
}

/* The number of points of smaller sizes. */
static size_t points_below(const trace_cost_curve *curve, size_t bytes)
{
  size_t count = 0;
  while (count < curve->count && curve->points[count].bytes < bytes)
    count++;
  return count;
}

bool trace_costs_add(trace_costs *costs, const char *allocator, trace_cost_operation operation,
                     size_t bytes, double nanoseconds)
{
  trace_cost_table *table = (trace_cost_table *)trace_costs_find(costs, allocator);
  if (!table) {
    if (costs->count == TRACE_COST_TABLES || strlen(allocator) >= TRACE_COST_NAME_BYTES)
      return false;
    table = &costs->tables[costs->count++];
    *table = (trace_cost_table){0};
    strcpy(table->allocator, allocator);
  }
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

/* --- Cost files --- */

/* The text has digits, points, signs and e alone. */
static bool parse_nanoseconds(const char *text, double *nanoseconds)
{
  static const double most = 1e18; /* sums of products with any sizes are finite */
  char *end;
  *nanoseconds = strtod(text, &end);
  return isdigit((unsigned char)*text) && *end == '\0' && *nanoseconds <= most;
}

static clp_status read_row(const trace_lines *line, trace_costs *costs)
{
  enum { ALLOCATOR, OPERATION, BYTES, NANOSECONDS, FIELDS };
  static const char *const expected[FIELDS] = {
      "an allocator's name, at most 31 letters, digits and hyphens, and a comma",
      "allocate, free, sub-buffer, fill-fresh, fill-reused, pool-pair or arena-pair, and a comma",
      "a size in bytes, a decimal number from 1 to 18446744073709551615, and a comma",
      "a time in nanoseconds, a decimal number such as 1250.5, at most 1e18"};
  char texts[FIELDS][64];
  trace_cost_operation operation = TRACE_COST_OPERATIONS;
  uint64_t bytes = 0;
  double nanoseconds = 0.0;
  int at[FIELDS + 1] = {0}; /* where each field begins; 0 behind one that is malformed */
  int good = FIELDS;        /* how many fields are well-formed */
  (void)sscanf(line->text, "%31[A-Za-z0-9-],%n%63[a-z-],%n%63[0-9],%n%63[0-9.eE+-]%n",
               texts[ALLOCATOR], &at[OPERATION], texts[OPERATION], &at[BYTES], texts[BYTES],
               &at[NANOSECONDS], texts[NANOSECONDS], &at[FIELDS]);
  while (good > 0 && at[good] == 0)
    good--;
  if (good > OPERATION)
    operation = trace_find_name(texts[OPERATION], trace_cost_names, TRACE_COST_OPERATIONS);
  if (good > OPERATION && operation == TRACE_COST_OPERATIONS)
    good = OPERATION;
  if (good > BYTES &&
      (!trace_read_number(texts[BYTES], strlen(texts[BYTES]), 10, &bytes) || bytes - 1 >= SIZE_MAX))
    good = BYTES;
  if (good > NANOSECONDS &&
      (line->text[at[FIELDS]] || !parse_nanoseconds(texts[NANOSECONDS], &nanoseconds)))
    good = NANOSECONDS;
  size_t begin = (size_t)at[good];
  if (good < FIELDS)
    return trace_error_at(line->name, line->number, begin + 1, "expected %s, found %s",
                          expected[good],
                          trace_show_found(line->text + begin, line->length - begin, false).text);
  if (trace_costs_add(costs, texts[ALLOCATOR], operation, (size_t)bytes, nanoseconds))
    return CLP_SUCCESS;
  return trace_error_at(line->name, line->number, 1,
                        "expected each figure once, and at most %d allocators and %d sizes, found "
                        "one more",
                        TRACE_COST_TABLES, TRACE_COST_POINTS);
}

static clp_status read_line(const trace_lines *line, bool *began, trace_costs *costs)
{
  if (line->cut)
    return trace_error_at(line->name, line->number, line->length + 1,
                          "expected a line of at most %d bytes without null bytes", TRACE_LINE_MAX);
  if (line->text[0] == '#') {
    if (strncmp(line->text, DEVICE, strlen(DEVICE)) == 0)
      trace_costs_set_device(costs, line->text + strlen(DEVICE));
    return CLP_SUCCESS;
  }
  if (*began)
    return read_row(line, costs);
  *began = strcmp(line->text, HEADER) == 0;
  return *began ? CLP_SUCCESS
                : trace_error_at(line->name, line->number, 1,
                                 "expected the header " HEADER ", found %s",
                                 trace_show_found(line->text, line->length, false).text);
}

clp_status trace_costs_read(const char *path, trace_costs *costs)
{
  trace_lines lines;
  bool began = false, found;
  *costs = (trace_costs){0};
  clp_status status = trace_lines_open(-1, path, &lines);
  if (status)
    return status;
  do {
    status = trace_lines_next(&lines, &found);
    if (!status && found)
      status = read_line(&lines, &began, costs);
  } while (!status && found);
  if (!status && costs->count == 0)
    status =
        trace_error_at(lines.name, lines.number + 1, 1, "expected %s, found the end of the file",
                       began ? "a figure" : "the header " HEADER);
  if (status)
    *costs = (trace_costs){0};
  trace_lines_close(&lines);
  return status;
}

void trace_costs_write(const trace_costs *costs, FILE *file)
{
  if (*costs->device)
    fprintf(file, DEVICE "%s\n", costs->device);
  fputs(HEADER "\n", file);
  for (size_t i = 0; i < costs->count; i++)
    for (trace_cost_operation j = 0; j < TRACE_COST_OPERATIONS; j++) {
      const trace_cost_curve *curve = &costs->tables[i].curves[j];
      for (size_t k = 0; k < curve->count; k++)
        fprintf(file, "%s,%s,%zu,%.15g\n", costs->tables[i].allocator, trace_cost_names[j],
                curve->points[k].bytes, curve->points[k].nanoseconds);
    }
}
