/* SPDX-License-Identifier: MIT */
/* Names of files, devices and functions, which may hold any bytes, as they can be shown. */
#ifndef CLPOOL_CORE_BASE_PRINTABLE_H
#define CLPOOL_CORE_BASE_PRINTABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* The length of the well-formed UTF-8 sequence at `text` (RFC 3629), 0 if there is none or it is a
 * control character of ASCII. */
size_t clpi_utf8_length(const char *text);

/* The same, and 0 also for a control character of Unicode, U+0080 to U+009F: a terminal may act on
 * what has no length by this. */
size_t clpi_printable_length(const char *text);

/* A character as it is shown: itself, or a byte of what is not printable, "\x1b". */
typedef struct clpi_shown_character {
  char text[5];
} clpi_shown_character;

/* Shows the next character of `*text`, which is not at its end, and moves `*text` behind it. */
clpi_shown_character clpi_show_character(const char **text);

/* Writes all of them. False: that failed. */
bool clpi_print_escaped(FILE *file, const char *text);

#endif
