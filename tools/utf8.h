/* SPDX-License-Identifier: MIT */
/* UTF-8 in names, which may hold any bytes. */
#ifndef CLPOOL_TOOLS_UTF8_H
#define CLPOOL_TOOLS_UTF8_H

#include <stddef.h>

/* The length of the well-formed UTF-8 sequence at `text` (RFC 3629), 0 if there is none or it is a
 * control character. */
size_t clpi_utf8_length(const char *text);

#endif
