/* SPDX-License-Identifier: MIT */
/* A chart over the rows of a trace, as inline SVG: where things are, the axes, stepped lines. */
#ifndef CLPOOL_TOOLS_REPORT_PLOT_H
#define CLPOOL_TOOLS_REPORT_PLOT_H

#include "trace/timeline.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Units of the picture, of which it has CLPI_PLOT_WIDTH across; scaled when it is shown. */
enum {
  CLPI_PLOT_WIDTH = 1000,
  CLPI_PLOT_LEFT = 64,
  CLPI_PLOT_RIGHT = 24,
  CLPI_PLOT_TOP = 14,
  CLPI_PLOT_BOTTOM = 54
};

typedef struct clpi_plot {
  FILE *file;
  const trace_timeline *timeline;
  const trace_span *spans; /* what is drawn: those of the timeline, or wider ones */
  size_t count;
  const char *suffix; /* of the report's names */
  bool is_small;      /* one of many: without texts, and nothing scrolls */
  double height;      /* of what is between the axes */
  double most;        /* the value at its top */
} clpi_plot;

/* Begins and ends the picture. `label` is what it shows, for those who do not see it. */
void clpi_plot_begin(const clpi_plot *plot, const char *label);
void clpi_plot_end(const clpi_plot *plot);

double clpi_plot_x(const clpi_plot *plot, uint64_t row); /* where a row ends */
double clpi_plot_y(const clpi_plot *plot, double value);

/* A line across with its label at the left. */
void clpi_plot_level(const clpi_plot *plot, double value, const char *label);

/* The rows, and where the trace has times, these beneath. */
void clpi_plot_row_axis(const clpi_plot *plot);

/* What a span of the trace has, to be drawn; NAN for nothing. */
typedef double (*clpi_span_value)(const trace_span *span);

/* An area from the bottom up to a value of each span, and a line along it. `name` is the class that
 * the style sheet knows. */
void clpi_plot_area(const clpi_plot *plot, const char *name, clpi_span_value value);
void clpi_plot_line(const clpi_plot *plot, const char *name, clpi_span_value value);

/* 1, 2, 2.5 or 5 times a power of ten: the least of which `most` takes no more than `steps`. */
double clpi_round_step(double most, unsigned steps);

#endif
