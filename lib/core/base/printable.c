/* SPDX-License-Identifier: MIT */
/* UTF-8 stays as it is, except for control characters. */
#include "core/base/printable.h"

#include <string.h>

/* The well-formed sequences, by their first two bytes. */
static const struct {
  unsigned char first, last;               /* of the leading byte */
  unsigned char second_first, second_last; /* of the next one */
  size_t length;
} forms[] = {
    {0x20, 0x7e, 0x00, 0xff, 1}, {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
    {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
    {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
};

size_t clpi_utf8_length(const char *text)
{
  const unsigned char *bytes = (const unsigned char *)text;
  for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
    if (bytes[0] < forms[i].first || bytes[0] > forms[i].last)
      continue;
    if (bytes[1] < forms[i].second_first || bytes[1] > forms[i].second_last)
      return 0;
    for (size_t byte = 2; byte < forms[i].length; byte++)
      if (bytes[byte] < 0x80 || bytes[byte] > 0xbf)
        return 0;
    return forms[i].length;
  }
  return 0;
}

size_t clpi_printable_length(const char *text)
{
  const unsigned char *bytes = (const unsigned char *)text;
  return bytes[0] == 0xc2 && bytes[1] < 0xa0 ? 0 : clpi_utf8_length(text);
}

clpi_shown_character clpi_show_character(const char **text)
{
  clpi_shown_character shown = {""};
  size_t length = clpi_printable_length(*text);
  if (length > 0)
    memcpy(shown.text, *text, length);
  else
    snprintf(shown.text, sizeof(shown.text), "\\x%02x", (unsigned char)**text);
  *text += length > 0 ? length : 1;
  return shown;
}

bool clpi_print_escaped(FILE *file, const char *text)
{
  bool written = true;
  while (*text && written)
    written = fputs(clpi_show_character(&text).text, file) >= 0;
  return written;
}
