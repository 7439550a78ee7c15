/* SPDX-License-Identifier: MIT */
/* Lines from zlib's reader, which takes plain and gzipped files alike. */
#include "trace/lines.h"

#include "trace/error.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

static void shorten(char shown[TRACE_NAME_BYTES], const char *name)
{
  size_t length = strlen(name);
  bool is_long = length >= TRACE_NAME_BYTES;
  snprintf(shown, TRACE_NAME_BYTES, "%s%s", is_long ? "..." : "",
           is_long ? name + length - (TRACE_NAME_BYTES - sizeof("...")) : name);
}

static clp_status cannot_open(const char *name, int code)
{
  char shown[TRACE_NAME_BYTES];
  shorten(shown, name);
  return trace_error(code == ENOMEM ? CLP_OUT_OF_HOST_MEMORY : CLP_IO_ERROR, code, "%s: %s", shown,
                     strerror(code));
}

clp_status trace_lines_open_descriptor(int descriptor, const char *name, trace_lines *lines)
{
  enum { BUFFER_BYTES = 128 * 1024 };
  struct stat file;
  int code = fstat(descriptor, &file) ? errno : S_ISDIR(file.st_mode) ? EISDIR : 0;
  lines->file = code ? NULL : gzdopen(descriptor, "rb");
  if (!lines->file) {
    close(descriptor);
    return cannot_open(name, code ? code : ENOMEM);
  }
  gzbuffer(lines->file, BUFFER_BYTES);
  lines->can_rewind = S_ISREG(file.st_mode);
  lines->file_bytes = lines->can_rewind && file.st_size > 0 ? (uint64_t)file.st_size : 0;
  lines->number = 0;
  shorten(lines->name, name);
  return CLP_SUCCESS;
}

clp_status trace_lines_open(const char *path, trace_lines *lines)
{
  bool is_stdin = strcmp(path, "-") == 0;
  const char *name = is_stdin ? "standard input" : path;
  int descriptor = is_stdin ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                            : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
  return descriptor < 0 ? cannot_open(name, errno)
                        : trace_lines_open_descriptor(descriptor, name, lines);
}

void trace_lines_close(trace_lines *lines)
{
  gzclose_r(lines->file);
}

/* Tells why zlib gives no more, if that is not the end of the file. */
static clp_status check_end(const trace_lines *lines, int code_of_system, size_t column)
{
  int code;
  const char *message = gzerror(lines->file, &code);
  if (code == Z_OK)
    return CLP_SUCCESS;
  if (code == Z_MEM_ERROR)
    return trace_error(CLP_OUT_OF_HOST_MEMORY, ENOMEM, "%s: no host memory to decompress",
                       lines->name);
  if (code == Z_ERRNO)
    return trace_error(CLP_IO_ERROR, code_of_system, "%s:%" PRIu64 ": cannot read on: %s",
                       lines->name, lines->number + 1, strerror(code_of_system));
  /* "<fd:N>: " stands before zlib's text, for it was given no path. */
  const char *text = strstr(message, ": ");
  return trace_error(CLP_IO_ERROR, 0, "%s:%" PRIu64 ":%zu: cannot decompress further: %s",
                     lines->name, lines->number + 1, column, text ? text + 2 : message);
}

clp_status trace_lines_next(trace_lines *lines, trace_line *line, bool *found)
{
  errno = 0;
  *found = gzgets(lines->file, lines->text, sizeof(lines->text));
  if (!*found)
    return check_end(lines, errno, 1);
  size_t length = strlen(lines->text);
  bool has_end = length > 0 && lines->text[length - 1] == '\n';
  if (has_end || length > TRACE_LINE_MAX)
    length--;
  if (has_end && length > 0 && lines->text[length - 1] == '\r')
    length--;
  lines->text[length] = '\0';
  *line = (trace_line){.text = lines->text,
                       .length = length,
                       .number = lines->number + 1,
                       .cut = !has_end && !gzeof(lines->file), /* zlib stopped for neither */
                       .has_end = has_end};
  clp_status status = has_end || line->cut ? CLP_SUCCESS : check_end(lines, errno, length + 1);
  lines->number++;
  return status;
}

clp_status trace_lines_rewind(trace_lines *lines)
{
  gzclearerr(lines->file); /* zlib does not leave damaged text without */
  if (!lines->can_rewind || gzrewind(lines->file))
    return trace_error(CLP_IO_ERROR, ESPIPE, "%s: cannot be read twice", lines->name);
  lines->number = 0;
  return CLP_SUCCESS;
}
