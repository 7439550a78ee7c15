/* SPDX-License-Identifier: MIT */
/* Bytes from zlib's reader, which takes plain and gzipped files alike. */
#include "trace/input.h"

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

struct trace_input {
  gzFile file;
  uint64_t file_bytes; /* as stored; 0 for what is no regular file */
  bool can_rewind;
  char name[NAME_BYTES];
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
  return trace_error(CLP_IO_ERROR, code, "%s: %s", shown, strerror(code));
}

static clp_status make_input(int descriptor, const char *name, trace_input **out)
{
  struct stat file;
  if (fstat(descriptor, &file))
    return cannot_open(name, errno);
  if (S_ISDIR(file.st_mode))
    return cannot_open(name, EISDIR);
  trace_input *input = malloc(sizeof(*input));
  if (!input)
    goto no_memory;
  input->file = gzdopen(descriptor, "rb");
  if (!input->file)
    goto no_file;
  gzbuffer(input->file, ZLIB_BUFFER_BYTES);
  shorten_name(input->name, name);
  input->can_rewind = S_ISREG(file.st_mode);
  input->file_bytes = S_ISREG(file.st_mode) && file.st_size > 0 ? (uint64_t)file.st_size : 0;
  *out = input;
  return CLP_SUCCESS;

no_file:
  free(input);
no_memory:
  return trace_error(CLP_OUT_OF_HOST_MEMORY, ENOMEM, "no host memory to read a trace");
}

clp_status trace_input_open_descriptor(int descriptor, const char *name, trace_input **out)
{
  *out = NULL;
  clp_status status = make_input(descriptor, name, out);
  if (status)
    close(descriptor);
  return status;
}

clp_status trace_input_open(const char *path, trace_input **out)
{
  *out = NULL;
  bool is_stdin = strcmp(path, "-") == 0;
  const char *name = is_stdin ? "standard input" : path;
  int descriptor = is_stdin ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                            : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (descriptor < 0)
    return cannot_open(name, errno);
  return trace_input_open_descriptor(descriptor, name, out);
}

void trace_input_close(trace_input *input)
{
  if (!input)
    return;
  gzclose_r(input->file);
  free(input);
}

/* Tells why zlib gives no more: `code` is its own, `code_of_system` was errno. */
static clp_status cannot_read_on(const trace_input *input, int code, int code_of_system,
                                 uint64_t line, size_t column)
{
  if (code == Z_MEM_ERROR)
    return trace_error(CLP_OUT_OF_HOST_MEMORY, ENOMEM, "%s: no host memory to decompress",
                       input->name);
  if (code == Z_ERRNO)
    return trace_error(CLP_IO_ERROR, code_of_system, "%s:%" PRIu64 ": cannot read on: %s",
                       input->name, line, strerror(code_of_system));
  /* "<fd:N>: " stands before zlib's text, for it was given no path. */
  const char *message = gzerror(input->file, &code);
  const char *text = strstr(message, ": ");
  return trace_error(CLP_IO_ERROR, 0, "%s:%" PRIu64 ":%zu: cannot decompress further: %s",
                     input->name, line, column, text ? text + 2 : message);
}

clp_status trace_input_read(trace_input *input, void *buffer, size_t room, uint64_t line,
                            size_t column, size_t *bytes)
{
  errno = 0;
  int count = gzread(input->file, buffer, (unsigned)room);
  int code_of_system = errno;
  *bytes = count > 0 ? (size_t)count : 0;
  if (count > 0)
    return CLP_SUCCESS;
  /* zlib gives 0 for a compressed file that ends too early, too. */
  int code;
  gzerror(input->file, &code);
  return code == Z_OK ? CLP_SUCCESS : cannot_read_on(input, code, code_of_system, line, column);
}

clp_status trace_input_rewind(trace_input *input)
{
  gzclearerr(input->file); /* zlib does not leave damaged text without */
  if (!input->can_rewind || gzrewind(input->file))
    return trace_error(CLP_IO_ERROR, ESPIPE, "%s: cannot be read twice", input->name);
  return CLP_SUCCESS;
}

bool trace_input_can_rewind(const trace_input *input)
{
  return input->can_rewind;
}

void trace_input_progress(const trace_input *input, uint64_t *done, uint64_t *total)
{
  z_off_t offset = gzoffset(input->file);
  *done = offset > 0 ? (uint64_t)offset : 0;
  *total = input->file_bytes;
}

const char *trace_input_name(const trace_input *input)
{
  return input->name;
}
