/* SPDX-License-Identifier: MIT */
/* The figures of a command: each has a key in JSON and a title for people. */
#ifndef CLPOOL_TOOLS_FIGURES_H
#define CLPOOL_TOOLS_FIGURES_H

#include "json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A text that is shown, by value. */
typedef struct clpi_shown {
  char text[512];
} clpi_shown;

clpi_shown clpi_show(const char *format, ...) __attribute__((format(printf, 1, 2)));

typedef enum clpi_figure_kind {
  CLPI_COUNT,
  CLPI_SOME,  /* a count; JSON leaves 0 out */
  CLPI_EVENT, /* a number; 0 is null in JSON */
  CLPI_ID,    /* a number that counts nothing */
  CLPI_BYTES,
  CLPI_SWITCH,  /* yes or no */
  CLPI_ADDRESS, /* hexadecimal for people */
  CLPI_ELAPSED, /* nanoseconds; seconds in JSON */
  CLPI_RATIO,   /* NAN: there is none */
  CLPI_TIME,    /* nanoseconds, in JSON too */
  CLPI_PART,    /* from 0 to 1, which a page shows as a bar */
  CLPI_WORDS,   /* NULL: unknown */
  CLPI_LINES    /* several texts, NULL at their end; none: unknown */
} clpi_figure_kind;

/* Kinds up to CLPI_ELAPSED use `count`, CLPI_RATIO to CLPI_PART `ratio`, the others their own. */
typedef struct clpi_figure {
  const char *key;   /* in JSON, the same as clpool replay's. NULL: not in JSON */
  const char *title; /* for people; NULL: not shown */
  clpi_figure_kind kind;
  union {
    uint64_t count;
    double ratio;
    const char *text;
    const char *const *lines;
  } value;
} clpi_figure;

/* Writes figures as members of the current object. */
void clpi_write_figures(clpi_json *json, const clpi_figure *figures, size_t count);

/* Shows a figure, except words, lines and parts. */
clpi_shown clpi_show_figure(const clpi_figure *figure);

/* Returns the ratio, or the count. */
double clpi_figure_value(const clpi_figure *figure);

clpi_shown clpi_show_bytes(uint64_t bytes);               /* "512 bytes", "1.50 MiB" */
clpi_shown clpi_show_time(double nanoseconds);            /* "105 ns", "1.52 us" */
clpi_shown clpi_show_grouped(uint64_t count);             /* "17,321" */
clpi_shown clpi_show_elapsed(uint64_t nanoseconds);       /* "412 ms", "1.34 s", "12 min 5 s" */
clpi_shown clpi_show_part(uint64_t part, uint64_t whole); /* "85.7 %", 100 % only for all, 0 % only
                                                             for none */

/* "1 event", "17,321 events" */
clpi_shown clpi_show_number_of(uint64_t count, const char *noun);

#endif
