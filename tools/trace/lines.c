/* SPDX-License-Identifier: MIT */
/* Lines from zlib's reader, which takes plain and gzipped files alike. */
#include "trace/lines.h"

#include "trace/error.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

/* A message has room for this much of a name, beside what it has to say. */
enum { ZLIB_BUFFER_BYTES = 128 * 1024, NAME_BYTES = 256 };

struct trace_lines {
  gzFile file;
  uint64_t file_bytes; /* as stored; 0 for what is no regular file */
  bool can_rewind;
  uint64_t number; /* of the line given last */
  char name[NAME_BYTES];
  char text[TRACE_LINE_MAX + sizeof("\n")];
};

static void shorten_name(char shown[NAME_BYTES], const char *name)
{
  size_t length = strlen(name);
  if (length < NAME_BYTES)
    memcpy(shown, name, length + 1);
  else
    snprintf(shown, NAME_BYTES, "...%s", name + length - (NAME_BYTES - sizeof("...")));
}

static clp_status cannot_open(const char *name, int code)
{
  char shown[NAME_BYTES];
  shorten_name(shown, name);
  return trace_error(code == ENOMEM ? CLP_OUT_OF_HOST_MEMORY : CLP_IO_ERROR, code, "%s: %s", shown,
                     strerror(code));
}

static int try_open(int descriptor, const char *name, trace_lines **out)
{
  struct stat file;
  if (fstat(descriptor, &file))
    return errno;
  if (S_ISDIR(file.st_mode))
    return EISDIR;
  trace_lines *lines = malloc(sizeof(*lines));
  gzFile opened = lines ? gzdopen(descriptor, "rb") : NULL;
  if (!opened) {
    free(lines);
    return ENOMEM;
  }
  gzbuffer(opened, ZLIB_BUFFER_BYTES);
  lines->file = opened;
  lines->number = 0;
  lines->can_rewind = S_ISREG(file.st_mode);
  lines->file_bytes = S_ISREG(file.st_mode) && file.st_size > 0 ? (uint64_t)file.st_size : 0;
  shorten_name(lines->name, name);
  *out = lines;
  return 0;
}

clp_status trace_lines_open_descriptor(int descriptor, const char *name, trace_lines **out)
{
  *out = NULL;
  int code = try_open(descriptor, name, out);
  if (!code)
    return CLP_SUCCESS;
  close(descriptor);
  return cannot_open(name, code);
}

clp_status trace_lines_open(const char *path, trace_lines **out)
{
  *out = NULL;
  bool is_stdin = strcmp(path, "-") == 0;
  const char *name = is_stdin ? "standard input" : path;
  int descriptor = is_stdin ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                            : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
  return descriptor < 0 ? cannot_open(name, errno)
                        : trace_lines_open_descriptor(descriptor, name, out);
}

void trace_lines_close(trace_lines *lines)
{
  if (lines)
    gzclose_r(lines->file);
  free(lines);
}

/* At the end of the file, or where zlib gives no more: tells why. */
static clp_status check_end(const trace_lines *lines, int code_of_system)
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
  return trace_error(CLP_IO_ERROR, 0, "%s:%" PRIu64 ": cannot decompress further: %s", lines->name,
                     lines->number + 1, text ? text + 2 : message);
}

clp_status trace_lines_next(trace_lines *lines, trace_line *line, bool *found)
{
  errno = 0;
  *found = gzgets(lines->file, lines->text, sizeof(lines->text));
  if (!*found)
    return check_end(lines, errno);
  *line = (trace_line){.text = lines->text, .number = ++lines->number};
  line->length = strlen(line->text);
  line->has_end = line->length > 0 && line->text[line->length - 1] == '\n';
  line->cut = !line->has_end && !gzeof(lines->file); /* zlib stopped for neither reason */
  if (line->has_end || line->length > TRACE_LINE_MAX)
    line->length--;
  if (line->has_end && line->length > 0 && line->text[line->length - 1] == '\r')
    line->length--;
  line->text[line->length] = '\0';
  return CLP_SUCCESS;
}

clp_status trace_lines_rewind(trace_lines *lines)
{
  gzclearerr(lines->file); /* zlib does not leave damaged text without */
  if (!lines->can_rewind || gzrewind(lines->file))
    return trace_error(CLP_IO_ERROR, ESPIPE, "%s: cannot be read twice", lines->name);
  lines->number = 0;
  return CLP_SUCCESS;
}

bool trace_lines_can_rewind(const trace_lines *lines)
{
  return lines->can_rewind;
}

void trace_lines_progress(const trace_lines *lines, uint64_t *done, uint64_t *total)
{
  z_off_t offset = gzoffset(lines->file);
  *done = offset > 0 ? (uint64_t)offset : 0;
  *total = lines->file_bytes;
}

const char *trace_lines_name(const trace_lines *lines)
{
  return lines->name;
}
