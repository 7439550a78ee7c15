/* SPDX-License-Identifier: MIT */
/* The report's page: one file, with its style and script inside. */
#include "report.h"
#include "report_assets.h"
#include "report_figures.h"
#include "report_text.h"

#include <clpool/version.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

static const char *base_name(const char *path)
{
  const char *slash = strrchr(path, '/');
  return slash && slash[1] ? slash + 1 : path;
}

static void write_head(FILE *file, const clpi_report *report)
{
  fputs("<!DOCTYPE html>\n<html lang='en'>\n<head>\n<meta charset='utf-8'/>\n"
        "<meta name='viewport' content='width=device-width, initial-scale=1'/>\n"
        "<meta name='color-scheme' content='light dark'/>\n<title>",
        file);
  clpi_write_escaped(file, base_name(report->trace));
  fprintf(file, " - clpool report</title>\n<style>\n%s</style>\n</head>\n<body>\n",
          clpi_report_style);
}

void clpi_report_begin_section(FILE *file, const clpi_report *report, const char *name,
                               const char *title)
{
  fprintf(file, "<section id='%s%s' class='%s'>\n<h2>%s</h2>\n", name, report->suffix, name, title);
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

static bool has_pools(const clpi_report *report)
{
  return report->survey->result.pools > 1;
}

/* "A pool with 4 leading bits", "2 pools on arenas of slack 0.1" */
static void write_pool(FILE *file, const clpi_report *report, const char *article)
{
  if (has_pools(report))
    fprintf(file, "%zu pools", report->survey->result.pools);
  else
    fprintf(file, "%s pool", article);
  if (report->on_arena)
    fprintf(file, " on %s of slack %.10g", has_pools(report) ? "arenas" : "an arena",
            report->slack);
  else
    fprintf(file, " with %u leading bits", report->leading_bits);
}

/* What was in use is the program's, unless its sizes were scaled or some of it was refused. */
static void write_use(FILE *file, const clpi_report *report)
{
  const trace_replay_result *result = &report->survey->result;
  bool is_scaled = report->scale < 1.0 || report->scale > 1.0;
  if (is_scaled)
    fprintf(file, "With its sizes times %.10g, the program ", report->scale);
  else
    fputs("The program ", file);
  if (result->failures == 0)
    fprintf(file, "had at most <b>%s</b> in use. ",
            clpi_show_bytes(result->peak_active_bytes).text);
  else
    fprintf(file, "asks for %s, of which ",
            clpi_show_number_of(result->allocations + result->failures, "allocation").text);
  write_pool(file, report, result->failures == 0 ? "A" : "a");
  const char *s = has_pools(report) ? "" : "s";
  if (result->failures > 0)
    fprintf(file, " refuse%s <b>%s</b>. Of what is served, at most <b>%s</b> is in use; the pool%s",
            s, clpi_show_grouped(result->failures).text,
            clpi_show_bytes(result->peak_active_bytes).text, has_pools(report) ? "s" : "");
  fprintf(file, " take%s", s);
}

/* A sentence or two for who reads no more. */
static void write_verdict(FILE *file, const clpi_report *report)
{
  const trace_replay_result *result = &report->survey->result;
  fputs("<p class='verdict'>", file);
  write_use(file, report);
  fprintf(file,
          " <b>%s</b> for it, <b>%s times</b> as much, and serve%s <b>%s</b> of %s without the "
          "device.</p>\n",
          clpi_show_bytes(result->peak_device_bytes).text, clpi_show_ratio(result->footprint).text,
          has_pools(report) ? "" : "s", clpi_show_part(result->hits, result->allocations).text,
          clpi_show_number_of(result->allocations, "allocation").text);
}

static void write_header(FILE *file, const clpi_report *report)
{
  const trace_timeline *timeline = &report->survey->timeline;
  uint64_t rows = trace_timeline_rows(timeline);
  fputs("<header>\n<p class='kind'>clpool report</p>\n<h1>", file);
  clpi_write_escaped(file, base_name(report->trace));
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
  write_peak_tile(file, "Most managed", result->peak_managed_bytes, survey->managed_peak.when);
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

static void write_figure(FILE *file, const clpi_report *report, const clpi_figure *figure)
{
  clpi_shown exact = clpi_show_grouped(figure->count), shown = {""};
  if (figure->kind == CLPI_FIGURE_RATIO)
    snprintf(exact.text, sizeof(exact.text), "%.10g", figure->ratio);
  if (figure->kind == CLPI_FIGURE_RATIO && isnan(figure->ratio))
    exact = (clpi_shown){"none"};
  if (figure->kind == CLPI_FIGURE_SWITCH)
    exact = (clpi_shown){"no"};
  if (figure->kind == CLPI_FIGURE_SWITCH && figure->count)
    exact = (clpi_shown){"yes"};
  if (figure->kind == CLPI_FIGURE_BYTES && figure->count >= 1024)
    shown = clpi_show_bytes(figure->count);
  fprintf(file, "<td data-key='%s%s'>%s</td><td>%s</td>", figure->key, report->suffix, exact.text,
          shown.text);
}

static void write_figures(FILE *file, const clpi_report *reports, size_t count)
{
  clpi_figure figures[CLPI_MOST_REPORTS][CLPI_FIGURES];
  for (size_t i = 0; i < count; i++)
    clpi_report_figures(&reports[i], figures[i]);
  clpi_report_begin_section(file, reports, "figures", "All figures");
  clpi_report_begin_wide(file, "All figures");
  fprintf(file, "<table>\n<tbody>\n<tr><th scope='row'>Trace</th><td colspan='%zu' class='path'>",
          2 * count);
  clpi_write_escaped(file, reports->trace);
  fputs("</td></tr>\n", file);
  for (size_t i = 0; i < CLPI_FIGURES; i++) {
    fprintf(file, "<tr><th scope='row'>%s</th>", figures[0][i].title);
    for (size_t j = 0; j < count; j++)
      write_figure(file, &reports[j], &figures[j][i]);
    fputs("</tr>\n", file);
  }
  fputs("</tbody>\n</table>", file);
  clpi_report_end_wide(file);
  fputs("</section>\n", file);
}

static void write_nothing(FILE *file, const trace_replay_result *result)
{
  fputs("<p class='note'>No memory was allocated.", file);
  if (result->failures > 0)
    fprintf(file, " The pool refused %s.",
            clpi_show_number_of(result->failures, "allocation").text);
  fputs("</p>\n", file);
}

static bool has_bytes(const clpi_report *report)
{
  return report->survey->result.peak_managed_bytes > 0;
}

/* What there is to see of a trace that allocates something. */
static void write_findings(FILE *file, const clpi_report *report)
{
  if (report->survey->result.peak_active_bytes > 0)
    write_verdict(file, report);
  if (!has_bytes(report)) {
    write_nothing(file, &report->survey->result);
    return;
  }
  write_tiles(file, report->survey);
  clpi_report_write_timeline(file, report);
  clpi_report_write_pools(file, report);
  clpi_report_write_kinds(file, report);
  clpi_report_write_hit_rate(file, report);
  clpi_report_write_bins(file, report);
  clpi_report_write_largest(file, report);
}

/* Side by side where there is room. */
static void write_both(FILE *file, const clpi_report *reports, size_t count)
{
  fputs("<div class='both'>\n", file);
  for (size_t i = 0; i < count; i++) {
    fputs("<article>\n<h2 class='setting'>", file);
    write_pool(file, &reports[i], "A");
    fputs("</h2>\n", file);
    write_findings(file, &reports[i]);
    fputs("</article>\n", file);
  }
  fputs("</div>\n", file);
}

void clpi_report_write_page(FILE *file, const clpi_report *reports, size_t count)
{
  bool has_charts = false;
  for (size_t i = 0; i < count; i++)
    has_charts = has_charts || has_bytes(&reports[i]);
  write_head(file, reports);
  fprintf(file, "<main%s>\n", count > 1 ? " class='of-both'" : "");
  write_header(file, reports);
  if (count > 1)
    write_both(file, reports, count);
  else
    write_findings(file, reports);
  write_figures(file, reports, count);
  fprintf(file, "</main>\n<footer>clpool %s</footer>\n", clp_version());
  if (has_charts)
    fprintf(file, "<div id='tip' role='status' hidden='hidden'></div>\n<script>\n%s</script>\n",
            clpi_report_script);
  fputs("</body>\n</html>\n", file);
}
