/* SPDX-License-Identifier: MIT */
/* The progress bar: nothing in the first half second, nothing where nobody looks, and never wider
 * than the terminal. */
#include "progress.h"

#include "trace/replay.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

static const uint64_t first_draw = 500000000; /* nanoseconds */
static const uint64_t between_draws = 100000000;

enum { BAR = 30, USUAL_COLUMNS = 80 };

clpi_progress clpi_progress_begin(const char *label)
{
  return (clpi_progress){
      .label = label, .is_watched = isatty(STDERR_FILENO), .next_draw = trace_now() + first_draw};
}

/* What matters most comes first, since a narrow terminal has no room for the rest. */
static void draw(const char *label, double part, uint64_t operations)
{
  static const char full[] = "##############################",
                    rest[] = "..............................";
  char line[160];
  struct winsize size;
  bool is_known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  int columns = is_known ? size.ws_col : USUAL_COLUMNS, done = (int)(part * BAR);
  if (part < 0)
    snprintf(line, sizeof(line), "%" PRIu64 " operations: %s", operations, label);
  else
    snprintf(line, sizeof(line), "%3d %% %s [%.*s%.*s] %" PRIu64 " operations", (int)(part * 100),
             label, done, full, BAR - done, rest, operations);
  /* some terminals begin a new line behind the last column */
  fprintf(stderr, "\r%.*s\033[K", columns - 1, line);
}

void clpi_progress_update(void *bar, uint64_t done, uint64_t total, uint64_t operations)
{
  clpi_progress *progress = bar;
  if (!progress->is_watched)
    return;
  uint64_t time = trace_now();
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
