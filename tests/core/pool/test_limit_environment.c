/* SPDX-License-Identifier: MIT */
/* CLPOOL_MEMORY_LIMIT: what it takes, what it refuses, and when it is read. Each test's process is
 * a fork, so what it sets is gone with it; without forks, the fixture takes it away. */
#include "support/pools.h"
#include "support/suite.h"

#include <locale.h>
#include <stdint.h>

#define VARIABLE "CLPOOL_MEMORY_LIMIT"

static const size_t KiB = 1024, MiB = (size_t)1 << 20, GiB = (size_t)1 << 30;

static void unset_limit(void)
{
  unsetenv(VARIABLE);
}

START_TEST(the_environment_sets_the_limit_of_a_new_pool)
{
  const struct {
    const char *text;
    size_t limit;
  } limits[] = {
      {"1073741824", GiB},
      {"512M", 512 * MiB},
      {"2G", 2 * GiB},
      {"1K", KiB},
      {"3T", 3 * KiB * GiB},
      {"0", 0},
      {"0G", 0},
      {"1", 1},
      {"007", 7},
      {"18446744073709551615", SIZE_MAX},
      {"16777215T", (size_t)16777215 << 40},
      {"1.5G", 3 * GiB / 2},
      {"1GiB", GiB},
      {"40%", 4000},
      {"100%", 10000},
      {"0%", 0},
      {"1%", 100},
      {"33%", 3300},
      {"12.5%", 1250},
      {"0.25%", 25},
      {"0.0000000000000001M", 1},
  };
  clpt_rig rig;

  setenv(VARIABLE, limits[_i].text, 1);
  clpt_rig_start_on(&rig, 10000);
  ck_assert_uint_eq(clp_pool_get_limit(rig.pool), limits[_i].limit);
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(what_cannot_be_read_is_an_error_that_names_the_variable_and_its_text)
{
  static const char *const texts[] = {
      "abc",       "-1",
      "-5%",       "+5",
      " 5",        "5 ",
      "5 M",       ".5G",
      "1e3",       "0x10",
      "G",         "%",
      "12X",       "1GB",
      "1Gi",       "1KK",
      "101%",      "200%",
      "40%%",      "40%M",
      "4M0",       "5,000",
      "nan%",      "inf%",
      "nan",       "18446744073709551616",
      "16777216T", "99999999999999999999999999",
      "1\n",       "1e1%",
      "0x10%",     "0.5",
      "1.",        "5.%",
  };
  clpt_device device;
  clp_pool *pool = (clp_pool *)&device;

  clpt_device_init(&device);
  device.ops.device_bytes = 10000;
  clp_allocator *allocator = clpt_device_allocator(&device);
  setenv(VARIABLE, texts[_i], 1);
  clpt_fails(CLP_INVALID_ARGUMENT, clp_pool_create(allocator, NULL, &pool));
  ck_assert_ptr_null(pool);
  clpt_message_has(VARIABLE);
  clpt_message_has(texts[_i]);
  clpt_message_has("(50%)");
  unsetenv(VARIABLE);
  clp_pool_release(clpt_pool(allocator)); /* only that stood in the way */
  clp_allocator_release(allocator);
  clpt_device_assert_ended(&device);
}
END_TEST

START_TEST(a_limit_in_per_cent_of_unknown_memory_is_not_supported_and_says_why)
{
  clpt_device device;
  clp_pool *pool = (clp_pool *)&device;

  clpt_device_init(&device);
  clp_allocator *allocator = clpt_device_allocator(&device);
  setenv(VARIABLE, "40%", 1);
  clpt_fails(CLP_NOT_SUPPORTED, clp_pool_create(allocator, NULL, &pool));
  ck_assert_ptr_null(pool);
  clpt_message_has(VARIABLE);
  clpt_message_has("test-device");
  clp_allocator_release(allocator);
}
END_TEST

/* Where one of these is there, and has a comma. */
START_TEST(a_programs_locale_does_not_change_how_numbers_are_written)
{
  static const char *const locales[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "pl_PL.UTF-8", "ru_RU.UTF-8"};
  clpt_rig rig;

  for (size_t i = 0; i < sizeof(locales) / sizeof(locales[0]); i++)
    if (setlocale(LC_NUMERIC, locales[i]) != NULL)
      break;
  setenv(VARIABLE, "12.5%", 1);
  clpt_rig_start_on(&rig, 10000);
  (void)setlocale(LC_NUMERIC, "C");
  ck_assert_uint_eq(clp_pool_get_limit(rig.pool), 1250);
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(the_environment_binds_and_can_be_overruled)
{
  clpt_rig rig;
  clp_buffer *buffer = NULL;

  setenv(VARIABLE, "1K", 1);
  clpt_rig_start(&rig);
  setenv(VARIABLE, "2K", 1); /* it is read when a pool is made */
  clpt_fails(CLP_LIMIT_EXCEEDED, clp_pool_allocate(rig.pool, 1025, &buffer));
  clpt_hold(rig.pool, 1000, 1);
  clpt_ok(clp_pool_set_limit(rig.pool, 0));
  clpt_hold(rig.pool, 5000, 1);
  clpt_rig_end(&rig);
}
END_TEST

CLPT_MAIN("limit environment", clpt_run)
{
  TCase *tests = clpt_case(suite, "environment");

  tcase_add_checked_fixture(tests, unset_limit, unset_limit);
  tcase_add_loop_test(tests, the_environment_sets_the_limit_of_a_new_pool, 0,
                      SIZE_MAX > UINT32_MAX ? 21 : 2);
  tcase_add_loop_test(tests, what_cannot_be_read_is_an_error_that_names_the_variable_and_its_text,
                      0, 34);
  tcase_add_test(tests, a_limit_in_per_cent_of_unknown_memory_is_not_supported_and_says_why);
  tcase_add_test(tests, a_programs_locale_does_not_change_how_numbers_are_written);
  tcase_add_test(tests, the_environment_binds_and_can_be_overruled);
}
