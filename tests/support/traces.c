/* SPDX-License-Identifier: MIT */
/* Traces for tests, made in memory. */
#define ZLIB_CONST /* next_in is not written to */
#include "traces.h"

#include <limits.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

int clpt_file_of(const void *bytes, size_t length)
{
  int descriptor = memfd_create("trace", MFD_CLOEXEC);
  ck_assert_int_ge(descriptor, 0);
  ck_assert_int_eq(write(descriptor, bytes, length), (ssize_t)length);
  ck_assert_int_eq(lseek(descriptor, 0, SEEK_SET), 0);
  return descriptor;
}

int clpt_text_file(const char *text)
{
  return clpt_file_of(text, strlen(text));
}

unsigned char *clpt_gzip(const char *text, size_t *length)
{
  enum { GZIP_WINDOW_BITS = 15 + 16, MEMORY_LEVEL = 8 };
  z_stream stream = {.next_in = (const unsigned char *)text, .avail_in = (unsigned)strlen(text)};
  ck_assert_int_eq(deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW_BITS,
                                MEMORY_LEVEL, Z_DEFAULT_STRATEGY),
                   Z_OK);
  size_t room = deflateBound(&stream, stream.avail_in);
  unsigned char *bytes = malloc(room);
  ck_assert_ptr_nonnull(bytes);
  stream.next_out = bytes;
  stream.avail_out = (unsigned)room;
  ck_assert_int_eq(deflate(&stream, Z_FINISH), Z_STREAM_END);
  *length = stream.total_out;
  deflateEnd(&stream);
  return bytes;
}

/* zlib takes its memory with the first look at a file: here, so that where it is linked statically
 * a test that counts memory, and ends the reader later, does not have it as its own. */
trace_reader *clpt_trace(const char *text)
{
  trace_reader *reader = NULL;
  clpt_ok(trace_open(clpt_text_file(text), "trace", &reader));
  (void)gzdirect(reader->lines.file);
  return reader;
}

static void write_rows(FILE *file, const char *rows)
{
  char letter;
  unsigned long long pointer, size;
  int length;
  while (sscanf(rows, " %c%llx=%llu%n", &letter, &pointer, &size, &length) == 3) {
    const char *action = letter == 'a' ? "allocate" : letter == 'f' ? "free" : "allocate failure";
    fprintf(file, "1,00:00:00.000000,%s,0x%llx,%llu,0\n", action, pointer, size);
    rows += length;
  }
  ck_assert_str_eq(rows, "");
}

char *clpt_trace_text(const char *rows, unsigned times)
{
  char *text = NULL;
  size_t length;
  FILE *file = open_memstream(&text, &length);
  ck_assert_ptr_nonnull(file);
  fputs(CLPT_HEADER, file);
  for (unsigned i = 0; i < times; i++)
    write_rows(file, rows);
  ck_assert_int_eq(fclose(file), 0);
  return text;
}

trace_reader *clpt_short_trace(const char *rows)
{
  char *text = *rows == 'A' ? strdup(rows) : clpt_trace_text(rows, 1);
  trace_reader *reader = clpt_trace(text);
  free(text);
  return reader;
}

trace_reader *clpt_resnet_trace(void)
{
  const char *tree = getenv("top_srcdir");
  char path[PATH_MAX];
  trace_reader *reader = NULL;
  (void)snprintf(path, sizeof(path), "%s/examples/data/resnet50_train.csv.gz", tree ? tree : ".");
  clpt_ok(trace_open(-1, path, &reader));
  return reader;
}
