/* SPDX-License-Identifier: MIT */
/* Lines from zlib's reader, which takes plain and gzipped files alike. */
#include "trace/lines.h"

#include "core/error.h"

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
enum { BUFFER_BYTES = 64 * 1024, ZLIB_BUFFER_BYTES = 128 * 1024, NAME_BYTES = 256 };

struct clpi_lines {
  gzFile file;
  uint64_t file_bytes; /* as stored; 0 for what is no regular file */
  bool can_rewind;
  bool at_end;       /* the file has no more than the buffer */
  uint64_t number;   /* of the line given last */
  size_t begin, end; /* what of the buffer is still to be given */
  char name[NAME_BYTES];
  char buffer[BUFFER_BYTES];
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
  return clpi_error(CLP_IO_ERROR, code, "%s: %s", shown, strerror(code));
}

clp_status clpi_lines_open_descriptor(int descriptor, const char *name, clpi_lines **out)
{
  *out = NULL;
  struct stat file;
  if (fstat(descriptor, &file))
    return cannot_open(name, errno);
  if (S_ISDIR(file.st_mode))
    return cannot_open(name, EISDIR);
  clpi_lines *lines = malloc(sizeof(*lines));
  if (!lines)
    goto no_memory;
  lines->file = gzdopen(descriptor, "rb");
  if (!lines->file)
    goto no_file;
  gzbuffer(lines->file, ZLIB_BUFFER_BYTES);
  shorten_name(lines->name, name);
  lines->can_rewind = S_ISREG(file.st_mode);
  lines->file_bytes = S_ISREG(file.st_mode) && file.st_size > 0 ? (uint64_t)file.st_size : 0;
  lines->at_end = false;
  lines->number = 0;
  lines->begin = lines->end = 0;
  *out = lines;
  return CLP_SUCCESS;

no_file:
  free(lines);
no_memory:
  return clpi_error(CLP_OUT_OF_HOST_MEMORY, ENOMEM, "no host memory to read a trace");
}

clp_status clpi_lines_open(const char *path, clpi_lines **out)
{
  *out = NULL;
  bool is_stdin = strcmp(path, "-") == 0;
  const char *name = is_stdin ? "standard input" : path;
  int descriptor = is_stdin ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                            : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (descriptor < 0)
    return cannot_open(name, errno);
  clp_status status = clpi_lines_open_descriptor(descriptor, name, out);
  if (status)
    close(descriptor);
  return status;
}

void clpi_lines_close(clpi_lines *lines)
{
  if (!lines)
    return;
  gzclose_r(lines->file);
  free(lines);
}

/* Tells why zlib gives no more: `code` is its own, `code_of_system` was errno. */
static clp_status cannot_read_on(const clpi_lines *lines, int code, int code_of_system)
{
  if (code == Z_MEM_ERROR)
    return clpi_error(CLP_OUT_OF_HOST_MEMORY, ENOMEM, "%s: no host memory to decompress",
                      lines->name);
  if (code == Z_ERRNO)
    return clpi_error(CLP_IO_ERROR, code_of_system, "%s:%" PRIu64 ": cannot read on: %s",
                      lines->name, lines->number + 1, strerror(code_of_system));
  /* "<fd:N>: " stands before zlib's text, for it was given no path. */
  const char *message = gzerror(lines->file, &code);
  const char *text = strstr(message, ": ");
  return clpi_error(CLP_IO_ERROR, 0, "%s:%" PRIu64 ":%zu: cannot decompress further: %s",
                    lines->name, lines->number + 1, lines->end - lines->begin + 1,
                    text ? text + 2 : message);
}

/* Moves what is left to the front of the buffer and reads on behind it. */
static clp_status refill(clpi_lines *lines)
{
  lines->end -= lines->begin;
  memmove(lines->buffer, lines->buffer + lines->begin, lines->end);
  lines->begin = 0;
  errno = 0;
  int bytes =
      gzread(lines->file, lines->buffer + lines->end, (unsigned)(BUFFER_BYTES - lines->end));
  int code_of_system = errno;
  if (bytes > 0) {
    lines->end += (size_t)bytes;
    return CLP_SUCCESS;
  }
  /* zlib gives 0 for a compressed file that ends too early, too. */
  int code;
  gzerror(lines->file, &code);
  if (code != Z_OK)
    return cannot_read_on(lines, code, code_of_system);
  lines->at_end = true;
  return CLP_SUCCESS;
}

/* Gives `length` bytes as the next line, and skips `line_end` bytes more. */
static void give(clpi_lines *lines, clpi_line *line, size_t length, size_t line_end, bool cut)
{
  const char *text = lines->buffer + lines->begin;
  lines->begin += length + line_end;
  if (!cut && length > 0 && text[length - 1] == '\r')
    length--;
  *line = (clpi_line){.text = text, .length = length, .number = ++lines->number, .cut = cut};
}

clp_status clpi_lines_next(clpi_lines *lines, clpi_line *line, bool *found)
{
  *found = true;
  for (;;) {
    size_t available = lines->end - lines->begin;
    size_t searched = available <= CLPI_LINE_MAX + 1 ? available : CLPI_LINE_MAX + 1;
    const char *text = lines->buffer + lines->begin;
    const char *line_end = memchr(text, '\n', searched);
    if (line_end) {
      give(lines, line, (size_t)(line_end - text), 1, false);
      return CLP_SUCCESS;
    }
    if (available > CLPI_LINE_MAX) {
      give(lines, line, CLPI_LINE_MAX, 0, true);
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

clp_status clpi_lines_rewind(clpi_lines *lines)
{
  gzclearerr(lines->file); /* zlib does not leave damaged text without */
  if (!lines->can_rewind || gzrewind(lines->file))
    return clpi_error(CLP_IO_ERROR, ESPIPE, "%s: cannot be read twice", lines->name);
  lines->at_end = false;
  lines->number = 0;
  lines->begin = lines->end = 0;
  return CLP_SUCCESS;
}

bool clpi_lines_can_rewind(const clpi_lines *lines)
{
  return lines->can_rewind;
}

void clpi_lines_progress(const clpi_lines *lines, uint64_t *done, uint64_t *total)
{
  z_off_t offset = gzoffset(lines->file);
  *done = offset > 0 ? (uint64_t)offset : 0;
  *total = lines->file_bytes;
}

const char *clpi_lines_name(const clpi_lines *lines)
{
  return lines->name;
}
