/* SPDX-License-Identifier: MIT */
/* The report's flame graph of who allocated, the root on top: a box a line of the program, as wide
 * as its part of the bytes. The style sheet places the boxes, and the script zooms. */
#include "report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

enum { MOST_BOXES = 600, COLORS = 6 };

static const struct {
  clp_line_profile_view view;
  const char *name, *words;
} views[] = {{CLP_VIEW_PEAK, "peak", "in use at the peak"},
             {CLP_VIEW_NOW, "end", "in use at the end"},
             {CLP_VIEW_SUMS, "all", "allocated in all"}};
enum { VIEWS = sizeof(views) / sizeof(views[0]) };

/* The least bytes of a box, so that there are not too many: a thousandth of all, or more. Finds how
 * deep the boxes are. */
static uint64_t find_least(const clpi_call_tree *lines, const uint64_t *bytes, unsigned *depth)
{
  for (uint64_t least = bytes[0] / 1000 + 1;; least *= 2) {
    size_t boxes = 0;
    *depth = 0;
    for (uint32_t i = 0; i < lines->count; i++) {
      if (bytes[i] < least)
        continue;
      boxes++;
      *depth = MAX(*depth, lines->nodes[i].depth);
    }
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
static void write_box(FILE *file, const clpi_call_node *line, uint64_t bytes, uint64_t begin,
                      double all)
{
  const char *text = trace_stacks_text(line), *name = clpi_base_name(text);
  const char *function = function_of(name);
  fprintf(file, "<b style='--c:var(--c%u);--x:%.5f;--w:%.5f;--y:%u' data-b='%" PRIu64 "' data-in='",
          color_of(text), (double)begin / all, (double)bytes / all, line->depth, bytes);
  clpi_write_escaped_part(file, text, (size_t)(name - text));
  fputs("'>", file);
  if (function) {
    clpi_write_escaped(file, function);
    putc(' ', file);
    clpi_write_escaped_part(file, name, (size_t)(function - 1 - name));
  } else {
    clpi_write_escaped(file, name);
  }
  fputs("</b>\n", file);
}

/* Callers come before the lines that they call, so the begin of each is known before. `ends` are
 * zeros. */
static void write_boxes(FILE *file, const clpi_call_tree *lines, const uint64_t *bytes,
                        uint64_t *ends, uint64_t least)
{
  for (uint32_t i = 0; i < lines->count; i++) {
    const clpi_call_node *line = &lines->nodes[i];
    uint64_t begin = ends[line->parent];
    ends[line->parent] += i > 0 ? bytes[i] : 0;
    ends[i] = begin;
    if (bytes[i] >= least)
      write_box(file, line, bytes[i], begin, (double)bytes[0]);
  }
}

static clp_status write_view(FILE *file, const trace_stacks *stacks, size_t view)
{
  const clpi_call_tree *lines = &stacks->report.lines;
  uint64_t *bytes = trace_stacks_bytes(stacks, views[view].view);
  uint64_t *ends = calloc(lines->count, sizeof(*ends));
  bool has_memory = bytes && ends;
  if (has_memory) {
    unsigned depth;
    uint64_t least = find_least(lines, bytes, &depth);
    fprintf(file, "<div class='flame %s' style='--d:%u' aria-label='Bytes %s, by line'>\n",
            views[view].name, depth + 1, views[view].words);
    write_boxes(file, lines, bytes, ends, least);
    fputs(bytes[0] > 0 ? "</div>\n" : "<p class='note'>Nothing was in use.</p></div>\n", file);
  }
  free(bytes);
  free(ends);
  return has_memory ? CLP_SUCCESS : CLP_OUT_OF_HOST_MEMORY;
}

clp_status clpi_report_write_stacks(FILE *file, const clpi_report *report)
{
  if (!trace_survey_has_stacks(report->survey))
    return CLP_SUCCESS;
  clpi_report_begin_section(file, "stacks", "Who allocated");
  fputs(
      "<p class='note'>Each box is a line of the program, as wide as its bytes; the lines that it "
      "calls are below it. Click a box to zoom in, and the top one to see all again. Keys: arrows "
      "to move, Enter to zoom in, Escape to see all.</p>\n",
      file);
  for (size_t i = 0; i < VIEWS; i++)
    fprintf(file,
            "<input type='radio' name='view' id='view-%s'%s/><label for='view-%s'>%s</label>\n",
            views[i].name, i == 0 ? " checked='checked'" : "", views[i].name, views[i].words);
  clp_status status = CLP_SUCCESS;
  for (size_t i = 0; i < VIEWS && !status; i++)
    status = write_view(file, &report->survey->stacks, i);
  fputs("</section>\n", file);
  return status;
}
