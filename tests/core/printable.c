/* SPDX-License-Identifier: MIT */
/* Names as they are shown: UTF-8 stays, control characters and other bytes have their numbers. */
#include "core/base/printable.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>

START_TEST(names_are_shown)
{
  static const struct {
    const char *name, *shown;
  } cases[] = {
      {"", ""},
      {"a b/~\"\\.csv", "a b/~\"\\.csv"},
      {"\n\t\x7f", "\\x0a\\x09\\x7f"},
      {"\x1b[31m", "\\x1b[31m"},
      {"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"},
      {"\xc2\x9b\xc2\x80", "\\xc2\\x9b\\xc2\\x80"}, /* C1 */
      {"\xc2\xa0", "\xc2\xa0"},
      {"\x9b", "\\x9b"},
      {"\xc0\x8a \xed\xa0\x80 \xe2\x82", "\\xc0\\x8a \\xed\\xa0\\x80 \\xe2\\x82"},
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    char *text = NULL;
    size_t length;
    FILE *file = open_memstream(&text, &length);
    ck_assert(clpi_print_escaped(file, cases[i].name));
    ck_assert_int_eq(fclose(file), 0);
    ck_assert_str_eq(text, cases[i].shown);
    free(text);
  }
}
END_TEST

START_TEST(a_full_file_is_told_of)
{
  FILE *file = fopen("/dev/full", "w");
  if (!file)
    return;
  setvbuf(file, NULL, _IONBF, 0);
  ck_assert(!clpi_print_escaped(file, "name"));
  fclose(file);
}
END_TEST

CLPT_SUITE("printable")
{
  TCase *tests = clpt_case(suite, "printable");
  tcase_add_test(tests, names_are_shown);
  tcase_add_test(tests, a_full_file_is_told_of);
}
