/* SPDX-License-Identifier: MIT */
/* The tree of the recorded frames, whose keys are their texts; names come from the objects' files.
 */
#include "trace/stacks.h"

#include "trace/error.h"
#include "trace/event.h"
#include "trace/reader.h"

#include <inttypes.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static clp_status no_host_memory(void)
{
  return trace_error(CLP_OUT_OF_HOST_MEMORY, 0, "no host memory for the stacks of a trace");
}

clp_status trace_stacks_begin(trace_stacks *stacks)
{
  *stacks = (trace_stacks){.is_resolved = false};
  return clpi_call_tree_init(&stacks->frames) ? CLP_SUCCESS : no_host_memory();
}

void trace_stacks_end(trace_stacks *stacks)
{
  if (stacks->is_resolved)
    clpi_line_report_end(&stacks->report);
  clpi_call_tree_end(&stacks->frames);
  tdestroy(stacks->kept, free);
  *stacks = (trace_stacks){.is_resolved = false};
}

clp_status trace_stacks_define(trace_stacks *stacks, const char *text, const char **expected)
{
  uint32_t number, caller;
  int length = 0;
  *expected = NULL;
  if (sscanf(text, "%9" SCNu32 "%*1[ ]%9" SCNu32 "%*1[ ]%n", &number, &caller, &length) < 2 ||
      !length)
    *expected = "a number, that of the caller, and a text";
  else if (number != stacks->frames.count || caller >= number)
    *expected = "the number after that of the frame before, and a caller above";
  if (*expected)
    return CLP_SUCCESS;
  const char *kept = trace_keep_text(&stacks->kept, text + length);
  if (!kept || !clpi_call_tree_reserve(&stacks->frames, 1))
    return no_host_memory();
  clpi_call_tree_add(&stacks->frames, caller, (uintptr_t)kept);
  return CLP_SUCCESS;
}

void trace_stacks_use(trace_stacks *stacks, uint64_t stack, uint64_t bytes, bool is_allocation)
{
  clpi_call_node *node = &stacks->frames.nodes[stack];
  node->bytes.used += is_allocation ? bytes : 0;
  clpi_call_tree_use(&stacks->frames, node, is_allocation ? bytes : -bytes);
}

/* --- names --- */

/* The objects that were looked into so far; a session begins with one that is none. */
typedef struct object {
  struct object *next;
  clpi_debug_info *info;
  char path[];
} object;

static clp_status open_session(void **session)
{
  *session = calloc(1, sizeof(object) + 1);
  return *session ? CLP_SUCCESS : no_host_memory();
}

static void close_session(void *session)
{
  for (object *at = session, *next; at; at = next) {
    next = at->next;
    clpi_debug_info_close(at->info);
    free(at);
  }
}

/* Opens the first `length` bytes of `path`, unless that is open or no regular file: a pipe would be
 * waited for. NULL: no host memory. */
static object *open_object(object *at, const char *path, size_t length)
{
  struct stat file;
  for (; strlen(at->path) != length || memcmp(at->path, path, length) != 0; at = at->next) {
    if (at->next)
      continue;
    at->next = calloc(1, sizeof(*at) + length + 1);
    if (!at->next)
      return NULL;
    memcpy(at->next->path, path, length);
    bool is_file = stat(at->next->path, &file) == 0 && S_ISREG(file.st_mode);
    if (is_file && clpi_debug_info_open(at->next->path, &at->next->info))
      return NULL;
  }
  return at;
}

/* A frame whose key is its text: object+0xoffset, or else what is to be shown as it is. */
static clp_status show(void *session, uintptr_t key, clpi_symbol_visitor *visitor, void *argument)
{
  const char *text = (const char *)key, *plus = strrchr(text, '+');
  const clpi_symbol as_it_is = {.file = text, .line = -1, .object = ""};
  uint64_t offset;
  if (!plus || strncmp(plus, "+0x", 3) != 0 ||
      !trace_read_number(plus + 3, strlen(plus + 3), 16, &offset))
    return visitor(&as_it_is, argument);
  const object *found = open_object(session, text, (size_t)(plus - text));
  if (!found)
    return no_host_memory();
  const char *slash = strrchr(found->path, '/');
  const clpi_symbol plain = {.object = slash ? slash + 1 : found->path,
                             .offset = (uintptr_t)offset};
  return clpi_debug_info_show(found->info, (uintptr_t)offset, &plain, visitor, argument);
}

clp_status trace_stacks_resolve(trace_stacks *stacks)
{
  static const clpi_symbols symbols = {open_session, show, close_session, true};
  for (uint32_t i = 0; i < stacks->frames.count; i++)
    clpi_call_node_settle(&stacks->frames.nodes[i], stacks->frames.peak);
  clp_status status = clpi_line_report_init(&stacks->report, &stacks->frames, 0, &symbols);
  stacks->report.view = CLP_VIEW_PEAK;
  stacks->is_resolved = !status;
  return status;
}

const char *trace_stacks_text(const clpi_call_node *line)
{
  return line->depth > 0 ? ((const clpi_line *)line->key)->text : "all";
}

uint64_t *trace_stacks_bytes(const trace_stacks *stacks, clp_line_profile_view view)
{
  const clpi_call_tree *lines = &stacks->report.lines;
  uint64_t *bytes = calloc(lines->count, sizeof(*bytes));
  for (uint32_t i = lines->count; bytes && i-- > 0;) { /* lines before those that call them */
    bytes[i] += clpi_call_node_bytes(&lines->nodes[i], view).used;
    bytes[lines->nodes[i].parent] += i > 0 ? bytes[i] : 0;
  }
  if (!bytes)
    (void)no_host_memory();
  return bytes;
}
