/* SPDX-License-Identifier: MIT */
/* Text that flows, in lines of at most 80 columns. */
#ifndef CLPOOL_TOOLS_WRAPPED_H
#define CLPOOL_TOOLS_WRAPPED_H

/* Prints a text and a line feed, from a column of the line that was begun; further lines begin with
 * `indent` blanks. A word that is longer than a line stays whole. */
void clpi_print_wrapped(const char *text, unsigned column, unsigned indent);

#endif
