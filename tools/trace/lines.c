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

clp_status trace_lines_open(int descriptor, const char *name, trace_lines *lines)
{
  enum { BUFFER_BYTES = 128 * 1024 };
  struct stat file;
  if (descriptor < 0 && strcmp(name, "-") == 0) {
    name = "standard input";
    descriptor = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
  } else if (descriptor < 0) {
    descriptor = open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY);
  }
  int code = descriptor < 0 || fstat(descriptor, &file) ? errno
             : S_ISDIR(file.st_mode)                    ? EISDIR
                                                        : 0;
  const size_t length = strlen(name);
  const bool is_long = length >= TRACE_NAME_BYTES;
  snprintf(lines->name, TRACE_NAME_BYTES, "%s%s", is_long ? "..." : "",
           is_long ? name + length - (TRACE_NAME_BYTES - sizeof("...")) : name);
  lines->file = code ? NULL : gzdopen(descriptor, "rb");
  if (!lines->file) {
    code = code ? code : ENOMEM;
    if (descriptor >= 0)
      close(descriptor);
    return trace_error(code == ENOMEM ? CLP_OUT_OF_HOST_MEMORY : CLP_IO_ERROR, code, "%s: %s",
                       lines->name, strerror(code));
  }
  gzbuffer(lines->file, BUFFER_BYTES);
  lines->file_bytes = S_ISREG(file.st_mode) && file.st_size > 0 ? (uint64_t)file.st_size : 0;
  lines->number = 0;
  return CLP_SUCCESS;
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
  const uint64_t number = lines->number + 1;
  if (code == Z_OK)
    return CLP_SUCCESS;
  if (code == Z_MEM_ERROR)
    return trace_error(CLP_OUT_OF_HOST_MEMORY, ENOMEM, "%s: no host memory to decompress",
                       lines->name);
  if (code == Z_ERRNO)
    return trace_error(CLP_IO_ERROR, code_of_system, "%s:%" PRIu64 ": cannot read further: %s",
                       lines->name, number, strerror(code_of_system));
  /* "<fd:N>: " stands before zlib's text, for it was given no path. */
  const char *text = strstr(message, ": ");
  return trace_error(CLP_IO_ERROR, 0, "%s:%" PRIu64 ":%zu: cannot decompress further: %s",
                     lines->name, number, column, text ? text + 2 : message);
}

clp_status trace_lines_next(trace_lines *lines, bool *found)
{
  char *text = lines->text;
  errno = 0;
  *found = gzgets(lines->file, text, sizeof(lines->text));
  if (!*found)
    return check_end(lines, errno, 1);
  size_t length = strlen(text);
  lines->has_end = length > 0 && text[length - 1] == '\n';
  lines->cut = !lines->has_end && !gzeof(lines->file); /* zlib stopped for neither */
  length -= lines->has_end || length > TRACE_LINE_MAX;
  length -= lines->has_end && length > 0 && text[length - 1] == '\r';
  text[length] = '\0';
  lines->length = length;
  clp_status status =
      lines->has_end || lines->cut ? CLP_SUCCESS : check_end(lines, errno, length + 1);
  lines->number++;
  return status;
}
