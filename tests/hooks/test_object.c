/* SPDX-License-Identifier: MIT */
/* Objects and offsets of addresses. */
#include "hooks/object.h"
#include "support/suite.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>

enum { NAME_BYTES = 256 };

/* Where the object of an address was loaded, by the dynamic linker's other way to tell it. */
static uintptr_t base_of(const void *address, char name[NAME_BYTES])
{
  Dl_info object;
  struct link_map *map;
  ck_assert_int_ne(dladdr1(address, &object, (void **)&map, RTLD_DL_LINKMAP), 0);
  const char *slash = strrchr(object.dli_fname, '/');
  (void)snprintf(name, NAME_BYTES, "%.200s", slash ? slash + 1 : object.dli_fname);
  return map->l_addr;
}

static void finds(const void *address, const char *object)
{
  char name[NAME_BYTES];
  uintptr_t base = base_of(address, name);
  clpi_object_place place;
  clpi_object_find((uintptr_t)address, &place);
  ck_assert_str_eq(clpi_object_name(&place), object ? object : name);
  ck_assert_uint_eq(place.offset, (uintptr_t)address - base);
}

START_TEST(the_program_is_found_by_its_own_name)
{
  finds((void *)(uintptr_t)clpi_object_find, "test_object");
}
END_TEST

START_TEST(a_shared_library_is_found)
{
  void *library = dlopen("libc.so.6", RTLD_NOW);
  ck_assert_ptr_nonnull(library);
  finds(dlsym(library, "qsort"), "libc.so.6");
  dlclose(library);
}
END_TEST

START_TEST(a_loaded_library_is_found_until_it_is_closed)
{
  clpi_object_place place;
  void *library = dlopen("libBrokenLocale.so.1", RTLD_NOW);
  if (!library)
    library = dlopen("libutil.so.1", RTLD_NOW);
  ck_assert_ptr_nonnull(library);
  struct link_map *map = NULL;
  ck_assert_int_eq(dlinfo(library, RTLD_DI_LINKMAP, &map), 0);
  uintptr_t inside = (uintptr_t)map->l_ld;
  finds((void *)inside, NULL);
  dlclose(library);
  clpi_object_find(inside, &place);
  ck_assert_str_eq(clpi_object_name(&place), "unknown");
}
END_TEST

START_TEST(what_is_in_no_object_is_unknown)
{
  int local;
  clpi_object_place place;
  clpi_object_find((uintptr_t)&local, &place);
  ck_assert_str_eq(clpi_object_name(&place), "unknown");
  ck_assert_uint_eq(place.offset, (uintptr_t)&local);
  clpi_object_find(0, &place);
  ck_assert_str_eq(clpi_object_name(&place), "unknown");
  clpi_object_find(UINTPTR_MAX, &place);
  ck_assert_str_eq(clpi_object_name(&place), "unknown");
}
END_TEST

CLPT_MAIN("object", clpt_run)
{
  TCase *tests = clpt_case(suite, "object");
  tcase_add_test(tests, the_program_is_found_by_its_own_name);
  tcase_add_test(tests, a_shared_library_is_found);
  tcase_add_test(tests, a_loaded_library_is_found_until_it_is_closed);
  tcase_add_test(tests, what_is_in_no_object_is_unknown);
}
