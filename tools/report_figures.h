/* SPDX-License-Identifier: MIT */
/* The settings and figures of a report, one list for the page and for JSON. */
#ifndef CLPOOL_TOOLS_REPORT_FIGURES_H
#define CLPOOL_TOOLS_REPORT_FIGURES_H

#include "report.h"

#include <stdint.h>

typedef enum clpi_figure_kind {
  CLPI_FIGURE_COUNT,
  CLPI_FIGURE_BYTES,
  CLPI_FIGURE_RATIO, /* NAN: there is none */
  CLPI_FIGURE_SWITCH /* yes or no */
} clpi_figure_kind;

typedef struct clpi_figure {
  const char *key;   /* in JSON; those of clpool replay mean the same */
  const char *title; /* on the page */
  clpi_figure_kind kind;
  uint64_t count; /* or bytes; 1 for yes */
  double ratio;
} clpi_figure;

enum { CLPI_FIGURES = 26 };

void clpi_report_figures(const clpi_report *report, clpi_figure figures[CLPI_FIGURES]);

#endif
