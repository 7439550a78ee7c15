/* SPDX-License-Identifier: MIT */
/* What every Check program of clpool shares: running its suite, and assertions on a clp_status. */
#ifndef CLPT_SUITE_H
#define CLPT_SUITE_H

#include <check.h>
#include <clpool/status.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/** Check notes each assertion that holds in a file, which takes longer than most tests. */
#define _mark_point(file, line) ((void)0)

/** Adds an empty test case to `suite`, with a time limit that only a hang can exceed. */
TCase *clpt_case(Suite *suite, const char *name);

/** Runs the suite, prints Check's totals and frees it. Returns what main() shall return. */
int clpt_run(Suite *suite);

/** The same for tests that need a process each, also where CK_FORK says no: under valgrind, a
 * process for each test makes nearly all of the time. */
int clpt_run_apart(Suite *suite);

/** main(), which gives a suite to the block that follows and then to `run`, one of the above. */
#define CLPT_MAIN(name, run)                                                                       \
  static void clpt_fill_suite(Suite *suite);                                                       \
  int main(void)                                                                                   \
  {                                                                                                \
    Suite *clpt_suite_ = suite_create(name);                                                       \
    clpt_fill_suite(clpt_suite_);                                                                  \
    return run(clpt_suite_);                                                                       \
  }                                                                                                \
  static void clpt_fill_suite(Suite *suite)

/** A further suite of the program, whose main() is in another file: CK_RUN_SUITE=name runs it
 * alone. */
#define CLPT_SUITE(name)                                                                           \
  static void clpt_fill_suite(Suite *suite);                                                       \
  __attribute__((constructor)) static void clpt_add_suite_here(void)                               \
  {                                                                                                \
    clpt_add_suite(name, clpt_fill_suite);                                                         \
  }                                                                                                \
  static void clpt_fill_suite(Suite *suite)
void clpt_add_suite(const char *name, void (*fill)(Suite *suite));

/** Ends the child of a fork as _exit does, but for the counters of a build with --enable-coverage.
 */
_Noreturn void clpt_leave(int status);

/** Whether valgrind runs this, which takes what a process left on purpose for a leak. */
bool clpt_is_on_valgrind(void);

/** How many of `wanted` iterations a test shall do here: fewer under sanitizers and valgrind. */
unsigned clpt_iterations(unsigned wanted);

/** The call succeeds; else its status and message are shown. */
#define clpt_ok(call)                                                                              \
  do {                                                                                             \
    clp_status clpt_got_ = (call);                                                                 \
    ck_assert_msg(clpt_got_ == CLP_SUCCESS, "%s gave %s: %s", #call, clp_status_name(clpt_got_),   \
                  clp_last_error()->message);                                                      \
  } while (0)

/** The call succeeds and leaves the thread's last error as it was. */
#define clpt_ok_quietly(call)                                                                      \
  do {                                                                                             \
    (void)clp_set_last_error(CLP_BUSY, 5, "from before");                                          \
    clpt_ok(call);                                                                                 \
    ck_assert_msg(clp_last_error()->status == CLP_BUSY && clp_last_error()->native_code == 5,      \
                  "%s succeeded and said: %s", #call, clp_last_error()->message);                  \
    ck_assert_str_eq(clp_last_error()->message, "from before");                                    \
  } while (0)

/** The call fails with the status `expected`, and the thread's last error says the same, with a
 * message. */
#define clpt_fails(expected, call)                                                                 \
  do {                                                                                             \
    clp_status clpt_got_;                                                                          \
    (void)clp_set_last_error(CLP_SUCCESS, 0, "");                                                  \
    clpt_got_ = (call);                                                                            \
    ck_assert_msg(clpt_got_ == (expected), "%s gave %s, not %s: %s", #call,                        \
                  clp_status_name(clpt_got_), clp_status_name(expected),                           \
                  clp_last_error()->message);                                                      \
    ck_assert_msg(clp_last_error()->status == (expected), "%s set the last error %s", #call,       \
                  clp_status_name(clp_last_error()->status));                                      \
    ck_assert_str_ne(clp_last_error()->message, "");                                               \
  } while (0)

/** The thread's last message contains `part`. */
#define clpt_message_has(part)                                                                     \
  ck_assert_msg(strstr(clp_last_error()->message, (part)) != NULL, "\"%s\" lacks \"%s\"",          \
                clp_last_error()->message, (part))

#endif
