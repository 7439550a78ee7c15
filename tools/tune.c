/* SPDX-License-Identifier: MIT */
/* clpool tune: which leading_bits_in_bin_id and which arena, if any, suit a recorded program. */
#include "trace/tune.h"
#include "cost_source.h"
#include "options.h"
#include "output_file.h"
#include "progress.h"
#include "trace_input.h"
#include "tune_report.h"

#include <stdlib.h>
#include <string.h>

static const unsigned run_bits[] = {0, 1, 2, 4, 8};

enum { RUN_SETTINGS = sizeof(run_bits) / sizeof(run_bits[0]) };

typedef struct tuning {
  const clpi_arguments *arguments;
  trace_costs *costs;
  trace_tune_options options;
  trace_tune_outcome outcomes[TRACE_TUNE_SETTINGS], run[RUN_SETTINGS];
  size_t count;     /* of the outcomes */
  bool is_recorded; /* every trace is from clpool record */
  clpi_tune_report report;
  clpi_progress bar;
  double done, step; /* of all traces: parts, and what an operation's replay is */
} tuning;

static void show_progress(size_t operations, void *user_data)
{
  enum { WHOLE = 1000000 };
  tuning *all = user_data;
  all->done += all->step * (double)operations;
  clpi_progress_update(&all->bar, (uint64_t)(all->done * WHOLE), WHOLE, 0);
}

/* --- costs --- */

static const trace_cost_table *find_table(const tuning *all)
{
  const char *name = all->arguments->costs_of;
  if (name && strcmp(name, "simulated") != 0)
    return trace_costs_find(all->costs, name);
  const trace_cost_table *table = trace_costs_find(all->costs, "cl-immediate");
  return table || all->costs->count == 0 ? table : &all->costs->tables[0];
}

static int open_costs(tuning *all)
{
  const char *source = all->arguments->cost;
  all->costs = calloc(1, sizeof(*all->costs));
  if (!all->costs) {
    clpi_complain("no host memory for costs");
    return CLPI_EXIT_FAILED;
  }
  int code = clpi_costs_open(source, all->costs);
  if (code)
    return code;
  const trace_cost_table *table = find_table(all);
  if (!table)
    return clpi_misuse("%s: there are no costs of %s in it", source, all->arguments->costs_of);
  if (table->curves[TRACE_COST_ALLOCATE].count == 0)
    clpi_complain("warning: %s does not say what it costs to allocate", source);
  const char *device = all->costs->device;
  snprintf(all->report.costs.text, sizeof(all->report.costs.text), "%s, %s%s%s%s", table->allocator,
           source, device[0] ? " (" : "", device, device[0] ? ")" : "");
  all->options.costs = table;
  return CLPI_EXIT_SUCCESS;
}

/* --- settings --- */

/* Where leading bits do not matter on an arena, those of one slack are one. */
static bool is_listed(const tuning *all, const trace_tune_setting *setting)
{
  for (size_t i = 0; i < all->count; i++)
    if (setting->any_bits && all->outcomes[i].setting.on_arena &&
        all->outcomes[i].setting.slack >= setting->slack)
      return true;
  return false;
}

static void list_settings(tuning *all)
{
  for (size_t i = 0; i < TRACE_TUNE_SETTINGS; i++) {
    trace_tune_setting setting = trace_tune_settings[i];
    setting.any_bits = setting.on_arena && !trace_tune_has_parts(all->options.costs);
    if (!is_listed(all, &setting))
      all->outcomes[all->count++].setting = setting;
  }
  for (size_t i = 0; i < RUN_SETTINGS; i++)
    all->run[i].setting = (trace_tune_setting){.leading_bits = run_bits[i], .in_layer = true};
}

static clp_status try_all(tuning *all, trace_spool *spool, const char *name)
{
  clp_status status = CLP_SUCCESS;
  const size_t run_count = spool->is_recorded ? RUN_SETTINGS : 0;
  const double operations = (double)(spool->allocations + spool->frees);
  const double replays = 2.0 * (double)(all->count + run_count);
  all->step = 1.0 / (replays * operations * (double)all->arguments->trace_count);
  for (size_t i = 0; i < all->count && !status; i++)
    status = trace_tune_add(&all->outcomes[i], spool, name, &all->options);
  for (size_t i = 0; i < run_count && !status; i++)
    status = trace_tune_add(&all->run[i], spool, name, &all->options);
  return status;
}

static clp_status try_trace(tuning *all, trace_reader *reader, const char *name)
{
  clpi_tune_report *report = &all->report;
  trace_spool spool = {0};
  clp_status status = trace_spool_read(&spool, reader);
  if (!status && spool.allocations > 0)
    status = try_all(all, &spool, name);
  report->allocations += spool.allocations;
  report->frees += spool.frees;
  if (spool.active_bytes > spool.peak_active_bytes / 10 &&
      spool.active_bytes > report->end_active_bytes)
    report->end_active_bytes = spool.active_bytes;
  if (report->peak_active_bytes < spool.peak_active_bytes)
    report->peak_active_bytes = spool.peak_active_bytes;
  all->is_recorded &= spool.is_recorded || spool.allocations == 0;
  trace_spool_end(&spool);
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

static void recommend(tuning *all)
{
  clpi_tune_report *report = &all->report;
  const double most_ns = all->arguments->most_ns;
  report->outcomes = all->outcomes;
  report->count = report->best = all->count;
  if (report->allocations < CLPI_TUNE_ENOUGH)
    return;
  report->best = trace_tune_recommend(all->outcomes, all->count, most_ns);
  const size_t best_run = trace_tune_recommend(all->run, RUN_SETTINGS, most_ns);
  if (all->is_recorded && best_run < RUN_SETTINGS)
    report->run = &all->run[best_run];
}

static int report(tuning *all, clpi_output_file **plot)
{
  if (all->report.allocations == 0) {
    clpi_complain("no allocation is recorded in any of the traces, so there is nothing to tune");
    return CLPI_EXIT_FAILED;
  }
  recommend(all);
  if (all->arguments->as_json)
    clpi_tune_report_json(&all->report);
  else
    clpi_tune_report_print(&all->report);
  if (!*plot)
    return CLPI_EXIT_SUCCESS;
  int code = clpi_tune_report_plot(&all->report, clpi_output_file_stream(*plot));
  if (code)
    return code;
  code = clpi_output_file_finish(*plot);
  *plot = NULL;
  return code;
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
    code = report(all, &plot);
  clpi_output_file_discard(plot);
  return code;
}

static int check_inputs(const clpi_arguments *arguments)
{
  size_t from_stdin = strcmp(arguments->cost, "-") == 0;
  for (size_t i = 0; i < arguments->trace_count; i++)
    from_stdin += strcmp(arguments->traces[i], "-") == 0;
  if (from_stdin > 1)
    return clpi_misuse("only one of the traces and --cost can be standard input");
  return CLPI_EXIT_SUCCESS;
}

static int check_plot(const char *path)
{
  const char *ending = path ? strrchr(path, '.') : NULL;
  if (path && (!ending || ending == path || strcmp(ending, ".svg") != 0))
    return clpi_misuse("--plot draws SVG, so name it FILE.svg, not \"%s\" (rsvg-convert makes PNG "
                       "and PDF of it)",
                       path);
  return CLPI_EXIT_SUCCESS;
}

static int run(clpi_arguments *arguments)
{
  tuning all = {.arguments = arguments, .is_recorded = true, .report.arguments = arguments};
  int code = check_inputs(arguments);
  if (!code)
    code = check_plot(arguments->output);
  if (!code)
    code = clpi_set_limit(arguments, 0);
  if (code)
    return code;
  clpi_show_remarks();
  all.options.limit_bytes = arguments->replay.limit_bytes;
  all.options.on_progress = show_progress;
  all.options.user_data = &all;
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
        "Replays a recorded program's allocations with ten settings of a pool, on a simulated "
        "device,\n"
        "and recommends one. Several traces are those of a job's processes, or of several runs of "
        "a\n"
        "program: they get one setting. TRACE is as for clpool replay.\n",
    .examples = "  clpool tune trace.csv.gz\n"
                "  clpool tune trace.csv.gz --time=2000 -o tune.svg\n"
                "  clpool bench --allocator=cl-immediate -o my-gpu.csv\n"
                "  clpool tune run.*.csv --cost=my-gpu.csv\n",
    .run = run,
};
