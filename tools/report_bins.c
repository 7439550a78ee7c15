/* SPDX-License-Identifier: MIT */
/* The report's part on the moment when the pool was largest: what its memory was for, and the bins
 * that held most. */
#include "report.h"

#include <stdbool.h>

enum { MOST_BARS = 12 };

static size_t held_bytes(const trace_bin_census *census, size_t i)
{
  const trace_bin_record *bin = &census->bins[i];
  return trace_bin_held_bytes(bin, trace_bin_at_peak(census, bin));
}

/* The bin that holds most of those that come after `last`, by descending bytes; `last` itself if
 * there is none. Before the first, `last` is the number of bins. */
static size_t next_bin(const trace_bin_census *census, size_t last)
{
  size_t found = last, most = 0;
  for (size_t i = 0; i < census->count; i++) {
    size_t bytes = held_bytes(census, i);
    bool comes_after = last == census->count || bytes < held_bytes(census, last) ||
                       (bytes == held_bytes(census, last) && i > last);
    if (comes_after && bytes > most) {
      most = bytes;
      found = i;
    }
  }
  return found;
}

static void write_bar(FILE *file, const trace_bin_census *census, size_t i, size_t most)
{
  const trace_bin_record *bin = &census->bins[i];
  trace_bin_count count = trace_bin_at_peak(census, bin);
  size_t bytes = held_bytes(census, i);
  fprintf(file,
          "<tr><th scope='row'>%s</th><td>%s</td><td>%s</td>"
          "<td class='bar'><i class='held' style='width:%.1f%%'></i></td></tr>\n",
          clpi_show_bytes(bin->block_bytes).text,
          clpi_show_grouped(count.blocks - count.active_blocks).text, clpi_show_bytes(bytes).text,
          100.0 * (double)bytes / (double)most);
}

static void write_held(FILE *file, const trace_bin_census *census)
{
  size_t others = 0, bytes = 0, last = census->count;
  for (size_t i = 0; i < census->count; i++) {
    others += held_bytes(census, i) > 0;
    bytes += held_bytes(census, i);
  }
  if (bytes == 0)
    return;
  clpi_report_begin_wide(file, "The bins that held most");
  fputs("<table class='bars'>\n<thead><tr><th scope='col'>Block size</th>"
        "<th scope='col'>Held blocks</th><th scope='col'>Held</th><th></th></tr></thead>\n"
        "<tbody>\n",
        file);
  size_t most = held_bytes(census, next_bin(census, last));
  for (size_t shown = 0; shown < MOST_BARS && others > 0; shown++, others--) {
    last = next_bin(census, last);
    bytes -= held_bytes(census, last);
    write_bar(file, census, last, most);
  }
  if (others > 0)
    fprintf(file,
            "<tr class='others'><th scope='row' colspan='2'>%s</th><td>%s</td><td></td>"
            "</tr>\n",
            clpi_show_number_of(others, "other bin").text, clpi_show_bytes(bytes).text);
  fputs("</tbody>\n</table>", file);
  clpi_report_end_wide(file);
}

/* A part of all that was managed, in the bar and in words. */
typedef struct part {
  const char *color, *words;
  size_t bytes;
} part;

static void write_parts(FILE *file, const part parts[3], size_t managed)
{
  fputs("<p class='parts' aria-hidden='true'>", file);
  for (size_t i = 0; i < 3; i++)
    if (parts[i].bytes > 0)
      fprintf(file, "<i class='%s' style='width:%.2f%%'></i>", parts[i].color,
              100.0 * (double)parts[i].bytes / (double)managed);
  fputs("</p>\n<ul class='legend'>\n", file);
  for (size_t i = 0; i < 3; i++)
    fprintf(file, "<li><i class='%s'></i>%s <b>%s</b> (%s)</li>\n", parts[i].color, parts[i].words,
            clpi_show_bytes(parts[i].bytes).text, clpi_show_part(parts[i].bytes, managed).text);
  fputs("</ul>\n", file);
}

void clpi_report_write_bins(FILE *file, const clpi_report *report)
{
  const trace_bin_census *census = &report->survey->bins;
  const trace_peak *peak = &report->survey->managed_peak;
  const part parts[] = {{"active", "in use", peak->active_bytes},
                        {"padding", "padding, from sizes rounded up", peak->padding_bytes},
                        {"held", "held for later allocations", peak->held_bytes}};
  size_t managed = trace_peak_managed_bytes(peak), bins = 0;
  for (size_t i = 0; i < census->count; i++)
    bins += trace_bin_at_peak(census, &census->bins[i]).blocks > 0;
  clpi_report_begin_section(file, "bins", "When the pool was largest");
  fprintf(file, "<p>At event %s the pool had %s, in %s.</p>\n",
          clpi_show_grouped(peak->when.row).text, clpi_show_bytes(managed).text,
          clpi_show_number_of(bins, "bin").text);
  write_parts(file, parts, managed);
  write_held(file, census);
  fputs("</section>\n", file);
}
