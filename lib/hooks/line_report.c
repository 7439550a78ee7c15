/* SPDX-License-Identifier: MIT */
/* Building the tree of lines, and writing it in two formats. */
#include "hooks/line_report.h"

#include "core/base/error.h"
#include "core/base/printable.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A line's links to its children, and its bytes with all of theirs. */
typedef struct branch {
  uint32_t first, next; /* child and sibling, in the order they were added; 0: none */
  clpi_profiled_bytes bytes;
} branch;

enum { SIZE_TEXT_BYTES = 32 };

static const char root_text[] = "_root";
static const char unrecorded_text[] = "_unrecorded";

static clp_status no_host_memory(void)
{
  return clpi_error(CLP_OUT_OF_HOST_MEMORY, 0, "no host memory for the report of a line profile");
}

/* --- from addresses to lines --- */

typedef struct building {
  clpi_line_report *report;
  const clpi_call_tree *stacks;
  unsigned max_depth;
} building;

static bool is_named(const clpi_call_node *node)
{
  return node->depth > 0 && !((const clpi_line *)node->key)->is_nameless;
}

/* Leaves out start-up code, which is only directly below the root, or in a stripped program, below
 * a line without a name. Also leaves out lines that are too deep, or say less than their caller. */
static bool is_left_out(const building *all, uint32_t parent, const clpi_line *line)
{
  const clpi_call_node *above = &all->report->lines.nodes[parent];
  bool has_callers = all->report->names.symbols->has_callers;
  return (has_callers && line->is_nameless && is_named(above)) ||
         (line->is_startup && (parent == 0 || (has_callers && !is_named(above)))) ||
         (all->max_depth && above->depth + 1 >= all->max_depth);
}

static uint32_t add_lines(building *all, uint32_t parent, const clpi_address_lines *frames)
{
  clpi_call_tree *lines = &all->report->lines;
  uint32_t at = parent;
  for (size_t i = 0; i < frames->count; i++) {
    uintptr_t key = (uintptr_t)frames->lines[i];
    if (is_left_out(all, at, frames->lines[i]))
      continue;
    uint32_t child = clpi_call_tree_find(lines, at, key);
    at = child ? child : clpi_call_tree_add(lines, at, key);
  }
  return at;
}

static clp_status add_node(building *all, uint32_t number)
{
  const clpi_call_node *node = &all->stacks->nodes[number];
  const clpi_address_lines *frames = NULL;
  clp_status status = clpi_frame_lines_find(&all->report->names, node->key, &frames);
  if (status)
    return status;
  if (!clpi_call_tree_reserve(&all->report->lines, frames->count))
    return no_host_memory();
  uint32_t *innermost = all->report->innermost;
  innermost[number] = add_lines(all, innermost[node->parent], frames);
  return CLP_SUCCESS;
}

/* Parents have smaller numbers than their children, so each parent's line is known before. */
static clp_status add_nodes(building *all)
{
  clp_status status = CLP_SUCCESS;
  for (uint32_t i = 1; i < all->stacks->count && !status; i++)
    status = add_node(all, i);
  for (uint32_t i = 0; i < all->stacks->count && !status; i++)
    clpi_call_node_add(&all->report->lines.nodes[all->report->innermost[i]],
                       &all->stacks->nodes[i]);
  return status;
}

clp_status clpi_line_report_init(clpi_line_report *report, const clpi_call_tree *stacks,
                                 unsigned max_depth, const clpi_symbols *symbols)
{
  *report = (clpi_line_report){0};
  building all = {.report = report, .stacks = stacks, .max_depth = max_depth};
  clp_status status = clpi_frame_lines_init(&report->names, symbols);
  if (status)
    return status;
  report->innermost = calloc(stacks->count, sizeof(*report->innermost));
  bool has_memory = clpi_call_tree_init(&report->lines) && report->innermost;
  status = has_memory ? add_nodes(&all) : no_host_memory();
  if (status)
    clpi_line_report_end(report);
  return status;
}

void clpi_line_report_end(clpi_line_report *report)
{
  free(report->innermost);
  clpi_call_tree_end(&report->lines);
  clpi_frame_lines_end(&report->names);
}

/* --- writing --- */

/* Sizes as cupy.cuda.memory_hooks.LineProfileHook writes them: the unit changes at 1024, before
 * rounding. */
static void write_size(char text[SIZE_TEXT_BYTES], uint64_t bytes)
{
  static const char *const units[] = {"B", "KB", "MB", "GB", "TB", "PB", "EB"};
  double size = (double)bytes;
  size_t unit = 0;
  for (; size >= 1024.0; unit++)
    size /= 1024.0;
  snprintf(text, SIZE_TEXT_BYTES, "%.2f%s", size, units[unit]);
}

static bool print_line(const clpi_line_report *report, FILE *file, uint32_t depth, const char *text,
                       clpi_profiled_bytes bytes)
{
  char used[SIZE_TEXT_BYTES], acquired[SIZE_TEXT_BYTES];
  write_size(used, bytes.used);
  write_size(acquired, bytes.acquired);
  if (fprintf(file, "%*s", 2 * (int)depth, "") < 0 || !clpi_print_escaped(file, text))
    return false;
  return (report->view == CLP_VIEW_SUMS ? fprintf(file, " (%s, %s)\n", used, acquired)
                                        : fprintf(file, " (%s)\n", used)) >= 0;
}

static const char *text_of(const clpi_call_node *node)
{
  return ((const clpi_line *)node->key)->text;
}

static clpi_profiled_bytes bytes_of(const clpi_line_report *report, const clpi_call_node *node)
{
  return clpi_call_node_bytes(node, report->view);
}

/* Sums the bytes upwards. Children have greater numbers than their parents. So in descending order,
 * each is complete before it is added to its parent. NULL: out of host memory. */
static branch *find_branches(const clpi_line_report *report)
{
  const clpi_call_tree *lines = &report->lines;
  branch *branches = calloc(lines->count, sizeof(*branches));
  for (uint32_t i = lines->count - 1; branches && i > 0; i--) {
    clpi_profiled_bytes_add(&branches[i].bytes, bytes_of(report, &lines->nodes[i]));
    branch *parent = &branches[lines->nodes[i].parent];
    clpi_profiled_bytes_add(&parent->bytes, branches[i].bytes);
    branches[i].next = parent->first;
    parent->first = i;
  }
  if (branches)
    clpi_profiled_bytes_add(&branches[0].bytes, bytes_of(report, &lines->nodes[0]));
  return branches;
}

/* The line after `i` in depth-first order: its first child, or its next sibling, or that of the
 * nearest parent that has one; 0: none. */
static uint32_t next_line(const clpi_call_tree *lines, const branch *branches, uint32_t i)
{
  if (branches[i].first)
    return branches[i].first;
  while (i && !branches[i].next)
    i = lines->nodes[i].parent;
  return branches[i].next;
}

static bool has_bytes(clpi_profiled_bytes bytes)
{
  return bytes.used || bytes.acquired;
}

static clp_status finish(FILE *file, bool written)
{
  if (written && fflush(file) == 0)
    return CLP_SUCCESS;
  return clpi_error(CLP_IO_ERROR, errno, "cannot write a line profile: %s", strerror(errno));
}

static bool print_lines(const clpi_line_report *report, const branch *branches, FILE *file)
{
  const clpi_call_tree *lines = &report->lines;
  clpi_profiled_bytes all = branches[0].bytes;
  clpi_profiled_bytes unrecorded = bytes_of(report, &report->unrecorded);
  clpi_profiled_bytes_add(&all, unrecorded);
  bool written = print_line(report, file, 0, root_text, all);
  for (uint32_t i = next_line(lines, branches, 0); i && written; i = next_line(lines, branches, i))
    if (report->view == CLP_VIEW_SUMS || has_bytes(branches[i].bytes))
      written = print_line(report, file, lines->nodes[i].depth, text_of(&lines->nodes[i]),
                           branches[i].bytes);
  if (written && has_bytes(unrecorded))
    written = print_line(report, file, 1, unrecorded_text, unrecorded);
  return written;
}

clp_status clpi_line_report_print(const clpi_line_report *report, FILE *file)
{
  branch *branches = find_branches(report);
  if (!branches)
    return no_host_memory();
  bool written = print_lines(report, branches, file);
  clp_status status = finish(file, written);
  free(branches);
  return status;
}

/* A semicolon separates frames, so those in names become colons. */
static bool write_frame(FILE *file, const char *text)
{
  while (*text) {
    clpi_shown_character shown = clpi_show_character(&text);
    if (fputs(*shown.text == ';' ? ":" : shown.text, file) < 0)
      return false;
  }
  return true;
}

static bool write_frames(FILE *file, const clpi_call_tree *lines, uint32_t i)
{
  const clpi_call_node *node = &lines->nodes[i];
  if (i == 0)
    return write_frame(file, root_text);
  if (node->parent && !(write_frames(file, lines, node->parent) && putc(';', file) != EOF))
    return false;
  return write_frame(file, text_of(node));
}

clp_status clpi_line_report_write_folded(const clpi_line_report *report, FILE *file)
{
  const clpi_call_tree *lines = &report->lines;
  bool written = true;
  for (uint32_t i = 0; i < lines->count && written; i++) {
    uint64_t used = bytes_of(report, &lines->nodes[i]).used;
    if (used)
      written = write_frames(file, lines, i) && fprintf(file, " %" PRIu64 "\n", used) >= 0;
  }
  uint64_t unrecorded = bytes_of(report, &report->unrecorded).used;
  if (written && unrecorded)
    written = fprintf(file, "%s %" PRIu64 "\n", unrecorded_text, unrecorded) >= 0;
  return finish(file, written);
}
