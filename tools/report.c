/* SPDX-License-Identifier: MIT */
/* clpool report: a page, counters for a trace viewer and stacks for a flame graph, of what a
 * recorded program's allocations make of a pool. */
#include "report.h"

#include "output_file.h"
#include "progress.h"

#include <string.h>
#include <strings.h>

enum { PAGE, PERFETTO, FOLDED, FILES };

static clp_status survey(const clpi_report *report, trace_reader *reader)
{
  clp_allocator *allocator = NULL;
  clpi_progress bar = clpi_progress_begin("replay with a pool");
  trace_replay_options options = report->arguments->replay;
  options.on_progress = clpi_progress_update;
  options.user_data = &bar;
  clp_status status = clp_simulated_allocator_create(0, &allocator);
  if (!status)
    status = trace_survey_take(report->survey, reader, allocator, &options);
  clp_allocator_release(allocator);
  clpi_progress_end(&bar);
  return status;
}

static clp_status write_file(size_t which, FILE *file, const clpi_report *report)
{
  if (which == PAGE)
    return clpi_report_write_page(file, report);
  if (which == PERFETTO)
    clpi_report_write_perfetto(file, report);
  else /* what cannot be written is told when the file ends */
    (void)clpi_line_report_write_folded(&report->survey->stacks.report, file);
  return CLP_SUCCESS;
}

/* `files` are NULL where there is none, or when they are finished. */
static int write_outputs(const clpi_report *report, clpi_output_file **files)
{
  if (files[FOLDED] && !trace_survey_has_stacks(report->survey))
    return clpi_misuse(
        "%s has no call stacks: record with clpool record --stacks or CLPOOL_TRACE_STACKS=1",
        report->trace);
  for (size_t i = 0; i < FILES; i++) {
    if (!files[i])
      continue;
    clp_status status = write_file(i, files[i]->stream, report);
    if (status)
      return clpi_failed(status);
    int code = clpi_output_file_finish(&files[i]);
    if (code)
      return code;
  }
  if (report->arguments->as_json)
    clpi_report_write_json(stdout, report);
  return CLPI_EXIT_SUCCESS;
}

static int survey_and_write(clpi_report *report, trace_reader *reader, clpi_output_file **files)
{
  const trace_replay_result *result = &report->survey->result;
  clp_status status = survey(report, reader);
  if (status)
    return clpi_failed(status);
  clpi_tell_left_out(reader);
  report->trace = reader->lines.name;
  return result->allocations + result->failures > 0 ? write_outputs(report, files)
                                                    : clpi_nothing_to("report", reader);
}

static int check_outputs(const clpi_arguments *arguments)
{
  const char *page = arguments->output, *ending = page ? strrchr(page, '.') : NULL;
  if (!page && !arguments->perfetto && !arguments->folded && !arguments->as_json)
    return clpi_misuse(
        "no output is named: add -o FILE.html, --perfetto=FILE, --folded=FILE or --json");
  if (ending && strcasecmp(ending, ".pdf") == 0)
    return clpi_misuse("-o: the report is HTML, which browsers print as PDF: name it FILE.html");
  return CLPI_EXIT_SUCCESS;
}

static int run(clpi_arguments *arguments)
{
  static trace_survey taken; /* large */
  clpi_report report = {.arguments = arguments, .survey = &taken};
  const char *const paths[FILES] = {arguments->output, arguments->perfetto, arguments->folded};
  clpi_output_file *files[FILES] = {NULL};
  trace_reader *reader = NULL;
  int code = check_outputs(arguments);
  if (!code)
    code = clpi_set_limit(arguments, 0);
  clpi_show_remarks();
  if (!code)
    code = clpi_open_trace(arguments->traces[0], arguments->is_lenient, &reader);
  for (size_t i = 0; i < FILES && !code; i++)
    if (paths[i])
      code = clpi_output_file_create(paths[i], &files[i]);
  if (!code)
    code = survey_and_write(&report, reader, files);
  for (size_t i = 0; i < FILES; i++)
    clpi_output_file_discard(files[i]);
  trace_survey_end(&taken);
  trace_close(reader);
  return code;
}

const clpi_command clpi_report_command = {
    .bit = CLPI_REPORT,
    .name = "report",
    .operands = CLPI_ONE_TRACE,
    .summary = "show where a recorded program's memory went, as a page for browsers",
    .usage = "TRACE [-o FILE.html] [OPTION]...",
    .about = "Replays a recorded program's allocations through a pool on a simulated device and\n"
             "shows where the memory went: when, in which sizes and, if the trace has call stacks\n"
             "(clpool record --stacks), from which lines. \"-\" is standard input.\n",
    .examples = "  clpool report trace.csv.gz -o report.html\n"
                "  clpool report trace.csv.gz -o arena.html --arena\n"
                "  clpool report stacks.csv --folded=memory.folded\n",
    .run = run,
};
