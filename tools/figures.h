/* SPDX-License-Identifier: MIT */
/* Figures that a command has found, said once: each has a key in JSON and a title for people. */
#ifndef CLPOOL_TOOLS_FIGURES_H
#define CLPOOL_TOOLS_FIGURES_H

#include "json.h"
#include "quantities.h"

typedef enum clpi_figure_kind {
  CLPI_COUNT,
  CLPI_ID, /* a number that counts nothing */
  CLPI_BYTES,
  CLPI_RATIO,   /* NAN: there is none */
  CLPI_PART,    /* a ratio from 0 to 1, which a page shows as a bar */
  CLPI_SWITCH,  /* yes or no */
  CLPI_TIME,    /* nanoseconds; seconds in JSON */
  CLPI_ADDRESS, /* hexadecimal for people */
  CLPI_TEXT,    /* NULL: unknown */
  CLPI_LINES    /* several texts, NULL at their end; none: unknown */
} clpi_figure_kind;

/* CLPI_RATIO and CLPI_PART have a ratio, CLPI_TEXT has a text, CLPI_LINES lines, and any other kind
 * a count. */
typedef struct clpi_figure {
  const char *key;   /* NULL: for people alone */
  const char *title; /* NULL: for JSON alone */
  clpi_figure_kind kind;
  union {
    uint64_t count;
    double ratio;
    const char *text;
    const char *const *lines;
  } value;
} clpi_figure;

/* Writes the figures that have keys, as members of the object that is being written. */
void clpi_json_figures(clpi_json *json, const clpi_figure *figures, size_t count);

/* What people read. Not for texts and lines, which may be long and need escaping, nor for bars. */
clpi_shown clpi_show_figure(const clpi_figure *figure);

clpi_shown clpi_show_grouped(uint64_t count);       /* "17,321" */
clpi_shown clpi_show_elapsed(uint64_t nanoseconds); /* "412 ms", "1.34 s", "12 min 5 s" */
clpi_shown clpi_show_part(uint64_t part,
                          uint64_t whole); /* "85.7 %", 100 % only for all, 0 % only for none */

/* "1 event", "17,321 events" */
clpi_shown clpi_show_number_of(uint64_t count, const char *noun);

#endif
