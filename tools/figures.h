/* SPDX-License-Identifier: MIT */
/* Figures with a key and a title, the same for people and in JSON. */
#ifndef CLPOOL_TOOLS_FIGURES_H
#define CLPOOL_TOOLS_FIGURES_H

#include "json.h"
#include "quantities.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum clpi_figure_kind {
  CLPI_COUNT,
  CLPI_SOME,  /* a count; 0 is in no JSON */
  CLPI_EVENT, /* a number; 0 is null in JSON */
  CLPI_BYTES,
  CLPI_RATIO, /* NAN: there is none */
  CLPI_TIME,  /* a ratio: nanoseconds */
  CLPI_SWITCH /* yes or no */
} clpi_figure_kind;

typedef struct clpi_figure {
  const char *key;   /* in JSON; those of clpool replay mean the same. NULL: in no JSON */
  const char *title; /* for people; NULL: not for them */
  clpi_figure_kind kind;
  uint64_t count; /* or bytes; 1 for yes */
  double ratio;
} clpi_figure;

/* Writes figures as members of the object that is being written. */
void clpi_write_figures(clpi_json *json, const clpi_figure *figures, size_t count);

clpi_shown clpi_show_figure(const clpi_figure *figure);

/* The ratio, or the count. */
double clpi_figure_value(const clpi_figure *figure);

#endif
