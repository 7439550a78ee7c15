/* SPDX-License-Identifier: MIT */
/* Tables of costs: one for each allocator, a column for each operation that was measured. */
#include "bench_report.h"

#include "allocators.h"
#include "json.h"
#include "quantities.h"

#include <stdio.h>
#include <string.h>

/* In the order of a block's life; then what is done in its place. */
static const struct column {
  trace_cost_operation operation;
  const char *titles[2]; /* one above the other */
  const char *key;       /* in JSON */
} columns[TRACE_COST_OPERATIONS] = {
    {TRACE_COST_ALLOCATE, {"allocate", ""}, "allocate_ns"},
    {TRACE_COST_FILL_FRESH, {"fill", "fresh"}, "fill_fresh_ns"},
    {TRACE_COST_FILL_REUSED, {"fill", "reused"}, "fill_reused_ns"},
    {TRACE_COST_FREE, {"free", ""}, "free_ns"},
    {TRACE_COST_SUB_BUFFER, {"sub-", "buffer"}, "sub_buffer_ns"},
    {TRACE_COST_POOL_PAIR, {"pool", "pair"}, "pool_pair_ns"},
    {TRACE_COST_ARENA_PAIR, {"arena", "pair"}, "arena_pair_ns"},
};

/* All that was measured was so with the same sizes. */
static const trace_cost_curve *sizes_of(const trace_cost_table *table)
{
  return &table->curves[TRACE_COST_ALLOCATE];
}

static bool is_measured(const trace_cost_table *table, const struct column *column)
{
  return table->curves[column->operation].count > 0;
}

static void print_subject(const trace_cost_table *table)
{
  for (clpi_allocator_kind kind = 0; kind < CLPI_ALLOCATOR_KINDS; kind++)
    if (strcmp(table->allocator, clpi_allocators[kind].name) == 0)
      printf("\n%s: allocate is %s\n", table->allocator, clpi_allocators[kind].calls);
}

static void print_titles(const trace_cost_table *table)
{
  for (size_t line = 0; line < 2; line++) {
    printf("%10s", line == 0 ? "size" : "");
    for (size_t i = 0; i < TRACE_COST_OPERATIONS; i++)
      if (is_measured(table, &columns[i]))
        printf("%10s", columns[i].titles[line]);
    puts("");
  }
}

static void print_size(const trace_cost_table *table, size_t bytes)
{
  printf("%10s", clpi_show_bytes(bytes).text);
  for (size_t i = 0; i < TRACE_COST_OPERATIONS; i++)
    if (is_measured(table, &columns[i]))
      printf("%10s", clpi_show_time(trace_cost_at(table, columns[i].operation, bytes)).text);
  puts("");
}

void clpi_bench_print(const trace_costs *costs)
{
  if (*costs->device)
    puts(costs->device);
  puts("A pair is an allocation and its release, of memory that is there already.");
  for (size_t i = 0; i < costs->count; i++) {
    const trace_cost_table *table = &costs->tables[i];
    print_subject(table);
    print_titles(table);
    for (size_t j = 0; j < sizes_of(table)->count; j++)
      print_size(table, sizes_of(table)->points[j].bytes);
  }
}

static void write_size(clpi_json *json, const trace_cost_table *table, size_t bytes)
{
  clpi_json_begin_object(json, NULL);
  clpi_json_unsigned(json, "bytes", bytes);
  for (size_t i = 0; i < TRACE_COST_OPERATIONS; i++) {
    if (is_measured(table, &columns[i]))
      clpi_json_number(json, columns[i].key, trace_cost_at(table, columns[i].operation, bytes));
    else
      clpi_json_null(json, columns[i].key);
  }
  clpi_json_end_object(json);
}

static void write_table(clpi_json *json, const trace_cost_table *table)
{
  clpi_json_begin_object(json, NULL);
  clpi_json_string(json, "allocator", table->allocator);
  clpi_json_begin_array(json, "costs");
  for (size_t i = 0; i < sizes_of(table)->count; i++)
    write_size(json, table, sizes_of(table)->points[i].bytes);
  clpi_json_end_array(json);
  clpi_json_end_object(json);
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
