/* SPDX-License-Identifier: MIT */
/* How a report's page writes names, counts, times and parts. */
#ifndef CLPOOL_TOOLS_REPORT_TEXT_H
#define CLPOOL_TOOLS_REPORT_TEXT_H

#include "quantities.h"

#include <stdint.h>
#include <stdio.h>

/* Writes a text so that neither HTML nor XML finds markup in it, also in an attribute. What is no
 * UTF-8, no XML or does not print becomes U+FFFD. */
void clpi_write_escaped(FILE *file, const char *text);

clpi_shown clpi_show_grouped(uint64_t count);             /* "17,321" */
clpi_shown clpi_show_elapsed(uint64_t nanoseconds);       /* "412 ms", "1.34 s", "12 min 5 s" */
clpi_shown clpi_show_part(uint64_t part, uint64_t whole); /* "85.7 %", 100 % only for all */

/* "1 event", "17,321 events" */
clpi_shown clpi_show_number_of(uint64_t count, const char *noun);

#endif
