/* SPDX-License-Identifier: MIT */
/* Errors in one line, exit codes that mean something, and output that is known to be written. */
#include "program.h"

#include "core/base/printable.h"

#include <clpool/log.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const char *program_name = "clpool";

void clpi_set_program_name(const char *name)
{
  program_name = name;
}

int clpi_complain(const char *format, ...)
{
  enum { MOST_BYTES = 1024, SHOWN_BYTES = sizeof(clpi_shown_character) - 1 };
  char message[MOST_BYTES], line[MOST_BYTES * SHOWN_BYTES + 1] = "";
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof(message), format, arguments);
  va_end(arguments);
  char *end = line;
  for (const char *next = message; *next;) /* file names may contain line feeds and worse */
    end = stpcpy(end, clpi_show_character(&next).text);
  fprintf(stderr, "%s: %s\n", program_name, line);
  return CLPI_EXIT_FAILED;
}

static void show_remark(clp_log_level level, const char *message, void *user_data)
{
  (void)user_data;
  if (level >= CLP_LOG_WARNING)
    clpi_complain("%s: %s", level == CLP_LOG_WARNING ? "warning" : "error", message);
}

void clpi_show_remarks(void)
{
  clp_set_log(show_remark, NULL);
}

int clpi_failed(clp_status status)
{
  clpi_complain("%s", clp_last_error()->message);
  bool is_input = status == CLP_INVALID_ARGUMENT || status == CLP_IO_ERROR;
  return is_input ? CLPI_EXIT_MISUSE : CLPI_EXIT_FAILED;
}

int clpi_close(FILE *stream)
{
  bool had_failed = ferror(stream);
  errno = 0;
  if (had_failed) /* long ago, perhaps: what is spoiled anyway tells the reason once more */
    putc('\n', stream);
  bool is_closed = fclose(stream) == 0;
  return is_closed && !had_failed ? 0 : errno ? errno : EIO;
}

int clpi_finish_output(int code)
{
  int failure = clpi_close(stdout);
  if (!failure)
    return code;
  return clpi_complain("cannot write to standard output: %s", strerror(failure));
}

/* --- traces --- */

int clpi_open_trace(const char *path, bool is_lenient, trace_reader **reader)
{
  clp_status status = trace_open(-1, path, reader);
  if (status)
    return clpi_failed(status);
  (*reader)->is_lenient = is_lenient;
  return CLPI_EXIT_SUCCESS;
}

void clpi_tell_left_out(trace_reader *reader)
{
  uint64_t line = reader->first_left_out, count = reader->left_out;
  if (reader->broken_line)
    clpi_complain("note: %s: line %" PRIu64 ", the last one, is incomplete and was skipped",
                  reader->lines.name, reader->broken_line);
  if (count > 0)
    clpi_complain("note: %s: skipped %" PRIu64 " free%s of memory that was allocated before the "
                  "trace began, the first in line %" PRIu64,
                  reader->lines.name, count, count > 1 ? "s" : "", line);
}

int clpi_nothing_to(const char *command, const trace_reader *reader)
{
  return clpi_complain("%s: the trace has no allocations, so there is nothing to %s",
                       reader->lines.name, command);
}
