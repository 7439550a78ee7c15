/* SPDX-License-Identifier: MIT */
/* Costs for people and as JSON. */
#include "bench_report.h"

#include "allocators.h"
#include "json.h"
#include "quantities.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* In the order of a block's life; then what is done in its place, whatever its size. */
static const struct figure {
  trace_cost_operation operation;
  const char *title;
  const char *key; /* in JSON */
} figures[TRACE_COST_OPERATIONS] = {
    {TRACE_COST_ALLOCATE, "allocate", "allocate_ns"},
    {TRACE_COST_FILL_FRESH, "fill fresh", "fill_fresh_ns"},
    {TRACE_COST_FILL_REUSED, "fill reused", "fill_reused_ns"},
    {TRACE_COST_FREE, "free", "free_ns"},
    {TRACE_COST_POOL_PAIR, "pool pair", "pool_pair_ns"},
    {TRACE_COST_ARENA_PAIR, "arena pair", "arena_pair_ns"},
    {TRACE_COST_SUB_BUFFER, "sub-buffer", "sub_buffer_ns"},
};

enum { BY_SIZE = 4 }; /* the first ones are */

static bool is_measured(const trace_cost_table *table, const struct figure *figure)
{
  return table->curves[figure->operation].count > 0;
}

static void print_table(const trace_cost_table *table)
{
  const trace_cost_curve *sizes = &table->curves[TRACE_COST_ALLOCATE];
  for (clpi_allocator_kind kind = 0; kind < CLPI_ALLOCATOR_KINDS; kind++)
    if (strcmp(table->allocator, clpi_allocators[kind].name) == 0)
      printf("\n%s: allocate is %s\n", table->allocator, clpi_allocators[kind].calls);
  printf("%12s", "size");
  for (size_t i = 0; i < BY_SIZE; i++)
    if (is_measured(table, &figures[i]))
      printf("%13s", figures[i].title);
  puts("");
  for (size_t j = 0; j < sizes->count; j++) {
    size_t bytes = sizes->points[j].bytes;
    printf("%12s", clpi_show_bytes(bytes).text);
    for (size_t i = 0; i < BY_SIZE; i++)
      if (is_measured(table, &figures[i]))
        printf("%13s", clpi_show_time(trace_cost_at(table, figures[i].operation, bytes)).text);
    puts("");
  }
  for (size_t i = BY_SIZE; i < TRACE_COST_OPERATIONS; i++)
    if (is_measured(table, &figures[i]))
      printf("%12s%13s\n", figures[i].title,
             clpi_show_time(trace_cost_at(table, figures[i].operation, 1)).text);
}

/* Null, if it was not measured. */
static void write_figure(clpi_json *json, const trace_cost_table *table,
                         const struct figure *figure, size_t bytes)
{
  double cost = is_measured(table, figure) ? trace_cost_at(table, figure->operation, bytes) : NAN;
  clpi_json_number(json, figure->key, cost);
}

static void write_table(clpi_json *json, const trace_cost_table *table)
{
  const trace_cost_curve *sizes = &table->curves[TRACE_COST_ALLOCATE];
  clpi_json_begin_object(json, NULL);
  clpi_json_string(json, "allocator", table->allocator);
  for (size_t i = BY_SIZE; i < TRACE_COST_OPERATIONS; i++)
    write_figure(json, table, &figures[i], 1);
  clpi_json_begin_array(json, "costs");
  for (size_t j = 0; j < sizes->count; j++) {
    clpi_json_begin_object(json, NULL);
    clpi_json_unsigned(json, "bytes", sizes->points[j].bytes);
    for (size_t i = 0; i < BY_SIZE; i++)
      write_figure(json, table, &figures[i], sizes->points[j].bytes);
    clpi_json_end_object(json);
  }
  clpi_json_end_array(json);
  clpi_json_end_object(json);
}

void clpi_bench_print(const trace_costs *costs)
{
  if (*costs->device)
    puts(costs->device);
  puts("A pair is an allocation and its release, of memory that is there already.");
  for (size_t i = 0; i < costs->count; i++)
    print_table(&costs->tables[i]);
}

void clpi_bench_print_json(const trace_costs *costs)
{
  clpi_json json = clpi_json_start(stdout);
  clpi_json_begin_object(&json, NULL);
  clpi_json_string(&json, "device", *costs->device ? costs->device : NULL);
  clpi_json_begin_array(&json, "allocators");
  for (size_t i = 0; i < costs->count; i++)
    write_table(&json, &costs->tables[i]);
  clpi_json_end_array(&json);
  clpi_json_end_object(&json);
  clpi_json_finish(&json);
}
