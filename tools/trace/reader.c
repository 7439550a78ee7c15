/* SPDX-License-Identifier: MIT */
/* From lines to rows, and what is wrong with those that are none. */
#include "trace/reader.h"

#include "trace/error.h"

#include <inttypes.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

clp_status trace_open(int descriptor, const char *name, trace_reader **out)
{
  *out = calloc(1, sizeof(**out));
  if (!*out && descriptor >= 0)
    close(descriptor);
  if (!*out)
    return trace_error(CLP_OUT_OF_HOST_MEMORY, 0, "no host memory to read a trace");
  clp_status status = trace_lines_open(descriptor, name, &(*out)->lines);
  if (status) {
    free(*out);
    *out = NULL;
  }
  return status;
}

void trace_close(trace_reader *reader)
{
  if (!reader)
    return;
  trace_lines_close(&reader->lines);
  tdestroy(reader->names, free);
  free(reader);
}

/* Of the place `at` in the line. */
static clp_status refuse(const trace_reader *reader, const char *at, const char *expected,
                         const char *found)
{
  const trace_lines *line = &reader->lines;
  return trace_error_at(line->name, line->number, (size_t)(at - line->text) + 1,
                        "expected %s, found %s", expected,
                        trace_show_found(found, strlen(found), line->cut).text);
}

/* Ends the value that begins at `text` with a zero, and gives where the next one begins, NULL at
 * the end of the line. Quotation marks around it go; within it, they are doubled. */
static clp_status end_value(const trace_reader *reader, char *text, char **next)
{
  bool is_quoted = *text == '"', has_ended = !is_quoted;
  char *from = is_quoted ? text + 1 : strchrnul(text, ','), *to = is_quoted ? text : from;
  while (!has_ended && *from) {
    has_ended = *from == '"' && *++from != '"';
    if (!has_ended)
      *to++ = *from++;
  }
  *next = *from ? from + 1 : NULL;
  if (has_ended && *next && *from != ',')
    return refuse(reader, from, "a comma or the end of the line", from);
  *to = '\0';
  return has_ended ? CLP_SUCCESS
                   : refuse(reader, text, "a value that ends in a quotation mark", text);
}

/* A line that begins with #: a frame, or a note for other readers. */
static clp_status read_note(trace_reader *reader)
{
  static const char frame[] = "#frame ";
  const char *line = reader->lines.text, *text = line + strlen(frame), *expected = NULL;
  if (!reader->stacks || strncmp(line, frame, strlen(frame)) != 0)
    return CLP_SUCCESS;
  clp_status status = trace_stacks_define(reader->stacks, text, &expected);
  return status || !expected ? status : refuse(reader, text, expected, line);
}

static clp_status next_line(trace_reader *reader, bool *found)
{
  clp_status status = trace_lines_next(&reader->lines, found);
  while (!status && *found && reader->lines.text[0] == '#' && reader->lines.has_end) {
    status = read_note(reader);
    if (!status)
      status = trace_lines_next(&reader->lines, found);
  }
  return status;
}

/* --- the header --- */

/* False: this is no header, or it has a column twice or too many. */
static bool read_columns(trace_reader *reader)
{
  static const char mark[] =
      "\xef\xbb\xbf"; /* of byte order, which some programs begin text with */
  char *text = reader->lines.text, *next;
  bool has[TRACE_FIELDS + 1] = {false};
  for (text += strncmp(text, mark, 3) ? 0 : 3; text; text = next) {
    if (end_value(reader, text, &next) || reader->column_count == TRACE_MOST_COLUMNS)
      return false;
    trace_field field = trace_field_find(text);
    if (field < TRACE_FIELDS && has[field])
      return false;
    has[field] = true;
    reader->columns[reader->column_count++] = field;
  }
  return has[TRACE_ACTION] && has[TRACE_POINTER] && has[TRACE_SIZE];
}

static clp_status read_header(trace_reader *reader, bool *found)
{
  static const char expected[] = "a header such as Thread,Time,Action,Pointer,Size,Stream";
  const trace_lines *line = &reader->lines;
  clp_status status = next_line(reader, found);
  if (status || !*found) /* clpool record leaves an empty file where it records nothing */
    return status;
  /* What PyTorch's snapshots begin with, as Python writes them. */
  if (line->text[0] == '\x80' && line->text[1] >= 2 && line->text[1] <= 5)
    return trace_error_at(line->name, line->number, 1,
                          "expected %s, found a pickle: convert a memory snapshot of PyTorch with "
                          "python3 -m clpool convert",
                          expected);
  trace_found_text shown = trace_show_found(line->text, line->length, line->cut);
  if (line->cut || !read_columns(reader))
    return trace_error_at(line->name, line->number, 1, "expected %s, found %s", expected,
                          shown.text);
  return CLP_SUCCESS;
}

/* --- rows --- */

/* Pools of one name in different contexts are different pools. */
static clp_status keep_pool(trace_reader *reader, trace_event *event)
{
  char both[TRACE_LINE_MAX + sizeof("0123456789abcdef ")];
  int prefix = 0;
  if (event->columns[TRACE_CONTEXT])
    prefix = snprintf(both, sizeof(both), "%" PRIx64 " ", event->context);
  strcpy(both + prefix, event->pool);
  const char *kept = trace_keep_text(&reader->names, both);
  if (!kept)
    return trace_error(CLP_OUT_OF_HOST_MEMORY, 0, "no host memory for a pool's name");
  event->pool = kept + prefix;
  event->context = (uintptr_t)kept;
  return CLP_SUCCESS;
}

static clp_status read_fields(trace_reader *reader, trace_event *event)
{
  const trace_lines *line = &reader->lines;
  char *text = reader->lines.text, *next;
  *event = (trace_event){.line = line->number};
  for (size_t i = 0; i < reader->column_count; i++, text = next) {
    trace_field field = reader->columns[i];
    if (!text)
      return trace_error_at(line->name, line->number, line->length + 1,
                            "expected %zu columns, as in the header, found %zu",
                            reader->column_count, i);
    clp_status status = end_value(reader, text, &next);
    if (status)
      return status;
    event->columns[field] = (size_t)(text - line->text) + 1;
    const char *expected = trace_field_parse(field, text, event);
    if (expected)
      return refuse(reader, text, expected, text);
  }
  if (text)
    return trace_error_at(line->name, line->number, (size_t)(text - line->text),
                          "expected %zu columns, as in the header, found more",
                          reader->column_count);
  return CLP_SUCCESS;
}

static clp_status read_row(trace_reader *reader, trace_event *event)
{
  const trace_lines *line = &reader->lines;
  clp_status status = read_fields(reader, event);
  if (status)
    return status;
  if (reader->stacks && event->stack >= trace_stacks_count(reader->stacks))
    return trace_error_at(line->name, line->number, event->columns[TRACE_STACK],
                          "expected a frame that is defined above, found %" PRIu64, event->stack);
  if (event->action == TRACE_ALLOCATE && event->pointer == 0 && event->size > 0)
    return trace_error_at(line->name, line->number, event->columns[TRACE_POINTER],
                          "expected a pointer other than null for %" PRIu64
                          " bytes, found a null pointer",
                          event->size);
  return event->pool ? keep_pool(reader, event) : CLP_SUCCESS;
}

clp_status trace_next(trace_reader *reader, trace_event *event, bool *found)
{
  const trace_lines *line = &reader->lines;
  *found = true;
  clp_status status = reader->column_count ? CLP_SUCCESS : read_header(reader, found);
  if (!status && *found)
    status = next_line(reader, found);
  if (status || !*found)
    return status;
  if (line->cut)
    return trace_error_at(line->name, line->number, line->length + 1,
                          "expected a line of at most %d bytes without null bytes", TRACE_LINE_MAX);
  if (line->has_end)
    return read_row(reader, event);
  reader->broken_line = line->number;
  *found = false;
  return CLP_SUCCESS;
}

/* --- texts --- */

static int compare(const void *one, const void *other)
{
  return strcmp(one, other);
}

const char *trace_keep_text(void **tree, const char *text)
{
  char **kept = tfind(text, tree, compare), *name = NULL;
  if (!kept && (name = strdup(text)))
    kept = tsearch(name, tree, compare);
  if (!kept)
    free(name);
  return kept ? *kept : NULL;
}
