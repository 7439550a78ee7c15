/* SPDX-License-Identifier: MIT */
/* From lines to rows, and what is wrong with those that are none. */
#include "trace/reader.h"

#include "trace/error.h"
#include "trace/lines.h"
#include "trace/names.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

static const char BYTE_ORDER_MARK[] = "\xef\xbb\xbf"; /* which some programs begin text with */

enum { MOST_COLUMNS = 64 };

struct trace_reader {
  trace_lines lines;
  trace_field columns[MOST_COLUMNS]; /* TRACE_FIELDS: unknown, to be skipped */
  size_t column_count;               /* 0: the header was not read yet */
  trace_names names;                 /* of pools */
  trace_notes notes;
  trace_stacks *stacks; /* NULL: frames are skipped */
};

clp_status trace_open_descriptor(int descriptor, const char *name, trace_reader **out)
{
  *out = calloc(1, sizeof(**out));
  if (!*out && descriptor >= 0)
    close(descriptor);
  if (!*out)
    return trace_error(CLP_OUT_OF_HOST_MEMORY, 0, "no host memory to read a trace");
  clp_status status = trace_lines_open_descriptor(descriptor, name, &(*out)->lines);
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
  trace_names_end(&reader->names);
  free(reader);
}

clp_status trace_rewind(trace_reader *reader)
{
  reader->column_count = 0;
  reader->notes = (trace_notes){.is_lenient = reader->notes.is_lenient};
  return trace_lines_rewind(&reader->lines);
}

bool trace_can_rewind(const trace_reader *reader)
{
  return reader->lines.can_rewind;
}

void trace_progress(const trace_reader *reader, uint64_t *done, uint64_t *total)
{
  z_off_t offset = gzoffset(reader->lines.file);
  *done = offset > 0 ? (uint64_t)offset : 0;
  *total = reader->lines.file_bytes;
}

const char *trace_name(const trace_reader *reader)
{
  return reader->lines.name;
}

void trace_collect_stacks(trace_reader *reader, trace_stacks *stacks)
{
  reader->stacks = stacks;
}

trace_notes *trace_reader_notes(trace_reader *reader)
{
  return &reader->notes;
}

/* Of the place `at` in a line. */
static clp_status refuse(const trace_reader *reader, const trace_line *line, const char *at,
                         const char *expected, const char *found)
{
  return trace_error_at(trace_name(reader), line->number, (size_t)(at - line->text) + 1,
                        "expected %s, found %s", expected,
                        trace_show_found(found, strlen(found), line->cut).text);
}

/* Ends the value that begins at `text` with a zero, and gives where the next one begins, NULL at
 * the end of the line. Quotation marks around it go; within it, they are doubled. */
static clp_status end_value(const trace_reader *reader, const trace_line *line, char *text,
                            char **next)
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
    return refuse(reader, line, from, "a comma or the end of the line", from);
  *to = '\0';
  return has_ended ? CLP_SUCCESS
                   : refuse(reader, line, text, "a value that ends in a quotation mark", text);
}

/* A line that begins with #: a frame, or a note for other readers. */
static clp_status read_note(trace_reader *reader, const trace_line *line)
{
  static const char frame[] = "#frame ";
  const char *text = line->text + strlen(frame), *expected = NULL;
  if (!reader->stacks || strncmp(line->text, frame, strlen(frame)) != 0)
    return CLP_SUCCESS;
  clp_status status = trace_stacks_define(reader->stacks, text, &expected);
  return status || !expected ? status : refuse(reader, line, text, expected, line->text);
}

static clp_status next_line(trace_reader *reader, trace_line *line, bool *found)
{
  clp_status status = trace_lines_next(&reader->lines, line, found);
  while (!status && *found && line->text[0] == '#' && line->has_end) {
    status = read_note(reader, line);
    if (!status)
      status = trace_lines_next(&reader->lines, line, found);
  }
  return status;
}

/* --- the header --- */

/* What PyTorch's snapshots begin with, as Python writes them. */
static bool is_pickle(const trace_line *line)
{
  return line->text[0] == '\x80' && line->text[1] >= 2 && line->text[1] <= 5;
}

/* False: this is no header, or it has a column twice or too many. */
static bool read_columns(trace_reader *reader, const trace_line *line)
{
  size_t mark = strlen(BYTE_ORDER_MARK);
  char *text = line->text + (strncmp(line->text, BYTE_ORDER_MARK, mark) == 0 ? mark : 0), *next;
  bool has[TRACE_FIELDS + 1] = {false};
  for (; text; text = next) {
    if (end_value(reader, line, text, &next) || reader->column_count == MOST_COLUMNS)
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
  static const char expected[] = "expected a header such as Thread,Time,Action,Pointer,Size,Stream";
  trace_line line;
  clp_status status = next_line(reader, &line, found);
  if (status || !*found) /* clpool record leaves an empty file where it records nothing */
    return status;
  if (is_pickle(&line))
    return trace_error_at(trace_name(reader), line.number, 1,
                          "%s, found a pickle: if it is a memory snapshot of PyTorch's, "
                          "python3 -m clpool convert makes a trace of it",
                          expected);
  trace_found_text shown = trace_show_found(line.text, line.length, line.cut);
  if (line.cut || !read_columns(reader, &line))
    return trace_error_at(trace_name(reader), line.number, 1, "%s, found %s", expected, shown.text);
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
  const char *kept = trace_names_keep(&reader->names, both);
  if (!kept)
    return trace_error(CLP_OUT_OF_HOST_MEMORY, 0, "no host memory for a pool's name");
  event->pool = kept + prefix;
  event->context = (uintptr_t)kept;
  return CLP_SUCCESS;
}

static clp_status read_fields(const trace_reader *reader, const trace_line *line,
                              trace_event *event)
{
  char *text = line->text, *next;
  *event = (trace_event){.line = line->number};
  for (size_t i = 0; i < reader->column_count; i++, text = next) {
    trace_field field = reader->columns[i];
    if (!text)
      return trace_error_at(trace_name(reader), line->number, line->length + 1,
                            "expected %zu columns, as in the header, found %zu",
                            reader->column_count, i);
    clp_status status = end_value(reader, line, text, &next);
    if (status)
      return status;
    event->columns[field] = (size_t)(text - line->text) + 1;
    const char *expected = trace_field_parse(field, text, event);
    if (expected)
      return refuse(reader, line, text, expected, text);
  }
  if (text)
    return trace_error_at(trace_name(reader), line->number, (size_t)(text - line->text),
                          "expected %zu columns, as in the header, found more",
                          reader->column_count);
  return CLP_SUCCESS;
}

static clp_status read_row(trace_reader *reader, const trace_line *line, trace_event *event)
{
  clp_status status = read_fields(reader, line, event);
  if (status)
    return status;
  if (reader->stacks && event->stack >= trace_stacks_count(reader->stacks))
    return trace_error_at(trace_name(reader), line->number, event->columns[TRACE_STACK],
                          "expected a frame that is defined above, found %" PRIu64, event->stack);
  if (event->action == TRACE_ALLOCATE && event->pointer == 0 && event->size > 0)
    return trace_error_at(trace_name(reader), line->number, event->columns[TRACE_POINTER],
                          "expected a pointer other than null for %" PRIu64
                          " bytes, found a null pointer",
                          event->size);
  return event->pool ? keep_pool(reader, event) : CLP_SUCCESS;
}

clp_status trace_next(trace_reader *reader, trace_event *event, bool *found)
{
  trace_line line;
  *found = true;
  clp_status status = reader->column_count ? CLP_SUCCESS : read_header(reader, found);
  if (!status && *found)
    status = next_line(reader, &line, found);
  if (status || !*found)
    return status;
  if (line.cut)
    return trace_error_at(trace_name(reader), line.number, line.length + 1,
                          "expected a line of at most %d bytes, none of them zero", TRACE_LINE_MAX);
  if (line.has_end)
    return read_row(reader, &line, event);
  reader->notes.broken_line = line.number;
  *found = false;
  return CLP_SUCCESS;
}
