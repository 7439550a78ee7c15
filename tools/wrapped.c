/* SPDX-License-Identifier: MIT */
#include "wrapped.h"

#include <stdio.h>
#include <string.h>

enum { COLUMNS = 80 };

void clpi_print_wrapped(const char *text, unsigned column, unsigned indent)
{
  const char *blank = "";
  while (*text) {
    unsigned length = (unsigned)strcspn(text, " ");
    if (*blank && column + 1 + length > COLUMNS) {
      printf("\n%*s", (int)indent, "");
      column = indent;
      blank = "";
    }
    column += (unsigned)printf("%s%.*s", blank, (int)length, text);
    blank = " ";
    text += length;
    text += strspn(text, " ");
  }
  putchar('\n');
}
