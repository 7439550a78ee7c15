/* SPDX-License-Identifier: MIT */
/* The report's bins when the pool was largest: by what they held, and by padding. */
#include "report.h"
#include "report_text.h"

#include <clpool/bin.h>
#include <stdbool.h>
#include <string.h>

enum { MOST_BARS = 12 };

typedef struct ranked_bin {
  size_t block_bytes;
  size_t blocks; /* that the bytes are of */
  size_t bytes;  /* what it is ranked by */
} ranked_bin;

/* The bins that have most of something. */
typedef struct ranking {
  size_t shown; /* how many are in `bins`, by descending bytes */
  ranked_bin bins[MOST_BARS];
  size_t count; /* of all bins that have any */
  size_t bytes; /* of all */
} ranking;

static void rank(ranking *ranks, ranked_bin bin)
{
  if (bin.bytes == 0)
    return;
  ranks->count++;
  ranks->bytes += bin.bytes;
  size_t place = ranks->shown;
  while (place > 0 && ranks->bins[place - 1].bytes < bin.bytes)
    place--;
  if (place == MOST_BARS)
    return;
  if (ranks->shown < MOST_BARS)
    ranks->shown++;
  memmove(&ranks->bins[place + 1], &ranks->bins[place],
          (ranks->shown - 1 - place) * sizeof(ranks->bins[0]));
  ranks->bins[place] = bin;
}

static ranking rank_all(const trace_bin_census *census, bool by_padding)
{
  ranking ranks = {0};
  for (size_t i = 0; i < census->count; i++) {
    const trace_bin_record *bin = &census->bins[i];
    trace_bin_count count = trace_bin_at_peak(census, bin);
    if (by_padding)
      rank(&ranks, (ranked_bin){bin->block_bytes, count.active_blocks,
                                trace_bin_padding_bytes(bin, count)});
    else
      rank(&ranks, (ranked_bin){bin->block_bytes, count.blocks - count.active_blocks,
                                trace_bin_held_bytes(bin, count)});
  }
  return ranks;
}

/* How a ranking is shown. */
typedef struct ranking_words {
  const char *title, *blocks, *bytes;
  const char *color; /* of the bars, in the style sheet */
  const char *none;  /* said where there are no bytes */
} ranking_words;

static const ranking_words held_words = {"Bins by bytes held", "Held blocks", "Held", "held",
                                         "Nothing was held."};
static const ranking_words padding_words = {"Bins by padding", "Blocks in use", "Padding",
                                            "padding", "No block in use had padding."};

static void write_bar(FILE *file, const ranked_bin *bin, const char *color, size_t most)
{
  fprintf(file,
          "<tr><th scope='row'>%s</th><td>%s</td><td>%s</td>"
          "<td class='bar'><i class='%s' style='width:%.1f%%'></i></td></tr>\n",
          clpi_show_bytes(bin->block_bytes).text, clpi_show_grouped(bin->blocks).text,
          clpi_show_bytes(bin->bytes).text, color, 100.0 * (double)bin->bytes / (double)most);
}

/* What the bins that are not shown have. */
static void write_others(FILE *file, const ranking *ranks)
{
  size_t bytes = ranks->bytes;
  for (size_t i = 0; i < ranks->shown; i++)
    bytes -= ranks->bins[i].bytes;
  fprintf(
      file,
      "<tr class='others'><th scope='row' colspan='2'>%s others</th><td>%s</td><td></td></tr>\n",
      clpi_show_grouped(ranks->count - ranks->shown).text, clpi_show_bytes(bytes).text);
}

static void write_ranking(FILE *file, const ranking *ranks, const ranking_words *words)
{
  fprintf(file, "<div>\n<h3>%s</h3>\n", words->title);
  if (ranks->count == 0) {
    fprintf(file, "<p class='note'>%s</p>\n</div>\n", words->none);
    return;
  }
  clpi_report_begin_wide(file, words->title);
  fprintf(file,
          "<table class='bars'>\n<thead><tr><th scope='col'>Block size</th>"
          "<th scope='col'>%s</th><th scope='col'>%s</th><th></th></tr></thead>\n<tbody>\n",
          words->blocks, words->bytes);
  for (size_t i = 0; i < ranks->shown; i++)
    write_bar(file, &ranks->bins[i], words->color, ranks->bins[0].bytes);
  if (ranks->count > ranks->shown)
    write_others(file, ranks);
  fputs("</tbody>\n</table>", file);
  clpi_report_end_wide(file);
  fputs("</div>\n", file);
}

/* One part of all that was managed. */
static void write_part(FILE *file, const char *color, const char *words, size_t bytes,
                       size_t managed)
{
  fprintf(file, "<li><i class='%s'></i>%s <b>%s</b> (%s)</li>\n", color, words,
          clpi_show_bytes(bytes).text, clpi_show_part(bytes, managed).text);
}

static void write_part_bar(FILE *file, const char *color, size_t bytes, size_t managed)
{
  if (bytes > 0)
    fprintf(file, "<i class='%s' style='width:%.2f%%'></i>", color,
            100.0 * (double)bytes / (double)managed);
}

/* All that was managed, as a bar and in words. */
static void write_parts(FILE *file, const trace_peak *peak)
{
  size_t managed = trace_peak_managed_bytes(peak);
  fputs("<p class='parts' aria-hidden='true'>", file);
  write_part_bar(file, "active", peak->active_bytes, managed);
  write_part_bar(file, "padding", peak->padding_bytes, managed);
  write_part_bar(file, "held", peak->held_bytes, managed);
  fputs("</p>\n<ul class='legend'>\n", file);
  write_part(file, "active", "in use", peak->active_bytes, managed);
  write_part(file, "padding", "padding", peak->padding_bytes, managed);
  write_part(file, "held", "held", peak->held_bytes, managed);
  fputs("</ul>\n", file);
}

/* Of the bins that ever had a block, those that had one then. */
static size_t count_bins_at_peak(const trace_bin_census *census)
{
  size_t count = 0;
  for (size_t i = 0; i < census->count; i++)
    count += trace_bin_at_peak(census, &census->bins[i]).blocks > 0;
  return count;
}

void clpi_report_write_bins(FILE *file, const clpi_report *report)
{
  const trace_survey *survey = report->survey;
  const trace_peak *peak = &survey->managed_peak;
  clpi_report_begin_section(file, report, "bins", "When the pool was largest");
  fprintf(file, "<p>At event %s, the pool managed %s in %s.</p>\n",
          clpi_show_grouped(peak->when.row).text,
          clpi_show_bytes(trace_peak_managed_bytes(peak)).text,
          clpi_show_number_of(count_bins_at_peak(&survey->bins), "bin").text);
  write_parts(file, peak);
  ranking held = rank_all(&survey->bins, false), padding = rank_all(&survey->bins, true);
  fputs("<div class='pair'>\n", file);
  write_ranking(file, &held, &held_words);
  write_ranking(file, &padding, &padding_words);
  fputs("</div>\n</section>\n", file);
}
