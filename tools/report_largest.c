/* SPDX-License-Identifier: MIT */
/* The report's table of the largest allocations. */
#include "report.h"
#include "report_text.h"

#include <clpool/bin.h>
#include <inttypes.h>
#include <stdbool.h>

static void write_moment(FILE *file, trace_moment when, bool has_times)
{
  fprintf(file, "<td>%s", clpi_show_grouped(when.row).text);
  if (has_times)
    fprintf(file, "<br/><small>%s</small>", clpi_show_elapsed(when.nanoseconds).text);
  fputs("</td>", file);
}

static void write_life(FILE *file, const trace_large_group *group, bool has_times)
{
  fprintf(file, "<td>%s", clpi_show_number_of(group->most_rows, "event").text);
  if (has_times)
    fprintf(file, "<br/><small>%s</small>", clpi_show_elapsed(group->most_nanoseconds).text);
  fputs("</td>", file);
  if (group->kept == 0)
    fputs("<td>yes</td>", file);
  else
    fprintf(file, "<td class='kept'>%s never</td>", clpi_show_grouped(group->kept).text);
}

static void write_group(FILE *file, const clpi_report *report, const trace_large_group *group,
                        bool has_times)
{
  fprintf(file, "<tr><th scope='row'>%s<br/><small>%s</small></th><td>%s</td>",
          clpi_show_bytes(group->kind.bytes).text,
          clpi_show_number_of(group->kind.bytes, "byte").text,
          clpi_show_grouped(group->times).text);
  fprintf(file, "<td>%zu<br/><small>%s</small></td>",
          clp_bin_number(report->leading_bits, group->kind.bytes),
          clpi_show_bytes(group->block_bytes).text);
  write_moment(file, group->first, has_times);
  write_life(file, group, has_times);
  fprintf(file, "<td>%" PRIu64 "</td><td>%#" PRIx64 "</td>", group->kind.thread,
          group->kind.stream);
  if (trace_survey_has_kinds(report->survey))
    fprintf(file, "<td>%s</td>", trace_kind_name(group->kind.memory));
  fputs("</tr>\n", file);
}

void clpi_report_write_largest(FILE *file, const clpi_report *report)
{
  const trace_survey *survey = report->survey;
  const trace_timeline *timeline = &survey->timeline;
  bool has_times = trace_timeline_nanoseconds(timeline, trace_timeline_rows(timeline)) > 0;
  clpi_report_begin_section(file, report, "largest", "The largest allocations");
  fputs("<p>Those of one size, thread, stream and kind are a row; its life is that of the one that "
        "lived longest.</p>\n",
        file);
  clpi_report_begin_wide(file, "The largest allocations");
  fputs("<table>\n<thead><tr><th scope='col'>Size</th><th scope='col'>Times</th>"
        "<th scope='col'>Bin, block</th><th scope='col'>First at event</th>"
        "<th scope='col'>Longest life</th><th scope='col'>Freed</th>"
        "<th scope='col'>Thread</th><th scope='col'>Stream</th>",
        file);
  fprintf(file, "%s</tr></thead>\n<tbody>\n",
          trace_survey_has_kinds(survey) ? "<th scope='col'>Kind</th>" : "");
  for (size_t i = 0; i < survey->largest.count; i++)
    write_group(file, report, &survey->largest.groups[i], has_times);
  fputs("</tbody>\n</table>", file);
  clpi_report_end_wide(file);
  fputs("</section>\n", file);
}
