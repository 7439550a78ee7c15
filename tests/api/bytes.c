/* SPDX-License-Identifier: MIT */
/* clpool/bytes.h: which sizes are read, and how others are refused. */
#include "support/suite.h"

#include <clpool/bytes.h>
#include <stdint.h>

static const struct {
  const char *text;
  size_t whole, bytes;
} sizes[] = {
    {"0", 0, 0},
    {"007", 0, 7},
    {"512M", 0, (size_t)512 << 20},
    {"1KiB", 0, 1024},
    {"1.5K", 0, 1536},
    {"0.5KiB", 0, 512},
    {"0.0T", 0, 0},
    {"0.0000000000000001M", 0, 1},
    {"0.9999999999999999999999K", 0, 1023},
    {"40%", 10000, 4000},
    {"0.12345678901234567890%", 10000, 12},
    {"0.0000000000000001%", 10000, 1},
    {"99.99999999999999999999%", 10000, 9999},
    {"29%", 100, 29},
    {"50%", 1, 1},
    {"0.0000000000000001%", 16, 1},
    {"50%", SIZE_MAX, SIZE_MAX / 2},
    {"20%", SIZE_MAX, SIZE_MAX / 5},
    {"25%", SIZE_MAX - 1, SIZE_MAX / 4},
    {"99.99999999999999999999999%", SIZE_MAX, SIZE_MAX - 1},
    {"100%", SIZE_MAX, SIZE_MAX},
#if SIZE_MAX > UINT32_MAX
    {"18446744073709551615", 0, SIZE_MAX},
#endif
};

/* Between the bars. */
static const char refused[] =
    "||abc|-1|+5| 5|5 |5 M|1e3|0x10|G|%|.5G|12X|1GB|1Gi|1GiBs|1iB|1KK|1k|1.5.G|0.5|1.5|0.0|1.|5.K|"
    "5.%|1,5G|101%|40%%|4M0|40%M|nan|inf%|1e1%|1\n|1%i|100.1%|5Ki|99999999999999999999%|"
    "18446744073709551616|16777216TiB|18014398509481984K|99999999999999999999999999|";

START_TEST(sizes_are_read)
{
  size_t bytes = 77;
  for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
    clpt_ok_quietly(clp_bytes_parse(sizes[i].text, sizes[i].whole, &bytes));
    ck_assert_msg(bytes == sizes[i].bytes, "%s of %zu gave %zu", sizes[i].text, sizes[i].whole,
                  bytes);
  }
}
END_TEST

START_TEST(other_texts_are_refused_and_shown)
{
  for (const char *from = refused + 1, *to; (to = strchr(from, '|')); from = to + 1) {
    char *text = strndup(from, (size_t)(to - from));
    for (size_t whole = 0; whole <= 10000; whole += 10000) {
      size_t bytes = 77;
      clpt_fails(CLP_INVALID_ARGUMENT, clp_bytes_parse(text, whole, &bytes));
      clpt_message_has(text);
      ck_assert_uint_eq(bytes, 77);
    }
    free(text);
  }
}
END_TEST

CLPT_SUITE("bytes")
{
  TCase *tests = clpt_case(suite, "parse");
  tcase_add_test(tests, sizes_are_read);
  tcase_add_test(tests, other_texts_are_refused_and_shown);
}
