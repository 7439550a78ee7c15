/* SPDX-License-Identifier: MIT */
/* Text for a page, escaped. */
#include "report.h"

#include "core/base/printable.h"

#include <string.h>

void clpi_write_escaped(FILE *file, const char *text)
{
  clpi_write_escaped_part(file, text, strlen(text));
}

void clpi_write_escaped_part(FILE *file, const char *text, size_t bytes)
{
  static const char marks[] = "&<>\"'";
  static const char *const entities[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
  for (const char *end = text + bytes; text < end;) {
    size_t length = clpi_utf8_length(text);
    const char *mark = strchr(marks, *text);
    /* U+FFFE and U+FFFF are well-formed UTF-8, but no XML. */
    bool is_in_xml = strncmp(text, "\xef\xbf\xbe", 3) != 0 && strncmp(text, "\xef\xbf\xbf", 3) != 0;
    if (mark)
      fputs(entities[mark - marks], file);
    else if (length > 0 && is_in_xml)
      fwrite(text, 1, length, file);
    else
      fputs("&#xfffd;", file);
    text += length > 0 ? length : 1;
  }
}

const char *clpi_base_name(const char *path)
{
  const char *name = path;
  for (const char *end = strchrnul(path, ':'), *at = path; at < end; at++)
    if (*at == '/' && at[1])
      name = at + 1;
  return name;
}
