/* SPDX-License-Identifier: MIT */
/* clpool/status.h and clpool/version.h: statuses, and the calling thread's last failure. */
#include "support/failmalloc.h"
#include "support/suite.h"
#include "support/workers.h"

#include <clpool/clpool.h>
#include <stdio.h>

static void check_last(clp_status status, int native_code, const char *message)
{
  ck_assert_int_eq(clp_last_error()->status, status);
  ck_assert_int_eq(clp_last_error()->native_code, native_code);
  ck_assert_str_eq(clp_last_error()->message, message);
}

START_TEST(each_status_has_its_name_and_message)
{
  const int numbers[] = {-1, 11, 1000, -2147483647};
  clp_status status;
#define CHECK(name, value, message)                                                                \
  ck_assert_int_eq(name, value);                                                                   \
  ck_assert_str_eq(clp_status_name(name), #name);                                                  \
  ck_assert_str_eq(clp_status_message(name), message);                                             \
  (void)clp_set_last_error(name, 7, NULL);                                                         \
  check_last(name, 7, message);
  CLP_STATUS_MAP(CHECK)
  for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
    memcpy(&status, &numbers[i], sizeof(status));
    ck_assert_str_eq(clp_status_name(status), "CLP_UNKNOWN_STATUS");
    ck_assert_ptr_nonnull(clp_status_message(status));
  }
}
END_TEST

START_TEST(a_message_is_copied_and_cut_after_511_bytes)
{
  enum { LONGEST = 511 };
  char message[2 * LONGEST];
  ck_assert_int_eq(clp_set_last_error(CLP_BUSY, -61, "100 %s of %n"), CLP_BUSY);
  check_last(CLP_BUSY, -61, "100 %s of %n");
  (void)clp_set_last_error(CLP_IO_ERROR, 2, clp_last_error()->message);
  check_last(CLP_IO_ERROR, 2, "100 %s of %n");
  for (size_t length = LONGEST - 2; length < LONGEST + 3; length++) {
    memset(message, 'm', sizeof(message));
    message[length] = '\0';
    (void)clp_set_last_error(CLP_BUSY, 0, message);
    message[length < LONGEST ? length : LONGEST] = '\0';
    check_last(CLP_BUSY, 0, message);
    message[0] = '?';
    ck_assert_str_ne(clp_last_error()->message, message);
  }
}
END_TEST

/* In a thread of its own, which has not failed before. */
static void *fail_without_host_memory(void *found)
{
  clp_error *error = found;
  clpt_host_start(CLPT_HOST_STAYS_OUT, 0);
  (void)clp_set_last_error(CLP_BUSY, 3, "the line is taken");
  *error = *clp_last_error();
  clpt_host_stop();
  (void)clp_set_last_error(CLP_BUSY, 3, "the line is taken");
  return (void *)(intptr_t)strcmp(clp_last_error()->message, "the line is taken");
}

START_TEST(without_host_memory_the_message_is_that_of_the_status)
{
  clp_error found;
  ck_assert_ptr_null(clpt_aside(fail_without_host_memory, &found));
  ck_assert_int_eq(found.native_code, 3);
  ck_assert_str_eq(found.message, "busy");
}
END_TEST

/* A destructor of thread-specific data that fails, perhaps after the library's own ran. */
static pthread_key_t late_key;
static clp_status first_status;
static bool is_second_message;

static void fail_late(void *message)
{
  first_status = clp_last_error()->status;
  (void)clp_set_last_error(CLP_BUSY, 2, message);
  is_second_message = strcmp(clp_last_error()->message, message) == 0;
}

static void *fail_early_and_late(void *message)
{
  (void)clp_set_last_error(CLP_IO_ERROR, 1, message);
  pthread_setspecific(late_key, message);
  return NULL;
}

/* Memory checkers see whether each text goes with its thread. */
START_TEST(a_thread_may_fail_until_its_very_end)
{
  static char message[] = "a message";
  (void)clp_set_last_error(CLP_BUSY, 0, "so that the library's key is there before ours");
  ck_assert_int_eq(pthread_key_create(&late_key, fail_late), 0);
  (void)clpt_aside(fail_early_and_late, message);
  pthread_key_delete(late_key);
  ck_assert(first_status == CLP_IO_ERROR && is_second_message);
}
END_TEST

static void *set_own_error(void *unused)
{
  bool is_new = clp_last_error()->status == CLP_SUCCESS;
  (void)clp_set_last_error(CLP_BACKEND_ERROR, 1, "of the other thread");
  return is_new && clp_last_error()->native_code == 1 ? NULL : &late_key;
}

START_TEST(each_thread_has_a_last_error_of_its_own)
{
  (void)clp_set_last_error(CLP_BUSY, 77, "of the main thread");
  ck_assert(clpt_aside(set_own_error, NULL) == NULL);
  check_last(CLP_BUSY, 77, "of the main thread");
}
END_TEST

START_TEST(the_library_has_the_version_of_its_headers)
{
  char version[64];
  (void)snprintf(version, sizeof(version), "%d.%d.%d", CLP_VERSION_MAJOR, CLP_VERSION_MINOR,
                 CLP_VERSION_PATCH);
  ck_assert_str_eq(clp_version(), CLP_VERSION_STRING);
  ck_assert_str_eq(clp_version(), version);
}
END_TEST

CLPT_MAIN("status", clpt_run)
{
  TCase *tests = clpt_case(suite, "status");
  tcase_add_test(tests, each_status_has_its_name_and_message);
  tcase_add_test(tests, a_message_is_copied_and_cut_after_511_bytes);
  tcase_add_test(tests, each_thread_has_a_last_error_of_its_own);
  tcase_add_test(tests, without_host_memory_the_message_is_that_of_the_status);
  tcase_add_test(tests, a_thread_may_fail_until_its_very_end);
  tcase_add_test(tests, the_library_has_the_version_of_its_headers);
}
