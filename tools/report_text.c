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

clpi_shown clpi_show_grouped(uint64_t count)
{
  clpi_shown shown;
  char digits[24];
  int length = snprintf(digits, sizeof(digits), "%" PRIu64, count);
  char *end = shown.text;
  for (int i = 0; i < length; i++) {
    if (i > 0 && (length - i) % 3 == 0)
      *end++ = ',';
    *end++ = digits[i];
  }
  *end = '\0';
  return shown;
}

clpi_shown clpi_show_elapsed(uint64_t nanoseconds)
{
  clpi_shown shown;
  uint64_t seconds = nanoseconds / 1000000000u;
  if (seconds < 60)
    return nanoseconds ? clpi_show_time((double)nanoseconds) : (clpi_shown){"0 s"};
  bool has_hours = seconds >= 3600;
  snprintf(shown.text, sizeof(shown.text), "%" PRIu64 " %s %" PRIu64 " %s",
           has_hours ? seconds / 3600 : seconds / 60, has_hours ? "h" : "min",
           has_hours ? seconds / 60 % 60 : seconds % 60, has_hours ? "min" : "s");
  return shown;
}

clpi_shown clpi_show_part(uint64_t part, uint64_t whole)
{
  clpi_shown shown;
  if (part == whole)
    return (clpi_shown){"100 %"};
  double per_cent = (double)part / (double)whole * 100.0;
  snprintf(shown.text, sizeof(shown.text), "%.1f %%", fmin(per_cent, 99.9));
  return shown;
}

clpi_shown clpi_show_number_of(uint64_t count, const char *noun)
{
  clpi_shown shown;
  snprintf(shown.text, sizeof(shown.text), "%.28s %.16s%s", clpi_show_grouped(count).text, noun,
           count == 1 ? "" : "s");
  return shown;
}
