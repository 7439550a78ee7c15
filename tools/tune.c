/* SPDX-License-Identifier: MIT */
/* clpool tune: which leading_bits_in_bin_id and which arena, if any, suit a recorded program. */
#include "trace/tune.h"
#include "cost_source.h"
#include "output_file.h"
#include "program.h"
#include "progress.h"
#include "replay_setup.h"
#include "trace_arguments.h"
#include "tune_arguments.h"
#include "tune_report.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

static const char help_text[] =
    "Usage: clpool tune TRACE... [OPTION]...\n"
    "Replays a recorded program's allocations with ten settings of a pool, on a simulated device,\n"
    "and recommends one. Several traces are those of a job's processes, or of several runs of a\n"
    "program: they get one setting. TRACE is as for clpool replay.\n"
    "\n"
    "Options:\n"
    "  --time=NS           how much longer an operation may take than with the quickest setting,\n"
    "                      500 nanoseconds by default: of such settings, the one that takes the\n"
    "                      least memory is recommended\n"
    "  --cost=SOURCE       what the device's memory costs: a file of clpool bench, or a machine\n"
    "                      that was measured before (nvidia-h200, the default, or pocl-cpu)\n"
    "  --allocator=NAME    whose costs those are: host, cl-immediate (the default), cl-deferred,\n"
    "                      cl-svm, cuda-async\n"
    "  --limit=BYTES       each pool's limit: which settings would run out of memory, and when\n"
    "  --lenient           leave out frees of what was allocated before the trace begins\n"
    "  -o, --plot=FILE     draw memory against time, to FILE.svg\n"
    "  --json              print one JSON object\n"
    "  --help              print this help\n"
    "BYTES may be 512M, 1.5G or 4GiB.\n"
    "\n"
    "Examples:\n"
    "  clpool tune trace.csv.gz\n"
    "  clpool tune trace.csv.gz --time=2000 -o tune.svg\n"
    "  clpool bench --allocator=cl-immediate -o my-gpu.csv\n"
    "  clpool tune run.*.csv --cost=my-gpu.csv\n";

typedef struct tuning {
  clpi_tune_arguments arguments;
  trace_costs *costs;
  trace_tune_options options;
  clpi_tune_report report;
  clpi_progress bar;
  size_t tried; /* settings, with all traces */
} tuning;

/* --- costs --- */

static const trace_cost_table *find_table(const tuning *all)
{
  const char *name = all->arguments.allocator;
  if (name && strcmp(name, "simulated") != 0)
    return trace_costs_find(all->costs, name);
  const trace_cost_table *table = trace_costs_find(all->costs, "cl-immediate");
  return table || all->costs->count == 0 ? table : &all->costs->tables[0];
}

static int open_costs(tuning *all)
{
  const char *source = all->arguments.cost;
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
    return clpi_misuse("%s: there are no costs of %s in it", source, all->arguments.allocator);
  if (table->curves[TRACE_COST_ALLOCATE].count == 0)
    clpi_complain("warning: %s does not say what it costs to allocate", source);
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

static clp_status try_settings(tuning *all, trace_spool *spool, const char *name)
{
  const size_t count = all->report.count + (spool->is_recorded ? TRACE_TUNE_RUNS : 0);
  clp_status status = CLP_SUCCESS;
  for (size_t i = 0; i < count && spool->allocations > 0 && !status; i++) {
    status = trace_tune_add(&all->report.outcomes[i], spool, name, &all->options);
    clpi_progress_update(&all->bar, ++all->tried, count * all->arguments.trace_count, 0);
  }
  return status;
}

static clp_status try_trace(tuning *all, trace_reader *reader, const char *name)
{
  clpi_tune_report *report = &all->report;
  trace_spool spool = {0};
  clp_status status = trace_spool_read(&spool, reader);
  if (!status)
    status = try_settings(all, &spool, name);
  report->allocations += spool.allocations;
  report->frees += spool.frees;
  report->end_active_bytes = MAX(report->end_active_bytes, spool.active_bytes);
  report->peak_active_bytes = MAX(report->peak_active_bytes, spool.peak_active_bytes);
  report->is_recorded &= spool.is_recorded || spool.allocations == 0;
  trace_spool_end(&spool);
  return status;
}

static int open_and_try(tuning *all, const char *path)
{
  trace_reader *reader;
  clp_status status = trace_open(path, &reader);
  if (status)
    return clpi_failed(status);
  trace_reader_notes(reader)->is_lenient = all->arguments.is_lenient;
  status = try_trace(all, reader, path);
  clpi_progress_end(&all->bar);
  int code = status ? clpi_failed(status) : CLPI_EXIT_SUCCESS;
  if (!code)
    clpi_tell_left_out(reader);
  if (!code && all->arguments.trace_count == 1 && all->report.allocations == 0)
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
  int code = CLPI_EXIT_SUCCESS;
  if (report->allocations == 0) {
    clpi_complain("no allocation is recorded in any of the traces, so there is nothing to tune");
    return CLPI_EXIT_FAILED;
  }
  recommend(report);
  if (report->arguments->as_json)
    clpi_tune_report_json(report);
  else
    clpi_tune_report_print(report);
  if (*plot)
    code = clpi_tune_report_plot(report, clpi_output_file_stream(*plot));
  if (code || !*plot)
    return code;
  code = clpi_output_file_finish(*plot);
  *plot = NULL;
  return code;
}

static int tune(tuning *all)
{
  const clpi_tune_arguments *arguments = &all->arguments;
  clpi_output_file *plot = NULL;
  int code = open_costs(all);
  if (!code && arguments->plot)
    code = clpi_output_file_create(arguments->plot, &plot);
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

static int run(int argc, char **argv)
{
  tuning all = {.report = {.arguments = &all.arguments, .is_recorded = true}};
  int code = clpi_tune_arguments_read(argc, argv, &all.arguments);
  if (code)
    return code;
  if (all.arguments.wants_help) {
    fputs(help_text, stdout);
    return CLPI_EXIT_SUCCESS;
  }
  clpi_show_remarks();
  unsetenv("CLPOOL_MEMORY_LIMIT"); /* it is for programs' pools */
#ifdef M_MMAP_THRESHOLD
  mallopt(M_MMAP_THRESHOLD, 1 << 17); /* pools' tables are large, and most pages stay untouched */
#endif
  all.options.limit_bytes = all.arguments.limit_bytes;
  code = tune(&all);
  free(all.costs);
  return code;
}

const clpi_command clpi_tune_command = {
    .name = "tune",
    .summary = "recommend a pool's settings for a recorded program",
    .help = help_text,
    .run = run,
};
