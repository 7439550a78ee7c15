/* SPDX-License-Identifier: MIT */
/* From lines to rows, and what is wrong with those that are none. */
#include "trace/reader.h"

#include "core/error.h"
#include "trace/lines.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char HEADER[] = "Thread,Time,Action,Pointer,Size,Stream";

struct clpi_trace_reader {
  clpi_lines *lines;
  bool began; /* the header was read */
};

/* A reader without lines, for free(); NULL, with the last error set, without host memory. */
static clpi_trace_reader *make_reader(void)
{
  clpi_trace_reader *reader = calloc(1, sizeof(*reader));
  if (!reader)
    clpi_error(CLP_OUT_OF_HOST_MEMORY, 0, "no host memory to read a trace");
  return reader;
}

/* The reader goes to `*out` if its lines were opened, with the outcome `status`. */
static clp_status hand_over(clpi_trace_reader *reader, clp_status status, clpi_trace_reader **out)
{
  if (status)
    free(reader);
  else
    *out = reader;
  return status;
}

clp_status clpi_trace_open(const char *path, clpi_trace_reader **out)
{
  *out = NULL;
  clpi_trace_reader *reader = make_reader();
  if (!reader)
    return CLP_OUT_OF_HOST_MEMORY;
  return hand_over(reader, clpi_lines_open(path, &reader->lines), out);
}

clp_status clpi_trace_open_descriptor(int descriptor, const char *name, clpi_trace_reader **out)
{
  *out = NULL;
  clpi_trace_reader *reader = make_reader();
  if (!reader)
    return CLP_OUT_OF_HOST_MEMORY;
  return hand_over(reader, clpi_lines_open_descriptor(descriptor, name, &reader->lines), out);
}

void clpi_trace_close(clpi_trace_reader *reader)
{
  if (!reader)
    return;
  clpi_lines_close(reader->lines);
  free(reader);
}

clp_status clpi_trace_reject(const clpi_trace_reader *reader, uint64_t line, size_t column,
                             const char *format, ...)
{
  enum { SAID_BYTES = 256 };
  char said[SAID_BYTES];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(said, sizeof(said), format, arguments);
  va_end(arguments);
  return clpi_error(CLP_INVALID_ARGUMENT, 0, "%s:%" PRIu64 ":%zu: %s", clpi_trace_name(reader),
                    line, column, said);
}

/* Text as it is shown in a message: quoted, cut, and printable whatever it was. */
typedef struct shown_text {
  char text[192];
} shown_text;

static shown_text show(const char *text, size_t length, bool cut)
{
  enum { SHOWN_BYTES = 40 }; /* four characters each, at most */
  shown_text shown;
  char *to = shown.text;
  if (length == 0 && !cut) {
    strcpy(to, "nothing");
    return shown;
  }
  cut = cut || length > SHOWN_BYTES;
  *to++ = '"';
  for (size_t i = 0; i < length && i < SHOWN_BYTES; i++) {
    unsigned char byte = (unsigned char)text[i];
    if (byte == '"' || byte == '\\')
      to += sprintf(to, "\\%c", byte);
    else if (byte >= ' ' && byte <= '~')
      *to++ = (char)byte;
    else
      to += sprintf(to, "\\x%02x", byte);
  }
  strcpy(to, cut ? "...\"" : "\"");
  return shown;
}

static clp_status read_header(clpi_trace_reader *reader)
{
  clpi_line line;
  bool found;
  clp_status status = clpi_lines_next(reader->lines, &line, &found);
  if (status)
    return status;
  if (!found)
    return clpi_trace_reject(reader, 1, 1, "expected the header %s, found an empty file", HEADER);
  if (line.cut || line.length != strlen(HEADER) || memcmp(line.text, HEADER, line.length) != 0)
    return clpi_trace_reject(reader, 1, 1, "expected the header %s, found %s", HEADER,
                             show(line.text, line.length, line.cut).text);
  reader->began = true;
  return CLP_SUCCESS;
}

/* Reads the field at `*at`, which moves behind it. */
static clp_status parse_field(const clpi_trace_reader *reader, const clpi_line *line,
                              clpi_trace_field field, const char **at, clpi_trace_event *event)
{
  const char *text = *at;
  const char *end = line->text + line->length;
  const char *comma = memchr(text, ',', (size_t)(end - text));
  size_t length = (size_t)((comma ? comma : end) - text);
  event->columns[field] = (size_t)(text - line->text) + 1;
  const char *expected = clpi_trace_field_parse(field, text, length, event);
  if (expected)
    return clpi_trace_reject(reader, line->number, event->columns[field], "expected %s, found %s",
                             expected, show(text, length, false).text);
  *at = text + length;
  return CLP_SUCCESS;
}

static clp_status parse_line(const clpi_trace_reader *reader, const clpi_line *line,
                             clpi_trace_event *event)
{
  const char *end = line->text + line->length;
  const char *text = line->text;
  event->line = line->number;
  for (clpi_trace_field field = 0; field < CLPI_TRACE_FIELDS; field++) {
    if (field > 0 && text == end)
      return clpi_trace_reject(reader, line->number, line->length + 1,
                               "expected a comma and the field %s, found the end of the line",
                               clpi_trace_field_name(field));
    if (field > 0)
      text++; /* the comma where the field before ended */
    clp_status status = parse_field(reader, line, field, &text, event);
    if (status)
      return status;
  }
  if (text != end)
    return clpi_trace_reject(reader, line->number, (size_t)(text - line->text) + 1,
                             "expected the end of the line, found %s",
                             show(text, (size_t)(end - text), false).text);
  return CLP_SUCCESS;
}

clp_status clpi_trace_next(clpi_trace_reader *reader, clpi_trace_event *event, bool *found)
{
  clpi_line line;
  clp_status status = reader->began ? CLP_SUCCESS : read_header(reader);
  if (!status)
    status = clpi_lines_next(reader->lines, &line, found);
  if (status || !*found)
    return status;
  if (line.cut)
    return clpi_trace_reject(reader, line.number, CLPI_LINE_MAX + 1,
                             "expected a line of at most %d bytes, found a longer one",
                             CLPI_LINE_MAX);
  status = parse_line(reader, &line, event);
  if (!status && event->action == CLPI_TRACE_ALLOCATE && event->pointer == 0 && event->size > 0)
    return clpi_trace_reject(reader, line.number, event->columns[CLPI_TRACE_POINTER],
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

bool clpi_trace_can_rewind(const clpi_trace_reader *reader)
{
  return clpi_lines_can_rewind(reader->lines);
}

void clpi_trace_progress(const clpi_trace_reader *reader, uint64_t *done, uint64_t *total)
{
  clpi_lines_progress(reader->lines, done, total);
}

const char *clpi_trace_name(const clpi_trace_reader *reader)
{
  return clpi_lines_name(reader->lines);
}
