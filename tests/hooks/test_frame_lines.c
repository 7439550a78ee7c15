/* SPDX-License-Identifier: MIT */
/* Lines of frames: their text, and each text and each address once. */
#include "hooks/frame_lines.h"
#include "support/failmalloc.h"
#include "support/host_failures.h"
#include "support/profiles.h"
#include "support/suite.h"

static const clpt_name names[] = {
    {1, {.file = "examples/a.c", .line = 18, .function = "main", .object = "a", .offset = 1}},
    {2, {.file = "examples/a.c", .line = 18, .function = "main", .object = "b", .offset = 2}},
    {3, {.file = "a.c", .line = 5, .object = "a", .offset = 3}},
    {4, {.object = "libx.so.1", .offset = 0x1f2e}},
    {5, {.function = "step", .object = "libx.so.1", .offset = 0x1f2e}},
    {6, {.file = "a.c", .line = 1, .function = "outer", .object = "a"}},
    {6, {.file = "a.c", .line = 2, .function = "inlined", .object = "a"}},
    {7, {.function = "_start", .object = "a", .offset = 7}},
    {8, {.file = "a\n.c", .line = 3, .function = "odd\r\nname", .object = "a"}},
    {0, {0}},
};

static clpi_frame_lines started(void)
{
  clpi_frame_lines lines;
  clpt_set_names(names);
  clpt_lookups = 0;
  clpt_ok(clpi_frame_lines_init(&lines, &clpt_symbols));
  return lines;
}

static const clpi_address_lines *find(clpi_frame_lines *lines, uintptr_t address)
{
  const clpi_address_lines *found = NULL;
  clpt_ok(clpi_frame_lines_find(lines, address, &found));
  ck_assert_uint_eq(found->address, address);
  return found;
}

static void is_one_line(clpi_frame_lines *lines, uintptr_t address, const char *text)
{
  const clpi_address_lines *found = find(lines, address);
  ck_assert_uint_eq(found->count, 1);
  ck_assert_str_eq(found->lines[0]->text, text);
}

START_TEST(a_line_tells_as_much_as_is_known)
{
  clpi_frame_lines lines = started();
  is_one_line(&lines, 1, "examples/a.c:18:main");
  is_one_line(&lines, 3, "a.c:5:?\?");
  is_one_line(&lines, 4, "libx.so.1+0x1f2e");
  is_one_line(&lines, 5, "libx.so.1+0x1f2e:step");
  clpi_frame_lines_end(&lines);
}
END_TEST

START_TEST(a_line_is_one_line)
{
  clpi_frame_lines lines = started();
  is_one_line(&lines, 8, "a\n.c:3:odd\r\nname");
  clpi_frame_lines_end(&lines);
}
END_TEST

START_TEST(frames_of_one_address_stay_in_order)
{
  clpi_frame_lines lines = started();
  const clpi_address_lines *found = find(&lines, 6);
  ck_assert_uint_eq(found->count, 2);
  ck_assert_str_eq(found->lines[0]->text, "a.c:1:outer");
  ck_assert_str_eq(found->lines[1]->text, "a.c:2:inlined");
  clpi_frame_lines_end(&lines);
}
END_TEST

START_TEST(the_same_text_is_the_same_line)
{
  clpi_frame_lines lines = started();
  ck_assert_ptr_eq(find(&lines, 1)->lines[0], find(&lines, 2)->lines[0]);
  ck_assert_ptr_ne(find(&lines, 1)->lines[0], find(&lines, 3)->lines[0]);
  clpi_frame_lines_end(&lines);
}
END_TEST

START_TEST(an_address_is_looked_up_once)
{
  clpi_frame_lines lines = started();
  const clpi_address_lines *first = find(&lines, 1);
  find(&lines, 2);
  ck_assert_ptr_eq(find(&lines, 1), first);
  ck_assert_uint_eq(clpt_lookups, 2);
  clpi_frame_lines_end(&lines);
  ck_assert_uint_eq(clpt_open_sessions, 0);
}
END_TEST

START_TEST(what_starts_a_program_is_marked)
{
  clpi_frame_lines lines = started();
  ck_assert(find(&lines, 7)->lines[0]->is_startup);
  ck_assert(!find(&lines, 1)->lines[0]->is_startup);
  clpi_frame_lines_end(&lines);
}
END_TEST

START_TEST(without_host_memory_it_says_so)
{
  clpt_host_failures each = {0};
  while (!each.is_over) {
    clpi_frame_lines lines = started();
    const clpi_address_lines *found;
    clpt_host_fail_next(&each);
    clp_status status = clpi_frame_lines_find(&lines, 6, &found);
    clpi_frame_lines_end(&lines);
    clpt_host_check(&each, status);
    ck_assert_int_eq(clpt_host_live(), 0);
    ck_assert_uint_eq(clpt_open_sessions, 0);
  }
  ck_assert_uint_ge(each.count, 4);
}
END_TEST

CLPT_MAIN("frame lines", clpt_run)
{
  TCase *tests = clpt_case(suite, "lines");
  tcase_add_test(tests, a_line_tells_as_much_as_is_known);
  tcase_add_test(tests, a_line_is_one_line);
  tcase_add_test(tests, frames_of_one_address_stay_in_order);
  tcase_add_test(tests, the_same_text_is_the_same_line);
  tcase_add_test(tests, an_address_is_looked_up_once);
  tcase_add_test(tests, what_starts_a_program_is_marked);
  TCase *host = clpt_case(suite, "host memory");
  tcase_add_test(host, without_host_memory_it_says_so);
}
