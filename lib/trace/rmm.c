/* SPDX-License-Identifier: MIT */
/* RMM's log: from lines to rows, and what is wrong with those that are none. */
#include "trace/lines.h"
#include "trace/parser.h"
#include "trace/place.h"

#include "core/error.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char HEADER[] = "Thread,Time,Action,Pointer,Size,Stream";

typedef struct rmm_log {
  clpi_lines *lines;
  bool began; /* the header was read */
} rmm_log;

static clp_status open_log(clpi_input *input, void **out)
{
  rmm_log *log = calloc(1, sizeof(*log));
  if (!log)
    return clpi_error(CLP_OUT_OF_HOST_MEMORY, 0, "no host memory to read a trace");
  clp_status status = clpi_lines_of(input, &log->lines);
  if (status) {
    free(log);
    return status;
  }
  *out = log;
  return CLP_SUCCESS;
}

static void close_log(void *self)
{
  rmm_log *log = self;
  clpi_lines_close(log->lines);
  free(log);
}

static clp_status refuse_header(const char *name, const clpi_line *line)
{
  if (line->length > 0 && line->text[0] == '{')
    return clpi_reject_place(name, 1, 1,
                             "expected the header %s, found JSON, which a snapshot of PyTorch's "
                             "memory may be: --format=pytorch-snapshot-json",
                             HEADER);
  return clpi_reject_place(name, 1, 1, "expected the header %s, found %s", HEADER,
                           clpi_show_found(line->text, line->length, line->cut).text);
}

static clp_status read_header(rmm_log *log)
{
  const char *name = clpi_lines_name(log->lines);
  clpi_line line;
  bool found;
  clp_status status = clpi_lines_next(log->lines, &line, &found);
  if (status)
    return status;
  if (!found)
    return clpi_reject_place(name, 1, 1, "expected the header %s, found an empty file", HEADER);
  if (line.cut || line.length != strlen(HEADER) || memcmp(line.text, HEADER, line.length) != 0)
    return refuse_header(name, &line);
  log->began = true;
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

static clp_status next_row(void *self, clpi_trace_event *event, bool *found)
{
  rmm_log *log = self;
  clpi_line line;
  clp_status status = log->began ? CLP_SUCCESS : read_header(log);
  if (!status)
    status = clpi_lines_next(log->lines, &line, found);
  if (status || !*found)
    return status;
  const char *name = clpi_lines_name(log->lines);
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

static clp_status rewind_log(void *self)
{
  rmm_log *log = self;
  log->began = false;
  return clpi_lines_rewind(log->lines);
}

static clp_status choose_device(void *self, unsigned device)
{
  const rmm_log *log = self;
  return clpi_error(CLP_NOT_SUPPORTED, 0, "%s: RMM's log does not tell device %u from others",
                    clpi_lines_name(log->lines), device);
}

const clpi_trace_parser clpi_rmm_parser = {.open = open_log,
                                           .close = close_log,
                                           .next = next_row,
                                           .rewind = rewind_log,
                                           .choose_device = choose_device};
