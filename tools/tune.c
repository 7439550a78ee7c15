/* SPDX-License-Identifier: MIT */
/* clpool tune: which leading_bits_in_bin_id and which arena, if any, suit a recorded program. */
#include "trace/tune.h"
#include "cost_source.h"
#include "options.h"
#include "output_file.h"
#include "progress.h"
#include "tune_report.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

typedef struct tuning {
  const clpi_arguments *arguments;
  trace_costs *costs;
  trace_tune_options options;
  clpi_tune_report report;
  clpi_progress bar;
  size_t tried; /* settings, with all traces */
} tuning;

/* --- costs --- */

static const trace_cost_table *find_table(const tuning *all)
{
  if (all->arguments->allocators)
    return trace_costs_find(all->costs, clpi_allocators[all->arguments->choice.kind].name);
  const trace_cost_table *table = trace_costs_find(all->costs, "cl-immediate");
  return table || all->costs->count == 0 ? table : &all->costs->tables[0];
}

static int open_costs(tuning *all)
{
  const char *source = all->arguments->cost;
  all->costs = calloc(1, sizeof(*all->costs));
  if (!all->costs)
    return clpi_complain("no host memory for costs");
  int code = clpi_costs_open(source, all->costs);
  if (code)
    return code;
  const trace_cost_table *table = find_table(all);
  if (!table)
    return clpi_misuse("%s has no costs of %s", source,
                       clpi_allocators[all->arguments->choice.kind].name);
  if (table->curves[TRACE_COST_ALLOCATE].count == 0)
    clpi_complain("warning: %s has no cost of an allocation", source);
  const char *device = all->costs->device;
  snprintf(all->report.costs, sizeof(all->report.costs), "%s, %s%s%s%s", table->allocator, source,
           device[0] ? " (" : "", device, device[0] ? ")" : "");
  all->options.costs = table;
  return CLPI_EXIT_SUCCESS;
}

/* --- settings --- */

/* Where leading bits do not matter on an arena, the settings of one slack, which are neighbours,
 * are one. */
static void list_settings(tuning *all)
{
  clpi_tune_report *report = &all->report;
  const bool has_parts = trace_tune_has_parts(all->options.costs);
  const trace_tune_setting *last = NULL;
  for (size_t i = 0; i < TRACE_TUNE_SETTINGS; i++) {
    trace_tune_setting setting = trace_tune_settings[i];
    setting.any_bits = setting.on_arena && !has_parts;
    if (setting.any_bits && last->any_bits && last->slack >= setting.slack)
      continue;
    last = &report->outcomes[report->count].setting;
    report->outcomes[report->count++].setting = setting;
  }
  for (size_t i = 0; i < TRACE_TUNE_RUNS; i++)
    report->outcomes[report->count + i].setting = trace_tune_settings[TRACE_TUNE_SETTINGS + i];
}

static clp_status try_settings(tuning *all, trace_batch_source *source, const char *name)
{
  const size_t count = all->report.count + (source->is_recorded ? TRACE_TUNE_RUNS : 0);
  clp_status status = CLP_SUCCESS;
  for (size_t i = 0; i < count && source->allocations > 0 && !status; i++) {
    status = trace_tune_add(&all->report.outcomes[i], source, name, &all->options);
    clpi_progress_update(&all->bar, ++all->tried, count * all->arguments->trace_count, 0);
  }
  return status;
}

static clp_status try_trace(tuning *all, trace_reader *reader, const char *name)
{
  clpi_tune_report *report = &all->report;
  trace_batch_source source = {.reader = reader, .scale = 1.0, .is_kept = true};
  clp_status status = trace_batch_read_all(&source);
  if (!status)
    status = try_settings(all, &source, name);
  report->allocations += source.allocations;
  report->frees += source.frees;
  report->end_active_bytes = MAX(report->end_active_bytes, source.active_bytes);
  report->peak_active_bytes = MAX(report->peak_active_bytes, source.peak_active_bytes);
  report->is_recorded &= source.is_recorded || source.allocations == 0;
  trace_batch_source_end(&source);
  return status;
}

static int open_and_try(tuning *all, const char *path)
{
  trace_reader *reader;
  int code = clpi_open_trace(path, all->arguments->is_lenient, &reader);
  if (code)
    return code;
  clp_status status = try_trace(all, reader, path);
  clpi_progress_end(&all->bar);
  code = status ? clpi_failed(status) : CLPI_EXIT_SUCCESS;
  if (!code)
    clpi_tell_left_out(reader);
  if (!code && all->arguments->trace_count == 1 && all->report.allocations == 0)
    code = clpi_nothing_to("tune", reader);
  trace_close(reader);
  return code;
}

/* --- the report --- */

static void recommend(clpi_tune_report *report)
{
  const double most_ns = report->arguments->most_ns;
  if (report->allocations < CLPI_TUNE_ENOUGH)
    return;
  report->best = trace_tune_recommend(report->outcomes, report->count, most_ns);
  if (report->is_recorded)
    report->run = trace_tune_recommend(report->outcomes + report->count, TRACE_TUNE_RUNS, most_ns);
}

static int report(clpi_tune_report *report, clpi_output_file **plot)
{
  if (report->allocations == 0)
    return clpi_complain("the traces have no allocations, so there is nothing to tune");
  recommend(report);
  if (report->arguments->as_json)
    clpi_tune_report_json(report);
  else
    clpi_tune_report_print(stdout, report);
  int code = *plot ? clpi_tune_report_plot(report, (*plot)->stream) : CLPI_EXIT_SUCCESS;
  return code ? code : clpi_output_file_finish(plot);
}

static int tune(tuning *all)
{
  const clpi_arguments *arguments = all->arguments;
  clpi_output_file *plot = NULL;
  int code = open_costs(all);
  if (!code && arguments->output)
    code = clpi_output_file_create(arguments->output, &plot);
  if (!code)
    list_settings(all);
  all->bar = clpi_progress_begin("trying settings");
  for (size_t i = 0; i < arguments->trace_count && !code; i++)
    code = open_and_try(all, arguments->traces[i]);
  if (!code)
    code = report(&all->report, &plot);
  clpi_output_file_discard(plot);
  return code;
}

static int check_inputs(const clpi_arguments *arguments)
{
  const char *path = arguments->output, *ending = path ? strrchr(path, '.') : NULL;
  size_t from_stdin = strcmp(arguments->cost, "-") == 0;
  for (size_t i = 0; i < arguments->trace_count; i++)
    from_stdin += strcmp(arguments->traces[i], "-") == 0;
  if (from_stdin > 1)
    return clpi_misuse("only one of the traces and --cost can be standard input");
  if (path && (!ending || ending == path || strcmp(ending, ".svg") != 0))
    return clpi_misuse("--plot draws SVG, so name it FILE.svg, not \"%s\" (rsvg-convert makes PNG "
                       "and PDF of it)",
                       path);
  return CLPI_EXIT_SUCCESS;
}

static int run(clpi_arguments *arguments)
{
  tuning all = {.arguments = arguments, .report = {.arguments = arguments, .is_recorded = true}};
  int code = check_inputs(arguments);
  if (!code)
    code = clpi_set_limit(arguments, 0);
  if (code)
    return code;
  clpi_show_remarks();
  unsetenv("CLPOOL_MEMORY_LIMIT"); /* it is for programs' pools */
#ifdef M_MMAP_THRESHOLD
  mallopt(M_MMAP_THRESHOLD, 1 << 17); /* pools' tables are large, and most pages stay untouched */
#endif
  all.options.limit_bytes = arguments->replay.limit_bytes;
  code = tune(&all);
  free(all.costs);
  return code;
}

const clpi_command clpi_tune_command = {
    .bit = CLPI_TUNE,
    .name = "tune",
    .operands = CLPI_TRACES,
    .summary = "recommend a pool's settings for a recorded program",
    .usage = "TRACE... [OPTION]...",
    .about =
        "Replays a recorded program's allocations with ten settings of a pool, on a simulated\n"
        "device, and recommends one. For several traces, of a job's processes or of several\n"
        "runs, it recommends one setting for all. TRACE is as for clpool replay.\n",
    .examples = "  clpool tune trace.csv.gz\n"
                "  clpool tune trace.csv.gz --time=2000 -o tune.svg\n"
                "  clpool bench --allocator=cl-immediate -o my-gpu.csv\n"
                "  clpool tune run.*.csv --cost=my-gpu.csv\n",
    .run = run,
};
