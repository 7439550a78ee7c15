/* SPDX-License-Identifier: MIT */
/* The tree of the recorded frames, whose keys are their texts; names come from the objects' files.
 */
#include "trace/stacks.h"

#include "hooks/line_report.h"
#include "trace/error.h"
#include "trace/event.h"
#include "trace/names.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct trace_stacks {
  clpi_call_tree frames; /* as numbered in the trace */
  trace_names texts;     /* their keys */
  bool is_resolved;
  clpi_line_report report; /* once they are resolved */
};

static clp_status no_host_memory(void)
{
  return trace_error(CLP_OUT_OF_HOST_MEMORY, 0, "no host memory for the stacks of a trace");
}

trace_stacks *trace_stacks_create(void)
{
  trace_stacks *stacks = calloc(1, sizeof(*stacks));
  if (stacks && !clpi_call_tree_init(&stacks->frames)) {
    free(stacks);
    return NULL;
  }
  return stacks;
}

void trace_stacks_destroy(trace_stacks *stacks)
{
  if (!stacks)
    return;
  if (stacks->is_resolved)
    clpi_line_report_end(&stacks->report);
  clpi_call_tree_end(&stacks->frames);
  trace_names_end(&stacks->texts);
  free(stacks);
}

/* --- while the trace is read --- */

clp_status trace_stacks_define(trace_stacks *stacks, const char *text, const char **expected)
{
  uint32_t number, caller;
  int length = 0;
  *expected = NULL;
  if (sscanf(text, "%" SCNu32 "%" SCNu32 "%*1[ ]%n", &number, &caller, &length) < 2 || !length)
    *expected = "a number, that of the caller, and a text";
  else if (number != stacks->frames.count || caller >= number)
    *expected = "the number after that of the frame before, and a caller above";
  if (*expected)
    return CLP_SUCCESS;
  const char *kept = trace_names_keep(&stacks->texts, text + length);
  if (!kept || !clpi_call_tree_reserve(&stacks->frames, 1))
    return no_host_memory();
  clpi_call_tree_add(&stacks->frames, caller, (uintptr_t)kept);
  return CLP_SUCCESS;
}

uint64_t trace_stacks_count(const trace_stacks *stacks)
{
  return stacks->frames.count;
}

void trace_stacks_allocate(trace_stacks *stacks, uint64_t stack, uint64_t bytes)
{
  clpi_call_node *node = &stacks->frames.nodes[stack];
  node->bytes.used += bytes;
  clpi_call_tree_use(&stacks->frames, node, bytes);
}

void trace_stacks_free(trace_stacks *stacks, uint64_t stack, uint64_t bytes)
{
  clpi_call_tree_use(&stacks->frames, &stacks->frames.nodes[stack], -bytes);
}

/* --- names --- */

/* The objects that were looked into so far, in a list that ends with NULL. */
typedef struct object {
  struct object *next;
  clpi_debug_info *info;
  char path[];
} object;

static clp_status open_session(void **session)
{
  *session = calloc(1, sizeof(object *));
  return *session ? CLP_SUCCESS : no_host_memory();
}

static void close_session(void *session)
{
  object **first = session;
  for (object *next; *first; *first = next) {
    next = (*first)->next;
    clpi_debug_info_close((*first)->info);
    free(*first);
  }
  free(session);
}

/* Opens the first `length` bytes of `path`, unless that is open. NULL: no host memory. */
static object *open_object(object **first, const char *path, size_t length)
{
  for (object *at = *first; at; at = at->next)
    if (strlen(at->path) == length && memcmp(at->path, path, length) == 0)
      return at;
  object *added = calloc(1, sizeof(*added) + length + 1);
  if (!added)
    return NULL;
  memcpy(added->path, path, length);
  added->next = *first;
  *first = added;
  return clpi_debug_info_open(added->path, &added->info) ? NULL : added;
}

/* A frame whose key is its text: object+0xoffset, or else what is to be shown as it is. */
static clp_status show(void *session, uintptr_t key, clpi_symbol_visitor *visitor, void *argument)
{
  const char *text = (const char *)key, *plus = strrchr(text, '+');
  clpi_symbol plain = {.file = text, .line = -1, .object = ""};
  uint64_t offset;
  bool is_address = plus && strncmp(plus, "+0x", 3) == 0 &&
                    trace_read_number(plus + 3, strlen(plus + 3), 16, &offset);
  if (!is_address)
    return visitor(&plain, argument);
  const object *found = open_object(session, text, (size_t)(plus - text));
  if (!found)
    return no_host_memory();
  const char *slash = strrchr(found->path, '/');
  plain = (clpi_symbol){.object = slash ? slash + 1 : found->path, .offset = offset};
  return clpi_debug_info_show(found->info, offset, &plain, visitor, argument);
}

static const clpi_symbols file_symbols = {open_session, show, close_session, true};

clp_status trace_stacks_resolve(trace_stacks *stacks)
{
  clpi_call_tree settled;
  if (!clpi_call_tree_copy(&settled, &stacks->frames))
    return no_host_memory();
  clp_status status = clpi_line_report_init(&stacks->report, &settled, 0, &file_symbols);
  stacks->is_resolved = !status;
  clpi_call_tree_end(&settled);
  return status;
}

/* --- views --- */

static const char *text_of(const clpi_call_node *line)
{
  return line->depth > 0 ? ((const clpi_line *)line->key)->text : "all";
}

clp_status trace_stacks_lines(const trace_stacks *stacks, clp_line_profile_view view,
                              trace_stack_line **lines, size_t *count)
{
  const clpi_call_tree *tree = &stacks->report.lines;
  *count = tree->count;
  *lines = calloc(*count, sizeof(**lines));
  if (!*lines)
    return no_host_memory();
  for (size_t i = *count; i-- > 0;) { /* lines before those that call them */
    const clpi_call_node *node = &tree->nodes[i];
    trace_stack_line *line = &(*lines)[i];
    line->text = text_of(node);
    line->caller = node->parent;
    line->depth = node->depth;
    line->bytes += clpi_call_node_bytes(node, view).used;
    if (i > 0)
      (*lines)[line->caller].bytes += line->bytes;
  }
  return CLP_SUCCESS;
}

size_t trace_stacks_describe(const trace_stacks *stacks, uint64_t stack, const char **texts,
                             size_t most)
{
  const clpi_call_node *nodes = stacks->report.lines.nodes;
  size_t count = 0;
  for (uint32_t at = stacks->report.innermost[stack]; at && count < most; at = nodes[at].parent)
    texts[count++] = text_of(&nodes[at]);
  return count;
}

clp_status trace_stacks_write_folded(trace_stacks *stacks, clp_line_profile_view view, FILE *file)
{
  stacks->report.view = view;
  return clpi_line_report_write_folded(&stacks->report, file);
}
