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
#include <string.h>
#include <unistd.h>

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
    "  --leading-bits=B     leading_bits_in_bin_id of the pool, 0 to 16; 4 by default\n"
    "  --limit=BYTES        the pool's limit; 0 for none\n"
    "  --capacity=BYTES     the memory of the simulated device; without it, no bound\n"
    "  --memory=BYTES       of the host that the replay may take; half of all by default\n"
    "  --scale=F            multiply every size by F; auto: by the largest power of two, at\n"
    "                       most 1, with which the pool needs a quarter of the device\n"
    "  --help               print this help\n"
    "BYTES may be 512M, 1.5G or 4GiB, and the limit a part of the capacity, 40%. FILE \"-\" is\n"
    "standard output. A file appears when it is complete.\n"
    "\n"
    "Examples:\n"
    "  clpool report trace.csv.gz -o report.html\n"
    "  clpool report trace.csv.gz --perfetto=counters.json --leading-bits=2\n";

/* What is surveyed, and where it goes. */
typedef struct report_setup {
  clpi_report_arguments arguments;
  trace_reader *reader;
  clp_allocator *allocator;
  clpi_output_file *page;     /* NULL: none */
  clpi_output_file *perfetto; /* likewise */
  trace_survey *survey;
} report_setup;

static void add_sample(const trace_sample *sample, void *perfetto)
{
  clpi_perfetto_add(perfetto, sample);
}

static clp_status survey(const report_setup *setup)
{
  clpi_perfetto perfetto;
  trace_survey_listener listener = {add_sample, &perfetto};
  if (setup->perfetto)
    clpi_perfetto_begin(&perfetto, clpi_output_file_stream(setup->perfetto),
                        trace_name(setup->reader));
  clpi_progress bar = clpi_progress_begin("replay with a pool");
  trace_replay_options options = clpi_replay_with_bar(&setup->arguments.common.replay, &bar);
  clp_status status = trace_survey_take(setup->survey, setup->reader, setup->allocator, &options,
                                        setup->perfetto ? &listener : NULL);
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

static int write_outputs(report_setup *setup)
{
  const clpi_report_arguments *arguments = &setup->arguments;
  clpi_report report = {
      .trace = trace_name(setup->reader),
      .leading_bits = arguments->common.replay.pool_options.leading_bits_in_bin_id,
      .capacity = arguments->common.allocator.capacity,
      .scale = arguments->common.replay.scale,
      .survey = setup->survey,
  };
  int code = finish(&setup->perfetto);
  if (code)
    return code;
  if (setup->page)
    clpi_report_write_page(clpi_output_file_stream(setup->page), &report);
  code = finish(&setup->page);
  if (!code && arguments->common.as_json)
    clpi_report_write_json(stdout, &report);
  return code;
}

static int survey_and_write(report_setup *setup)
{
  clp_status status =
      clp_simulated_allocator_create(setup->arguments.common.allocator.capacity, &setup->allocator);
  if (status)
    return clpi_failed(status);
  int code = clpi_read_limit(&setup->arguments.common, setup->allocator);
  if (code)
    return code;
  if (setup->arguments.common.fits_scale)
    status =
        clpi_replay_find_scale(setup->reader, setup->allocator, &setup->arguments.common.replay);
  if (!status)
    status = survey(setup);
  return status ? clpi_replay_failed(status) : write_outputs(setup);
}

static int open_and_survey(report_setup *setup)
{
  const clpi_report_arguments *arguments = &setup->arguments;
  int code = clpi_open_trace(&arguments->common, NULL, &setup->reader);
  if (code)
    return code;
  code = clpi_open_output("-o", arguments->page, arguments->common.trace, &setup->page);
  if (!code)
    code = clpi_open_output("--perfetto", arguments->perfetto, arguments->common.trace,
                            &setup->perfetto);
  if (code)
    return code;
  setup->survey = calloc(1, sizeof(*setup->survey));
  if (!setup->survey) {
    clpi_complain("no host memory for a report");
    return CLPI_EXIT_FAILED;
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
  if (setup.survey)
    trace_survey_end(setup.survey);
  free(setup.survey);
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
