/* SPDX-License-Identifier: MIT */
/* The report's table of what each kind of memory comes to, where the trace has kinds. */
#include "report.h"
#include "report_text.h"

static void write_kind(FILE *file, const trace_surveyed_kind *kind, const char *name)
{
  fprintf(
      file, "<tr><th scope='row'>%s</th><td>%s</td><td>%s</td><td>%s</td><td>%s</td></tr>\n", name,
      clpi_show_grouped(kind->allocations).text, clpi_show_bytes(kind->peak_active_bytes).text,
      clpi_show_bytes(kind->active_bytes_at_peak).text, clpi_show_bytes(kind->active_bytes).text);
}

void clpi_report_write_kinds(FILE *file, const clpi_report *report)
{
  const trace_survey *survey = report->survey;
  if (!trace_survey_has_kinds(survey))
    return;
  clpi_report_begin_section(file, report, "kinds", "Memory by kind");
  clpi_report_begin_wide(file, "Memory by kind");
  fputs("<table>\n<thead><tr><th scope='col'>Kind</th><th scope='col'>Allocations</th>"
        "<th scope='col'>Most in use</th><th scope='col'>In use at the peak of all</th>"
        "<th scope='col'>In use at the end</th></tr></thead>\n<tbody>\n",
        file);
  for (trace_kind kind = 0; kind < TRACE_KINDS; kind++)
    if (survey->kinds[kind].allocations > 0)
      write_kind(file, &survey->kinds[kind],
                 kind == TRACE_NO_KIND ? "unknown" : trace_kind_name(kind));
  fputs("</tbody>\n</table>", file);
  clpi_report_end_wide(file);
  fputs("</section>\n", file);
}
