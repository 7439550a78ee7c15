/* SPDX-License-Identifier: MIT */
/* A file that is written whole or not at all: it has its name when it is complete. */
#ifndef CLPOOL_TOOLS_OUTPUT_FILE_H
#define CLPOOL_TOOLS_OUTPUT_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

typedef struct clpi_output_file {
  FILE *stream;                  /* where to write */
  const char *path;              /* as it was named, for complaints; borrowed */
  char target[PATH_MAX];         /* what the path leads to; "" for what is written directly */
  char temporary[PATH_MAX + 48]; /* the file's name until it is renamed; "": it has none */
} clpi_output_file;

/* Opens a file to write, which is to become `path`, or what that leads to as a link; "-" is
 * standard output. What is no regular file, such as a pipe, is written directly. Returns an exit
 * code, with a complaint if it is not 0; `*out` is NULL then. Nothing is left behind if a signal
 * ends the program; only where the file system has no files without names, one of a temporary name
 * is. */
int clpi_output_file_create(const char *path, clpi_output_file **out);

/* Whether two paths, of files that are there or not, lead to one. */
bool clpi_output_file_is_same(const char *one, const char *other);

/* Whether a path is that of standard output, under whatever name. */
bool clpi_output_file_is_stdout(const char *path);

/* Ends the writing: what was written becomes the file, in place of one that was there before. If
 * something could not be written, nothing is left of it. Returns an exit code, with a complaint if
 * it is not 0. */
int clpi_output_file_finish(clpi_output_file *file);

/* Ends the writing and leaves nothing. NULL is a no-op. */
void clpi_output_file_discard(clpi_output_file *file);

#endif
