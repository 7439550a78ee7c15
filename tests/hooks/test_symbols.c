/* SPDX-License-Identifier: MIT */
/* Names of this process, which is compiled with debug information (tests.mk). */
#include "hooks/symbols.h"
#include "support/failmalloc.h"
#include "support/suite.h"

#include <stdio.h>

enum { MOST_FRAMES = 8 };

typedef struct shown {
  size_t count;
  clp_status status; /* for the visitor to return */
  struct {
    bool has_file, has_function;
    char file[256], function[64], object[64];
    int line;
    uintptr_t offset;
  } frames[MOST_FRAMES];
} shown;

static clp_status keep(const clpi_symbol *symbol, void *argument)
{
  shown *all = argument;
  size_t i = all->count++;
  ck_assert_uint_lt(i, MOST_FRAMES);
  all->frames[i].has_file = symbol->file;
  all->frames[i].has_function = symbol->function;
  (void)snprintf(all->frames[i].file, 256, "%s", symbol->file ? symbol->file : "");
  (void)snprintf(all->frames[i].function, 64, "%s", symbol->function ? symbol->function : "");
  (void)snprintf(all->frames[i].object, 64, "%s", symbol->object);
  all->frames[i].line = symbol->line;
  all->frames[i].offset = symbol->offset;
  return all->status;
}

static shown names_of(uintptr_t address)
{
  shown all = {0};
  void *session;
  clpt_ok(clpi_process_symbols.open(&session));
  clpt_ok(clpi_process_symbols.show(session, address, keep, &all));
  clpi_process_symbols.close(session);
  return all;
}

/* Where this returns to, and the lines around. */
static uintptr_t returns_to;
static int line_before;

__attribute__((noinline)) static void here(void)
{
  returns_to = (uintptr_t)__builtin_extract_return_addr(__builtin_return_address(0));
}

__attribute__((noinline)) static void plain(void)
{
  line_before = __LINE__;
  here();
  __asm__ volatile("" ::: "memory");
}

__attribute__((always_inline)) static inline void innermost(void)
{
  line_before = __LINE__;
  here();
}

__attribute__((always_inline)) static inline void inlined(void)
{
  innermost();
}
enum { CALL_OF_INNERMOST = __LINE__ - 2 };

__attribute__((noinline)) static void around(void)
{
  inlined();
  __asm__ volatile("" ::: "memory");
}
enum { CALL_OF_INLINED = __LINE__ - 3 };

#ifdef HAVE_LIBDW
static void is_at(const shown *all, size_t frame, const char *function, int line)
{
  ck_assert(all->frames[frame].has_file);
  ck_assert_str_eq(all->frames[frame].file, __FILE__); /* as it was given to the compiler */
  ck_assert_str_eq(all->frames[frame].function, function);
  ck_assert_int_eq(all->frames[frame].line, line);
}

START_TEST(a_call_is_its_function_and_its_line)
{
  plain();
  shown all = names_of(returns_to - 1);
  ck_assert_uint_eq(all.count, 1);
  is_at(&all, 0, "plain", line_before + 1);
}
END_TEST

START_TEST(inlined_calls_are_frames_outermost_first)
{
  around();
  shown all = names_of(returns_to - 1);
  ck_assert_uint_eq(all.count, 3);
  is_at(&all, 0, "around", CALL_OF_INLINED);
  is_at(&all, 1, "inlined", CALL_OF_INNERMOST);
  is_at(&all, 2, "innermost", line_before + 1);
}
END_TEST

#ifndef __clang__ /* which has no nested functions in C */
static int line_inside;

__attribute__((noinline)) static void outside(void)
{
  __attribute__((noinline)) void inside(void)
  {
    line_inside = __LINE__;
    here();
    __asm__ volatile("" ::: "memory");
  }
  inside();
  __asm__ volatile("" ::: "memory");
}

START_TEST(a_function_may_be_inside_of_another)
{
  outside();
  shown all = names_of(returns_to - 1);
  ck_assert_uint_eq(all.count, 1);
  is_at(&all, 0, "inside", line_inside + 1);
}
END_TEST
#endif

START_TEST(a_session_without_host_memory_is_not_opened)
{
  void *session;
  clpt_host_start(CLPT_HOST_FAILS_ONCE, 0);
  clp_status status = clpi_process_symbols.open(&session);
  clpt_host_stop();
  ck_assert_int_eq(status, CLP_OUT_OF_HOST_MEMORY);
  ck_assert_ptr_null(session);
}
END_TEST

START_TEST(a_visitor_that_fails_ends_the_search)
{
  shown all = {.status = CLP_OUT_OF_HOST_MEMORY};
  void *session;
  around();
  clpt_ok(clpi_process_symbols.open(&session));
  ck_assert_int_eq(clpi_process_symbols.show(session, returns_to - 1, keep, &all),
                   CLP_OUT_OF_HOST_MEMORY);
  ck_assert_uint_eq(all.count, 1);
  clpi_process_symbols.close(session);
}
END_TEST
#else
START_TEST(without_libdw_a_call_is_an_offset)
{
  plain();
  around();
  shown all = names_of(returns_to - 1);
  ck_assert_uint_eq(all.count, 1);
  ck_assert(!all.frames[0].has_file);
  ck_assert(!all.frames[0].has_function);
  ck_assert_str_eq(all.frames[0].object, "test_symbols");
}
END_TEST
#endif

START_TEST(what_is_in_no_object_has_its_address)
{
  int local;
  shown all = names_of((uintptr_t)&local);
  ck_assert_uint_eq(all.count, 1);
  ck_assert(!all.frames[0].has_file);
  ck_assert(!all.frames[0].has_function);
  ck_assert_str_eq(all.frames[0].object, "unknown");
  ck_assert_uint_eq(all.frames[0].offset, (uintptr_t)&local);
}
END_TEST

/* As where a program has no /proc, for instance. */
START_TEST(without_debug_information_a_call_is_an_offset)
{
  const clpi_symbol symbol = {.object = "libx.so", .offset = 99};
  shown all = {0};
  plain();
  clpt_ok(clpi_debug_info_show(NULL, returns_to - 1, &symbol, keep, &all));
  clpi_debug_info_close(NULL);
  ck_assert_uint_eq(all.count, 1);
  ck_assert(!all.frames[0].has_file);
  ck_assert_str_eq(all.frames[0].object, "libx.so");
}
END_TEST

static bool is_startup(const char *object, const char *function)
{
  return clpi_symbol_is_startup(&(clpi_symbol){.object = object, .function = function});
}

START_TEST(what_starts_programs_and_threads_is_known)
{
  ck_assert(is_startup("program", "_start"));
  ck_assert(is_startup("program", "__libc_start_main"));
  ck_assert(is_startup("program", "__libc_start_main_impl"));
  ck_assert(is_startup("program", "__libc_start_call_main"));
  ck_assert(is_startup("program", "start_thread"));
  ck_assert(is_startup("program", "clone"));
  ck_assert(is_startup("program", "clone3"));
  ck_assert(is_startup("program", "__clone3"));
  ck_assert(is_startup("libc.so.6", NULL));
  ck_assert(is_startup("libc.so.6", "thrd_start"));
  ck_assert(is_startup("libpthread.so.0", NULL));
  ck_assert(is_startup("ld-musl-x86_64.so.1", NULL));
  ck_assert(!is_startup("program", "main"));
  ck_assert(!is_startup("program", NULL));
  ck_assert(!is_startup("libclpool.so.0", NULL));
  ck_assert(!is_startup("libcheck.so.0", "started"));
}
END_TEST

CLPT_MAIN("symbols", clpt_run)
{
  TCase *names = clpt_case(suite, "names");
#ifdef HAVE_LIBDW
  tcase_add_test(names, a_call_is_its_function_and_its_line);
  tcase_add_test(names, inlined_calls_are_frames_outermost_first);
#ifndef __clang__
  tcase_add_test(names, a_function_may_be_inside_of_another);
#endif
  tcase_add_test(names, a_session_without_host_memory_is_not_opened);
  tcase_add_test(names, a_visitor_that_fails_ends_the_search);
#else
  tcase_add_test(names, without_libdw_a_call_is_an_offset);
#endif
  tcase_add_test(names, what_is_in_no_object_has_its_address);
  tcase_add_test(names, without_debug_information_a_call_is_an_offset);
  TCase *startup = clpt_case(suite, "startup");
  tcase_add_test(startup, what_starts_programs_and_threads_is_known);
}
