/* SPDX-License-Identifier: MIT */
/* The progress bar: nothing in the first half second, nothing where nobody looks. */
#include "progress.h"

#include "timing.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

static const uint64_t first_draw = 500000000; /* nanoseconds */
static const uint64_t between_draws = 100000000;

enum { BAR_WIDTH = 30 };

clpi_progress clpi_progress_begin(const char *label)
{
  return (clpi_progress){
      .label = label, .is_watched = isatty(STDERR_FILENO), .next_draw = clpi_now() + first_draw};
}

static void draw(const char *label, double part, uint64_t operations)
{
  char bar[BAR_WIDTH + 1];
  for (int i = 0; i < BAR_WIDTH; i++)
    bar[i] = i < (int)(part * BAR_WIDTH) ? '#' : '.';
  bar[BAR_WIDTH] = '\0';
  if (part < 0)
    fprintf(stderr, "\r%s: %" PRIu64 " operations", label, operations);
  else
    fprintf(stderr, "\r%s: [%s] %3d %%, %" PRIu64 " operations", label, bar, (int)(part * 100),
            operations);
}

void clpi_progress_update(clpi_progress *progress, uint64_t done, uint64_t total,
                          uint64_t operations)
{
  if (!progress->is_watched)
    return;
  uint64_t time = clpi_now();
  if (time < progress->next_draw)
    return;
  progress->next_draw = time + between_draws;
  progress->is_shown = true;
  draw(progress->label, total > 0 ? (double)done / (double)total : -1.0, operations);
}

void clpi_progress_end(clpi_progress *progress)
{
  if (progress->is_shown)
    fputs("\r\033[K", stderr);
  progress->is_shown = false;
}
