/* SPDX-License-Identifier: MIT */
/* The script that gnuplot gets: two panels, one above the other. Shapes and dashes tell the curves
 * apart where there is no colour. */
#include "tune_plot.h"

#include "gnuplot.h"
#include "output_file.h"
#include "program.h"
#include "replay_setup.h"
#include "utf8.h"

#include <stdlib.h>
#include <string.h>

static const struct {
  const char *ending, *terminal;
} formats[] = {
    {".svg", "svg size 860,640 font \"Helvetica,Arial,sans-serif,14\" background \"white\" rounded "
             "noenhanced"},
    {".png", "pngcairo size 1290,960 font \"sans-serif,16\" background \"white\" rounded "
             "noenhanced"},
    {".pdf", "pdfcairo size 8.6in,6.4in font \"sans-serif,13\" background \"white\" rounded "
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

/* A row for each leading bits: footprint and hit rate in per cent. What ran out of memory has
 * neither, since its figures are those of less than the trace. */
static void write_curve(FILE *script, const clpi_tune_report *report, bool on_arena)
{
  fprintf(script, "$%s << END\n", on_arena ? "arena" : "plain");
  for (size_t i = 0; i < report->candidates; i++) {
    const trace_tune_outcome *outcome = &report->outcomes[i];
    if (outcome->setting.on_arena != on_arena)
      continue;
    if (outcome->result.failures > 0)
      fprintf(script, "%u NaN NaN\n", outcome->setting.leading_bits);
    else
      fprintf(script, "%u %.6g %.6g\n", outcome->setting.leading_bits, outcome->result.footprint,
              100.0 * outcome->hit_rate);
  }
  fputs("END\n", script);
}

static void write_best(FILE *script, const trace_tune_outcome *best)
{
  fprintf(script, "$best << END\n%u %.6g %.6g\nEND\n", best->setting.leading_bits,
          best->result.footprint, 100.0 * best->hit_rate);
}

static const char style[] = "set border 3 lc rgb '#4a4a4a'\n"
                            "set tics nomirror textcolor rgb '#1a1a1a'\n"
                            "set grid lc rgb '#d0d4da'\n"
                            "set style line 1 lc rgb '#b3401f' lw 2 dt 1 pt 7 ps 0.9\n"
                            "set style line 2 lc rgb '#1f4f9c' lw 2 dt 2 pt 4 ps 1.1\n"
                            "set style line 3 lc rgb '#1a1a1a' lw 2 pt 6 ps 2.2\n"
                            "set lmargin 10\n"
                            "set rmargin 3\n"
                            "set xtics 1\n";

static bool has_curve(const clpi_tune_report *report, bool on_arena)
{
  for (size_t i = 0; i < report->candidates; i++)
    if (report->outcomes[i].setting.on_arena == on_arena && !report->outcomes[i].result.failures)
      return true;
  return false;
}

/* `column` of the data, 2 or 3; the first panel has the key. */
static void write_panel(FILE *script, const clpi_tune_report *report, int column, bool has_key)
{
  fputs("plot ", script);
  if (has_curve(report, false))
    fprintf(script, "$plain using 1:%d with linespoints ls 1 title '%s', ", column,
            has_key ? "without an arena" : "");
  if (has_curve(report, true))
    fprintf(script, "$arena using 1:%d with linespoints ls 2 title '%s', ", column,
            has_key ? "on an arena" : "");
  fprintf(script, "$best using 1:%d with points ls 3 title '%s%s'\n", column,
          has_key ? "recommended, objective " : "",
          has_key ? trace_objective_name(report->objective) : "");
}

static void write_script(FILE *script, const clpi_tune_plot *plot, const clpi_tune_report *report)
{
  unsigned first = report->outcomes[0].setting.leading_bits;
  unsigned last = report->outcomes[report->candidates - 1].setting.leading_bits;
  fprintf(script, "set terminal %s\n%s", plot->terminal, style);
  write_curve(script, report, false);
  write_curve(script, report, true);
  write_best(script, &report->outcomes[report->best]);
  fprintf(script, "set xrange [%u-0.4:%u+0.4]\n", first, last);
  fputs("set multiplot layout 2,1\nset title ", script);
  write_text(script, report->trace);
  fputs("\nset ylabel 'footprint (times the most in use)'\n"
        "set logscale y 2\nset yrange [1:2<*]\nset key top left reverse Left\n",
        script);
  write_panel(script, report, 2, true);
  fputs("unset title\nunset logscale y\nset yrange [*<99:100]\nunset key\n"
        "set ylabel 'hit rate, %'\nset xlabel 'leading_bits_in_bin_id, bits'\n",
        script);
  write_panel(script, report, 3, false);
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
  if (report->best == report->candidates)
    clpi_complain("there is nothing to plot: every setting runs out of memory");
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
