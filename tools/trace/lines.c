/* SPDX-License-Identifier: MIT */
/* Lines are found in a buffer, and what is left of it moves to its front before more is read. */
#include "trace/lines.h"

#include "trace/error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { BUFFER_BYTES = 64 * 1024 };

struct trace_lines {
  trace_input *input;
  bool at_end;       /* the file has no more than the buffer */
  uint64_t number;   /* of the line given last */
  size_t begin, end; /* what of the buffer is still to be given */
  char buffer[BUFFER_BYTES];
};

static void start(trace_lines *lines)
{
  lines->at_end = false;
  lines->number = 0;
  lines->begin = lines->end = 0;
}

clp_status trace_lines_of(trace_input *input, trace_lines **out)
{
  *out = NULL;
  trace_lines *lines = malloc(sizeof(*lines));
  if (!lines)
    return trace_error(CLP_OUT_OF_HOST_MEMORY, ENOMEM, "no host memory to read a trace");
  lines->input = input;
  start(lines);
  *out = lines;
  return CLP_SUCCESS;
}

clp_status trace_lines_open(const char *path, trace_lines **out)
{
  *out = NULL;
  trace_input *input;
  clp_status status = trace_input_open(path, &input);
  if (status)
    return status;
  status = trace_lines_of(input, out);
  if (status)
    trace_input_close(input);
  return status;
}

void trace_lines_close(trace_lines *lines)
{
  if (!lines)
    return;
  trace_input_close(lines->input);
  free(lines);
}

/* Moves what is left to the front of the buffer and reads on behind it. */
static clp_status refill(trace_lines *lines)
{
  lines->end -= lines->begin;
  memmove(lines->buffer, lines->buffer + lines->begin, lines->end);
  lines->begin = 0;
  size_t bytes;
  clp_status status =
      trace_input_read(lines->input, lines->buffer + lines->end, BUFFER_BYTES - lines->end,
                       lines->number + 1, lines->end + 1, &bytes);
  lines->end += bytes;
  lines->at_end = !status && bytes == 0;
  return status;
}

/* Gives `length` bytes as the next line, and skips `line_end` bytes more. */
static void give(trace_lines *lines, trace_line *line, size_t length, size_t line_end, bool cut)
{
  const char *text = lines->buffer + lines->begin;
  lines->begin += length + line_end;
  if (!cut && length > 0 && text[length - 1] == '\r')
    length--;
  *line = (trace_line){.text = text, .length = length, .number = ++lines->number, .cut = cut};
}

clp_status trace_lines_next(trace_lines *lines, trace_line *line, bool *found)
{
  *found = true;
  for (;;) {
    size_t available = lines->end - lines->begin;
    size_t searched = available <= TRACE_LINE_MAX + 1 ? available : TRACE_LINE_MAX + 1;
    const char *text = lines->buffer + lines->begin;
    const char *line_end = memchr(text, '\n', searched);
    if (line_end) {
      give(lines, line, (size_t)(line_end - text), 1, false);
      return CLP_SUCCESS;
    }
    if (available > TRACE_LINE_MAX) {
      give(lines, line, TRACE_LINE_MAX, 0, true);
      return CLP_SUCCESS;
    }
    if (lines->at_end && available > 0) {
      give(lines, line, available, 0, false);
      return CLP_SUCCESS;
    }
    if (lines->at_end) {
      *found = false;
      return CLP_SUCCESS;
    }
    clp_status status = refill(lines);
    if (status)
      return status;
  }
}

clp_status trace_lines_rewind(trace_lines *lines)
{
  start(lines);
  return trace_input_rewind(lines->input);
}

const char *trace_lines_name(const trace_lines *lines)
{
  return trace_input_name(lines->input);
}
