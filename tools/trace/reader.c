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
  bool has[TRACE_FIELDS];
  trace_names names; /* of pools */
  trace_notes notes;
  trace_stacks *stacks; /* NULL: frames are skipped */
};

/* --- files --- */

/* Opens the descriptor, or without a name the path. */
static clp_status open_reader(const char *path, int descriptor, const char *name,
                              trace_reader **out)
{
  *out = calloc(1, sizeof(**out));
  if (!*out && name)
    close(descriptor);
  if (!*out)
    return trace_error(CLP_OUT_OF_HOST_MEMORY, 0, "no host memory to read a trace");
  clp_status status = name ? trace_lines_open_descriptor(descriptor, name, &(*out)->lines)
                           : trace_lines_open(path, &(*out)->lines);
  if (!status)
    return CLP_SUCCESS;
  free(*out);
  *out = NULL;
  return status;
}

clp_status trace_open(const char *path, trace_reader **out)
{
  return open_reader(path, -1, NULL, out);
}

clp_status trace_open_descriptor(int descriptor, const char *name, trace_reader **out)
{
  return open_reader(NULL, descriptor, name, out);
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

bool trace_has(const trace_reader *reader, trace_field field)
{
  return reader->has[field];
}

void trace_collect_stacks(trace_reader *reader, trace_stacks *stacks)
{
  reader->stacks = stacks;
}

trace_notes *trace_reader_notes(trace_reader *reader)
{
  return &reader->notes;
}

/* --- values --- */

/* What stands between commas. */
typedef struct trace_value {
  char *text; /* ends in a zero */
  size_t length;
  size_t column; /* where it begins, from 1 */
} trace_value;

/* Takes the quotation marks off, in place; those within are doubled. Returns the end of the value
 * in its line, or NULL: it has none. */
static char *unquote(trace_value *value)
{
  char *from = value->text + 1, *to = value->text;
  bool has_ended = false;
  for (; !has_ended && *from; from++) {
    has_ended = *from == '"' && *++from != '"';
    if (!has_ended)
      *to++ = *from;
  }
  value->length = (size_t)(to - value->text);
  return has_ended ? from - 1 : NULL;
}

/* Takes the value at `*at`, which moves to the next one; NULL at the end of the line. */
static clp_status take_value(const trace_reader *reader, const trace_line *line, char **at,
                             trace_value *value)
{
  *value = (trace_value){.text = *at, .column = (size_t)(*at - line->text) + 1};
  bool is_quoted = **at == '"';
  char *end = is_quoted ? unquote(value) : strchrnul(*at, ',');
  if (!end)
    return trace_error_at(trace_name(reader), line->number, value->column,
                          "expected a value that ends in a quotation mark, found %s",
                          trace_show_found(value->text, value->length, false).text);
  if (*end && *end != ',')
    return trace_error_at(trace_name(reader), line->number, (size_t)(end - line->text) + 1,
                          "expected a comma or the end of the line, found %s",
                          trace_show_found(end, strlen(end), false).text);
  if (!is_quoted)
    value->length = (size_t)(end - value->text);
  *at = *end ? end + 1 : NULL;
  value->text[value->length] = '\0';
  return CLP_SUCCESS;
}

/* --- lines --- */

/* A line that begins with #: a frame, or a note for other readers. */
static clp_status read_note(trace_reader *reader, const trace_line *line)
{
  static const char frame[] = "#frame ";
  bool is_frame = reader->stacks && strncmp(line->text, frame, strlen(frame)) == 0;
  const char *expected = NULL;
  clp_status status = CLP_SUCCESS;
  if (is_frame)
    status = trace_stacks_define(reader->stacks, line->text + strlen(frame), &expected);
  if (status || !expected)
    return status;
  return trace_error_at(trace_name(reader), line->number, sizeof(frame), "expected %s, found %s",
                        expected, trace_show_found(line->text, line->length, false).text);
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

/* False: it is there already, or there are too many. */
static bool add_column(trace_reader *reader, const char *name)
{
  trace_field field = trace_field_find(name);
  if (reader->column_count == MOST_COLUMNS || (field < TRACE_FIELDS && reader->has[field]))
    return false;
  reader->columns[reader->column_count++] = field;
  if (field < TRACE_FIELDS)
    reader->has[field] = true;
  return true;
}

static bool read_columns(trace_reader *reader, const trace_line *line)
{
  size_t mark = strlen(BYTE_ORDER_MARK);
  char *at = line->text + (strncmp(line->text, BYTE_ORDER_MARK, mark) == 0 ? mark : 0);
  trace_value value;
  memset(reader->has, 0, sizeof(reader->has));
  while (at)
    if (take_value(reader, line, &at, &value) || !add_column(reader, value.text))
      return false;
  return reader->has[TRACE_ACTION] && reader->has[TRACE_POINTER] && reader->has[TRACE_SIZE];
}

static clp_status read_header(trace_reader *reader)
{
  static const char expected[] = "expected a header such as Thread,Time,Action,Pointer,Size,Stream";
  trace_line line;
  bool found;
  clp_status status = next_line(reader, &line, &found);
  if (status || !found) /* clpool record leaves an empty file where it records nothing */
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
static clp_status keep_pool(trace_reader *reader, const char *name, trace_event *event)
{
  char both[TRACE_LINE_MAX + sizeof("0123456789abcdef ")];
  int prefix = 0;
  if (reader->has[TRACE_CONTEXT])
    prefix = snprintf(both, sizeof(both), "%" PRIx64 " ", event->context);
  strcpy(both + prefix, name);
  const char *kept = trace_names_keep(&reader->names, both);
  if (!kept)
    return trace_error(CLP_OUT_OF_HOST_MEMORY, 0, "no host memory for a pool's name");
  event->pool = kept + prefix;
  event->context = (uintptr_t)kept;
  return CLP_SUCCESS;
}

static clp_status read_row(trace_reader *reader, const trace_line *line, trace_event *event)
{
  const char *pool = NULL;
  char *at = line->text;
  *event = (trace_event){.line = line->number};
  for (size_t i = 0; i < reader->column_count; i++) {
    trace_field field = reader->columns[i];
    trace_value value;
    if (!at)
      return trace_error_at(trace_name(reader), line->number, line->length + 1,
                            "expected %zu columns, as in the header, found %zu",
                            reader->column_count, i);
    clp_status status = take_value(reader, line, &at, &value);
    if (status)
      return status;
    if (field == TRACE_FIELDS)
      continue;
    event->columns[field] = value.column;
    if (field == TRACE_POOL) {
      pool = value.text;
      continue;
    }
    const char *expected = trace_field_parse(field, value.text, value.length, event);
    if (expected)
      return trace_error_at(trace_name(reader), line->number, value.column, "expected %s, found %s",
                            expected, trace_show_found(value.text, value.length, false).text);
  }
  if (at)
    return trace_error_at(trace_name(reader), line->number, (size_t)(at - line->text),
                          "expected %zu columns, as in the header, found more",
                          reader->column_count);
  if (reader->stacks && event->stack >= trace_stacks_count(reader->stacks))
    return trace_error_at(trace_name(reader), line->number, event->columns[TRACE_STACK],
                          "expected a frame that is defined above, found %" PRIu64, event->stack);
  return pool ? keep_pool(reader, pool, event) : CLP_SUCCESS;
}

clp_status trace_next(trace_reader *reader, trace_event *event, bool *found)
{
  trace_line line;
  clp_status status = reader->column_count ? CLP_SUCCESS : read_header(reader);
  if (!status)
    status = next_line(reader, &line, found);
  if (status || !*found)
    return status;
  if (line.cut)
    return trace_error_at(trace_name(reader), line.number, line.length + 1,
                          "expected a line of at most %d bytes, none of them zero", TRACE_LINE_MAX);
  if (!line.has_end) {
    reader->notes.broken_line = line.number;
    *found = false;
    return CLP_SUCCESS;
  }
  status = read_row(reader, &line, event);
  if (!status && event->action == TRACE_ALLOCATE && event->pointer == 0 && event->size > 0)
    return trace_error_at(trace_name(reader), line.number, event->columns[TRACE_POINTER],
                          "expected a pointer other than null for %" PRIu64
                          " bytes, found a null pointer",
                          event->size);
  return status;
}
