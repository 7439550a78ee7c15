/* SPDX-License-Identifier: MIT */
/* Statuses, and the calling thread's last failure. */
#include "support/failmalloc.h"
#include "support/suite.h"
#include "support/workers.h"

#include <clpool/clpool.h>
#include <pthread.h>
#include <stdio.h>

static const struct {
  clp_status status;
  int value;
  const char *name, *message;
} statuses[] = {
    {CLP_SUCCESS, 0, "CLP_SUCCESS", "success"},
    {CLP_INVALID_ARGUMENT, 1, "CLP_INVALID_ARGUMENT", "invalid argument"},
    {CLP_OUT_OF_DEVICE_MEMORY, 2, "CLP_OUT_OF_DEVICE_MEMORY", "out of device memory"},
    {CLP_OUT_OF_HOST_MEMORY, 3, "CLP_OUT_OF_HOST_MEMORY", "out of host memory"},
    {CLP_LIMIT_EXCEEDED, 4, "CLP_LIMIT_EXCEEDED", "the pool's memory limit is exceeded"},
    {CLP_NOT_SUPPORTED, 5, "CLP_NOT_SUPPORTED", "not supported here"},
    {CLP_ALREADY_RELEASED, 6, "CLP_ALREADY_RELEASED", "already released"},
    {CLP_BUSY, 7, "CLP_BUSY", "busy"},
    {CLP_NOT_FOUND, 8, "CLP_NOT_FOUND", "not found"},
    {CLP_IO_ERROR, 9, "CLP_IO_ERROR", "input or output failed"},
    {CLP_BACKEND_ERROR, 10, "CLP_BACKEND_ERROR", "the backend reported an error"},
};
enum { STATUSES = sizeof(statuses) / sizeof(statuses[0]), LONGEST_MESSAGE = 511 };

START_TEST(each_status_keeps_its_value_name_and_message)
{
  ck_assert_int_eq((int)statuses[_i].status, statuses[_i].value);
  ck_assert_str_eq(clp_status_name(statuses[_i].status), statuses[_i].name);
  ck_assert_str_eq(clp_status_message(statuses[_i].status), statuses[_i].message);
}
END_TEST

START_TEST(a_number_that_is_no_status_has_the_name_for_that)
{
  static const int numbers[] = {-1, STATUSES, 1000, -2147483647};
  clp_status status;

  memcpy(&status, &numbers[_i], sizeof(status));
  ck_assert_str_eq(clp_status_name(status), "CLP_UNKNOWN_STATUS");
  ck_assert_ptr_nonnull(clp_status_message(status));
}
END_TEST

START_TEST(before_any_failure_the_last_error_is_success)
{
  ck_assert_ptr_nonnull(clp_last_error());
  ck_assert_int_eq(clp_last_error()->status, CLP_SUCCESS);
  ck_assert_int_eq(clp_last_error()->native_code, 0);
  ck_assert_ptr_nonnull(clp_last_error()->message);
}
END_TEST

START_TEST(a_set_error_is_returned_and_told)
{
  ck_assert_int_eq(clp_set_last_error(CLP_BUSY, -61, "the line is taken"), CLP_BUSY);
  ck_assert_int_eq(clp_last_error()->status, CLP_BUSY);
  ck_assert_int_eq(clp_last_error()->native_code, -61);
  ck_assert_str_eq(clp_last_error()->message, "the line is taken");
}
END_TEST

START_TEST(without_a_message_the_error_says_what_its_status_means)
{
  (void)clp_set_last_error(statuses[_i].status, 7, NULL);
  ck_assert_str_eq(clp_last_error()->message, statuses[_i].message);
  ck_assert_int_eq(clp_last_error()->native_code, 7);
}
END_TEST

START_TEST(a_message_is_copied)
{
  char message[] = "first";

  (void)clp_set_last_error(CLP_BUSY, 0, message);
  message[0] = 'F';
  ck_assert_str_eq(clp_last_error()->message, "first");
}
END_TEST

START_TEST(a_message_of_any_length_is_cut_after_511_bytes)
{
  char message[2 * LONGEST_MESSAGE];
  size_t length = (size_t)_i;

  memset(message, 'm', length);
  message[length] = '\0';
  (void)clp_set_last_error(CLP_BUSY, 0, message);
  if (length > LONGEST_MESSAGE)
    message[LONGEST_MESSAGE] = '\0';
  ck_assert_str_eq(clp_last_error()->message, message);
}
END_TEST

START_TEST(a_message_is_not_taken_for_a_format)
{
  (void)clp_set_last_error(CLP_BUSY, 0, "100 %s of %n");
  ck_assert_str_eq(clp_last_error()->message, "100 %s of %n");
}
END_TEST

/* An allocator over another one passes on what it finds, under a status of its own. */
START_TEST(the_last_message_can_be_set_again)
{
  (void)clp_set_last_error(CLP_BUSY, 1, "still the same words");
  (void)clp_set_last_error(CLP_IO_ERROR, 2, clp_last_error()->message);
  ck_assert_int_eq(clp_last_error()->status, CLP_IO_ERROR);
  ck_assert_str_eq(clp_last_error()->message, "still the same words");
}
END_TEST

START_TEST(success_leaves_the_last_error_as_it_was)
{
  clp_allocator *allocator = NULL;
  clp_pool *pool = NULL;
  clp_buffer *buffer = NULL;

  (void)clp_set_last_error(CLP_BUSY, 5, "from before");
  ck_assert_int_eq(clp_simulated_allocator_create(0, &allocator), CLP_SUCCESS);
  ck_assert_int_eq(clp_pool_create(allocator, NULL, &pool), CLP_SUCCESS);
  ck_assert_int_eq(clp_pool_allocate(pool, 100, &buffer), CLP_SUCCESS);
  ck_assert_int_eq(clp_buffer_release(buffer), CLP_SUCCESS);
  ck_assert_int_eq(clp_pool_free_held(pool), CLP_SUCCESS);
  clp_pool_release(pool);
  clp_allocator_release(allocator);

  ck_assert_int_eq(clp_last_error()->status, CLP_BUSY);
  ck_assert_int_eq(clp_last_error()->native_code, 5);
  ck_assert_str_eq(clp_last_error()->message, "from before");
}
END_TEST

START_TEST(a_failure_without_native_code_clears_that_of_the_one_before)
{
  (void)clp_set_last_error(CLP_BUSY, 5, "from before");
  ck_assert_int_eq(clp_pool_create(NULL, NULL, NULL), CLP_INVALID_ARGUMENT);
  ck_assert_int_eq(clp_last_error()->status, CLP_INVALID_ARGUMENT);
  ck_assert_int_eq(clp_last_error()->native_code, 0);
}
END_TEST

/* In a thread of its own, which has not failed before. */
static void *fail_without_host_memory(void *told)
{
  clp_error *error = told;

  clpt_host_start(CLPT_HOST_STAYS_OUT, 0);
  (void)clp_set_last_error(CLP_BUSY, 3, "the line is taken");
  *error = *clp_last_error();
  clpt_host_stop();
  (void)clp_set_last_error(CLP_BUSY, 3, "the line is taken");
  return (void *)(intptr_t)strcmp(clp_last_error()->message, "the line is taken");
}

START_TEST(without_host_memory_the_message_is_that_of_the_status)
{
  clp_error told;

  ck_assert_ptr_null(clpt_aside(fail_without_host_memory, &told));
  ck_assert_int_eq(told.status, CLP_BUSY);
  ck_assert_int_eq(told.native_code, 3);
  ck_assert_str_eq(told.message, "busy");
}
END_TEST

/* A destructor of thread-specific data that fails, perhaps after the library's own ran. */
static pthread_key_t late_key;
static clp_error told_late[2]; /* when it comes, and when it has failed */

static void fail_late(void *message)
{
  told_late[0] = *clp_last_error();
  ck_assert_ptr_nonnull(told_late[0].message);
  (void)clp_set_last_error(CLP_BUSY, 2, message);
  told_late[1] = *clp_last_error();
  told_late[1].message = strcmp(told_late[1].message, message) == 0 ? message : NULL;
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
  ck_assert_int_eq(told_late[0].status, CLP_IO_ERROR);
  ck_assert_int_eq(told_late[1].status, CLP_BUSY);
  ck_assert_ptr_eq(told_late[1].message, message);
}
END_TEST

enum { THREADS = 8, ROUNDS = 2000 };

typedef struct teller {
  pthread_t thread;
  int number;
  int fresh_status; /* of clp_last_error at the thread's start */
  int wrong;
} teller;

static void *tell_own_errors(void *argument)
{
  teller *self = argument;
  char message[64];

  self->fresh_status = (int)clp_last_error()->status;
  for (int round = 0; round < ROUNDS; round++) {
    (void)snprintf(message, sizeof(message), "thread %d, round %d", self->number, round);
    (void)clp_set_last_error(CLP_BACKEND_ERROR, self->number, message);
    if (clp_last_error()->native_code != self->number ||
        strcmp(clp_last_error()->message, message) != 0)
      self->wrong++;
  }
  return NULL;
}

START_TEST(each_thread_has_a_last_error_of_its_own)
{
  teller tellers[THREADS];

  (void)clp_set_last_error(CLP_BUSY, 77, "of the main thread");
  for (int i = 0; i < THREADS; i++) {
    tellers[i] = (teller){.number = i};
    ck_assert_int_eq(pthread_create(&tellers[i].thread, NULL, tell_own_errors, &tellers[i]), 0);
  }
  for (int i = 0; i < THREADS; i++) {
    pthread_join(tellers[i].thread, NULL);
    ck_assert_int_eq(tellers[i].fresh_status, CLP_SUCCESS);
    ck_assert_int_eq(tellers[i].wrong, 0);
  }
  ck_assert_int_eq(clp_last_error()->status, CLP_BUSY);
  ck_assert_str_eq(clp_last_error()->message, "of the main thread");
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
  TCase *tests = clpt_case(suite, "names");
  tcase_add_loop_test(tests, each_status_keeps_its_value_name_and_message, 0, STATUSES);
  tcase_add_loop_test(tests, a_number_that_is_no_status_has_the_name_for_that, 0, 4);
  tcase_add_test(tests, the_library_has_the_version_of_its_headers);

  tests = clpt_case(suite, "last error");
  tcase_add_test(tests, before_any_failure_the_last_error_is_success);
  tcase_add_test(tests, a_set_error_is_returned_and_told);
  tcase_add_loop_test(tests, without_a_message_the_error_says_what_its_status_means, 0, STATUSES);
  tcase_add_test(tests, a_message_is_copied);
  tcase_add_loop_test(tests, a_message_of_any_length_is_cut_after_511_bytes, 509, 514);
  tcase_add_test(tests, a_message_is_not_taken_for_a_format);
  tcase_add_test(tests, the_last_message_can_be_set_again);
  tcase_add_test(tests, success_leaves_the_last_error_as_it_was);
  tcase_add_test(tests, a_failure_without_native_code_clears_that_of_the_one_before);
  tcase_add_test(tests, each_thread_has_a_last_error_of_its_own);
  tcase_add_test(tests, without_host_memory_the_message_is_that_of_the_status);
  tcase_add_test(tests, a_thread_may_fail_until_its_very_end);
}
