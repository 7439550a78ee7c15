/* SPDX-License-Identifier: MIT */
/* The arguments of clpool tune. */
#ifndef CLPOOL_TOOLS_TUNE_ARGUMENTS_H
#define CLPOOL_TOOLS_TUNE_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct clpi_tune_arguments {
  char **traces; /* paths; one may be "-" */
  size_t trace_count;
  const char *allocator; /* whose costs count; NULL: not given */
  const char *cost;
  size_t limit_bytes; /* 0: none */
  unsigned most_ns;   /* an operation's time beyond the quickest's */
  const char *plot;   /* where the picture goes; NULL: none */
  bool is_lenient, as_json;
  bool wants_help; /* then nothing else counts */
} clpi_tune_arguments;

/* Returns an exit code, with a complaint if it is not 0. */
int clpi_tune_arguments_read(int argc, char **argv, clpi_tune_arguments *arguments);

#endif
