/* SPDX-License-Identifier: MIT */
/* Names of this process, which is compiled with debug information (tests.mk), and its objects. */
#include "hooks/symbols.h"
#include "hooks/object.h"
#include "support/failmalloc.h"
#include "support/suite.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>

static const char own_name[] = "test_call_stack";

/* --- names --- */

/* The frames of an address, outermost first: function:line, or as much as is known. */
static struct {
  char text[256];
  clp_status status; /* for the visitor to return */
} shown;

static clp_status keep(const clpi_symbol *symbol, void *argument)
{
  size_t length = strlen(shown.text);
  (void)argument;
  if (symbol->file) {
    ck_assert_str_eq(symbol->file, __FILE__); /* as it was given to the compiler */
    (void)snprintf(shown.text + length, sizeof(shown.text) - length, "%s:%d ", symbol->function,
                   symbol->line);
  } else {
    ck_assert_ptr_null(symbol->function);
    (void)snprintf(shown.text + length, sizeof(shown.text) - length, "%s ", symbol->object);
  }
  return shown.status;
}

static const char *names_of(uintptr_t address)
{
  void *session;
  shown.text[0] = '\0';
  clpt_ok(clpi_process_symbols.open(&session));
  clp_status status = clpi_process_symbols.show(session, address, keep, NULL);
  ck_assert_int_eq(status, shown.status);
  clpi_process_symbols.close(session);
  return shown.text;
}

/* Where this returns to, and its line. */
static uintptr_t returns_to;
static int called_at;

__attribute__((noinline)) static void here(int line)
{
  called_at = line;
  returns_to = (uintptr_t)__builtin_extract_return_addr(__builtin_return_address(0));
}

__attribute__((always_inline)) static inline void inlined(void)
{
  here(__LINE__);
}

enum { CALL_OF_INLINED = __LINE__ + 3 };
__attribute__((noinline)) static void around(void)
{
  inlined();
  __asm__ volatile("" ::: "memory");
}

START_TEST(a_call_is_its_functions_and_their_lines)
{
  char expected[256];
  around();
#ifdef HAVE_LIBDW
  (void)snprintf(expected, sizeof(expected), "around:%d inlined:%d ", CALL_OF_INLINED, called_at);
#else
  (void)snprintf(expected, sizeof(expected), "%s ", own_name);
#endif
  ck_assert_str_eq(names_of(returns_to - 1), expected);
  ck_assert_str_eq(names_of((uintptr_t)expected), "unknown ");
#ifndef __clang__ /* which has no nested functions in C */
  __attribute__((noinline)) void inside(void)
  {
    here(__LINE__);
    __asm__ volatile("" ::: "memory");
  }
  inside();
#ifdef HAVE_LIBDW
  (void)snprintf(expected, sizeof(expected), "inside:%d ", called_at);
#endif
  ck_assert_str_eq(names_of(returns_to - 1), expected);
#endif
}
END_TEST

START_TEST(failures_end_the_search)
{
  void *session = NULL;
  around();
  shown.status = CLP_BUSY;
  ck_assert_int_eq(strchr(names_of(returns_to - 1), ' ')[1], '\0');
  shown.status = CLP_SUCCESS;
#ifdef HAVE_LIBDW
  clpt_host_start(CLPT_HOST_FAILS_ONCE, 0);
  clp_status status = clpi_process_symbols.open(&session);
  clpt_host_stop();
  ck_assert_int_eq(status, CLP_OUT_OF_HOST_MEMORY);
  ck_assert_ptr_null(session);
#endif
  /* As where a program has no /proc. */
  shown.text[0] = '\0';
  clpt_ok(clpi_debug_info_show(NULL, returns_to - 1, &(clpi_symbol){.object = "x"}, keep, NULL));
  clpi_debug_info_close(NULL);
  ck_assert_str_eq(shown.text, "x ");
}
END_TEST

START_TEST(what_starts_programs_and_threads_is_known)
{
  static const struct {
    const char *object, *function;
    bool is_startup;
  } symbols[] = {
      {"program", "_start", true},
      {"program", "__libc_start_main", true},
      {"program", "__libc_start_main_impl", true},
      {"program", "__libc_start_call_main", true},
      {"program", "start_thread", true},
      {"program", "clone", true},
      {"program", "clone3", true},
      {"program", "__clone3", true},
      {"libc.so.6", NULL, true},
      {"libc.so.6", "thrd_start", true},
      {"libpthread.so.0", NULL, true},
      {"ld-musl-x86_64.so.1", NULL, true},
      {"program", "main", false},
      {"program", NULL, false},
      {"libclpool.so.0", NULL, false},
      {"libcheck.so.0", "started", false},
  };
  for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
    const clpi_symbol one = {.object = symbols[i].object, .function = symbols[i].function};
    ck_assert_msg(clpi_symbol_is_startup(&one) == symbols[i].is_startup, "%zu", i);
  }
}
END_TEST

/* --- objects --- */

/* The object by the dynamic linker's other way to tell it: its name, if it is not the program, and
 * where it was loaded. */
static void is_found(const void *address, const char *name)
{
  Dl_info object;
  struct link_map *map;
  clpi_object_place place;
  ck_assert_int_ne(dladdr1(address, &object, (void **)&map, RTLD_DL_LINKMAP), 0);
  clpi_object_find((uintptr_t)address, &place);
  ck_assert_uint_eq(place.offset, (uintptr_t)address - map->l_addr);
  ck_assert_str_eq(clpi_object_name(&place), name);
}

static void is_unknown(uintptr_t address)
{
  clpi_object_place place;
  clpi_object_find(address, &place);
  ck_assert_str_eq(clpi_object_name(&place), "unknown");
  ck_assert_uint_eq(place.offset, address);
}

START_TEST(objects_of_addresses)
{
  int local;
  is_found((void *)(uintptr_t)clpi_object_find, own_name);
  is_found(dlsym(RTLD_DEFAULT, "qsort"), "libc.so.6");
  is_unknown((uintptr_t)&local);
  is_unknown(0);
  is_unknown(UINTPTR_MAX);
  void *library = dlopen("libutil.so.1", RTLD_NOW);
  struct link_map *map = NULL;
  ck_assert_ptr_nonnull(library);
  ck_assert_int_eq(dlinfo(library, RTLD_DI_LINKMAP, &map), 0);
  const void *inside = map->l_ld;
  is_found(inside, "libutil.so.1");
  dlclose(library);
  is_unknown((uintptr_t)inside);
}
END_TEST

CLPT_SUITE("symbols")
{
  TCase *tests = clpt_case(suite, "symbols");
  tcase_add_test(tests, a_call_is_its_functions_and_their_lines);
  tcase_add_test(tests, failures_end_the_search);
  tcase_add_test(tests, what_starts_programs_and_threads_is_known);
  tcase_add_test(tests, objects_of_addresses);
}
