/* SPDX-License-Identifier: MIT */
/* Writes a file completely or not at all: it gets its name when it is complete. */
#ifndef CLPOOL_TOOLS_OUTPUT_FILE_H
#define CLPOOL_TOOLS_OUTPUT_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

typedef struct clpi_output_file {
  FILE *stream;                  /* where to write */
  const char *path;              /* as given, for messages; borrowed */
  char target[PATH_MAX];         /* the file that the path leads to; "": written directly */
  char temporary[PATH_MAX + 48]; /* the file's name until it is renamed; "": it has none */
} clpi_output_file;

/* Opens a file to write, which will become `path`, or the file that it links to; "-" is standard
 * output. Files that are not regular, such as pipes, are written directly. Returns an exit code,
 * with a message if it is not 0; `*out` is NULL then. If a signal ends the program, nothing stays;
 * but if the file system has no files without names, a file with a temporary name does. */
int clpi_output_file_create(const char *path, clpi_output_file **out);

/* Whether two paths lead to the same file, which need not exist. */
bool clpi_output_file_is_same(const char *one, const char *other);

/* Whether a path leads to standard output, under any name. */
bool clpi_output_file_is_stdout(const char *path);

/* Ends the writing: the file replaces an earlier one. If something could not be written, nothing of
 * it stays. `*out` becomes NULL; if it is NULL, does nothing. Returns an exit code, with a message
 * if it is not 0. */
int clpi_output_file_finish(clpi_output_file **out);

/* Ends the writing and removes the file. NULL is a no-op. */
void clpi_output_file_discard(clpi_output_file *file);

#endif
