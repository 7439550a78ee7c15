/* SPDX-License-Identifier: MIT */
/* The script that gnuplot gets: two panels, one above the other. Shapes and dashes tell the curves
 * apart where there is no colour. */
#include "tune_plot.h"

#include "core/base/printable.h"
#include "gnuplot.h"
#include "output_file.h"
#include "program.h"
#include "replay_setup.h"

#include <stdlib.h>
#include <string.h>

static const struct {
  const char *ending, *terminal;
} formats[] = {
    {".svg", "svg size 860,760 font \"Helvetica,Arial,sans-serif,14\" background \"white\" rounded "
             "noenhanced"},
    {".png", "pngcairo size 1290,1140 font \"sans-serif,16\" background \"white\" rounded "
             "noenhanced"},
    {".pdf", "pdfcairo size 8.6in,7.6in font \"sans-serif,13\" background \"white\" rounded "
             "noenhanced"},
};

struct clpi_tune_plot {
  const char *terminal;
  clpi_output_file *file;
  clpi_gnuplot gnuplot;
};

static const char *find_terminal(const char *path)
{
  size_t length = strlen(path);
  for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
    size_t ending = strlen(formats[i].ending);
    if (length > ending && strcmp(path + length - ending, formats[i].ending) == 0)
      return formats[i].terminal;
  }
  return NULL;
}

bool clpi_tune_plot_has_format(const char *path)
{
  return find_terminal(path);
}

int clpi_tune_plot_begin(const char *path, const char *trace, clpi_tune_plot **out)
{
  *out = NULL;
  clpi_tune_plot *plot = calloc(1, sizeof(*plot));
  if (!plot) {
    clpi_complain("no host memory for a plot");
    return CLPI_EXIT_FAILED;
  }
  plot->terminal = find_terminal(path);
  int code = clpi_open_output("--plot", path, trace, &plot->file);
  if (!code)
    code = clpi_gnuplot_start(&plot->gnuplot);
  if (code) {
    clpi_output_file_discard(plot->file);
    free(plot);
    return code;
  }
  *out = plot;
  return CLPI_EXIT_SUCCESS;
}

/* In double quotes; what gnuplot does not take as it is there has its octal number. */
static void write_text(FILE *script, const char *text)
{
  putc('"', script);
  while (*text) {
    size_t length = clpi_utf8_length(text);
    if (length == 0)
      putc('?', script);
    else if (strchr("\"\\`@", *text))
      fprintf(script, "\\%03o", (unsigned)*text);
    else
      fwrite(text, 1, length, script);
    text += length > 0 ? length : 1;
  }
  putc('"', script);
}

/* A curve is of settings that stand side by side, from `begin` on, and differ in leading bits
 * alone; or of one for which these do not matter. Returns where the next one begins; at the end
 * that has no pool or is no candidate. */
static size_t curve_end(const clpi_tune_report *report, size_t begin)
{
  const trace_tune_outcome *first = &report->outcomes[begin], *next = first + 1;
  while (next < report->outcomes + report->candidates && next->setting.pooled &&
         !next->setting.carves && next->setting.leading_bits > next[-1].setting.leading_bits)
    next++;
  return begin + (size_t)(next - first);
}

static bool is_curve(const clpi_tune_report *report, size_t begin)
{
  return begin < report->candidates && report->outcomes[begin].setting.pooled;
}

/* The leading bits of the plot. */
static unsigned first_bits(const clpi_tune_report *report)
{
  return report->outcomes[0].setting.leading_bits;
}

static unsigned last_bits(const clpi_tune_report *report)
{
  return report->outcomes[curve_end(report, 0) - 1].setting.leading_bits;
}

/* Footprint and hit rate in per cent. What ran out of memory has neither, since its figures are
 * those of less than the trace. */
static void write_point(FILE *script, const trace_tune_outcome *outcome, unsigned bits)
{
  if (outcome->result.failures > 0)
    fprintf(script, "%u NaN NaN\n", bits);
  else
    fprintf(script, "%u %.6g %.6g\n", bits, outcome->result.footprint, 100.0 * outcome->hit_rate);
}

/* A row for each leading bits; or if these do not matter, a line from the first to the last. */
static void write_curve(FILE *script, const clpi_tune_report *report, size_t begin)
{
  const trace_tune_outcome *outcomes = report->outcomes;
  fprintf(script, "$curve%zu << END\n", begin);
  if (outcomes[begin].setting.carves)
    for (unsigned bits = first_bits(report); bits <= last_bits(report); bits++)
      write_point(script, &outcomes[begin], bits);
  else
    for (size_t i = begin; i < curve_end(report, begin); i++)
      write_point(script, &outcomes[i], outcomes[i].setting.leading_bits);
  fputs("END\n", script);
}

static void write_curves(FILE *script, const clpi_tune_report *report)
{
  const trace_tune_outcome *best = &report->outcomes[report->best];
  for (size_t begin = 0; is_curve(report, begin); begin = curve_end(report, begin))
    write_curve(script, report, begin);
  fputs("$best << END\n", script);
  write_point(script, best, best->setting.carves ? first_bits(report) : best->setting.leading_bits);
  fputs("END\n", script);
}

/* Line styles: of the curves in order, and 11, of what is recommended. */
static const char style[] = "set border 3 lc rgb '#4a4a4a'\n"
                            "set tics nomirror textcolor rgb '#1a1a1a'\n"
                            "set grid lc rgb '#d0d4da'\n"
                            "set style line 1 lc rgb '#b3401f' lw 2 dt 1 pt 7 ps 0.9\n"
                            "set style line 2 lc rgb '#1f4f9c' lw 2 dt 2 pt 4 ps 1.1\n"
                            "set style line 3 lc rgb '#0f7b6c' lw 1.5 dt 3 pt 8 ps 1.1\n"
                            "set style line 4 lc rgb '#8a5a00' lw 1.5 dt 4 pt 10 ps 1.1\n"
                            "set style line 5 lc rgb '#7a3b9c' lw 1.5 dt 5 pt 12 ps 1.1\n"
                            "set style line 6 lc rgb '#5a6470' lw 1.5 dt 1 pt 2 ps 1.1\n"
                            "set style line 7 lc rgb '#a0527d' lw 1.5 dt 2 pt 1 ps 1.1\n"
                            "set style line 8 lc rgb '#b8860b' lw 1.5 dt 3 pt 14 ps 1.1\n"
                            "set style line 9 lc rgb '#2e8bc0' lw 1.5 dt 4 pt 5 ps 0.9\n"
                            "set style line 10 lc rgb '#6b8e23' lw 1.5 dt 5 pt 9 ps 1.1\n"
                            "set style line 11 lc rgb '#1a1a1a' lw 2 pt 6 ps 2.2\n"
                            "set lmargin 10\n"
                            "set rmargin 3\n"
                            "set xtics 1\n";

/* Whether any setting of the curve, or of all, has room. */

static bool has_points(const clpi_tune_report *report, size_t begin)
{
  size_t end = curve_end(report, begin);
  for (size_t i = begin; i < end; i++)
    if (!report->outcomes[i].result.failures)
      return true;
  return false;
}

static bool has_any_points(const clpi_tune_report *report)
{
  for (size_t begin = 0; is_curve(report, begin); begin = curve_end(report, begin))
    if (has_points(report, begin))
      return true;
  return false;
}

static void write_curve_title(FILE *script, const trace_tune_setting *setting)
{
  if (setting->on_arena)
    fprintf(script, "on an arena, slack %.4g", setting->slack);
  else
    fputs("without an arena", script);
}

/* A ring, or a line where there are no leading bits: of footprints only, since without a pool there
 * are no hits. */
static void write_best(FILE *script, const clpi_tune_report *report, int column)
{
  const trace_tune_outcome *best = &report->outcomes[report->best];
  if (best->setting.pooled)
    fprintf(script, ", $best using 1:%d with points", column);
  else if (column == 2)
    fprintf(script, ", %.6g with lines", best->result.footprint);
  else
    return;
  fprintf(script, " ls 11 title 'recommended, objective %s'",
          trace_objective_name(report->objective));
}

/* `column` of the data, 2 or 3; the first panel has the key. */
static void write_panel(FILE *script, const clpi_tune_report *report, int column)
{
  const char *before = "plot ";
  unsigned line_style = 1;
  for (size_t begin = 0; is_curve(report, begin); begin = curve_end(report, begin), line_style++) {
    if (!has_points(report, begin))
      continue;
    fprintf(script, "%s$curve%zu using 1:%d with linespoints ls %u title '", before, begin, column,
            line_style);
    write_curve_title(script, &report->outcomes[begin].setting);
    fputs("'", script);
    before = ", ";
  }
  write_best(script, report, column);
  fputs("\n", script);
}

static void write_script(FILE *script, const clpi_tune_plot *plot, const clpi_tune_report *report)
{
  fprintf(script, "set terminal %s\n%s", plot->terminal, style);
  write_curves(script, report);
  fprintf(script, "set xrange [%u-0.4:%u+0.4]\n", first_bits(report), last_bits(report));
  fputs("set multiplot layout 2,1\nset title ", script);
  write_text(script, report->trace);
  fputs("\nset ylabel 'footprint (times the most in use)'\n"
        "set logscale y 2\nset yrange [1:2<*]\nset key above reverse Left\n",
        script);
  write_panel(script, report, 2);
  fputs("unset title\nunset logscale y\nset yrange [*<99:100]\nunset key\n"
        "set ylabel 'hit rate, %'\nset xlabel 'leading_bits_in_bin_id, bits'\n",
        script);
  write_panel(script, report, 3);
  fputs("unset multiplot\n", script);
}

/* The whole script, for free(); NULL: there is no host memory. */
static char *make_script(const clpi_tune_plot *plot, const clpi_tune_report *report)
{
  char *text = NULL;
  size_t length;
  FILE *script = open_memstream(&text, &length);
  if (!script)
    return NULL;
  write_script(script, plot, report);
  if (fclose(script) == 0)
    return text;
  free(text);
  return NULL;
}

static int draw(clpi_tune_plot *plot, const clpi_tune_report *report)
{
  char *script = make_script(plot, report);
  if (!script) {
    clpi_complain("no host memory for a plot");
    clpi_gnuplot_discard(&plot->gnuplot);
    return CLPI_EXIT_FAILED;
  }
  int code = clpi_gnuplot_draw(&plot->gnuplot, script, clpi_output_file_stream(plot->file));
  free(script);
  return code;
}

/* Whether there is anything to draw, with a complaint if not. */
static bool has_picture(const clpi_tune_report *report)
{
  if (!has_any_points(report))
    clpi_complain("there is nothing to plot: every pool runs out of memory");
  else if (report->asked.peak_active_bytes == 0)
    clpi_complain("there is nothing to plot: the trace asks for no memory");
  else
    return true;
  return false;
}

int clpi_tune_plot_finish(clpi_tune_plot *plot, const clpi_tune_report *report)
{
  if (!has_picture(report)) {
    clpi_tune_plot_discard(plot);
    return CLPI_EXIT_FAILED;
  }
  int code = draw(plot, report);
  if (code)
    clpi_output_file_discard(plot->file);
  else
    code = clpi_output_file_finish(plot->file);
  free(plot);
  return code;
}

void clpi_tune_plot_discard(clpi_tune_plot *plot)
{
  if (!plot)
    return;
  clpi_gnuplot_discard(&plot->gnuplot);
  clpi_output_file_discard(plot->file);
  free(plot);
}
