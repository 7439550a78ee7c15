/* SPDX-License-Identifier: MIT */
/* clpool report: a page, counters for a trace viewer and stacks for a flame graph, of what a
 * recorded program's allocations make of a pool. */
#include "report.h"

#include "output_file.h"
#include "progress.h"
#include "trace_input.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { PAGE, PERFETTO, FOLDED, FILES };

/* What is surveyed, and where it goes. */
typedef struct report_setup {
  clpi_arguments *arguments;
  trace_reader *reader;
  clp_allocator *allocator;
  clpi_output_file *files[FILES]; /* NULL: none, or finished */
  trace_survey *survey;
} report_setup;

static clp_status survey(const report_setup *setup)
{
  clpi_progress bar = clpi_progress_begin("replay with a pool");
  trace_replay_options options = clpi_replay_with_bar(&setup->arguments->replay, &bar);
  clp_status status = trace_survey_take(setup->survey, setup->reader, setup->allocator, &options);
  clpi_progress_end(&bar);
  return status;
}

static clp_status write_file(size_t which, FILE *file, const clpi_report *report)
{
  switch (which) {
  case PAGE:
    return clpi_report_write_page(file, report);
  case PERFETTO:
    clpi_report_write_perfetto(file, report);
    return CLP_SUCCESS;
  default: /* what cannot be written is told when the file ends */
    (void)clpi_line_report_write_folded(&report->survey->stacks.report, file);
    return CLP_SUCCESS;
  }
}

static int write_outputs(report_setup *setup)
{
  const clpi_report report = {
      .trace = trace_name(setup->reader), .arguments = setup->arguments, .survey = setup->survey};
  if (setup->files[FOLDED] && !trace_survey_has_stacks(setup->survey))
    return clpi_misuse("%s has no stacks: clpool record --stacks and CLPOOL_TRACE_STACKS=1 record "
                       "them",
                       report.trace);
  for (size_t i = 0; i < FILES; i++) {
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
  if (setup->arguments->as_json)
    clpi_report_write_json(stdout, &report);
  return CLPI_EXIT_SUCCESS;
}

static int survey_and_write(report_setup *setup)
{
  clp_status status = clp_simulated_allocator_create(0, &setup->allocator);
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
  const clpi_arguments *arguments = setup->arguments;
  const char *const paths[FILES] = {arguments->output, arguments->perfetto, arguments->folded};
  int code = clpi_open_trace(arguments->traces[0], arguments->is_lenient, &setup->reader);
  for (size_t i = 0; i < FILES && !code; i++)
    if (paths[i])
      code = clpi_output_file_create(paths[i], &setup->files[i]);
  if (code)
    return code;
  setup->survey = calloc(1, sizeof(*setup->survey));
  if (setup->survey)
    return survey_and_write(setup);
  return clpi_complain("no host memory for a report");
}

static int check_outputs(const clpi_arguments *arguments)
{
  const char *page = arguments->output, *ending = page ? strrchr(page, '.') : NULL;
  if (!page && !arguments->perfetto && !arguments->folded && !arguments->as_json)
    return clpi_misuse("where does the report go? Name -o FILE.html, --perfetto=FILE, "
                       "--folded=FILE or --json");
  if (ending && strcasecmp(ending, ".pdf") == 0)
    return clpi_misuse("-o: the page is HTML, which browsers print as PDF: name FILE.html");
  return CLPI_EXIT_SUCCESS;
}

static int run(clpi_arguments *arguments)
{
  report_setup setup = {.arguments = arguments};
  int code = check_outputs(arguments);
  if (!code)
    code = clpi_set_limit(arguments, 0);
  if (code)
    return code;
  clpi_show_remarks();
  code = open_and_survey(&setup);
  for (size_t i = 0; i < FILES; i++)
    clpi_output_file_discard(setup.files[i]);
  if (setup.survey)
    trace_survey_end(setup.survey);
  free(setup.survey);
  trace_close(setup.reader);
  clp_allocator_release(setup.allocator);
  return code;
}

const clpi_command clpi_report_command = {
    .bit = CLPI_REPORT,
    .name = "report",
    .operands = CLPI_ONE_TRACE,
    .summary = "show where a recorded program's memory went, as a page for browsers",
    .usage = "TRACE [-o FILE.html] [OPTION]...",
    .about = "Replays a recorded program's allocations through a pool on a simulated device and\n"
             "shows where the memory went: when, of which sizes, and, where the trace has stacks\n"
             "(clpool record --stacks), by which lines. \"-\" is standard input.\n",
    .examples = "  clpool report trace.csv.gz -o report.html\n"
                "  clpool report trace.csv.gz -o arena.html --arena\n"
                "  clpool report stacks.csv --folded=memory.folded\n",
    .run = run,
};
