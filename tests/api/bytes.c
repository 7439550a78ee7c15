/* SPDX-License-Identifier: MIT */
/* Sizes as people write them: what is read, and what is refused and how. */
#include "support/suite.h"

#include <clpool/bytes.h>
#include <stdint.h>
#include <stdio.h>

#define KiB ((size_t)1 << 10)
#define MiB ((size_t)1 << 20)
#define GiB ((size_t)1 << 30)

enum { WHOLE = 10000 }; /* bytes */

START_TEST(sizes_are_read)
{
  const struct {
    const char *text;
    size_t bytes;
  } sizes[] = {
      {"0", 0},
      {"1", 1},
      {"007", 7},
      {"1073741824", GiB},
      {"1K", KiB},
      {"512M", 512 * MiB},
      {"2G", 2 * GiB},
      {"1KiB", KiB},
      {"3MiB", 3 * MiB},
      {"1.5G", 3 * GiB / 2},
      {"0.5KiB", 512},
      {"1.5K", 1536},
      {"0G", 0},
      {"0.0T", 0},
      {"0.0000001K", 1},
      {"0.0000000000000001M", 1},
      {"0.9999999999999999999999K", 1023},
      {"40%", 4000},
      {"100%", WHOLE},
      {"100.000%", WHOLE},
      {"0%", 0},
      {"33%", 3300},
      {"12.5%", 1250},
      {"0.25%", 25},
      {"0.0001%", 1},
      {"0.0000000000000001%", 1},
      {"99.99999999999999999999%", WHOLE - 1},
      {"0.12345678901234567890%", 12},
  };
  for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
    size_t bytes = 77;
    clpt_ok_quietly(clp_bytes_parse(sizes[i].text, WHOLE, &bytes));
    ck_assert_msg(bytes == sizes[i].bytes, "%s gave %zu", sizes[i].text, bytes);
  }
}
END_TEST

START_TEST(percentages_are_rounded_down)
{
  const struct {
    const char *text;
    size_t whole, bytes;
  } parts[] = {
      {"50%", SIZE_MAX, SIZE_MAX / 2},
      {"100%", SIZE_MAX, SIZE_MAX},
      {"99.99999999999999999999999%", SIZE_MAX, SIZE_MAX - 1},
      {"20%", SIZE_MAX, SIZE_MAX / 5},
      {"25%", SIZE_MAX - 1, SIZE_MAX / 4},
      {"0.0000000000000001%", 16, 1},
      {"50%", 1, 1},
      {"33.4%", 3, 1},
      {"29%", 100, 29},
  };
  for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
    size_t bytes = 77;
    clpt_ok_quietly(clp_bytes_parse(parts[i].text, parts[i].whole, &bytes));
    ck_assert_msg(bytes == parts[i].bytes, "%s of %zu gave %zu", parts[i].text, parts[i].whole,
                  bytes);
  }
}
END_TEST

START_TEST(the_largest_size_is_read_and_one_more_is_too_large)
{
  size_t bytes = 77;
  char text[64];

  snprintf(text, sizeof(text), "%zu", SIZE_MAX);
  clpt_ok(clp_bytes_parse(text, 0, &bytes));
  ck_assert_uint_eq(bytes, SIZE_MAX);
  snprintf(text, sizeof(text), "%zuK", SIZE_MAX >> 10);
  clpt_ok(clp_bytes_parse(text, 0, &bytes));
  ck_assert_uint_eq(bytes, SIZE_MAX - 1023);
  snprintf(text, sizeof(text), "%zuK", (SIZE_MAX >> 10) + 1);
  clpt_fails(CLP_INVALID_ARGUMENT, clp_bytes_parse(text, 0, &bytes));
  clpt_message_has(text);
  clpt_fails(CLP_INVALID_ARGUMENT, clp_bytes_parse("18446744073709551616", 0, &bytes));
  clpt_fails(CLP_INVALID_ARGUMENT, clp_bytes_parse("16777216TiB", 0, &bytes));
  clpt_fails(CLP_INVALID_ARGUMENT, clp_bytes_parse("99999999999999999999999999", 0, &bytes));
  ck_assert_uint_eq(bytes, SIZE_MAX - 1023);
}
END_TEST

START_TEST(other_texts_are_refused_and_shown)
{
  static const char *const texts[] = {
      "",
      "abc",
      "-1",
      "+5",
      " 5",
      "5 ",
      "5 M",
      "1e3",
      "0x10",
      "G",
      "%",
      ".5G",
      "12X",
      "1GB",
      "1Gi",
      "1GiBs",
      "1iB",
      "1KK",
      "1k",
      "1.5.G",
      "0.5",
      "1.5",
      "0.0",
      "1.",
      "5.K",
      "5.%",
      "1,5G",
      "101%",
      "40%%",
      "4M0",
      "40%M",
      "nan",
      "inf%",
      "1e1%",
      "1\n",
      "100.1%",
      "99999999999999999999%",
      "1%i",
      "5Ki",
  };
  for (size_t whole = 0; whole <= WHOLE; whole += WHOLE)
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
      size_t bytes = 77;
      clpt_fails(CLP_INVALID_ARGUMENT, clp_bytes_parse(texts[i], whole, &bytes));
      clpt_message_has(texts[i]);
      ck_assert_uint_eq(bytes, 77);
    }
}
END_TEST

CLPT_SUITE("bytes")
{
  TCase *tests = clpt_case(suite, "parse");
  tcase_add_test(tests, sizes_are_read);
  tcase_add_test(tests, percentages_are_rounded_down);
  tcase_add_test(tests, the_largest_size_is_read_and_one_more_is_too_large);
  tcase_add_test(tests, other_texts_are_refused_and_shown);
}
