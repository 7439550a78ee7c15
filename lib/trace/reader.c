/* SPDX-License-Identifier: MIT */
/* A file, and what reads the rows of its format. */
#include "trace/reader.h"

#include "core/error.h"
#include "trace/input.h"
#include "trace/parser.h"
#include "trace/place.h"

#include <stdarg.h>
#include <stdlib.h>

struct clpi_trace_reader {
  const clpi_trace_parser *parser;
  void *rows;              /* the parser's */
  const clpi_input *input; /* which the rows own */
};

static const clpi_trace_parser *parser_of(clpi_trace_format format)
{
  return format == CLPI_TRACE_RMM ? &clpi_rmm_parser : &clpi_snapshot_parser;
}

/* A reader of `input`, which is closed if that cannot be made. */
static clp_status make_reader(clpi_input *input, clpi_trace_format format, clpi_trace_reader **out)
{
  clpi_trace_reader *reader = malloc(sizeof(*reader));
  clp_status status;
  if (!reader) {
    status = clpi_error(CLP_OUT_OF_HOST_MEMORY, 0, "no host memory to read a trace");
    goto no_reader;
  }
  reader->parser = parser_of(format);
  reader->input = input;
  status = reader->parser->open(input, &reader->rows);
  if (status)
    goto no_rows;
  *out = reader;
  return CLP_SUCCESS;

no_rows:
  free(reader);
no_reader:
  clpi_input_close(input);
  return status;
}

clp_status clpi_trace_open(const char *path, clpi_trace_format format, clpi_trace_reader **out)
{
  *out = NULL;
  clpi_input *input;
  clp_status status = clpi_input_open(path, &input);
  return status ? status : make_reader(input, format, out);
}

clp_status clpi_trace_open_descriptor(int descriptor, const char *name, clpi_trace_format format,
                                      clpi_trace_reader **out)
{
  *out = NULL;
  clpi_input *input;
  clp_status status = clpi_input_open_descriptor(descriptor, name, &input);
  return status ? status : make_reader(input, format, out);
}

void clpi_trace_close(clpi_trace_reader *reader)
{
  if (!reader)
    return;
  reader->parser->close(reader->rows);
  free(reader);
}

clp_status clpi_trace_choose_device(clpi_trace_reader *reader, unsigned device)
{
  return reader->parser->choose_device(reader->rows, device);
}

clp_status clpi_trace_next(clpi_trace_reader *reader, clpi_trace_event *event, bool *found)
{
  return reader->parser->next(reader->rows, event, found);
}

clp_status clpi_trace_rewind(clpi_trace_reader *reader)
{
  return reader->parser->rewind(reader->rows);
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
