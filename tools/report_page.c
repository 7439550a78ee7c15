/* SPDX-License-Identifier: MIT */
/* The report's page: one file, with its style and script inside. */
#include "report.h"

#include <clpool/version.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* report.css and report.js, which the build makes C of. */
extern const char clpi_report_style[], clpi_report_script[];

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
  fputs("<div class='wide' tabindex='0' role='region' aria-label='", file);
  clpi_write_escaped(file, label);
  fputs("'>", file);
}

void clpi_report_end_wide(FILE *file)
{
  fputs("</div>\n", file);
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

/* The innermost line that most of the peak comes from, unless all of it does, by several others. */
static clp_status write_culprit(FILE *file, const trace_stacks *stacks)
{
  trace_stack_line *lines;
  size_t count, found = 0;
  bool has_calls = false;
  clp_status status = trace_stacks_lines(stacks, CLP_VIEW_PEAK, &lines, &count);
  if (status)
    return status;
  for (size_t i = 1; i < count; i++) {
    bool is_called = lines[i].caller == found && lines[i].bytes > 0;
    bool is_most = is_called && lines[i].bytes > lines[0].bytes / 2;
    has_calls = (has_calls || is_called) && !is_most;
    found = is_most ? i : found;
  }
  if (found > 0 && (lines[found].bytes < lines[0].bytes || !has_calls)) {
    fprintf(file, " At the peak, <b>%s</b> of what was in use came from <code>",
            clpi_show_part(lines[found].bytes, lines[0].bytes).text);
    clpi_write_escaped(file, clpi_base_name(lines[found].text));
    fputs("</code>.", file);
  }
  free(lines);
  return CLP_SUCCESS;
}

/* What to do now, which depends on whether there is something to gain. */
static void write_next_step(FILE *file, const clpi_report *report)
{
  static const double much = 1.2;
  if (report->survey->result.footprint < much) {
    fputs("Other settings can gain little: the pool takes hardly more than the program uses.",
          file);
  } else {
    fputs("Next: <code>clpool tune ", file);
    clpi_write_escaped(file, clpi_base_name(report->arguments->traces[0]));
    fputs("</code> looks for a setting that takes less.", file);
  }
  if (!report->survey->stacks)
    fputs(" Record with <code>clpool record --stacks</code> or <code>CLPOOL_TRACE_STACKS=1</code> "
          "to see who allocates.",
          file);
}

/* Some sentences for who reads no more. */
static clp_status write_verdict(FILE *file, const clpi_report *report)
{
  const trace_replay_result *result = &report->survey->result;
  fprintf(file, "<p class='verdict'>The program had at most <b>%s</b> in use",
          clpi_show_bytes(result->peak_active_bytes).text);
  if (result->failures > 0)
    fprintf(file, ", without <b>%s</b> of its %s, which were refused",
            clpi_show_grouped(result->failures).text,
            clpi_show_number_of(result->allocations + result->failures, "allocation").text);
  fputs(". ", file);
  write_pools(file, report);
  fprintf(file,
          " <b>%s</b> for that, <b>%s times</b> as much. <b>%s</b> of %s needed no call of the "
          "device.",
          clpi_show_bytes(result->peak_device_bytes).text, clpi_show_ratio(result->footprint).text,
          clpi_show_part(result->hits, result->allocations).text,
          clpi_show_number_of(result->allocations, "allocation").text);
  clp_status status =
      report->survey->stacks ? write_culprit(file, report->survey->stacks) : CLP_SUCCESS;
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
  if (rows > 0 && trace_timeline_nanoseconds(timeline, rows) > 0)
    fprintf(file, " in %s", clpi_show_elapsed(trace_timeline_nanoseconds(timeline, rows)).text);
  fputs(", replayed through a pool on a simulated device</p>\n</header>\n", file);
}

static void write_tile(FILE *file, const char *title, clpi_shown shown, const char *note)
{
  fprintf(file, "<div><dt>%s</dt><dd>%s<small>%s</small></dd></div>\n", title, shown.text, note);
}

static void write_peak_tile(FILE *file, const char *title, size_t bytes, trace_moment when)
{
  char note[80];
  snprintf(note, sizeof(note), "at event %s", clpi_show_grouped(when.row).text);
  write_tile(file, title, clpi_show_bytes(bytes), note);
}

static void write_tiles(FILE *file, const trace_survey *survey)
{
  const trace_replay_result *result = &survey->result;
  char note[128];
  fputs("<dl class='tiles'>\n", file);
  write_peak_tile(file, "Most in use", result->peak_active_bytes, survey->active_peak.when);
  write_peak_tile(file, "Most in the pool", result->peak_managed_bytes, survey->managed_peak.when);
  write_tile(file, "Footprint", clpi_show_ratio(result->footprint), "taken over in use");
  snprintf(note, sizeof(note), "%s of %s", clpi_show_grouped(result->hits).text,
           clpi_show_grouped(result->allocations).text);
  write_tile(file, "Hit rate", clpi_show_part(result->hits, result->allocations), note);
  uint64_t kept = result->allocations - result->frees;
  snprintf(note, sizeof(note), "%s never freed", clpi_show_grouped(kept).text);
  write_tile(file, "Allocations", clpi_show_grouped(result->allocations),
             kept > 0 ? note : "all freed");
  if (result->failures > 0)
    write_tile(file, "Refused", clpi_show_grouped(result->failures), "allocations");
  fputs("</dl>\n", file);
}

static void write_figure(FILE *file, const clpi_figure *figure)
{
  clpi_shown exact = clpi_show_grouped(figure->count), shown = {""};
  if (figure->kind == CLPI_RATIO)
    snprintf(exact.text, sizeof(exact.text), "%.10g", figure->ratio);
  if (figure->kind == CLPI_RATIO && isnan(figure->ratio))
    exact = (clpi_shown){"none"};
  if (figure->kind == CLPI_SWITCH)
    exact = figure->count ? (clpi_shown){"yes"} : (clpi_shown){"no"};
  if (figure->kind == CLPI_BYTES && figure->count >= 1024)
    shown = clpi_show_bytes(figure->count);
  fprintf(file, "<tr><th scope='row'>%s</th><td data-key='%s'>%s</td><td>%s</td></tr>\n",
          figure->title, figure->key, exact.text, shown.text);
}

static void write_figures(FILE *file, const clpi_report *report)
{
  clpi_figure figures[CLPI_FIGURES];
  clpi_report_figures(report, figures);
  clpi_report_begin_section(file, "figures", "All figures");
  fputs("<table>\n<tbody>\n<tr><th scope='row'>Trace</th><td colspan='2' class='path'>", file);
  clpi_write_escaped(file, report->trace);
  fputs("</td></tr>\n", file);
  for (size_t i = 0; i < CLPI_FIGURES; i++)
    write_figure(file, &figures[i]);
  fputs("</tbody>\n</table>\n</section>\n", file);
}

static void write_nothing(FILE *file, const trace_replay_result *result)
{
  fputs("<p class='note'>No memory was allocated.", file);
  if (result->failures > 0)
    fprintf(file, " The pool refused %s.",
            clpi_show_number_of(result->failures, "allocation").text);
  fputs("</p>\n", file);
}

/* What there is to see of a trace that allocates something. */
static clp_status write_findings(FILE *file, const clpi_report *report)
{
  clp_status status = CLP_SUCCESS;
  if (report->survey->result.peak_active_bytes > 0)
    status = write_verdict(file, report);
  if (status)
    return status;
  if (report->survey->result.peak_managed_bytes == 0) {
    write_nothing(file, &report->survey->result);
    return CLP_SUCCESS;
  }
  write_tiles(file, report->survey);
  clpi_report_write_timeline(file, report);
  status = clpi_report_write_stacks(file, report);
  clpi_report_write_pools(file, report);
  clpi_report_write_kinds(file, report);
  clpi_report_write_bins(file, report);
  clpi_report_write_largest(file, report);
  fprintf(file, "<div id='tip' role='status' hidden='hidden'></div>\n");
  return status;
}

clp_status clpi_report_write_page(FILE *file, const clpi_report *report)
{
  write_head(file, report);
  fputs("<main>\n", file);
  write_header(file, report);
  clp_status status = write_findings(file, report);
  write_figures(file, report);
  fprintf(file, "</main>\n<footer>clpool %s</footer>\n<script>\n%s</script>\n</body>\n</html>\n",
          clp_version(), clpi_report_script);
  return status;
}
