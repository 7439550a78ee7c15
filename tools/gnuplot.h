/* SPDX-License-Identifier: MIT */
/* The program gnuplot, a child: it is told what to draw, and the picture is fetched from it. */
#ifndef CLPOOL_TOOLS_GNUPLOT_H
#define CLPOOL_TOOLS_GNUPLOT_H

#include <stdio.h>
#include <sys/types.h>

typedef struct clpi_gnuplot {
  pid_t process;
  int input;     /* what it reads its script from */
  FILE *picture; /* what it draws comes here */
} clpi_gnuplot;

/* Starts it, without the user's own settings; what it complains about goes nowhere. Returns an exit
 * code, with a complaint if it is not 0. */
int clpi_gnuplot_start(clpi_gnuplot *gnuplot);

/* Tells it to draw, copies the picture to `output` and ends it. What cannot be written is for
 * `output`'s own error. Returns an exit code, with a complaint if it is not 0. */
int clpi_gnuplot_draw(clpi_gnuplot *gnuplot, const char *script, FILE *output);

/* Ends it without a picture, and without a word. */
void clpi_gnuplot_discard(clpi_gnuplot *gnuplot);

#endif
