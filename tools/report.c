/* SPDX-License-Identifier: MIT */
/* clpool report: a page, or counters for a trace viewer, on what a recorded program's allocations
 * make of a pool. */
#include "report.h"

#include "output_file.h"
#include "program.h"
#include "progress.h"
#include "replay_setup.h"
#include "report_arguments.h"
#include "report_perfetto.h"
#include "trace/reader.h"

#include <stdlib.h>
#include <sys/param.h>

static const char help_text[] =
    "Usage: clpool report TRACE [-o FILE.html] [OPTION]...\n"
    "Replays a recorded program's allocations through a pool on a simulated device and\n"
    "shows where the memory went. TRACE is as for clpool replay; \"-\" is standard input.\n"
    "\n"
    "Options:\n"
    "  -o, --output=FILE    write a page for browsers, one file that needs no network\n"
    "  --perfetto=FILE      write counters over the trace's time, which ui.perfetto.dev and\n"
    "                       chrome://tracing open\n"
    "  --json               print the figures as one JSON object\n"
    "  --leading-bits=B     leading_bits_in_bin_id of the pool, 0 to 16; 4 by default; they\n"
    "                       do not matter on an arena\n"
    "  --arena              with the pool on an arena\n"
    "  --slack=F            how much of the highest use the arena may keep beyond it, 0\n"
    "                       to 1; 0.016 by default\n"
    "  --versus             begins a second setting, to be shown beside the first: of the\n"
    "                       three options above, those that follow are its own\n"
    "  --lenient            leave out frees of what was allocated before the trace begins\n"
    "  --limit=BYTES        the pool's limit; 0 for none\n"
    "  --capacity=BYTES     the memory of the simulated device; without it, no bound\n"
    "  --scale=F            multiply every size by F; auto: by the largest power of two, at\n"
    "                       most 1, with which the pool needs a quarter of the device\n"
    "  --help               print this help\n"
    "BYTES may be 512M, 1.5G or 4GiB, and the limit a part of the capacity, 40%. FILE \"-\" is\n"
    "standard output. A file appears when it is complete.\n"
    "\n"
    "Examples:\n"
    "  clpool report trace.csv.gz -o report.html\n"
    "  clpool report trace.csv.gz -o two.html --versus --arena\n"
    "  clpool report trace.csv.gz --perfetto=counters.json --leading-bits=2\n";

/* What is surveyed, and where it goes. */
typedef struct report_setup {
  clpi_report_arguments arguments;
  trace_reader *reader;
  clp_allocator *allocator;
  clpi_output_file *page;     /* NULL: none */
  clpi_output_file *perfetto; /* likewise */
  trace_survey *surveys[CLPI_MOST_REPORTS];
} report_setup;

static void add_sample(const trace_sample *sample, void *perfetto)
{
  clpi_perfetto_add(perfetto, sample);
}

static trace_replay_options replay_options(const clpi_report_arguments *arguments, size_t i)
{
  const clpi_report_setting *setting = &arguments->settings[i];
  trace_replay_options options = arguments->common.replay;
  options.pool_options.leading_bits_in_bin_id = setting->leading_bits;
  options.on_arena = setting->on_arena;
  options.arena_options.slack = setting->slack;
  return options;
}

static clp_status survey(const report_setup *setup, size_t i)
{
  clpi_perfetto perfetto;
  trace_survey_listener listener = {add_sample, &perfetto};
  if (setup->perfetto)
    clpi_perfetto_begin(&perfetto, clpi_output_file_stream(setup->perfetto),
                        trace_name(setup->reader));
  clpi_progress bar = clpi_progress_begin("replay with a pool");
  trace_replay_options wanted = replay_options(&setup->arguments, i);
  trace_replay_options options = clpi_replay_with_bar(&wanted, &bar);
  clp_status status = trace_survey_take(setup->surveys[i], setup->reader, setup->allocator,
                                        &options, setup->perfetto ? &listener : NULL);
  clpi_progress_end(&bar);
  if (!status && setup->perfetto)
    clpi_perfetto_end(&perfetto);
  return status;
}

/* Ends a file that is complete, and forgets it. */
static int finish(clpi_output_file **file)
{
  int code = *file ? clpi_output_file_finish(*file) : CLPI_EXIT_SUCCESS;
  *file = NULL;
  return code;
}

static size_t most_bytes(const trace_survey *survey)
{
  const trace_replay_result *result = &survey->result;
  size_t managed = trace_peak_managed_bytes(&survey->managed_peak);
  return MAX(managed, result->peak_device_bytes);
}

static void describe(const report_setup *setup, clpi_report reports[CLPI_MOST_REPORTS])
{
  static const char *const suffixes[CLPI_MOST_REPORTS] = {"", "-2"};
  const clpi_report_arguments *arguments = &setup->arguments;
  size_t most = 0;
  for (size_t i = 0; i < arguments->setting_count; i++)
    most = MAX(most, most_bytes(setup->surveys[i]));
  for (size_t i = 0; i < arguments->setting_count; i++)
    reports[i] = (clpi_report){
        .trace = trace_name(setup->reader),
        .suffix = suffixes[i],
        .leading_bits = arguments->settings[i].leading_bits,
        .on_arena = arguments->settings[i].on_arena,
        .slack = arguments->settings[i].slack,
        .most_bytes = most,
        .capacity = arguments->common.allocator.capacity,
        .scale = arguments->common.replay.scale,
        .survey = setup->surveys[i],
    };
}

static int write_outputs(report_setup *setup)
{
  const clpi_report_arguments *arguments = &setup->arguments;
  clpi_report reports[CLPI_MOST_REPORTS];
  describe(setup, reports);
  int code = finish(&setup->perfetto);
  if (code)
    return code;
  if (setup->page)
    clpi_report_write_page(clpi_output_file_stream(setup->page), reports, arguments->setting_count);
  code = finish(&setup->page);
  if (!code && arguments->common.as_json)
    clpi_report_write_json(stdout, reports, arguments->setting_count);
  return code;
}

static clp_status survey_all(report_setup *setup)
{
  clp_status status = survey(setup, 0);
  for (size_t i = 1; i < setup->arguments.setting_count && !status; i++) {
    status = trace_rewind(setup->reader);
    if (!status)
      status = survey(setup, i);
  }
  return status;
}

static int survey_and_write(report_setup *setup)
{
  clp_status status =
      clp_simulated_allocator_create(setup->arguments.common.allocator.capacity, &setup->allocator);
  if (status)
    return clpi_failed(status);
  int code = clpi_read_parts(&setup->arguments.common, setup->allocator);
  if (code)
    return code;
  if (setup->arguments.common.fits_scale)
    status =
        clpi_replay_find_scale(setup->reader, setup->allocator, &setup->arguments.common.replay);
  if (!status)
    status = survey_all(setup);
  if (status)
    return clpi_failed(status);
  clpi_tell_left_out(setup->reader);
  const trace_replay_result *result = &setup->surveys[0]->result;
  return result->allocations + result->failures > 0 ? write_outputs(setup)
                                                    : clpi_nothing_to("report", setup->reader);
}

static int open_and_survey(report_setup *setup)
{
  const clpi_report_arguments *arguments = &setup->arguments;
  const char *rereads = arguments->setting_count > 1 ? "--versus" : NULL;
  int code = clpi_open_trace(&arguments->common, rereads, &setup->reader);
  if (code)
    return code;
  code = clpi_open_output("-o", arguments->page, arguments->common.trace, &setup->page);
  if (!code)
    code = clpi_open_output("--perfetto", arguments->perfetto, arguments->common.trace,
                            &setup->perfetto);
  if (code)
    return code;
  for (size_t i = 0; i < arguments->setting_count; i++) {
    setup->surveys[i] = calloc(1, sizeof(trace_survey));
    if (!setup->surveys[i]) {
      clpi_complain("no host memory for a report");
      return CLPI_EXIT_FAILED;
    }
  }
  return survey_and_write(setup);
}

static int run(int argc, char **argv)
{
  report_setup setup = {0};
  int code = clpi_report_arguments_read(argc, argv, &setup.arguments);
  if (code)
    return code;
  if (setup.arguments.common.wants_help) {
    fputs(help_text, stdout);
    return CLPI_EXIT_SUCCESS;
  }
  clpi_show_remarks();
  code = open_and_survey(&setup);
  clpi_output_file_discard(setup.perfetto);
  clpi_output_file_discard(setup.page);
  for (size_t i = 0; i < CLPI_MOST_REPORTS; i++) {
    if (setup.surveys[i])
      trace_survey_end(setup.surveys[i]);
    free(setup.surveys[i]);
  }
  trace_close(setup.reader);
  clp_allocator_release(setup.allocator);
  return code;
}

const clpi_command clpi_report_command = {
    .name = "report",
    .summary = "show where a recorded program's memory went, as a page for browsers",
    .help = help_text,
    .run = run,
};
