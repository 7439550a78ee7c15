/* SPDX-License-Identifier: MIT */
/* The report's figures and tables. Each is listed once, for the page and for JSON. */
#include "report.h"

#include <clpool/bin.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { MOST_FIGURES = 32, MOST_LINES = 4 };

/* Figures, those of all or of one row of a table. Of a row, an empty title puts the figure beneath
 * the one before. */
typedef struct figure_list {
  clpi_figure figures[MOST_FIGURES];
  size_t count;
  enum { SHOWN, AMONG_OTHERS, HIDDEN } on_page;
  char name[32];
  const char *lines[MOST_LINES + 1];
} figure_list;

static void fill(figure_list *list, const clpi_figure *figures, size_t bytes)
{
  memcpy(list->figures, figures, bytes);
  list->count = bytes / sizeof(*figures);
}

/* --- all of it --- */

static void list_all(const clpi_report *report, figure_list *all)
{
  const trace_survey *survey = report->survey;
  const trace_replay_result *result = &survey->result;
  const trace_replay_options *replay = &report->arguments->replay;
  const trace_span *managed = &survey->managed_peak;
  uint64_t rows = trace_timeline_rows(&survey->timeline);
  double seconds = (double)trace_timeline_nanoseconds(&survey->timeline, rows) / 1e9;
  unsigned bits = replay->pool_options.leading_bits_in_bin_id;
  double slack = replay->on_arena ? replay->arena_options.slack : (double)NAN;
  const clpi_figure figures[] = {
      {"leading_bits", "Leading bits of a bin", CLPI_COUNT, {bits}},
      {"arena", "On an arena", CLPI_SWITCH, {replay->on_arena}},
      {"slack", "Slack of the arena", CLPI_RATIO, {.ratio = slack}},
      {"limit", "Limit of the pool (0: none)", CLPI_BYTES, {result->limit_bytes}},
      {"pools", "Pools, as in the trace", CLPI_COUNT, {result->pools}},
      {"allocations", "Allocations", CLPI_COUNT, {result->allocations}},
      {"frees", "Frees", CLPI_COUNT, {result->frees}},
      {"hits", "Served without the device", CLPI_COUNT, {result->hits}},
      {"misses", "Served by the device", CLPI_COUNT, {result->misses}},
      {"device_allocations", "Allocations on the device", CLPI_COUNT, {result->device_allocations}},
      {"device_frees", "Frees on the device", CLPI_COUNT, {result->device_frees}},
      {"failures", "Allocations refused", CLPI_COUNT, {result->failures}},
      {"recorded_failures", "Failures in the trace", CLPI_COUNT, {result->recorded_failures}},
      {"peak_active_bytes", "Peak in use", CLPI_BYTES, {result->peak_active_bytes}},
      {"peak_managed_bytes", "Peak in the pool", CLPI_BYTES, {result->peak_managed_bytes}},
      {"peak_device_bytes", "Peak taken from the device", CLPI_BYTES, {result->peak_device_bytes}},
      {"footprint", "Footprint: taken / in use", CLPI_RATIO, {.ratio = result->footprint}},
      {"events", "Events", CLPI_COUNT, {rows}},
      {"seconds", "Seconds from first to last", CLPI_RATIO, {.ratio = seconds}},
      {"peak_active_event", "Peak in use at event", CLPI_COUNT, {survey->active_peak.first.row}},
      {"peak_managed_event", "Peak in the pool at event", CLPI_COUNT, {managed->first.row}},
      {"active_bytes_at_peak", "In use at that event", CLPI_BYTES, {managed->active_bytes}},
      {"padding_bytes_at_peak",
       "Padding at that event",
       CLPI_BYTES,
       {trace_span_padding_bytes(managed)}},
      {"held_bytes_at_peak", "Held at that event", CLPI_BYTES, {managed->held_bytes}},
  };
  fill(all, figures, sizeof(figures));
}

/* --- rows of tables: false, there are no more --- */

static const char *kind_name(trace_kind kind)
{
  return kind == TRACE_NO_KIND ? NULL : trace_kind_name(kind);
}

static const char *kind_title(const clpi_report *report)
{
  return trace_survey_has_kinds(report->survey) ? "Kind" : NULL;
}

static bool list_pool(const clpi_report *report, size_t i, figure_list *row)
{
  const trace_survey *survey = report->survey;
  row->on_page = survey->result.pools < 2 ? HIDDEN : i < survey->pool_count ? SHOWN : AMONG_OTHERS;
  if (i >= survey->pool_count)
    return i < survey->result.pools;
  const trace_surveyed_pool *pool = &survey->pools[i];
  const trace_share *share = &survey->shares[TRACE_KINDS + i];
  snprintf(row->name, sizeof(row->name), "context %#" PRIx64, pool->context);
  const char *title = pool->name ? pool->name : row->name;
  const clpi_figure figures[] = {
      {NULL, "Pool", CLPI_WORDS, {.text = *title ? title : "pools without a name"}},
      {"name", NULL, CLPI_WORDS, {.text = pool->name}},
      {"kind", kind_title(report), CLPI_WORDS, {.text = kind_name(pool->kind)}},
      {"peak_active_bytes", "Peak in use", CLPI_BYTES, {share->peak_active_bytes}},
      {"peak_managed_bytes", "Peak in the pool", CLPI_BYTES, {share->peak_managed_bytes}},
  };
  fill(row, figures, sizeof(figures));
  return true;
}

static bool list_kind(const clpi_report *report, size_t i, figure_list *row)
{
  const trace_share *kind = &report->survey->shares[i];
  row->on_page = HIDDEN;
  if (i == TRACE_KINDS || kind->allocations == 0)
    return i < TRACE_KINDS;
  row->on_page = kind_title(report) ? SHOWN : HIDDEN;
  const clpi_figure figures[] = {
      {"kind", "Kind", CLPI_WORDS, {.text = kind_name((trace_kind)i)}},
      {"allocations", "Allocations", CLPI_COUNT, {kind->allocations}},
      {"peak_active_bytes", "Peak in use", CLPI_BYTES, {kind->peak_active_bytes}},
      {"active_bytes_at_peak", "At the total peak", CLPI_BYTES, {kind->active_bytes_at_peak}},
      {"active_bytes_at_end", "At the end", CLPI_BYTES, {kind->active_bytes}},
  };
  fill(row, figures, sizeof(figures));
  return true;
}

static size_t bin_number(const clpi_report *report, size_t bytes)
{
  return clp_bin_number(report->arguments->replay.pool_options.leading_bits_in_bin_id, bytes);
}

/* On the page, those that held a fiftieth of all that was held, or more. */
static bool list_bin(const clpi_report *report, size_t i, figure_list *row)
{
  const trace_bin_census *census = &report->survey->bins;
  if (i == census->count)
    return false;
  const trace_bin *bin = &census->bins[i];
  trace_bin_count count = trace_bin_at_peak(census, bin);
  size_t held_blocks = count.blocks - count.active_blocks, held = held_blocks * bin->block_bytes;
  size_t padding = count.active_blocks * bin->block_bytes - count.active_bytes;
  double part = (double)held / (double)report->survey->managed_peak.held_bytes;
  const clpi_figure figures[] = {
      {"bin", NULL, CLPI_ID, {bin_number(report, bin->block_bytes)}},
      {"block_bytes", "Block size", CLPI_BYTES, {bin->block_bytes}},
      {"hits", NULL, CLPI_COUNT, {bin->now.hits}},
      {"misses", NULL, CLPI_COUNT, {bin->now.misses}},
      {"active_blocks_at_peak", NULL, CLPI_COUNT, {count.active_blocks}},
      {"held_blocks_at_peak", "Blocks held", CLPI_COUNT, {held_blocks}},
      {"held_bytes_at_peak", "Held", CLPI_BYTES, {held}},
      {"padding_bytes_at_peak", NULL, CLPI_BYTES, {padding}},
      {NULL, "Share of all held", CLPI_PART, {.ratio = part}},
  };
  fill(row, figures, sizeof(figures));
  row->on_page = held == 0 ? HIDDEN : part < 0.02 ? AMONG_OTHERS : SHOWN;
  return true;
}

/* The innermost lines of a stack, innermost first. */
static void list_lines(const trace_survey *survey, uint64_t stack, figure_list *row)
{
  const clpi_line_report *report = &survey->stacks.report;
  uint32_t at = trace_survey_has_stacks(survey) ? report->innermost[stack] : 0;
  for (size_t i = 0; at && i < MOST_LINES; i++, at = report->lines.nodes[at].parent)
    row->lines[i] = trace_stacks_text(&report->lines.nodes[at]);
}

static bool list_group(const clpi_report *report, size_t i, figure_list *row)
{
  const trace_survey *survey = report->survey;
  const trace_large_group *group = &survey->largest.groups[i];
  const trace_timeline *timeline = &survey->timeline;
  if (i == survey->largest.count)
    return false;
  bool has_times = trace_timeline_nanoseconds(timeline, trace_timeline_rows(timeline)) > 0;
  const char *time = has_times ? "" : NULL;
  bool has_stacks = trace_survey_has_stacks(survey);
  list_lines(survey, group->kind.stack, row);
  const clpi_figure figures[] = {
      {"bytes", "Size", CLPI_BYTES, {group->kind.bytes}},
      {NULL, "", CLPI_COUNT, {group->kind.bytes}},
      {"times", "Times", CLPI_COUNT, {group->times}},
      {"bin", "Bin, block", CLPI_ID, {bin_number(report, group->kind.bytes)}},
      {"block_bytes", "", CLPI_BYTES, {group->block_bytes}},
      {"first_event", "First at event", CLPI_COUNT, {group->first.row}},
      {"first_seconds", time, CLPI_ELAPSED, {group->first.nanoseconds}},
      {"longest_life_events", "Longest life in events", CLPI_COUNT, {group->most_rows}},
      {"longest_life_seconds", time, CLPI_ELAPSED, {group->most_nanoseconds}},
      {"never_freed", "Never freed", CLPI_COUNT, {group->kept}},
      {"thread", "Thread, stream", CLPI_ID, {group->kind.thread}},
      {"stream", "", CLPI_ADDRESS, {group->kind.stream}},
      {"kind", kind_title(report), CLPI_WORDS, {.text = kind_name(group->kind.memory)}},
      {"from", has_stacks ? "From" : NULL, CLPI_LINES, {.lines = row->lines}},
  };
  fill(row, figures, sizeof(figures));
  return true;
}

/* --- the tables --- */

static const struct table {
  const char *key; /* in JSON; it is the section's on the page */
  const char *title, *note;
  bool (*list_row)(const clpi_report *report, size_t i, figure_list *row);
} tables[] = {
    {"by_pool", "Memory by pool", "", list_pool},
    {"by_kind", "Memory by kind, in use", "", list_kind},
    {"bins", "Held when the pool was largest, by block size", "", list_bin},
    {"largest", "The largest allocations",
     "<p>Allocations of the same size, thread, stream, kind and call stack share a row, which "
     "shows the longest life.</p>\n",
     list_group},
};
enum { TABLES = sizeof(tables) / sizeof(tables[0]) };

static void write_array(clpi_json *json, const clpi_report *report, const struct table *table)
{
  figure_list row = {.count = 0};
  clpi_json_begin(json, table->key, '[');
  for (size_t i = 0; table->list_row(report, i, &row); i++, row = (figure_list){.count = 0}) {
    if (row.count == 0)
      continue;
    clpi_json_begin(json, NULL, '{');
    clpi_write_figures(json, row.figures, row.count);
    clpi_json_end(json, '}');
  }
  clpi_json_end(json, ']');
}

void clpi_report_write_json(FILE *file, const clpi_report *report)
{
  clpi_json json = {.file = file};
  figure_list all;
  list_all(report, &all);
  clpi_json_begin(&json, NULL, '{');
  clpi_json_string(&json, "trace", report->trace);
  clpi_json_string(&json, "allocator", "simulated");
  clpi_write_figures(&json, all.figures, all.count);
  for (size_t i = 0; i < TABLES; i++)
    write_array(&json, report, &tables[i]);
  clpi_json_end(&json, '}');
}

/* --- on the page --- */

static void write_lines(FILE *file, const char *const *lines)
{
  for (size_t i = 0; lines[i]; i++) {
    fputs(i > 0 ? "<br/><small>" : "", file);
    clpi_write_escaped(file, clpi_base_name(lines[i]));
    fputs(i > 0 ? "</small>" : "", file);
  }
  fputs(lines[0] ? "" : "unknown", file);
}

static void write_value(FILE *file, const clpi_figure *figure)
{
  if (figure->kind == CLPI_WORDS)
    clpi_write_escaped(file, figure->value.text ? figure->value.text : "unknown");
  else if (figure->kind == CLPI_LINES)
    write_lines(file, figure->value.lines);
  else if (figure->kind == CLPI_PART)
    fprintf(file, "<i class='held' style='width:%.1f%%'></i>", 100.0 * figure->value.ratio);
  else if (figure->kind == CLPI_COUNT)
    fputs(clpi_show_grouped(figure->value.count).text, file);
  else
    fputs(clpi_show_figure(figure).text, file);
}

static const char *class_of(const clpi_figure *figure)
{
  return figure->kind == CLPI_PART    ? " class='bar'"
         : figure->kind == CLPI_LINES ? " class='from'"
                                      : "";
}

/* Its titles, if it is the head. */
static void write_row(FILE *file, const figure_list *row, bool is_head)
{
  const clpi_figure *end = row->figures + row->count;
  const char *tag = is_head ? "th scope='col'" : "th scope='row'";
  fputs("<tr>", file);
  for (const clpi_figure *figure = row->figures; figure < end; figure++) {
    if (!figure->title || !*figure->title)
      continue;
    fprintf(file, "<%s%s>", tag, class_of(figure));
    if (is_head)
      fputs(figure->title, file);
    else
      write_value(file, figure);
    for (const clpi_figure *below = figure + 1;
         !is_head && below < end && below->title && !*below->title; below++) {
      fputs("<br/><small>", file);
      write_value(file, below);
      fputs("</small>", file);
    }
    fprintf(file, "</%.2s>", tag);
    tag = is_head ? tag : "td";
  }
  fputs("</tr>\n", file);
}

/* Nothing, unless there is a row to show. */
static void write_table(FILE *file, const clpi_report *report, const struct table *table)
{
  uint64_t shown = 0, others = 0;
  figure_list row = {.count = 0};
  for (size_t i = 0; table->list_row(report, i, &row); i++, row = (figure_list){.count = 0}) {
    others += row.on_page == AMONG_OTHERS;
    if (row.on_page != SHOWN)
      continue;
    if (shown++ == 0) {
      clpi_report_begin_section(file, table->key, table->title);
      fputs(table->note, file);
      clpi_report_begin_wide(file, table->title);
      fputs("<table>\n<thead>", file);
      write_row(file, &row, true);
      fputs("</thead>\n<tbody>\n", file);
    }
    write_row(file, &row, false);
  }
  if (shown > 0 && others > 0)
    fprintf(file, "<tr class='others'><th scope='row'>%s more</th></tr>\n",
            clpi_show_grouped(others).text);
  fputs(shown > 0 ? "</tbody>\n</table></div>\n</section>\n" : "", file);
}

/* What the managed memory was for, as a bar and in words. */
static void write_peak(FILE *file, const clpi_report *report)
{
  const trace_bin_census *census = &report->survey->bins;
  const trace_span *peak = &report->survey->managed_peak;
  const struct {
    const char *color, *words;
    size_t bytes;
  } parts[] = {{"active", "in use", peak->active_bytes},
               {"padding", "padding, from sizes rounded up", trace_span_padding_bytes(peak)},
               {"held", "held for later allocations", peak->held_bytes}};
  size_t bins = 0;
  for (size_t i = 0; i < census->count; i++)
    bins += trace_bin_at_peak(census, &census->bins[i]).blocks > 0;
  clpi_report_begin_section(file, "peak", "When the pool was largest");
  fprintf(file, "<p>At event %s the pool had %s, in %s.</p>\n<p class='parts' aria-hidden='true'>",
          clpi_show_grouped(peak->first.row).text, clpi_show_bytes(peak->managed_bytes).text,
          clpi_show_number_of(bins, "bin").text);
  for (size_t i = 0; i < 3; i++)
    if (parts[i].bytes > 0)
      fprintf(file, "<i class='%s' style='width:%.2f%%'></i>", parts[i].color,
              100.0 * (double)parts[i].bytes / (double)peak->managed_bytes);
  fputs("</p>\n<ul class='legend'>\n", file);
  for (size_t i = 0; i < 3; i++)
    fprintf(file, "<li><i class='%s'></i>%s <b>%s</b> (%s)</li>\n", parts[i].color, parts[i].words,
            clpi_show_bytes(parts[i].bytes).text,
            clpi_show_part(parts[i].bytes, peak->managed_bytes).text);
  fputs("</ul>\n</section>\n", file);
}

void clpi_report_write_tables(FILE *file, const clpi_report *report)
{
  write_peak(file, report);
  for (size_t i = 0; i < TABLES; i++)
    write_table(file, report, &tables[i]);
}

static clpi_shown exactly(const clpi_figure *figure)
{
  if (figure->kind == CLPI_SWITCH)
    return figure->value.count ? (clpi_shown){"yes"} : (clpi_shown){"no"};
  if (figure->kind != CLPI_RATIO)
    return clpi_show_grouped(figure->value.count);
  return isnan(figure->value.ratio) ? (clpi_shown){"none"}
                                    : clpi_show("%.10g", figure->value.ratio);
}

static void write_figure(FILE *file, const clpi_figure *figure)
{
  bool is_large = figure->kind == CLPI_BYTES && figure->value.count >= 1024;
  fprintf(file, "<tr><th scope='row'>%s</th><td data-key='%s'>%s</td><td>%s</td></tr>\n",
          figure->title, figure->key, exactly(figure).text,
          is_large ? clpi_show_figure(figure).text : "");
}

void clpi_report_write_figures(FILE *file, const clpi_report *report)
{
  figure_list all;
  list_all(report, &all);
  clpi_report_begin_section(file, "figures", "All figures");
  fputs("<table>\n<tbody>\n<tr><th scope='row'>Trace</th><td colspan='2' class='path'>", file);
  clpi_write_escaped(file, report->trace);
  fputs("</td></tr>\n", file);
  for (size_t i = 0; i < all.count; i++)
    write_figure(file, &all.figures[i]);
  fputs("</tbody>\n</table>\n</section>\n", file);
}
