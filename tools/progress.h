/* SPDX-License-Identifier: MIT */
/* A progress bar on standard error, for long runs on a terminal. */
#ifndef CLPOOL_TOOLS_PROGRESS_H
#define CLPOOL_TOOLS_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct clpi_progress {
  const char *label; /* the current activity, borrowed */
  bool is_watched;   /* standard error is a terminal */
  bool is_shown;
  uint64_t next_draw; /* nanoseconds, when the bar may be drawn next */
} clpi_progress;

clpi_progress clpi_progress_begin(const char *label);

/* Draws the bar, a clpi_progress, if it is due. `total` 0: unknown; it then shows `operations`. */
void clpi_progress_update(void *bar, uint64_t done, uint64_t total, uint64_t operations);

/* Clears the bar. */
void clpi_progress_end(clpi_progress *progress);

#endif
