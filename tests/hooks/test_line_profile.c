/* SPDX-License-Identifier: MIT */
/* clpool/profile.h on stacks and names that are made up: reports, views, files and host memory that
 * fail. line_profile_pools.c has pools and threads. */
#include "hooks/line_profile.h"
#include "support/chance.h"
#include "support/failmalloc.h"
#include "support/suite.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

enum { KB = 1024 };

static clp_line_profile *profile;
static size_t open_sessions;

/* --- stacks and names --- */

/* The stack: addresses, outermost first, up to a 0. */
enum { DEEP = 1000 };
static uintptr_t stack[DEEP + 1];

static void enter(const uintptr_t *addresses)
{
  size_t i = 0;
  do
    stack[i] = addresses[i];
  while (addresses[i++]);
}

#define AT(...) enter((const uintptr_t[]){__VA_ARGS__, 0})

static void walk(clpi_frame_visitor *visitor, void *argument)
{
  size_t count = 0;
  while (stack[count])
    count++;
  while (count-- > 0)
    visitor(stack[count], argument);
}

/* What has no name here is called f at this line of p.c: address 7 is p.c:7:f. */
enum { START = 101, LIBC, MAIN, AXPY, ODD, SEMICOLON, COPY, FILE_ALONE, FUNCTION_ALONE };
static const struct {
  uintptr_t address;
  clpi_symbol symbol;
} names[] = {
    {START, {.function = "_start", .object = "a", .offset = 1}},
    {LIBC, {.object = "libc.so.6", .offset = 0x1f2e}},
    {MAIN, {.file = "a.c", .line = 3, .function = "main", .object = "a"}},
    {AXPY, {.file = "a.c", .line = 4, .function = "axpy", .object = "a"}},
    {AXPY, {.file = "a.h", .line = 5, .function = "inlined", .object = "a"}},
    {ODD, {.file = "\x1b[2J\n\xc3\xa9.c", .line = 1, .function = "f\xc2\x9b", .object = "a"}},
    {SEMICOLON, {.file = "c++/a;b.cc", .line = 1, .function = "operator()", .object = "a"}},
    {COPY, {.file = "p.c", .line = 1, .function = "f", .object = "b"}},
    {FILE_ALONE, {.file = "a.c", .line = 6, .object = "a"}},
    {FUNCTION_ALONE, {.function = "step", .object = "libx.so.1", .offset = 0x1f}},
};

/* Without Check's assertions, which need host memory: tests take that away. */
static clp_status show(void *session, uintptr_t address, clpi_symbol_visitor *visitor,
                       void *argument)
{
  const clpi_symbol plain = {"p.c", (int)address, "f", "p", address};
  clp_status status = CLP_SUCCESS;
  bool is_known = false;
  (void)session;
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !status; i++)
    if (names[i].address == address) {
      is_known = true;
      status = visitor(&names[i].symbol, argument);
    }
  return is_known ? status : visitor(&plain, argument);
}

static clp_status open_session(void **session)
{
  *session = NULL;
  open_sessions++;
  return CLP_SUCCESS;
}

static void close_session(void *session)
{
  (void)session;
  open_sessions--;
}

static const clpi_symbols symbols = {open_session, show, close_session, false};

static void start(unsigned max_depth)
{
  clpt_ok(clp_line_profile_create(max_depth, &profile));
  profile->walk = walk;
  profile->symbols = &symbols;
  AT(0);
}

static void setup(void)
{
  start(0);
}

static void teardown(void)
{
  clp_line_profile_destroy(profile);
  ck_assert_uint_eq(open_sessions, 0);
}

/* --- what happens in a pool, and what is written of it --- */

/* A buffer of so many bytes is asked for, and the device gives some, or none. The buffer with that
 * ID is in use from then on; 0: there is none, the request fails. */
static void take(size_t used, size_t acquired, uint64_t id)
{
  const clp_hook *hook = clp_line_profile_hook(profile);
  clp_hook_event event = {.size = used, .mem_size = used};
  hook->malloc_preprocess(&event, hook->user_data);
  if (acquired) {
    clp_hook_event call = {.mem_size = acquired, .memory = 1};
    hook->alloc_postprocess(&call, hook->user_data);
  }
  event.memory = event.buffer_id = id;
  hook->malloc_postprocess(&event, hook->user_data);
}

static void release(uint64_t id)
{
  const clp_hook *hook = clp_line_profile_hook(profile);
  clp_hook_event event = {.memory = id, .buffer_id = id};
  hook->free_preprocess(&event, hook->user_data);
}

/* The sums have functions of their own. */
static clp_status print(clp_line_profile_view view, FILE *file)
{
  return view ? clp_line_profile_print_view(profile, view, file)
              : clp_line_profile_print(profile, file);
}

static clp_status fold(clp_line_profile_view view, FILE *file)
{
  return view ? clp_line_profile_write_folded_view(profile, view, file)
              : clp_line_profile_write_folded(profile, file);
}

typedef clp_status writer(clp_line_profile_view view, FILE *file);

/* For free(). */
static char *written(writer *write, clp_line_profile_view view)
{
  char *text = NULL;
  size_t length;
  FILE *file = open_memstream(&text, &length);
  ck_assert_ptr_nonnull(file);
  clpt_ok(write(view, file));
  fclose(file);
  return text;
}

static void writes(writer *write, clp_line_profile_view view, const char *expected)
{
  char *text = written(write, view);
  ck_assert_str_eq(text, expected);
  free(text);
}

/* --- reports --- */

static const struct {
  unsigned max_depth;
  struct {
    size_t used, acquired;
    uintptr_t stack[8];
  } taken[4];
  const char *printed, *folded;
} reports[] = {
    {0, {{0}}, "_root (0.00B, 0.00B)\n", ""},
    /* Bytes count in each frame of their stack; the order is that in which frames were seen. */
    {0,
     {{KB, KB, {9, 5}}, {512, 512, {2}}, {2 * KB, 0, {9, 3, 4}}, {KB, 0, {9}}},
     "_root (4.50KB, 1.50KB)\n"
     "  p.c:9:f (4.00KB, 1.00KB)\n"
     "    p.c:5:f (1.00KB, 1.00KB)\n"
     "    p.c:3:f (2.00KB, 0.00B)\n"
     "      p.c:4:f (2.00KB, 0.00B)\n"
     "  p.c:2:f (512.00B, 512.00B)\n",
     "p.c:9:f 1024\np.c:9:f;p.c:5:f 1024\np.c:2:f 512\np.c:9:f;p.c:3:f;p.c:4:f 2048\n"},
    /* Calls that read the same are one line, and so is what they call; not so elsewhere. */
    {0,
     {{1, 0, {7, 1, 5}}, {2, 4, {7, COPY, 5}}, {8, 0, {7, COPY}}, {16, 0, {1}}},
     "_root (27.00B, 4.00B)\n"
     "  p.c:7:f (11.00B, 4.00B)\n"
     "    p.c:1:f (11.00B, 4.00B)\n"
     "      p.c:5:f (3.00B, 4.00B)\n"
     "  p.c:1:f (16.00B, 0.00B)\n",
     "p.c:7:f;p.c:1:f 8\np.c:7:f;p.c:1:f;p.c:5:f 3\np.c:1:f 16\n"},
    /* Recursion, and no bytes. */
    {0,
     {{0, 0, {1, 1}}},
     "_root (0.00B, 0.00B)\n  p.c:1:f (0.00B, 0.00B)\n    p.c:1:f (0.00B, 0.00B)\n",
     ""},
    /* A stack without frames is the root's. */
    {0, {{KB, KB, {0}}}, "_root (1.00KB, 1.00KB)\n", "_root 1024\n"},
    /* What starts a program or a thread is left out, but not within the program; inlined calls are
     * frames; of a frame as much is told as is known. */
    {0,
     {{1, 1, {START, LIBC, LIBC, MAIN, AXPY}}, {2, 0, {LIBC, 9}}},
     "_root (3.00B, 1.00B)\n"
     "  a.c:3:main (1.00B, 1.00B)\n"
     "    a.c:4:axpy (1.00B, 1.00B)\n"
     "      a.h:5:inlined (1.00B, 1.00B)\n"
     "  p.c:9:f (2.00B, 0.00B)\n",
     "a.c:3:main;a.c:4:axpy;a.h:5:inlined 1\np.c:9:f 2\n"},
    {0,
     {{1, 0, {MAIN, LIBC, FUNCTION_ALONE, FILE_ALONE}}},
     "_root (1.00B, 0.00B)\n"
     "  a.c:3:main (1.00B, 0.00B)\n"
     "    libc.so.6+0x1f2e (1.00B, 0.00B)\n"
     "      libx.so.1+0x1f:step (1.00B, 0.00B)\n"
     "        a.c:6:?\? (1.00B, 0.00B)\n",
     "a.c:3:main;libc.so.6+0x1f2e;libx.so.1+0x1f:step;a.c:6:?\? 1\n"},
    /* A name stays on its line and, where a semicolon would divide it, one frame. */
    {0,
     {{1, 0, {ODD, SEMICOLON}}},
     "_root (1.00B, 0.00B)\n"
     "  \\x1b[2J\\x0a\xc3\xa9.c:1:f\\xc2\\x9b (1.00B, 0.00B)\n"
     "    c++/a;b.cc:1:operator() (1.00B, 0.00B)\n",
     "\\x1b[2J\\x0a\xc3\xa9.c:1:f\\xc2\\x9b;c++/a:b.cc:1:operator() 1\n"},
    /* The depth counts the root and inlined calls, not what starts the program; what lies deeper
     * counts in the last line. */
    {1, {{KB, KB, {MAIN, AXPY, 9}}}, "_root (1.00KB, 1.00KB)\n", "_root 1024\n"},
    {3,
     {{1, 0, {START, LIBC, LIBC, LIBC, MAIN, AXPY, 9}}},
     "_root (1.00B, 0.00B)\n  a.c:3:main (1.00B, 0.00B)\n    a.c:4:axpy (1.00B, 0.00B)\n",
     "a.c:3:main;a.c:4:axpy 1\n"},
    {5,
     {{1, 0, {START, LIBC, MAIN, AXPY, 9, 8}}},
     "_root (1.00B, 0.00B)\n"
     "  a.c:3:main (1.00B, 0.00B)\n"
     "    a.c:4:axpy (1.00B, 0.00B)\n"
     "      a.h:5:inlined (1.00B, 0.00B)\n"
     "        p.c:9:f (1.00B, 0.00B)\n",
     "a.c:3:main;a.c:4:axpy;a.h:5:inlined;p.c:9:f 1\n"},
};

START_TEST(stacks_become_lines)
{
  teardown();
  start(reports[_i].max_depth);
  for (int i = 0; i < 4; i++) {
    enter(reports[_i].taken[i].stack);
    if (reports[_i].taken[i].used || *stack)
      take(reports[_i].taken[i].used, reports[_i].taken[i].acquired, 0);
  }
  for (int times = 0; times < 2; times++) { /* a report takes nothing away */
    writes(print, CLP_VIEW_SUMS, reports[_i].printed);
    writes(fold, CLP_VIEW_SUMS, reports[_i].folded);
  }
}
END_TEST

START_TEST(sizes_read_as_cupys)
{
  static const struct {
    uint64_t bytes;
    const char *text;
  } sizes[] = {
      {1, "1.00B"},
      {1023, "1023.00B"},
      {1024, "1.00KB"},
      {1536, "1.50KB"},
      {1048575, "1024.00KB"}, /* 1023.999: still less than 1024 */
      {1048576, "1.00MB"},
      {1073741824, "1.00GB"},
      {UINT64_C(1) << 40, "1.00TB"},
      {UINT64_C(1) << 50, "1.00PB"},
      {UINT64_C(1) << 60, "1.00EB"},
      {UINT64_MAX, "16.00EB"},
  };
  for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
    char expected[64];
    clpt_ok(clp_line_profile_reset(profile));
    take(sizes[i].bytes, 0, 0);
    (void)snprintf(expected, sizeof(expected), "_root (%s, 0.00B)\n", sizes[i].text);
    writes(print, CLP_VIEW_SUMS, expected);
  }
}
END_TEST

START_TEST(of_a_stack_too_deep_the_outermost_frames_count)
{
  for (size_t i = 0; i < DEEP; i++)
    stack[i] = 1000 + i;
  take(1, 0, 0);
  char *text = written(print, CLP_VIEW_SUMS);
  ck_assert_ptr_nonnull(strstr(text, "  p.c:1000:f (1.00B, 0.00B)\n"));
  ck_assert_ptr_nonnull(strstr(text, "p.c:1255:f (1.00B, 0.00B)\n"));
  ck_assert_ptr_null(strstr(text, "p.c:1256:f"));
  free(text);
}
END_TEST

/* --- views --- */

START_TEST(a_view_shows_the_lines_that_have_bytes_in_use)
{
  AT(1, 2);
  take(KB, KB, 20);
  AT(1, 3);
  take(2 * KB, 0, 30);
  release(20);
  AT(1);
  take(512, 512, 10);
  writes(print, CLP_VIEW_NOW, "_root (2.50KB)\n  p.c:1:f (2.50KB)\n    p.c:3:f (2.00KB)\n");
  writes(print, CLP_VIEW_PEAK,
         "_root (3.00KB)\n  p.c:1:f (3.00KB)\n    p.c:2:f (1.00KB)\n    p.c:3:f (2.00KB)\n");
}
END_TEST

/* --- random programs --- */

enum { STACKS = 10, IDS = 30, STEPS = 3000 };

/* 0 is the root's, 1 to 3 are of one frame, the others below them. */
static const uintptr_t stacks[STACKS][3] = {{0},     {1},     {2},     {3},     {1, 14},
                                            {2, 15}, {3, 16}, {1, 17}, {2, 18}, {3, 19}};

/* Bytes in use by stack, and those of each buffer. */
static struct {
  uint64_t now[STACKS], at_peak[STACKS], peak;
  struct {
    uint64_t bytes;
    unsigned stack;
  } buffers[IDS + 1];
} model;

static void expect_release(uint64_t id)
{
  model.now[model.buffers[id].stack] -= model.buffers[id].bytes;
  model.buffers[id].bytes = 0;
}

static void expect_take(uint64_t id, unsigned at, uint64_t bytes)
{
  uint64_t sum = 0;
  expect_release(id);
  model.buffers[id].bytes = bytes;
  model.buffers[id].stack = at;
  model.now[at] += bytes;
  for (unsigned i = 0; i < STACKS; i++)
    sum += model.now[i];
  if (sum <= model.peak)
    return;
  model.peak = sum;
  memcpy(model.at_peak, model.now, sizeof(model.now));
}

/* A request, with another one inside it, as an on_out_of_memory makes them. */
static void take_with_another_inside(uint64_t id, unsigned outer, unsigned inner, uint64_t bytes)
{
  const clp_hook *hook = clp_line_profile_hook(profile);
  clp_hook_event event = {.mem_size = bytes};
  uint64_t inner_id = 1 + id % IDS;
  hook->malloc_preprocess(&event, hook->user_data);
  enter(stacks[inner]);
  take(bytes, 0, inner_id);
  expect_take(inner_id, inner, bytes);
  enter(stacks[outer]);
  event.buffer_id = id;
  hook->malloc_postprocess(&event, hook->user_data);
  expect_take(id, outer, bytes);
}

/* Few sizes make peaks of the same height. */
static void step(clpt_chance *chance, uint64_t sizes)
{
  uint64_t id = 1 + clpt_chance_below(chance, IDS), kind = clpt_chance_below(chance, 1000);
  uint64_t bytes = clpt_chance_below(chance, sizes);
  unsigned at = (unsigned)clpt_chance_below(chance, STACKS);
  enter(stacks[at]);
  if (kind < 450) { /* its release may not have been seen */
    take(bytes, bytes / 2, id);
    expect_take(id, at, bytes);
  } else if (kind < 850) {
    release(id);
    expect_release(id);
  } else if (kind < 900) {
    take(bytes, 0, 0); /* fails */
  } else if (kind < 999) {
    take_with_another_inside(id, at, (unsigned)clpt_chance_below(chance, STACKS), bytes);
  } else {
    clpt_ok(clp_line_profile_reset(profile));
    memset(&model, 0, sizeof(model));
  }
}

static void check(clp_line_profile_view view, const uint64_t *expected)
{
  char *text = written(fold, view), *rest = text, *line;
  uint64_t found[STACKS] = {0};
  while ((line = strsep(&rest, "\n")) && *line) {
    unsigned outer = 0, inner = 0;
    unsigned at = sscanf(line, "p.c:%u:f;p.c:%u:f", &outer, &inner) == 2 ? inner - 10 : outer;
    ck_assert_uint_lt(at, STACKS);
    ck_assert_uint_eq(found[at], 0);
    ck_assert_int_eq(sscanf(strchr(line, ' '), "%" SCNu64, &found[at]), 1);
  }
  ck_assert_mem_eq(found, expected, sizeof(found));
  free(text);
}

START_TEST(random_programs_are_as_the_model)
{
  clpt_chance chance = clpt_chance_seed((unsigned)_i);
  memset(&model, 0, sizeof(model));
  for (unsigned i = 0; i < STEPS; i++) {
    step(&chance, _i % 2 ? 1000 : 3);
    if (clpt_chance_below(&chance, 8))
      continue;
    check(CLP_VIEW_NOW, model.now);
    check(CLP_VIEW_PEAK, model.at_peak);
  }
}
END_TEST

/* --- files --- */

static writer *const writers[] = {print, fold};

/* Wherever in a report it is full, at the flush or before; or it is only read. */
START_TEST(a_file_that_takes_no_more_is_told)
{
  static const struct {
    const char *path, *mode;
    int code;
  } files[] = {{"/dev/full", "w", ENOSPC}, {"/dev/null", "r", EBADF}};
  AT(1, 2);
  take(1, 0, 0);
  for (int i = 0; i < 2; i++) {
    FILE *file = fopen(files[i].path, files[i].mode);
    ck_assert_ptr_nonnull(file);
    clpt_fails(CLP_IO_ERROR, writers[_i](CLP_VIEW_SUMS, file));
    ck_assert_int_eq(clp_last_error()->native_code, files[i].code);
    fclose(file);
  }
  char *text = written(writers[_i], CLP_VIEW_SUMS), room[256];
  for (size_t bytes = 1; bytes < strlen(text); bytes++) {
    FILE *file = fmemopen(room, bytes, "w");
    setvbuf(file, NULL, _IONBF, 0);
    clpt_fails(CLP_IO_ERROR, writers[_i](CLP_VIEW_SUMS, file));
    fclose(file);
  }
  free(text);
}
END_TEST

/* --- host memory --- */

START_TEST(a_profile_without_host_memory_is_not_made)
{
  clpt_host_failures each = {0};
  while (!each.is_over) {
    clp_line_profile *made = profile;
    clpt_host_fail_next(&each);
    clp_status status = clp_line_profile_create(0, &made);
    if (!status)
      clp_line_profile_destroy(made);
    clpt_host_check(&each, status);
    ck_assert(!status || !made);
    ck_assert_int_eq(clpt_host_live(), 0);
  }
}
END_TEST

START_TEST(a_stack_that_is_known_needs_no_host_memory)
{
  AT(1, 2, 3);
  take(1, 1, 0);
  clpt_host_start(CLPT_HOST_COUNTS, 0);
  for (unsigned i = 0; i < 1000; i++)
    take(1, 1, 0);
  ck_assert_uint_eq(clpt_host_stop(), 0);
  writes(fold, CLP_VIEW_SUMS, "p.c:1:f;p.c:2:f;p.c:3:f 1001\n");
}
END_TEST

START_TEST(what_was_not_recorded_is_told)
{
  for (uint64_t id = 2; id > 0; id--) { /* the first buffer has no room, nor has the second stack */
    teardown();
    setup();
    if (id == 1)
      take(0, 0, 1);
    clpt_host_start(CLPT_HOST_STAYS_OUT, 0);
    AT(1, 2);
    take(1024, 2048, 2);
    clpt_host_stop();
    writes(print, CLP_VIEW_NOW,
           id == 2 ? "_root (0.00B)\n" : "_root (1.00KB)\n  _unrecorded (1.00KB)\n");
  }
  writes(print, CLP_VIEW_SUMS, "_root (1.00KB, 2.00KB)\n  _unrecorded (1.00KB, 2.00KB)\n");
  release(2);
  take(1, 1, 0);
  writes(fold, CLP_VIEW_SUMS, "p.c:1:f;p.c:2:f 1\n_unrecorded 1024\n");
  writes(fold, CLP_VIEW_NOW, "");
  writes(fold, CLP_VIEW_PEAK, "_unrecorded 1024\n");
  clpt_ok(clp_line_profile_reset(profile));
  writes(print, CLP_VIEW_SUMS, "_root (0.00B, 0.00B)\n");
}
END_TEST

/* Each allocation fails in turn: the bytes are the stack's or unrecorded, in use or not, and what
 * was there stays. */
START_TEST(a_request_without_host_memory_loses_nothing)
{
  const char *const sums[] = {"p.c:1:f 5\np.c:1:f;p.c:2:f 7\n", "p.c:1:f 5\n_unrecorded 7\n"};
  bool has_failed = true;
  for (unsigned long nth = 0; has_failed; nth++) {
    teardown();
    setup();
    AT(1);
    take(5, 0, 1);
    for (size_t i = 0; i < 62; i++) /* fills the first table */
      stack[i] = i + 2;
    stack[62] = 0;
    take(0, 0, 0);
    AT(1, 2);
    clpt_host_start(CLPT_HOST_FAILS_ONCE, nth);
    take(7, 0, 2);
    clpt_host_stop();
    has_failed = clpt_host_failed();
    char *text = written(fold, CLP_VIEW_SUMS), *now = written(fold, CLP_VIEW_NOW);
    ck_assert(strcmp(text, sums[0]) == 0 || (has_failed && strcmp(text, sums[1]) == 0));
    ck_assert(strcmp(now, text) == 0 || (has_failed && strcmp(now, "p.c:1:f 5\n") == 0));
    free(text);
    free(now);
    ck_assert(has_failed || nth >= 2);
  }
}
END_TEST

START_TEST(a_report_without_host_memory_says_so)
{
  char text[512];
  AT(1, 2, 3, AXPY);
  take(1, 0, 0);
  clpt_host_failures each = {.may_do_without = true};
  while (!each.is_over) {
    FILE *file = fmemopen(text, sizeof(text), "w");
    (void)fputs("", file);
    clpt_host_fail_next(&each);
    clpt_host_check(&each, writers[_i](CLP_VIEW_SUMS, file));
    fclose(file);
    ck_assert_int_eq(clpt_host_live(), 0);
    ck_assert_uint_eq(open_sessions, 0);
  }
  ck_assert_uint_ge(each.count, 8);
  writes(writers[_i], CLP_VIEW_SUMS, text);
  profile->symbols = &clpi_process_symbols;
  clpt_host_start(CLPT_HOST_FAILS_ONCE, 1); /* after the copy: names, if libdw has some */
  clp_status status = writers[_i](CLP_VIEW_SUMS, stdout);
  (void)clpt_host_stop();
  ck_assert_int_eq(status, CLP_OUT_OF_HOST_MEMORY);
  writes(fold, CLP_VIEW_SUMS, "unknown+0x1;unknown+0x2;unknown+0x3;unknown+0x68 1\n");
}
END_TEST

#define ROWS(table) ((int)(sizeof(table) / sizeof((table)[0])))

CLPT_MAIN("line profile", clpt_run)
{
  TCase *tests = clpt_case(suite, "made-up stacks");
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_loop_test(tests, stacks_become_lines, 0, ROWS(reports));
  tcase_add_test(tests, sizes_read_as_cupys);
  tcase_add_test(tests, of_a_stack_too_deep_the_outermost_frames_count);
  tcase_add_test(tests, a_view_shows_the_lines_that_have_bytes_in_use);
  tcase_add_loop_test(tests, random_programs_are_as_the_model, 0, 20);
  tcase_add_loop_test(tests, a_file_that_takes_no_more_is_told, 0, ROWS(writers));
  tcase_add_test(tests, a_profile_without_host_memory_is_not_made);
  tcase_add_test(tests, a_stack_that_is_known_needs_no_host_memory);
  tcase_add_test(tests, what_was_not_recorded_is_told);
  tcase_add_test(tests, a_request_without_host_memory_loses_nothing);
  tcase_add_loop_test(tests, a_report_without_host_memory_says_so, 0, ROWS(writers));
}
