/* SPDX-License-Identifier: MIT */
/* Text for a page: escaped, and with figures as people write them. */

#include "report.h"

#include "core/base/printable.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

static const char *entity_of(char letter)
{
  switch (letter) {
  case '&':
    return "&amp;";
  case '<':
    return "&lt;";
  case '>':
    return "&gt;";
  case '"':
    return "&quot;";
  case '\'':
    return "&#39;";
  default:
    return NULL;
  }
}

/* U+FFFE and U+FFFF are well-formed UTF-8, but no XML. */
static bool is_in_xml(const char *text)
{
  return strncmp(text, "\xef\xbf\xbe", 3) != 0 && strncmp(text, "\xef\xbf\xbf", 3) != 0;
}

void clpi_write_escaped(FILE *file, const char *text)
{
  clpi_write_escaped_part(file, text, strlen(text));
}

const char *clpi_base_name(const char *path)
{
  const char *name = path;
  for (const char *end = strchrnul(path, ':'), *at = path; at < end; at++)
    if (*at == '/' && at[1])
      name = at + 1;
  return name;
}

void clpi_write_escaped_part(FILE *file, const char *text, size_t bytes)
{
  for (const char *end = text + bytes; text < end;) {
    size_t length = clpi_utf8_length(text);
    const char *entity = entity_of(*text);
    if (entity)
      fputs(entity, file);
    else if (length > 0 && is_in_xml(text))
      fwrite(text, 1, length, file);
    else
      fputs("&#xfffd;", file);
    text += length > 0 ? length : 1;
  }
}
