/* SPDX-License-Identifier: MIT */
/* clpool report: a page, counters for a trace viewer and stacks for a flame graph, of what a
 * recorded program's allocations make of a pool. */
#include "report.h"

#include "output_file.h"
#include "program.h"
#include "progress.h"
#include "replay_setup.h"
#include "trace/reader.h"

#include <stdlib.h>

static const char help_text[] =
    "Usage: clpool report TRACE [-o FILE.html] [OPTION]...\n"
    "Replays a recorded program's allocations through a pool on a simulated device and\n"
    "shows where the memory went: when, of which sizes, and, where the trace has stacks\n"
    "(clpool record --stacks), by which lines. \"-\" is standard input.\n"
    "\n"
    "Options:\n"
    "  -o, --output=FILE    write a page for browsers, one file that needs no network\n"
    "  --folded=FILE        write the stacks of what was in use at the peak, for speedscope and\n"
    "                       flamegraph.pl\n"
    "  --perfetto=FILE      write counters over the trace's time, which ui.perfetto.dev and\n"
    "                       chrome://tracing open\n"
    "  --json               print the figures as one JSON object\n"
    "  --leading-bits=B     leading_bits_in_bin_id of the pool, 0 to 16; 4 by default; they\n"
    "                       do not matter on an arena\n"
    "  --arena              with the pool on an arena\n"
    "  --slack=F            how much of the highest use the arena may keep beyond it, 0\n"
    "                       to 1; 0.016 by default\n"
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
    "  clpool report trace.csv.gz -o arena.html --arena\n"
    "  clpool report stacks.csv --folded=memory.folded\n";

/* What is surveyed, and where it goes. */
typedef struct report_setup {
  clpi_report_arguments arguments;
  trace_reader *reader;
  clp_allocator *allocator;
  clpi_output_file *files[CLPI_REPORT_FILES]; /* NULL: none, or finished */
  trace_survey *survey;
} report_setup;

static clp_status survey(const report_setup *setup)
{
  clpi_progress bar = clpi_progress_begin("replay with a pool");
  trace_replay_options options = clpi_replay_with_bar(&setup->arguments.common.replay, &bar);
  clp_status status = trace_survey_take(setup->survey, setup->reader, setup->allocator, &options);
  clpi_progress_end(&bar);
  return status;
}

static clp_status write_file(size_t which, FILE *file, const clpi_report *report)
{
  switch (which) {
  case CLPI_REPORT_PAGE:
    return clpi_report_write_page(file, report);
  case CLPI_REPORT_PERFETTO:
    clpi_report_write_perfetto(file, report);
    return CLP_SUCCESS;
  default: /* what cannot be written is told when the file ends */
    (void)clpi_line_report_write_folded(&report->survey->stacks.report, file);
    return CLP_SUCCESS;
  }
}

static int write_outputs(report_setup *setup)
{
  const clpi_report report = {.trace = trace_name(setup->reader),
                              .arguments = &setup->arguments.common,
                              .survey = setup->survey};
  if (setup->files[CLPI_REPORT_FOLDED] && !trace_survey_has_stacks(setup->survey))
    return clpi_misuse("%s has no stacks: clpool record --stacks and CLPOOL_TRACE_STACKS=1 record "
                       "them",
                       report.trace);
  for (size_t i = 0; i < CLPI_REPORT_FILES; i++) {
    if (!setup->files[i])
      continue;
    clp_status status = write_file(i, clpi_output_file_stream(setup->files[i]), &report);
    if (status)
      return clpi_failed(status);
    int code = clpi_output_file_finish(setup->files[i]);
    setup->files[i] = NULL;
    if (code)
      return code;
  }
  if (setup->arguments.common.as_json)
    clpi_report_write_json(stdout, &report);
  return CLPI_EXIT_SUCCESS;
}

static int survey_and_write(report_setup *setup)
{
  clpi_trace_arguments *common = &setup->arguments.common;
  clp_status status = clp_simulated_allocator_create(common->allocator.capacity, &setup->allocator);
  if (status)
    return clpi_failed(status);
  int code = clpi_read_parts(common, setup->allocator);
  if (code)
    return code;
  if (common->fits_scale)
    status = clpi_replay_find_scale(setup->reader, setup->allocator, &common->replay);
  if (!status)
    status = survey(setup);
  if (status)
    return clpi_failed(status);
  clpi_tell_left_out(setup->reader);
  const trace_replay_result *result = &setup->survey->result;
  return result->allocations + result->failures > 0 ? write_outputs(setup)
                                                    : clpi_nothing_to("report", setup->reader);
}

static int open_and_survey(report_setup *setup)
{
  const clpi_report_arguments *arguments = &setup->arguments;
  int code = clpi_open_trace(&arguments->common, NULL, &setup->reader);
  for (size_t i = 0; i < CLPI_REPORT_FILES && !code; i++)
    code = clpi_open_output(clpi_report_options[i], arguments->files[i], arguments->common.trace,
                            &setup->files[i]);
  if (code)
    return code;
  setup->survey = calloc(1, sizeof(*setup->survey));
  if (setup->survey)
    return survey_and_write(setup);
  clpi_complain("no host memory for a report");
  return CLPI_EXIT_FAILED;
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
  for (size_t i = 0; i < CLPI_REPORT_FILES; i++)
    clpi_output_file_discard(setup.files[i]);
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
