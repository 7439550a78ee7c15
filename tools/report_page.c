/* SPDX-License-Identifier: MIT */
/* The report's page: one file, with its style and script inside. */
#include "report.h"

#include "core/base/printable.h"

#include <clpool/version.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* report.css and report.js, which the build makes C of. */
extern const char clpi_report_style[], clpi_report_script[];

void clpi_write_escaped(FILE *file, const char *text)
{
  clpi_write_escaped_part(file, text, strlen(text));
}

void clpi_write_escaped_part(FILE *file, const char *text, size_t bytes)
{
  static const char marks[] = "&<>\"'";
  static const char *const entities[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
  for (const char *end = text + bytes; text < end;) {
    size_t length = clpi_utf8_length(text);
    const char *mark = strchr(marks, *text);
    /* U+FFFE and U+FFFF are well-formed UTF-8, but no XML. */
    bool is_in_xml = strncmp(text, "\xef\xbf\xbe", 3) != 0 && strncmp(text, "\xef\xbf\xbf", 3) != 0;
    if (mark)
      fputs(entities[mark - marks], file);
    else if (length > 0 && is_in_xml)
      fwrite(text, 1, length, file);
    else
      fputs("&#xfffd;", file);
    text += length > 0 ? length : 1;
  }
}

const char *clpi_base_name(const char *path)
{
  const char *name = path;
  for (const char *end = strchrnul(path, ':'), *at = path; at < end; at++)
    if (*at == '/' && at[1])
      name = at + 1;
  return name;
}

static void write_head(FILE *file, const clpi_report *report)
{
  fputs("<!DOCTYPE html>\n<html lang='en'>\n<head>\n<meta charset='utf-8'/>\n"
        "<meta name='viewport' content='width=device-width, initial-scale=1'/>\n"
        "<meta name='color-scheme' content='light dark'/>\n<title>",
        file);
  clpi_write_escaped(file, clpi_base_name(report->trace));
  fprintf(file, " - clpool report</title>\n<style>\n%s</style>\n</head>\n<body>\n",
          clpi_report_style);
}

void clpi_report_begin_section(FILE *file, const char *name, const char *title)
{
  fprintf(file, "<section id='%s' class='%s'>\n<h2>%s</h2>\n", name, name, title);
}

void clpi_report_begin_wide(FILE *file, const char *label)
{
  fprintf(file, "<div class='wide' tabindex='0' role='region' aria-label='%s'>", label);
}

/* "A pool with 4 leading bits takes", "2 pools on arenas of slack 0.1 take" */
static void write_pools(FILE *file, const clpi_report *report)
{
  const trace_replay_options *replay = &report->arguments->replay;
  size_t count = report->survey->result.pools;
  fputs(count > 1 ? clpi_show_number_of(count, "pool").text : "A pool", file);
  if (replay->on_arena)
    fprintf(file, " on %s of slack %.10g", count > 1 ? "arenas" : "an arena",
            replay->arena_options.slack);
  else
    fprintf(file, " with %u leading bits", replay->pool_options.leading_bits_in_bin_id);
  fputs(count > 1 ? " take" : " takes", file);
}

/* The innermost line that half of the peak or more comes from, unless all of it does, by several
 * others. */
static clp_status write_culprit(FILE *file, const trace_stacks *stacks)
{
  const clpi_call_tree *lines = &stacks->report.lines;
  uint64_t *bytes = trace_stacks_bytes(stacks, CLP_VIEW_PEAK);
  uint32_t found = 0;
  bool has_calls = false;
  if (!bytes)
    return CLP_OUT_OF_HOST_MEMORY;
  for (uint32_t i = 1; i < lines->count; i++) {
    bool is_called = lines->nodes[i].parent == found && bytes[i] > 0;
    bool is_most = is_called && bytes[i] >= bytes[0] / 2;
    has_calls = (has_calls || is_called) && !is_most;
    found = is_most ? i : found;
  }
  if (found > 0 && (bytes[found] < bytes[0] || !has_calls)) {
    fprintf(file, " At the peak, <b>%s</b> of the memory in use came from <code>",
            clpi_show_part(bytes[found], bytes[0]).text);
    clpi_write_escaped(file, clpi_base_name(trace_stacks_text(&lines->nodes[found])));
    fputs("</code>.", file);
  }
  free(bytes);
  return CLP_SUCCESS;
}

/* What to do now, which depends on whether there is something to gain. */
static void write_next_step(FILE *file, const clpi_report *report)
{
  static const double much = 1.2;
  const trace_replay_result *result = &report->survey->result;
  if (result->footprint < much && result->failures == 0) {
    fputs("Other settings can gain little: the pool takes hardly more than the program uses.",
          file);
  } else {
    fputs(result->failures > 0 ? "Next: raise the limit, or let " : "Next: ", file);
    fputs("<code>clpool tune ", file);
    clpi_write_escaped(file, clpi_base_name(report->arguments->traces[0]));
    fputs(result->failures > 0 ? "</code> look for a setting that takes less."
                               : "</code> looks for a setting that takes less.",
          file);
  }
  if (!trace_survey_has_stacks(report->survey))
    fputs(" Record with <code>clpool record --stacks</code> or <code>CLPOOL_TRACE_STACKS=1</code> "
          "to see who allocates.",
          file);
}

/* Some sentences for who reads no more. */
static clp_status write_verdict(FILE *file, const clpi_report *report)
{
  const trace_replay_result *result = &report->survey->result;
  fprintf(file, "<p class='verdict'>The program used at most <b>%s</b>",
          clpi_show_bytes(result->peak_active_bytes).text);
  if (result->failures > 0)
    fprintf(file, ", without <b>%s</b> of its %s, which the pool refused",
            clpi_show_grouped(result->failures).text,
            clpi_show_number_of(result->allocations + result->failures, "allocation").text);
  fputs(". ", file);
  write_pools(file, report);
  fprintf(
      file,
      " <b>%s</b> for that, <b>%s times</b> as much. <b>%s</b> of %s needed no call to the device.",
      clpi_show_bytes(result->peak_device_bytes).text, clpi_show("%.2f", result->footprint).text,
      clpi_show_part(result->hits, result->allocations).text,
      clpi_show_number_of(result->allocations, "allocation").text);
  if (result->frees < result->allocations)
    fprintf(file, " The program never freed <b>%s</b>.",
            clpi_show_grouped(result->allocations - result->frees).text);
  clp_status status = CLP_SUCCESS;
  if (trace_survey_has_stacks(report->survey))
    status = write_culprit(file, &report->survey->stacks);
  fputs("</p>\n<p class='next'>", file);
  write_next_step(file, report);
  fputs("</p>\n", file);
  return status;
}

static void write_header(FILE *file, const clpi_report *report)
{
  const trace_timeline *timeline = &report->survey->timeline;
  uint64_t rows = trace_timeline_rows(timeline);
  fputs("<header>\n<p class='kind'>clpool report</p>\n<h1>", file);
  clpi_write_escaped(file, clpi_base_name(report->trace));
  fprintf(file, "</h1>\n<p class='subject'>%s", clpi_show_number_of(rows, "event").text);
  if (trace_timeline_nanoseconds(timeline, rows) > 0)
    fprintf(file, " in %s", clpi_show_elapsed(trace_timeline_nanoseconds(timeline, rows)).text);
  fputs(", replayed through a pool on a simulated device</p>\n</header>\n", file);
}

/* What there is to see of a trace that allocates something. */
static clp_status write_findings(FILE *file, const clpi_report *report)
{
  const trace_replay_result *result = &report->survey->result;
  clp_status status = CLP_SUCCESS;
  if (result->peak_active_bytes > 0)
    status = write_verdict(file, report);
  if (status)
    return status;
  if (result->peak_managed_bytes == 0) {
    fputs("<p class='note'>No memory was allocated.", file);
    if (result->failures > 0)
      fprintf(file, " The pool refused %s.",
              clpi_show_number_of(result->failures, "allocation").text);
    fputs("</p>\n", file);
    return CLP_SUCCESS;
  }
  clpi_report_write_timeline(file, report);
  status = clpi_report_write_stacks(file, report);
  clpi_report_write_tables(file, report);
  fputs("<div id='tip' role='status' hidden='hidden'></div>\n", file);
  return status;
}

clp_status clpi_report_write_page(FILE *file, const clpi_report *report)
{
  write_head(file, report);
  fputs("<main>\n", file);
  write_header(file, report);
  clp_status status = write_findings(file, report);
  clpi_report_write_figures(file, report);
  fprintf(file, "</main>\n<footer>clpool %s</footer>\n<script>\n%s</script>\n</body>\n</html>\n",
          clp_version(), clpi_report_script);
  return status;
}
