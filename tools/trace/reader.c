/* SPDX-License-Identifier: MIT */
/* From lines to rows, and what is wrong with those that are none. */
#include "trace/reader.h"

#include "trace/error.h"
#include "trace/input.h"
#include "trace/lines.h"
#include "trace/names.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char HEADER[] = "Thread,Time,Action,Pointer,Size,Stream";
static const char BYTE_ORDER_MARK[] = "\xef\xbb\xbf"; /* which some programs begin text with */

struct trace_reader {
  trace_lines *lines;
  const trace_input *input; /* which the lines own */
  trace_field last;         /* of a row's fields; 0: the header was not read yet */
  trace_names names;        /* of pools */
  bool is_lenient;
  uint64_t left_out, first_left_out; /* rows, and the line of the first */
};

/* A reader of `input`, which is closed if that cannot be made. */
static clp_status make_reader(trace_input *input, trace_reader **out)
{
  trace_reader *reader = calloc(1, sizeof(*reader));
  clp_status status = CLP_OUT_OF_HOST_MEMORY;
  if (!reader)
    trace_error(status, 0, "no host memory to read a trace");
  else
    status = trace_lines_of(input, &reader->lines);
  if (status) {
    free(reader);
    trace_input_close(input);
    return status;
  }
  reader->input = input;
  *out = reader;
  return CLP_SUCCESS;
}

clp_status trace_open(const char *path, trace_reader **out)
{
  *out = NULL;
  trace_input *input;
  clp_status status = trace_input_open(path, &input);
  return status ? status : make_reader(input, out);
}

clp_status trace_open_descriptor(int descriptor, const char *name, trace_reader **out)
{
  *out = NULL;
  trace_input *input;
  clp_status status = trace_input_open_descriptor(descriptor, name, &input);
  return status ? status : make_reader(input, out);
}

void trace_close(trace_reader *reader)
{
  if (!reader)
    return;
  trace_lines_close(reader->lines);
  trace_names_end(&reader->names);
  free(reader);
}

/* The last field that a header tells of; 0: it is none. */
static trace_field last_field(const trace_line *header)
{
  char expected[64];
  for (trace_field last = TRACE_STREAM; last < TRACE_FIELDS; last++) {
    bool has_more = last > TRACE_STREAM;
    int length = snprintf(expected, sizeof(expected), "%s%s%s", HEADER, has_more ? "," : "",
                          has_more ? trace_field_name(last) : "");
    if (header->length == (size_t)length && memcmp(header->text, expected, header->length) == 0)
      return last;
  }
  return 0;
}

/* What PyTorch's snapshots begin with, as Python writes them. */
static bool is_pickle(const trace_line *line)
{
  return line->length > 1 && line->text[0] == '\x80' && line->text[1] >= 2 && line->text[1] <= 5;
}

static clp_status read_header(trace_reader *reader)
{
  const char *name = trace_name(reader);
  trace_line line;
  bool found;
  clp_status status = trace_lines_next(reader->lines, &line, &found);
  if (status)
    return status;
  if (!found)
    return trace_error_at(name, 1, 1, "expected the header %s, found an empty file", HEADER);
  size_t mark = strlen(BYTE_ORDER_MARK);
  if (line.length >= mark && memcmp(line.text, BYTE_ORDER_MARK, mark) == 0) {
    line.text += mark;
    line.length -= mark;
  }
  reader->last = last_field(&line);
  if (!reader->last && is_pickle(&line))
    return trace_error_at(name, 1, 1,
                          "expected the header %s, found a pickle: if it is a memory snapshot of "
                          "PyTorch's, python3 -m clpool convert makes a trace of it",
                          HEADER);
  if (!reader->last)
    return trace_error_at(name, 1, 1, "expected the header %s, found %s", HEADER,
                          trace_show_found(line.text, line.length, line.cut).text);
  return CLP_SUCCESS;
}

/* Reads the field at `*at`, which moves behind it. */
static clp_status parse_field(const char *name, const trace_line *line, trace_field field,
                              const char **at, trace_event *event)
{
  const char *text = *at;
  const char *end = line->text + line->length;
  const char *comma = memchr(text, ',', (size_t)(end - text));
  size_t length = (size_t)((comma ? comma : end) - text);
  event->columns[field] = (size_t)(text - line->text) + 1;
  const char *expected = trace_field_parse(field, text, length, event);
  if (expected)
    return trace_error_at(name, line->number, event->columns[field], "expected %s, found %s",
                          expected, trace_show_found(text, length, false).text);
  *at = text + length;
  return CLP_SUCCESS;
}

/* The rest of the line is a name, in quotation marks if it has such, which are doubled, or commas.
 */
static clp_status parse_pool(trace_reader *reader, const trace_line *line, const char **at,
                             trace_event *event)
{
  char name[TRACE_LINE_MAX + 1], *to = name;
  const char *text = *at, *end = line->text + line->length;
  event->columns[TRACE_POOL] = (size_t)(text - line->text) + 1;
  bool is_quoted = text < end && *text == '"';
  for (text += is_quoted; text < end; *to++ = *text++) {
    bool is_doubled = is_quoted && end - text > 1 && text[0] == '"' && text[1] == '"';
    if (!is_doubled && *text == (is_quoted ? '"' : ','))
      break;
    text += is_doubled;
  }
  if (is_quoted && text == end)
    return trace_error_at(trace_name(reader), line->number, event->columns[TRACE_POOL],
                          "expected a name that ends in a quotation mark, found %s",
                          trace_show_found(*at, (size_t)(end - *at), false).text);
  *to = '\0';
  *at = text + is_quoted;
  event->pool = trace_names_keep(&reader->names, name);
  event->context = (uintptr_t)event->pool;
  return event->pool ? CLP_SUCCESS
                     : trace_error(CLP_OUT_OF_HOST_MEMORY, 0, "no host memory for a pool's name");
}

static clp_status parse_line(trace_reader *reader, const trace_line *line, trace_event *event)
{
  const char *name = trace_name(reader);
  const char *end = line->text + line->length;
  const char *text = line->text;
  event->line = line->number;
  event->context = 0;
  event->pool = NULL;
  event->columns[TRACE_CONTEXT] = event->columns[TRACE_POOL] = 0;
  for (trace_field field = 0; field <= reader->last; field++) {
    if (field == TRACE_CONTEXT && reader->last == TRACE_POOL)
      continue;
    if (field > 0 && text == end)
      return trace_error_at(name, line->number, line->length + 1,
                            "expected a comma and the field %s, found the end of the line",
                            trace_field_name(field));
    if (field > 0)
      text++; /* the comma where the field before ended */
    clp_status status = field == TRACE_POOL ? parse_pool(reader, line, &text, event)
                                            : parse_field(name, line, field, &text, event);
    if (status)
      return status;
  }
  if (text != end)
    return trace_error_at(name, line->number, (size_t)(text - line->text) + 1,
                          "expected the end of the line, found %s",
                          trace_show_found(text, (size_t)(end - text), false).text);
  return CLP_SUCCESS;
}

clp_status trace_next(trace_reader *reader, trace_event *event, bool *found)
{
  const char *name = trace_name(reader);
  trace_line line;
  clp_status status = reader->last ? CLP_SUCCESS : read_header(reader);
  if (!status)
    status = trace_lines_next(reader->lines, &line, found);
  if (status || !*found)
    return status;
  if (line.cut)
    return trace_error_at(name, line.number, TRACE_LINE_MAX + 1,
                          "expected a line of at most %d bytes, found a longer one",
                          TRACE_LINE_MAX);
  status = parse_line(reader, &line, event);
  if (!status && event->action == TRACE_ALLOCATE && event->pointer == 0 && event->size > 0)
    return trace_error_at(name, line.number, event->columns[TRACE_POINTER],
                          "expected a pointer other than null for %" PRIu64
                          " bytes, found a null pointer",
                          event->size);
  return status;
}

clp_status trace_rewind(trace_reader *reader)
{
  reader->last = 0;
  reader->left_out = 0;
  return trace_lines_rewind(reader->lines);
}

void trace_set_lenient(trace_reader *reader, bool is_lenient)
{
  reader->is_lenient = is_lenient;
}

bool trace_has_contexts(const trace_reader *reader)
{
  return reader->last == TRACE_CONTEXT;
}

bool trace_is_lenient(const trace_reader *reader)
{
  return reader->is_lenient;
}

void trace_leave_out(trace_reader *reader, const trace_event *event)
{
  if (reader->left_out++ == 0)
    reader->first_left_out = event->line;
}

uint64_t trace_left_out(const trace_reader *reader, uint64_t *first_line)
{
  *first_line = reader->first_left_out;
  return reader->left_out;
}

clp_status trace_reject(const trace_reader *reader, uint64_t line, size_t column,
                        const char *format, ...)
{
  va_list arguments;
  va_start(arguments, format);
  clp_status status = trace_verror_at(trace_name(reader), line, column, format, arguments);
  va_end(arguments);
  return status;
}

bool trace_can_rewind(const trace_reader *reader)
{
  return trace_input_can_rewind(reader->input);
}

void trace_progress(const trace_reader *reader, uint64_t *done, uint64_t *total)
{
  trace_input_progress(reader->input, done, total);
}

const char *trace_name(const trace_reader *reader)
{
  return trace_input_name(reader->input);
}
