/* SPDX-License-Identifier: MIT */
/* The report's tables: of pools, of kinds of memory, of the largest allocations. */
#include "report.h"

#include <clpool/bin.h>
#include <inttypes.h>
#include <stdbool.h>

/* A section that is a table; `columns` is the first row, and `note` stands above. */
static void begin_table(FILE *file, const char *name, const char *title, const char *note,
                        const char *columns)
{
  clpi_report_begin_section(file, name, title);
  fputs(note, file);
  clpi_report_begin_wide(file, title);
  fprintf(file, "<table>\n<thead><tr>%s</tr></thead>\n<tbody>\n", columns);
}

static void end_table(FILE *file)
{
  fputs("</tbody>\n</table>", file);
  clpi_report_end_wide(file);
  fputs("</section>\n", file);
}

/* --- pools and kinds --- */

/* Its name, or else its context, and its kind of memory. */
static void write_name(FILE *file, const trace_surveyed_pool *pool)
{
  if (!pool->name)
    fprintf(file, "context %#" PRIx64, pool->context);
  else if (!*pool->name)
    fputs("pools without a name", file);
  else
    clpi_write_escaped(file, pool->name);
  if (pool->kind != TRACE_NO_KIND)
    fprintf(file, ", %s", trace_kind_name(pool->kind));
}

void clpi_report_write_pools(FILE *file, const clpi_report *report)
{
  const trace_survey *survey = report->survey;
  if (survey->result.pools < 2)
    return;
  begin_table(file, "pools", "Memory by pool", "",
              "<th scope='col'>Pool</th><th scope='col'>Most in use</th>"
              "<th scope='col'>Most in the pool</th>");
  for (size_t i = 0; i < survey->pool_count; i++) {
    const trace_surveyed_pool *pool = &survey->pools[i];
    fputs("<tr><th scope='row'>", file);
    write_name(file, pool);
    fprintf(file, "</th><td>%s</td><td>%s</td></tr>\n",
            clpi_show_bytes(pool->peak_active_bytes).text,
            clpi_show_bytes(pool->peak_managed_bytes).text);
  }
  if (survey->result.pools > survey->pool_count)
    fprintf(file, "<tr class='others'><th scope='row' colspan='3'>%s more</th></tr>\n",
            clpi_show_number_of(survey->result.pools - survey->pool_count, "pool").text);
  end_table(file);
}

void clpi_report_write_kinds(FILE *file, const clpi_report *report)
{
  if (!trace_survey_has_kinds(report->survey))
    return;
  begin_table(file, "kinds", "Memory by kind", "",
              "<th scope='col'>Kind</th><th scope='col'>Allocations</th>"
              "<th scope='col'>Most in use</th><th scope='col'>In use at the peak of all</th>"
              "<th scope='col'>In use at the end</th>");
  for (trace_kind i = 0; i < TRACE_KINDS; i++) {
    const trace_surveyed_kind *kind = &report->survey->kinds[i];
    if (kind->allocations > 0)
      fprintf(
          file, "<tr><th scope='row'>%s</th><td>%s</td><td>%s</td><td>%s</td><td>%s</td></tr>\n",
          i == TRACE_NO_KIND ? "unknown" : trace_kind_name(i),
          clpi_show_grouped(kind->allocations).text, clpi_show_bytes(kind->peak_active_bytes).text,
          clpi_show_bytes(kind->active_bytes_at_peak).text,
          clpi_show_bytes(kind->active_bytes).text);
  }
  end_table(file);
}

/* --- the largest allocations --- */

/* A figure and, where the trace has times, a time below it. */
static void write_figure(FILE *file, const clpi_report *report, clpi_shown figure, uint64_t time)
{
  const trace_timeline *timeline = &report->survey->timeline;
  fprintf(file, "<td>%s", figure.text);
  if (trace_timeline_nanoseconds(timeline, trace_timeline_rows(timeline)) > 0)
    fprintf(file, "<br/><small>%s</small>", clpi_show_elapsed(time).text);
  fputs("</td>", file);
}

/* The innermost lines of the stack, a line each. */
static void write_from(FILE *file, const trace_stacks *stacks, uint64_t stack)
{
  const char *texts[CLPI_REPORT_LINES];
  size_t count = trace_stacks_describe(stacks, stack, texts, CLPI_REPORT_LINES);
  fputs("<td class='from'>", file);
  for (size_t i = 0; i < count; i++) {
    fputs(i > 0 ? "<br/><small>" : "", file);
    clpi_write_escaped(file, clpi_base_name(texts[i]));
    fputs(i > 0 ? "</small>" : "", file);
  }
  fputs(count > 0 ? "</td>" : "unknown</td>", file);
}

static void write_group(FILE *file, const clpi_report *report, const trace_large_group *group)
{
  fprintf(file,
          "<tr><th scope='row'>%s<br/><small>%s</small></th><td>%s</td>"
          "<td>%zu<br/><small>%s</small></td>",
          clpi_show_bytes(group->kind.bytes).text,
          clpi_show_number_of(group->kind.bytes, "byte").text, clpi_show_grouped(group->times).text,
          clp_bin_number(report->arguments->replay.pool_options.leading_bits_in_bin_id,
                         group->kind.bytes),
          clpi_show_bytes(group->block_bytes).text);
  write_figure(file, report, clpi_show_grouped(group->first.row), group->first.nanoseconds);
  write_figure(file, report, clpi_show_number_of(group->most_rows, "event"),
               group->most_nanoseconds);
  if (group->kept == 0)
    fputs("<td>yes</td>", file);
  else
    fprintf(file, "<td class='kept'>%s never</td>", clpi_show_grouped(group->kept).text);
  fprintf(file, "<td>%" PRIu64 "</td><td>%#" PRIx64 "</td>", group->kind.thread,
          group->kind.stream);
  if (trace_survey_has_kinds(report->survey))
    fprintf(file, "<td>%s</td>", trace_kind_name(group->kind.memory));
  if (report->survey->stacks)
    write_from(file, report->survey->stacks, group->kind.stack);
  fputs("</tr>\n", file);
}

void clpi_report_write_largest(FILE *file, const clpi_report *report)
{
  const trace_survey *survey = report->survey;
  char columns[512];
  snprintf(columns, sizeof(columns), "%s%s%s",
           "<th scope='col'>Size</th><th scope='col'>Times</th><th scope='col'>Bin, block</th>"
           "<th scope='col'>First at event</th><th scope='col'>Longest life</th>"
           "<th scope='col'>Freed</th><th scope='col'>Thread</th><th scope='col'>Stream</th>",
           trace_survey_has_kinds(survey) ? "<th scope='col'>Kind</th>" : "",
           survey->stacks ? "<th scope='col' class='from'>From</th>" : "");
  begin_table(file, "largest", "The largest allocations",
              "<p>Those of one size, thread, stream, kind and call stack are a row; its life is "
              "that of the one that lived longest.</p>\n",
              columns);
  for (size_t i = 0; i < survey->largest.count; i++)
    write_group(file, report, &survey->largest.groups[i]);
  end_table(file);
}
