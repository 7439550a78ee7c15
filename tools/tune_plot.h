/* SPDX-License-Identifier: MIT */
/* A picture of what tuning came to, drawn by gnuplot: footprint and hit rate over leading bits. */
#ifndef CLPOOL_TOOLS_TUNE_PLOT_H
#define CLPOOL_TOOLS_TUNE_PLOT_H

#include "tune_report.h"

#include <stdbool.h>

typedef struct clpi_tune_plot clpi_tune_plot;

/* Whether the name of a file tells how to draw: .svg, .png or .pdf. */
bool clpi_tune_plot_has_format(const char *path);

/* Starts gnuplot and opens the file, before the long work; `path` and `trace`, which it must not
 * be, are borrowed until the end. Returns an exit code, with a complaint if it is not 0; `*out` is
 * NULL then. */
int clpi_tune_plot_begin(const char *path, const char *trace, clpi_tune_plot **out);

/* Draws and ends. Returns an exit code, with a complaint if it is not 0: then nothing is left. */
int clpi_tune_plot_finish(clpi_tune_plot *plot, const clpi_tune_report *report);

/* Ends, and leaves nothing. NULL is a no-op. */
void clpi_tune_plot_discard(clpi_tune_plot *plot);

#endif
