/* SPDX-License-Identifier: MIT */
/* clpool bench: what a device's memory costs, as tables and as the file that clpool tune reads. */
#include "cost_source.h"
#include "figures.h"
#include "json.h"
#include "options.h"
#include "output_file.h"

#include <clpool/version.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* --- output --- */

static void print_table(const trace_cost_table *table)
{
  const trace_cost_curve *sizes = &table->curves[TRACE_COST_ALLOCATE];
  for (clpi_allocator_kind kind = 0; kind < CLPI_ALLOCATOR_KINDS; kind++)
    if (strcmp(table->allocator, clpi_allocators[kind].name) == 0)
      printf("\n%s: allocate is %s\n%12s", table->allocator, clpi_allocators[kind].calls, "size");
  for (size_t i = 0; i < sizes->count; i++)
    printf("%13s", clpi_show_bytes(sizes->points[i].bytes).text);
  for (size_t i = 0; i < TRACE_COST_OPERATIONS; i++) {
    const trace_cost_curve *curve = &table->curves[i];
    for (size_t j = 0; j < curve->count; j++) {
      if (j == 0)
        printf("\n%12s", trace_cost_names[i]);
      printf("%13s", clpi_show_time(curve->points[j].nanoseconds).text);
    }
  }
  puts("");
}

/* Those of pairs, or of the others for blocks of a size; null where nothing was measured. */
static void write_figures(clpi_json *json, const trace_cost_table *table, bool of_pairs,
                          size_t bytes)
{
  for (trace_cost_operation i = 0; i < TRACE_COST_OPERATIONS; i++) {
    char key[32], *hyphen;
    bool is_measured = table->curves[i].count > 0;
    if (trace_cost_is_pair(i) != of_pairs)
      continue;
    snprintf(key, sizeof(key), "%s_ns", trace_cost_names[i]);
    if ((hyphen = strchr(key, '-')))
      *hyphen = '_';
    clpi_json_number(json, key, is_measured ? trace_cost_at(table, i, bytes) : (double)NAN);
  }
}

static void write_table(clpi_json *json, const trace_cost_table *table)
{
  const trace_cost_curve *sizes = &table->curves[TRACE_COST_ALLOCATE];
  clpi_json_begin(json, NULL, '{');
  clpi_json_string(json, "allocator", table->allocator);
  write_figures(json, table, true, 1);
  clpi_json_begin(json, "costs", '[');
  for (size_t i = 0; i < sizes->count; i++) {
    clpi_json_begin(json, NULL, '{');
    clpi_json_unsigned(json, "bytes", sizes->points[i].bytes);
    write_figures(json, table, false, sizes->points[i].bytes);
    clpi_json_end(json, '}');
  }
  clpi_json_end(json, ']');
  clpi_json_end(json, '}');
}

static void print(const trace_costs *costs)
{
  if (*costs->device)
    puts(costs->device);
  puts("pool-pair, arena-pair: allocate and release. They and sub-buffer do not depend on size.");
  for (size_t i = 0; i < costs->count; i++)
    print_table(&costs->tables[i]);
}

static void print_json(const trace_costs *costs)
{
  clpi_json json = {.file = stdout};
  clpi_json_begin(&json, NULL, '{');
  clpi_json_string(&json, "device", *costs->device ? costs->device : NULL);
  clpi_json_begin(&json, "allocators", '[');
  for (size_t i = 0; i < costs->count; i++)
    write_table(&json, &costs->tables[i]);
  clpi_json_end(&json, ']');
  clpi_json_end(&json, '}');
}

/* --- measuring --- */

/* The host, and what the OpenCL device has; where there is none, and none was asked for, the host
 * alone. */
static unsigned choose_usual(const clpi_arguments *arguments)
{
  clpi_devices list = {0};
  clpi_list_opencl(&list);
  const char *given = arguments->choice.devices[CLPI_OPENCL];
  const clpi_device *device = clpi_devices_find(&list, CLPI_OPENCL, given);
  unsigned kinds = 1U << CLPI_ALLOCATOR_HOST;
  if (device || given)
    kinds |= 1U << CLPI_ALLOCATOR_CL_DEFERRED | 1U << CLPI_ALLOCATOR_CL_IMMEDIATE;
  else
    clpi_complain("note: %s, so only the host is measured", list.missing[CLPI_OPENCL]);
  if (device && device->svm)
    kinds |= 1U << CLPI_ALLOCATOR_CL_SVM;
  else if (device)
    clpi_complain("note: %s does not support shared virtual memory, so cl-svm is skipped",
                  *device->name ? device->name : "the device");
  return kinds;
}

static int measure(const clpi_arguments *arguments, trace_costs *costs)
{
  unsigned kinds = arguments->allocators ? arguments->allocators : choose_usual(arguments);
  clpi_allocator_choice choice = arguments->choice;
  int code = CLPI_EXIT_SUCCESS;
  for (choice.kind = 0; choice.kind < CLPI_ALLOCATOR_KINDS && !code; choice.kind++)
    if (kinds >> choice.kind & 1)
      code = clpi_measure_costs(&choice, costs);
  return code;
}

static int run(clpi_arguments *arguments)
{
  static trace_costs costs; /* large */
  clpi_output_file *file = NULL;
  int code = CLPI_EXIT_SUCCESS;
  if (arguments->allocators >> CLPI_ALLOCATOR_SIMULATED & 1)
    return clpi_misuse("cannot measure the simulated allocator, which has no device");
  if (arguments->output)
    code = clpi_output_file_create(arguments->output, &file);
  if (!code)
    code = measure(arguments, &costs);
  if (!code && file) {
    fprintf(file->stream, "# measured by clpool bench %s\n", clp_version());
    trace_costs_write(&costs, file->stream);
    code = clpi_output_file_finish(&file);
  }
  clpi_output_file_discard(file);
  if (code || (arguments->output && clpi_output_file_is_stdout(arguments->output)))
    return code;
  if (arguments->as_json)
    print_json(&costs);
  else
    print(&costs);
  return CLPI_EXIT_SUCCESS;
}

const clpi_command clpi_bench_command = {
    .bit = CLPI_BENCH,
    .name = "bench",
    .summary = "measure what memory costs on this machine, for clpool tune",
    .usage = "[OPTION]...",
    .about =
        "Measures what memory costs on this machine: for five sizes, the device's allocation\n"
        "and free, and the first and a later write; also a sub-buffer, and an allocation with\n"
        "its release in a pool and in an arena. Each figure is the least median of three rounds.\n"
        "An allocator takes about two seconds and at most 128 MiB.\n",
    .examples = "  clpool bench\n"
                "  clpool bench --allocator=cl-immediate --device=1.0 -o my-gpu.csv\n"
                "  clpool bench --allocator=cuda-async --allocator=cl-immediate --device=1.0 "
                "--device=0\n",
    .run = run,
};
