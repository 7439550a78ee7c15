/* SPDX-License-Identifier: MIT */
/* From lines to rows, and what is wrong with those that are none. */
#include "trace/reader.h"

#include "core/base/error.h"
#include "trace/input.h"
#include "trace/lines.h"
#include "trace/place.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const char HEADER[] = "Thread,Time,Action,Pointer,Size,Stream";

struct clpi_trace_reader {
  clpi_lines *lines;
  const clpi_input *input; /* which the lines own */
  bool began;              /* the header was read */
};

/* A reader of `input`, which is closed if that cannot be made. */
static clp_status make_reader(clpi_input *input, clpi_trace_reader **out)
{
  clpi_trace_reader *reader = calloc(1, sizeof(*reader));
  clp_status status = CLP_OUT_OF_HOST_MEMORY;
  if (!reader)
    clpi_error(status, 0, "no host memory to read a trace");
  else
    status = clpi_lines_of(input, &reader->lines);
  if (status) {
    free(reader);
    clpi_input_close(input);
    return status;
  }
  reader->input = input;
  *out = reader;
  return CLP_SUCCESS;
}

clp_status clpi_trace_open(const char *path, clpi_trace_reader **out)
{
  *out = NULL;
  clpi_input *input;
  clp_status status = clpi_input_open(path, &input);
  return status ? status : make_reader(input, out);
}

clp_status clpi_trace_open_descriptor(int descriptor, const char *name, clpi_trace_reader **out)
{
  *out = NULL;
  clpi_input *input;
  clp_status status = clpi_input_open_descriptor(descriptor, name, &input);
  return status ? status : make_reader(input, out);
}

void clpi_trace_close(clpi_trace_reader *reader)
{
  if (!reader)
    return;
  clpi_lines_close(reader->lines);
  free(reader);
}

static clp_status read_header(clpi_trace_reader *reader)
{
  const char *name = clpi_trace_name(reader);
  clpi_line line;
  bool found;
  clp_status status = clpi_lines_next(reader->lines, &line, &found);
  if (status)
    return status;
  if (!found)
    return clpi_reject_place(name, 1, 1, "expected the header %s, found an empty file", HEADER);
  if (line.cut || line.length != strlen(HEADER) || memcmp(line.text, HEADER, line.length) != 0)
    return clpi_reject_place(name, 1, 1, "expected the header %s, found %s", HEADER,
                             clpi_show_found(line.text, line.length, line.cut).text);
  reader->began = true;
  return CLP_SUCCESS;
}

/* Reads the field at `*at`, which moves behind it. */
static clp_status parse_field(const char *name, const clpi_line *line, clpi_trace_field field,
                              const char **at, clpi_trace_event *event)
{
  const char *text = *at;
  const char *end = line->text + line->length;
  const char *comma = memchr(text, ',', (size_t)(end - text));
  size_t length = (size_t)((comma ? comma : end) - text);
  event->columns[field] = (size_t)(text - line->text) + 1;
  const char *expected = clpi_trace_field_parse(field, text, length, event);
  if (expected)
    return clpi_reject_place(name, line->number, event->columns[field], "expected %s, found %s",
                             expected, clpi_show_found(text, length, false).text);
  *at = text + length;
  return CLP_SUCCESS;
}

static clp_status parse_line(const char *name, const clpi_line *line, clpi_trace_event *event)
{
  const char *end = line->text + line->length;
  const char *text = line->text;
  event->line = line->number;
  for (clpi_trace_field field = 0; field < CLPI_TRACE_FIELDS; field++) {
    if (field > 0 && text == end)
      return clpi_reject_place(name, line->number, line->length + 1,
                               "expected a comma and the field %s, found the end of the line",
                               clpi_trace_field_name(field));
    if (field > 0)
      text++; /* the comma where the field before ended */
    clp_status status = parse_field(name, line, field, &text, event);
    if (status)
      return status;
  }
  if (text != end)
    return clpi_reject_place(name, line->number, (size_t)(text - line->text) + 1,
                             "expected the end of the line, found %s",
                             clpi_show_found(text, (size_t)(end - text), false).text);
  return CLP_SUCCESS;
}

clp_status clpi_trace_next(clpi_trace_reader *reader, clpi_trace_event *event, bool *found)
{
  const char *name = clpi_trace_name(reader);
  clpi_line line;
  clp_status status = reader->began ? CLP_SUCCESS : read_header(reader);
  if (!status)
    status = clpi_lines_next(reader->lines, &line, found);
  if (status || !*found)
    return status;
  if (line.cut)
    return clpi_reject_place(name, line.number, CLPI_LINE_MAX + 1,
                             "expected a line of at most %d bytes, found a longer one",
                             CLPI_LINE_MAX);
  status = parse_line(name, &line, event);
  if (!status && event->action == CLPI_TRACE_ALLOCATE && event->pointer == 0 && event->size > 0)
    return clpi_reject_place(name, line.number, event->columns[CLPI_TRACE_POINTER],
                             "expected a pointer other than null for %" PRIu64
                             " bytes, found a null pointer",
                             event->size);
  return status;
}

clp_status clpi_trace_rewind(clpi_trace_reader *reader)
{
  reader->began = false;
  return clpi_lines_rewind(reader->lines);
}

clp_status clpi_trace_reject(const clpi_trace_reader *reader, uint64_t line, size_t column,
                             const char *format, ...)
{
  va_list arguments;
  va_start(arguments, format);
  clp_status status = clpi_vreject_place(clpi_trace_name(reader), line, column, format, arguments);
  va_end(arguments);
  return status;
}

bool clpi_trace_can_rewind(const clpi_trace_reader *reader)
{
  return clpi_input_can_rewind(reader->input);
}

void clpi_trace_progress(const clpi_trace_reader *reader, uint64_t *done, uint64_t *total)
{
  clpi_input_progress(reader->input, done, total);
}

const char *clpi_trace_name(const clpi_trace_reader *reader)
{
  return clpi_input_name(reader->input);
}
