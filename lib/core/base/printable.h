/* SPDX-License-Identifier: MIT */
/* Showing names of files, devices and functions, which may contain any bytes. */
#ifndef CLPOOL_CORE_BASE_PRINTABLE_H
#define CLPOOL_CORE_BASE_PRINTABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Returns the length of the well-formed UTF-8 sequence at `text` (RFC 3629). 0: there is none, or
 * it is an ASCII control character. */
size_t clpi_utf8_length(const char *text);

/* Returns the same, but 0 also for U+0080 to U+009F, Unicode's control characters: a terminal may
 * act on them. */
size_t clpi_printable_length(const char *text);

/* A character as it is shown: itself, or "\x1b" for a byte that is not printable. */
typedef struct clpi_shown_character {
  char text[5];
} clpi_shown_character;

/* Returns the next character of `*text`, which must not be at its end, and moves past it. */
clpi_shown_character clpi_show_character(const char **text);

/* Writes all characters of a text as they are shown. False: the write failed. */
bool clpi_print_escaped(FILE *file, const char *text);

#endif
