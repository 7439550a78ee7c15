/* SPDX-License-Identifier: MIT */
/* The report's page: one file, with its style and script inside. */
#include "report.h"
#include "report_assets.h"
#include "report_figures.h"
#include "report_text.h"

#include <clpool/version.h>
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
  fprintf(file, " - clpool report</title>\n<style>\n%s</style>\n</head>\n<body>\n<main>\n",
          clpi_report_style);
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
    fprintf(file, "had at most <b>%s</b> in use. A pool with %u leading bits takes",
            clpi_show_bytes(result->peak_active_bytes).text, report->leading_bits);
  else
    fprintf(file,
            "asks for %s, of which a pool with %u leading bits refuses <b>%s</b>. Of what it "
            "serves, at most <b>%s</b> is in use; the pool takes",
            clpi_show_number_of(result->allocations + result->failures, "allocation").text,
            report->leading_bits, clpi_show_grouped(result->failures).text,
            clpi_show_bytes(result->peak_active_bytes).text);
}

/* A sentence or two for who reads no more. */
static void write_verdict(FILE *file, const clpi_report *report)
{
  const trace_replay_result *result = &report->survey->result;
  fputs("<p class='verdict'>", file);
  write_use(file, report);
  fprintf(file,
          " <b>%s</b> for it, <b>%s times</b> as much, and serves <b>%s</b> of %s without the "
          "device.</p>\n",
          clpi_show_bytes(result->peak_device_bytes).text, clpi_show_ratio(result->footprint).text,
          clpi_show_part(result->hits, result->allocations).text,
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
  fputs(", replayed through a pool on a simulated device</p>\n", file);
  if (report->survey->result.peak_active_bytes > 0)
    write_verdict(file, report);
  fputs("</header>\n", file);
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

static void write_figure(FILE *file, const clpi_figure *figure)
{
  clpi_shown exact = clpi_show_grouped(figure->count), shown = {""};
  if (figure->kind == CLPI_FIGURE_RATIO)
    snprintf(exact.text, sizeof(exact.text), "%.10g", figure->ratio);
  if (figure->kind == CLPI_FIGURE_BYTES && figure->count >= 1024)
    shown = clpi_show_bytes(figure->count);
  fprintf(file, "<tr><th scope='row'>%s</th><td data-key='%s'>%s</td><td>%s</td></tr>\n",
          figure->title, figure->key, exact.text, shown.text);
}

static void write_figures(FILE *file, const clpi_report *report)
{
  clpi_figure figures[CLPI_FIGURES];
  clpi_report_figures(report, figures);
  fputs("<section id='figures'>\n<h2>All figures</h2>\n<div class='wide'><table>\n<tbody>\n"
        "<tr><th scope='row'>Trace</th><td colspan='2' class='path'>",
        file);
  clpi_write_escaped(file, report->trace);
  fputs("</td></tr>\n", file);
  for (size_t i = 0; i < CLPI_FIGURES; i++)
    write_figure(file, &figures[i]);
  fputs("</tbody>\n</table></div>\n</section>\n", file);
}

/* What there is to see of a trace that allocates something. */
static void write_findings(FILE *file, const clpi_report *report)
{
  write_tiles(file, report->survey);
  clpi_report_write_timeline(file, report);
  clpi_report_write_hit_rate(file, report);
  clpi_report_write_bins(file, report);
  clpi_report_write_largest(file, report);
}

static void write_nothing(FILE *file, const trace_replay_result *result)
{
  fputs("<p class='note'>No memory was allocated.", file);
  if (result->failures > 0)
    fprintf(file, " The pool refused %s.",
            clpi_show_number_of(result->failures, "allocation").text);
  fputs("</p>\n", file);
}

void clpi_report_write_page(FILE *file, const clpi_report *report)
{
  write_head(file, report);
  write_header(file, report);
  bool has_bytes = report->survey->result.peak_managed_bytes > 0;
  if (has_bytes)
    write_findings(file, report);
  else
    write_nothing(file, &report->survey->result);
  write_figures(file, report);
  fprintf(file, "</main>\n<footer>clpool %s</footer>\n", clp_version());
  if (has_bytes)
    fprintf(file, "<div id='tip' hidden='hidden'></div>\n<script>\n%s</script>\n",
            clpi_report_script);
  fputs("</body>\n</html>\n", file);
}
