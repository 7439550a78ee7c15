/* SPDX-License-Identifier: MIT */
/* Reports: what becomes of stacks in words, with made-up stacks and names. */
#include "support/profiles.h"
#include "support/suite.h"

#include <stdio.h>

enum { KB = 1024 };

/* --- The tree --- */

START_TEST(an_empty_profile_is_a_root)
{
  clp_line_profile *profile = clpt_profile(0);
  clpt_prints(profile, "_root (0.00B, 0.00B)\n");
  clpt_folds(profile, "");
  clp_line_profile_destroy(profile);
}
END_TEST

START_TEST(bytes_count_in_each_frame_of_their_stack)
{
  clp_line_profile *profile = clpt_profile(0);
  CLPT_SET_STACK(1, 2);
  clpt_take(profile, KB, KB);
  CLPT_SET_STACK(1, 3);
  clpt_take(profile, 2 * KB, 0);
  CLPT_SET_STACK(1);
  clpt_take(profile, 512, 512);
  clpt_prints(profile, "_root (3.50KB, 1.50KB)\n"
                       "  p.c:1:f (3.50KB, 1.50KB)\n"
                       "    p.c:2:f (1.00KB, 1.00KB)\n"
                       "    p.c:3:f (2.00KB, 0.00B)\n");
  clpt_folds(profile, "p.c:1:f 512\n"
                      "p.c:1:f;p.c:2:f 1024\n"
                      "p.c:1:f;p.c:3:f 2048\n");
  clp_line_profile_destroy(profile);
}
END_TEST

START_TEST(children_come_in_the_order_in_which_they_were_seen)
{
  clp_line_profile *profile = clpt_profile(0);
  CLPT_SET_STACK(9, 5);
  clpt_take(profile, 1, 0);
  CLPT_SET_STACK(2);
  clpt_take(profile, 1, 0);
  CLPT_SET_STACK(9, 3, 4);
  clpt_take(profile, 9, 0);
  CLPT_SET_STACK(9, 5);
  clpt_take(profile, 1, 0);
  clpt_prints(profile, "_root (12.00B, 0.00B)\n"
                       "  p.c:9:f (11.00B, 0.00B)\n"
                       "    p.c:5:f (2.00B, 0.00B)\n"
                       "    p.c:3:f (9.00B, 0.00B)\n"
                       "      p.c:4:f (9.00B, 0.00B)\n"
                       "  p.c:2:f (1.00B, 0.00B)\n");
  clp_line_profile_destroy(profile);
}
END_TEST

/* Two calls of one line, in one function or in two copies of it, are one line of the report, and so
 * is what they call; what has the same text elsewhere is not. */
START_TEST(children_that_read_the_same_are_one_line)
{
  static const clpt_name names[] = {
      {1, {.file = "a.c", .line = 1, .function = "main", .object = "a"}},
      {10, {.file = "a.c", .line = 10, .function = "twice", .object = "a"}},
      {11, {.file = "a.c", .line = 10, .function = "twice", .object = "a"}},
      {0, {0}},
  };
  clp_line_profile *profile = clpt_profile(0);
  clpt_set_names(names);
  CLPT_SET_STACK(1, 10, 5);
  clpt_take(profile, 1, 0);
  CLPT_SET_STACK(1, 11, 5);
  clpt_take(profile, 2, 4);
  CLPT_SET_STACK(1, 11);
  clpt_take(profile, 8, 0);
  CLPT_SET_STACK(10);
  clpt_take(profile, 16, 0);
  clpt_prints(profile, "_root (27.00B, 4.00B)\n"
                       "  a.c:1:main (11.00B, 4.00B)\n"
                       "    a.c:10:twice (11.00B, 4.00B)\n"
                       "      p.c:5:f (3.00B, 4.00B)\n"
                       "  a.c:10:twice (16.00B, 0.00B)\n");
  clpt_folds(profile, "a.c:1:main;a.c:10:twice 8\n"
                      "a.c:1:main;a.c:10:twice;p.c:5:f 3\n"
                      "a.c:10:twice 16\n");
  clp_line_profile_destroy(profile);
}
END_TEST

START_TEST(recursion_is_a_line_for_each_call)
{
  clp_line_profile *profile = clpt_profile(0);
  CLPT_SET_STACK(1, 1, 1);
  clpt_take(profile, 1, 0);
  clpt_prints(profile, "_root (1.00B, 0.00B)\n"
                       "  p.c:1:f (1.00B, 0.00B)\n"
                       "    p.c:1:f (1.00B, 0.00B)\n"
                       "      p.c:1:f (1.00B, 0.00B)\n");
  clp_line_profile_destroy(profile);
}
END_TEST

START_TEST(no_bytes_are_a_line_too_but_no_folded_stack)
{
  clp_line_profile *profile = clpt_profile(0);
  CLPT_SET_STACK(1);
  clpt_take(profile, 0, 0);
  clpt_prints(profile, "_root (0.00B, 0.00B)\n"
                       "  p.c:1:f (0.00B, 0.00B)\n");
  clpt_folds(profile, "");
  clp_line_profile_destroy(profile);
}
END_TEST

START_TEST(a_stack_without_frames_is_the_roots)
{
  clp_line_profile *profile = clpt_profile(0);
  clpt_set_stack(NULL, 0);
  clpt_take(profile, KB, KB);
  clpt_prints(profile, "_root (1.00KB, 1.00KB)\n");
  clpt_folds(profile, "_root 1024\n");
  clp_line_profile_destroy(profile);
}
END_TEST

/* --- Frames --- */

static const clpt_name program[] = {
    {1, {.function = "_start", .object = "a", .offset = 1}},
    {2, {.object = "libc.so.6", .offset = 2}},
    {3, {.file = "a.c", .line = 3, .function = "main", .object = "a"}},
    {4, {.file = "a.c", .line = 4, .function = "axpy", .object = "a"}},
    {4, {.file = "a.h", .line = 5, .function = "inlined", .object = "a"}},
    {5, {.file = "c++/a;b.cc", .line = 1, .function = "operator()", .object = "a"}},
    {0, {0}},
};

START_TEST(inlined_calls_are_lines_of_their_own)
{
  clp_line_profile *profile = clpt_profile(0);
  clpt_set_names(program);
  CLPT_SET_STACK(3, 4);
  clpt_take(profile, 1, 1);
  clpt_prints(profile, "_root (1.00B, 1.00B)\n"
                       "  a.c:3:main (1.00B, 1.00B)\n"
                       "    a.c:4:axpy (1.00B, 1.00B)\n"
                       "      a.h:5:inlined (1.00B, 1.00B)\n");
  clpt_folds(profile, "a.c:3:main;a.c:4:axpy;a.h:5:inlined 1\n");
  clp_line_profile_destroy(profile);
}
END_TEST

START_TEST(what_starts_the_program_is_left_out)
{
  clp_line_profile *profile = clpt_profile(0);
  clpt_set_names(program);
  CLPT_SET_STACK(1, 2, 2, 3);
  clpt_take(profile, 1, 0);
  CLPT_SET_STACK(2, 9);
  clpt_take(profile, 2, 0);
  clpt_prints(profile, "_root (3.00B, 0.00B)\n"
                       "  a.c:3:main (1.00B, 0.00B)\n"
                       "  p.c:9:f (2.00B, 0.00B)\n");
  clp_line_profile_destroy(profile);
}
END_TEST

START_TEST(the_c_library_within_the_program_is_not_left_out)
{
  clp_line_profile *profile = clpt_profile(0);
  clpt_set_names(program);
  CLPT_SET_STACK(1, 3, 2, 9);
  clpt_take(profile, 1, 0);
  clpt_prints(profile, "_root (1.00B, 0.00B)\n"
                       "  a.c:3:main (1.00B, 0.00B)\n"
                       "    libc.so.6+0x2 (1.00B, 0.00B)\n"
                       "      p.c:9:f (1.00B, 0.00B)\n");
  clp_line_profile_destroy(profile);
}
END_TEST

START_TEST(names_are_shown_whatever_they_hold)
{
  static const clpt_name names[] = {
      {1, {.file = "\x1b[2J\n\xc3\xa9.c", .line = 1, .function = "f\xc2\x9b", .object = "a"}},
      {0, {0}},
  };
  clp_line_profile *profile = clpt_profile(0);
  clpt_set_names(names);
  CLPT_SET_STACK(1);
  clpt_take(profile, 1, 0);
  clpt_prints(profile, "_root (1.00B, 0.00B)\n"
                       "  \\x1b[2J\\x0a\xc3\xa9.c:1:f\\xc2\\x9b (1.00B, 0.00B)\n");
  clpt_folds(profile, "\\x1b[2J\\x0a\xc3\xa9.c:1:f\\xc2\\x9b 1\n");
  clp_line_profile_destroy(profile);
}
END_TEST

START_TEST(a_semicolon_in_a_name_does_not_end_a_folded_frame)
{
  clp_line_profile *profile = clpt_profile(0);
  clpt_set_names(program);
  CLPT_SET_STACK(3, 5);
  clpt_take(profile, 1, 0);
  clpt_folds(profile, "a.c:3:main;c++/a:b.cc:1:operator() 1\n");
  clp_line_profile_destroy(profile);
}
END_TEST

/* --- The depth --- */

static size_t lines_of(const char *text)
{
  size_t lines = 0;
  for (; *text; text++)
    lines += *text == '\n';
  return lines;
}

/* The root counts; startup frames do not; frames that were inlined do. */
START_TEST(the_depth_counts_lines_with_the_root)
{
  unsigned max_depth = (unsigned)_i;
  clp_line_profile *profile = clpt_profile(max_depth);
  clpt_set_names(program);
  CLPT_SET_STACK(1, 2, 2, 3, 4, 9);
  clpt_take(profile, KB, KB);
  CLPT_SET_STACK(1, 2, 2, 3, 4, 8);
  clpt_take(profile, KB, 0);
  char *text = clpt_printed(profile);
  ck_assert_ptr_nonnull(strstr(text, "_root (2.00KB, 1.00KB)\n"));
  ck_assert_uint_eq(lines_of(text), max_depth == 0 || max_depth > 4 ? 6 : max_depth);
  ck_assert_int_eq(strstr(text, "p.c:9:f") != NULL, max_depth == 0 || max_depth > 4);
  free(text);
  clp_line_profile_destroy(profile);
}
END_TEST

START_TEST(what_lies_deeper_counts_in_the_last_line)
{
  clp_line_profile *profile = clpt_profile(3);
  clpt_set_names(program);
  CLPT_SET_STACK(3, 4, 9);
  clpt_take(profile, 1, 0);
  clpt_prints(profile, "_root (1.00B, 0.00B)\n"
                       "  a.c:3:main (1.00B, 0.00B)\n"
                       "    a.c:4:axpy (1.00B, 0.00B)\n");
  clpt_folds(profile, "a.c:3:main;a.c:4:axpy 1\n");
  clp_line_profile_destroy(profile);
}
END_TEST

START_TEST(of_depth_one_is_the_root_alone)
{
  clp_line_profile *profile = clpt_profile(1);
  CLPT_SET_STACK(3, 4, 9);
  clpt_take(profile, KB, KB);
  clpt_prints(profile, "_root (1.00KB, 1.00KB)\n");
  clpt_folds(profile, "_root 1024\n");
  clp_line_profile_destroy(profile);
}
END_TEST

/* --- Sizes --- */

static const struct {
  uint64_t bytes;
  const char *text;
} sizes[] = {
    {0, "0.00B"},
    {1, "1.00B"},
    {512, "512.00B"},
    {1023, "1023.00B"},
    {1024, "1.00KB"},
    {1025, "1.00KB"},
    {1536, "1.50KB"},
    {1048575, "1024.00KB"}, /* 1023.999: still less than 1024 */
    {1048576, "1.00MB"},
    {1073741824, "1.00GB"},
    {UINT64_C(1) << 40, "1.00TB"},
    {UINT64_C(1) << 50, "1.00PB"},
    {UINT64_C(1) << 60, "1.00EB"},
    {UINT64_MAX, "16.00EB"},
};

START_TEST(sizes_read_as_cupys)
{
  char expected[64];
  clp_line_profile *profile = clpt_profile(1);
  clpt_take(profile, sizes[_i].bytes, 0);
  (void)snprintf(expected, sizeof(expected), "_root (%s, 0.00B)\n", sizes[_i].text);
  clpt_prints(profile, expected);
  clp_line_profile_destroy(profile);
}
END_TEST

CLPT_MAIN("line report", clpt_run_apart)
{
  TCase *tree = clpt_case(suite, "tree");
  tcase_add_test(tree, an_empty_profile_is_a_root);
  tcase_add_test(tree, bytes_count_in_each_frame_of_their_stack);
  tcase_add_test(tree, children_come_in_the_order_in_which_they_were_seen);
  tcase_add_test(tree, children_that_read_the_same_are_one_line);
  tcase_add_test(tree, recursion_is_a_line_for_each_call);
  tcase_add_test(tree, no_bytes_are_a_line_too_but_no_folded_stack);
  tcase_add_test(tree, a_stack_without_frames_is_the_roots);
  TCase *frames = clpt_case(suite, "frames");
  tcase_add_test(frames, inlined_calls_are_lines_of_their_own);
  tcase_add_test(frames, what_starts_the_program_is_left_out);
  tcase_add_test(frames, the_c_library_within_the_program_is_not_left_out);
  tcase_add_test(frames, names_are_shown_whatever_they_hold);
  tcase_add_test(frames, a_semicolon_in_a_name_does_not_end_a_folded_frame);
  TCase *depth = clpt_case(suite, "depth");
  tcase_add_loop_test(depth, the_depth_counts_lines_with_the_root, 0, 8);
  tcase_add_test(depth, what_lies_deeper_counts_in_the_last_line);
  tcase_add_test(depth, of_depth_one_is_the_root_alone);
  TCase *size = clpt_case(suite, "sizes");
  tcase_add_loop_test(size, sizes_read_as_cupys, 0, sizeof(sizes) / sizeof(sizes[0]));
}
