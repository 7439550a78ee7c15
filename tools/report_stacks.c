/* SPDX-License-Identifier: MIT */
/* The report's flame graph of who allocated, the root on top: a box a line of the program, as wide
 * as its part of the bytes. The style sheet places the boxes, and the script zooms. */
#include "report.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BOXES = 600, COLORS = 6 };

static const struct {
  clp_line_profile_view view;
  const char *name, *words;
} views[] = {{CLP_VIEW_PEAK, "peak", "in use at the peak"},
             {CLP_VIEW_NOW, "end", "in use at the end"},
             {CLP_VIEW_SUMS, "all", "allocated in all"}};
enum { VIEWS = sizeof(views) / sizeof(views[0]) };

/* The least bytes of a box, so that there are not too many: a thousandth of all, or more. */
static uint64_t least_bytes(const trace_stack_line *lines, size_t count)
{
  for (uint64_t least = lines[0].bytes / 1000 + 1;; least *= 2) {
    size_t boxes = 0;
    for (size_t i = 0; i < count; i++)
      boxes += lines[i].bytes >= least;
    if (boxes <= MOST_BOXES)
      return least;
  }
}

/* Lines of one file have one color. */
static unsigned color_of(const char *text)
{
  unsigned sum = 0;
  for (const char *end = strchrnul(text, ':'); text < end; text++)
    sum = sum * 31 + (unsigned char)*text;
  return sum % COLORS;
}

/* Where the name of the function begins, behind file:line: or object+0xoffset:. NULL: it has none.
 */
static const char *function_of(const char *name)
{
  const char *colon = strchr(name, ':');
  size_t digits = colon ? strspn(colon + 1, "0123456789") : 0;
  if (digits > 0 && colon[1 + digits] == ':')
    colon += 1 + digits;
  return colon ? colon + 1 : NULL;
}

/* The function comes first, since a box may be narrow; the directories are for who points at it. */
static void write_box(FILE *file, const trace_stack_line *line, double all, uint64_t begin)
{
  const char *name = clpi_base_name(line->text), *function = function_of(name);
  fprintf(file, "<b class='c%u' style='--x:%.5f;--w:%.5f;--y:%u' data-b='%" PRIu64 "'",
          color_of(line->text), (double)begin / all, (double)line->bytes / all, line->depth,
          line->bytes);
  if (name > line->text) {
    fputs(" data-in='", file);
    clpi_write_escaped_part(file, line->text, (size_t)(name - line->text));
    putc('\'', file);
  }
  putc('>', file);
  if (function) {
    clpi_write_escaped(file, function);
    putc(' ', file);
    clpi_write_escaped_part(file, name, (size_t)(function - 1 - name));
  } else {
    clpi_write_escaped(file, name);
  }
  fputs("</b>\n", file);
}

/* Callers come before the lines that they call, so the begin of each is known before. */
static clp_status write_boxes(FILE *file, const trace_stack_line *lines, size_t count,
                              uint64_t least)
{
  uint64_t *ends = calloc(count, sizeof(*ends));
  if (!ends)
    return CLP_OUT_OF_HOST_MEMORY;
  for (size_t i = 0; i < count; i++) {
    uint64_t begin = ends[lines[i].caller];
    ends[lines[i].caller] += i > 0 ? lines[i].bytes : 0;
    ends[i] = begin;
    if (lines[i].bytes >= least)
      write_box(file, &lines[i], (double)lines[0].bytes, begin);
  }
  free(ends);
  return CLP_SUCCESS;
}

static clp_status write_view(FILE *file, const trace_stacks *stacks, size_t view)
{
  trace_stack_line *lines;
  size_t count;
  unsigned depth = 0;
  clp_status status = trace_stacks_lines(stacks, views[view].view, &lines, &count);
  if (status)
    return status;
  uint64_t least = least_bytes(lines, count);
  for (size_t i = 0; i < count; i++)
    if (lines[i].bytes >= least && depth < lines[i].depth)
      depth = lines[i].depth;
  fprintf(file, "<div class='flame %s' style='--d:%u' aria-label='Bytes %s, by line'>\n",
          views[view].name, depth + 1, views[view].words);
  if (lines[0].bytes > 0)
    status = write_boxes(file, lines, count, least);
  else
    fputs("<p class='note'>Nothing was in use.</p>", file);
  fputs("</div>\n", file);
  free(lines);
  return status;
}

clp_status clpi_report_write_stacks(FILE *file, const clpi_report *report)
{
  const trace_stacks *stacks = report->survey->stacks;
  if (!stacks)
    return CLP_SUCCESS;
  clpi_report_begin_section(file, "stacks", "Who allocated");
  fputs(
      "<p class='note'>Each box is a line of the program, as wide as its bytes; the lines that it "
      "calls are below it. Click a box to zoom in, or go there with the arrow keys and press "
      "Enter; Escape shows all again.</p>\n",
      file);
  for (size_t i = 0; i < VIEWS; i++)
    fprintf(file,
            "<input type='radio' name='view' id='view-%s'%s/><label for='view-%s'>%s</label>\n",
            views[i].name, i == 0 ? " checked='checked'" : "", views[i].name, views[i].words);
  clp_status status = CLP_SUCCESS;
  for (size_t i = 0; i < VIEWS && !status; i++)
    status = write_view(file, stacks, i);
  fputs("</section>\n", file);
  return status;
}
