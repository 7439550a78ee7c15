/* SPDX-License-Identifier: MIT */
/* What a file contains, as text or not. */
#ifndef CLPOOL_CORE_BASE_FILE_TEXT_H
#define CLPOOL_CORE_BASE_FILE_TEXT_H

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* OpenCL loaders are smaller. On phones and boards, drivers of any size are named as one. */
enum { CLPI_FILE_TEXT_BYTES = 16 << 20 };

typedef struct clpi_file_text {
  const char *start; /* NULL: there is none */
  size_t bytes;
} clpi_file_text;

/* Maps a regular file of 1 to CLPI_FILE_TEXT_BYTES bytes, for clpi_file_text_close. Does not wait
 * for the writer of a pipe. */
static inline clpi_file_text clpi_file_text_open(const char *path)
{
  clpi_file_text text = {0};
  struct stat file;
  int descriptor = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (descriptor < 0)
    return text;
  if (fstat(descriptor, &file) == 0 && S_ISREG(file.st_mode) &&
      file.st_size <= CLPI_FILE_TEXT_BYTES) {
    void *start = mmap(NULL, (size_t)file.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (start != MAP_FAILED)
      text = (clpi_file_text){start, (size_t)file.st_size};
  }
  close(descriptor);
  return text;
}

/* Whether the file contains these words. */
static inline bool clpi_file_text_has(const clpi_file_text *self, const char *words)
{
  return self->start && memmem(self->start, self->bytes, words, strlen(words));
}

static inline void clpi_file_text_close(const clpi_file_text *self)
{
  if (self->start)
    munmap((void *)self->start, self->bytes);
}

#endif
