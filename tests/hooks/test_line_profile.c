/* SPDX-License-Identifier: MIT */
/* clpool/profile.h, on stacks and names that are made up (reports, views, files and host memory
 * that fail) and on pools. check-line-profile.sh looks at programs that use the shared library. */
#include "hooks/line_profile.h"
#include "support/failmalloc.h"
#include "support/pools.h"
#include "support/replays.h"
#include "support/workers.h"

#include <clpool/hook.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

enum { KB = 1024, PLACES = 8 };

static clp_line_profile *profile;
static size_t open_sessions;

/* --- stacks and names --- */

/* The stack: addresses, outermost first, up to a 0. */
static uintptr_t stack[64];

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

static clp_status show(void *session, uintptr_t address, clpi_symbol_visitor *visitor,
                       void *argument)
{
  const clpi_symbol plain = {"p.c", (int)address, "f", "p", address};
  clp_status status = CLP_SUCCESS;
  if (address < START)
    return visitor(&plain, argument);
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !status; i++)
    if (names[i].address == address)
      status = visitor(&names[i].symbol, argument);
  return status;
}

static clp_status open_session(void **session)
{
  *session = NULL;
  open_sessions++;
  return CLP_SUCCESS;
}

static void close_session(void *session)
{
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
static writer *const writers[] = {print, fold};

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
    /* A stack without frames is the root's. */
    {0, {{KB, KB, {0}}}, "_root (1.00KB, 1.00KB)\n", "_root 1024\n"},
    /* What starts a program or a thread is left out, but not within the program; inlined calls are
     * frames. Both count in the depth; what lies deeper counts in the last line. */
    {5,
     {{1, 1, {START, LIBC, LIBC, MAIN, AXPY, 9, 8}}, {2, 0, {LIBC, 9}}},
     "_root (3.00B, 1.00B)\n"
     "  a.c:3:main (1.00B, 1.00B)\n"
     "    a.c:4:axpy (1.00B, 1.00B)\n"
     "      a.h:5:inlined (1.00B, 1.00B)\n"
     "        p.c:9:f (1.00B, 1.00B)\n"
     "  p.c:9:f (2.00B, 0.00B)\n",
     "a.c:3:main;a.c:4:axpy;a.h:5:inlined;p.c:9:f 1\np.c:9:f 2\n"},
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
    {1, {{KB, KB, {MAIN, AXPY, 9}}}, "_root (1.00KB, 1.00KB)\n", "_root 1024\n"},
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

static const struct {
  uint64_t bytes;
  const char *text;
} sizes[] = {
    /* The fourth: 1023.999 are still less than 1024. */
    {1, "1.00B"},
    {1023, "1023.00B"},
    {1024, "1.00KB"},
    {1048575, "1024.00KB"},
    {1536 << 10, "1.50MB"},
    {1 << 30, "1.00GB"},
    {UINT64_C(1) << 40, "1.00TB"},
    {UINT64_C(1) << 50, "1.00PB"},
    {UINT64_C(1) << 60, "1.00EB"},
    {UINT64_MAX, "16.00EB"},
};

START_TEST(sizes_read_as_cupys)
{
  char expected[64];
  take(sizes[_i].bytes, 0, 0);
  (void)snprintf(expected, sizeof(expected), "_root (%s, 0.00B)\n", sizes[_i].text);
  writes(print, CLP_VIEW_SUMS, expected);
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

/* Few sizes make peaks of the same height. */
static void step(clpt_chance *chance, uint64_t most)
{
  uint64_t id = 1 + clpt_chance_below(chance, IDS), kind = clpt_chance_below(chance, 1000);
  uint64_t bytes = clpt_chance_below(chance, most);
  unsigned at = (unsigned)clpt_chance_below(chance, STACKS);
  enter(stacks[at]);
  if (kind < 450) { /* its release may not have been seen */
    take(bytes, bytes / 2, id);
    expect_take(id, at, bytes);
  } else if (kind < 850) {
    release(id);
    expect_release(id);
  } else if (kind < 999) {
    take(bytes, 0, 0); /* fails */
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
  for (uintptr_t i = 0; i < 63; i++) /* fills the first table */
    stack[i] = 20 + i;
  take(0, 0, 0);
  for (unsigned i = 0; i < STEPS; i++) {
    step(&chance, _i % 2 ? 1000 : 3);
    if (clpt_chance_below(&chance, 8))
      continue;
    check(CLP_VIEW_NOW, model.now);
    check(CLP_VIEW_PEAK, model.at_peak);
  }
}
END_TEST

/* Wherever in a report it is full, at the flush or before. */
START_TEST(a_file_that_takes_no_more_is_told)
{
  char room[128];
  AT(1, 2);
  take(1, 0, 0);
  char *text = written(writers[_i], CLP_VIEW_SUMS);
  for (size_t bytes = 0; bytes < strlen(text); bytes++) {
    FILE *file = bytes ? fmemopen(room, bytes, "w") : fopen("/dev/full", "w");
    if (bytes)
      setvbuf(file, NULL, _IONBF, 0);
    clpt_fails(CLP_IO_ERROR, writers[_i](CLP_VIEW_SUMS, file));
    ck_assert_int_eq(clp_last_error()->native_code, ENOSPC);
    fclose(file);
  }
  free(text);
}
END_TEST

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
  }
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

/* --- pools: requests --- */

static clpt_rig rig;

static void setup_device(void)
{
  clpt_device_init(&rig.device);
}

static void start_pool(unsigned max_depth, const clp_pool_options *options)
{
  clpt_rig_start_with(&rig, options);
  clpt_ok(clp_line_profile_create(max_depth, &profile));
}

static void end_pool(void)
{
  teardown();
  clpt_rig_end(&rig);
}

/* A pool rounds 1 KB up to 1,087 bytes, 1.06 KB. */
static const struct {
  size_t capacity, limit, held, bytes; /* held: bytes of a block; 0: none */
  clp_status status;
  const char *sums, *now;
} requests[] = {
    {0, 0, 0, KB, CLP_SUCCESS, "_root (1.06KB, 1.06KB)\n", "_root (1.06KB)\n"},
    {0, 0, KB, KB, CLP_SUCCESS, "_root (1.06KB, 0.00B)\n", "_root (1.06KB)\n"},
    {0, 0, 0, 0, CLP_SUCCESS, "_root (0.00B, 0.00B)\n", "_root (0.00B)\n"},
    /* Refused by the device, each time that it is asked, or by the limit. */
    {KB - 1, 0, 0, KB, CLP_OUT_OF_DEVICE_MEMORY, "_root (1.06KB, 0.00B)\n", "_root (0.00B)\n"},
    {0, 10, 0, KB, CLP_LIMIT_EXCEEDED, "_root (1.06KB, 0.00B)\n", "_root (0.00B)\n"},
    /* Served at last: after the held block went back, or with the requested size. */
    {1087, 0, 100, KB, CLP_SUCCESS, "_root (1.06KB, 1.06KB)\n", "_root (1.06KB)\n"},
    {KB, 0, 0, KB, CLP_SUCCESS, "_root (1.06KB, 1.00KB)\n", "_root (1.00KB)\n"},
    {0, KB, 0, KB, CLP_SUCCESS, "_root (1.06KB, 1.00KB)\n", "_root (1.00KB)\n"},
};

START_TEST(a_request_is_used_once_and_acquires_what_the_device_gives)
{
  clp_buffer *buffer;
  rig.device.ops.alignment = 1;
  start_pool(1, NULL);
  if (requests[_i].held)
    clpt_hold(rig.pool, requests[_i].held, 1);
  rig.device.capacity = requests[_i].capacity;
  clpt_ok(clp_pool_set_limit(rig.pool, requests[_i].limit));
  clpt_ok(clp_hook_push(clp_line_profile_hook(profile)));
  clp_status status = clp_pool_allocate(rig.pool, requests[_i].bytes, &buffer);
  ck_assert_int_eq(status, requests[_i].status);
  writes(print, CLP_VIEW_SUMS, requests[_i].sums);
  writes(print, CLP_VIEW_NOW, requests[_i].now);
  clpt_ok(clp_buffer_release(buffer));
  clpt_ok(clp_hook_pop(clp_line_profile_hook(profile)));
  writes(print, CLP_VIEW_SUMS, requests[_i].sums);
  writes(print, CLP_VIEW_NOW, "_root (0.00B)\n");
  writes(print, CLP_VIEW_PEAK, requests[_i].now);
}
END_TEST

static clpi_call_stack here;

/* Remembers the caller's stack, whose last frame is the caller's. */
__attribute__((noinline)) static void remember_stack(void)
{
  clpi_call_stack_capture(&here, clpi_walk_stack,
                          __builtin_extract_return_addr(__builtin_return_address(0)));
}

/* The device, or the callback, takes a buffer from a second pool when it is asked for `call`. */
static struct {
  clp_pool *second;
  clpt_call call;
} nested;

__attribute__((noinline)) static void take_from_second(clpt_device *device, clpt_call call,
                                                       size_t bytes)
{
  if (call != nested.call)
    return;
  nested.call = 0; /* once */
  clpt_hold(nested.second, 100, 1);
}

static bool make_room(clp_pool *pool, size_t bytes, void *user_data)
{
  take_from_second(NULL, CLPT_CALLBACK, 0);
  return false;
}

static const clpt_call operations[] = {CLPT_ALLOCATE, CLPT_FREE, CLPT_DRAIN, CLPT_RETURN_CACHED,
                                       CLPT_CALLBACK};

/* Where memory is short, each of them is called. What they take is one stack, below the test's,
 * whose last frames are at most those of the operation and the fixtures. */
START_TEST(between_the_program_and_what_it_gave_the_library_is_no_frame)
{
  enum { FIXTURES = 5 };
  clpt_rig second;
  clp_buffer *buffer;
  clp_pool_options options = CLP_POOL_OPTIONS_INIT;
  options.on_out_of_memory = make_room;
  start_pool(0, &options);
  clpt_rig_start(&second);
  clpt_hold(rig.pool, KB, 1);
  rig.device.capacity = KB;
  rig.device.on_call = take_from_second;
  nested.second = second.pool;
  nested.call = operations[_i];
  remember_stack();
  clpt_ok(clp_hook_push(clp_line_profile_hook(profile)));
  clpt_fails(CLP_OUT_OF_DEVICE_MEMORY, clp_pool_allocate(rig.pool, 2 * KB, &buffer));
  clpt_ok(clp_hook_pop(clp_line_profile_hook(profile)));
  ck_assert_int_eq(nested.call, 0);
  const clpi_call_tree *tree = &profile->stacks;
  size_t depth = clpi_call_stack_depth(&here);
  ck_assert_uint_gt(tree->count, 1 + depth);
  ck_assert_uint_le(tree->count, 1 + depth + FIXTURES);
  for (uint32_t i = 1; i < tree->count; i++)
    ck_assert_uint_eq(tree->nodes[i].parent, i - 1);
  for (size_t i = 0; i < depth - 1; i++)
    ck_assert_uint_eq(tree->nodes[i + 1].key, clpi_call_stack_frame(&here, i));
  ck_assert_uint_eq(tree->nodes[tree->count - 1].bytes.used, 103);
  clpt_rig_end(&second);
}
END_TEST

/* Buffers go from thread to thread: each releases what others allocated. */
static clp_buffer *_Atomic places[PLACES];

static void exchange_many(clpt_worker *self)
{
  clp_buffer *buffer;
  for (unsigned i = 0; i < self->rounds; i++) {
    clpt_note_failure(self, "allocate", clp_pool_allocate(rig.pool, KB, &buffer));
    buffer = atomic_exchange(&places[clpt_chance_below(&self->chance, PLACES)], buffer);
    clpt_note_failure(self, "release", clp_buffer_release(buffer));
  }
}

static void report(clpt_worker *self)
{
  for (unsigned i = 0; i < 6; i++) {
    char *text = written(writers[i % 2], i % 3);
    if (*text && (strncmp(text, "_root (", 7) == 0) == i % 2)
      clpt_wrong(self, "no whole report: %s", text);
    free(text);
  }
}

/* A pool's hook sees all threads, and what they hand to each other, while others report. */
START_TEST(threads)
{
  enum { WORKERS = 3 };
  static const clpt_work work[] = {exchange_many, report, exchange_many, exchange_many};
  unsigned rounds = clpt_iterations(2000);
  clpt_workers all;
  uint64_t left = 0, used = 0;
  start_pool(0, NULL);
  clpt_ok(clp_pool_add_hook(rig.pool, clp_line_profile_hook(profile)));
  clpt_workers_start(&all, WORKERS + 1, work, 4, rounds, NULL);
  clpt_workers_join(&all);
  const uint64_t bytes = clpt_bin_bytes(KB);
  for (size_t i = 0; i < PLACES; i++)
    left += places[i] ? bytes : 0;
  ck_assert_uint_gt(left, 0);
  ck_assert_uint_eq(profile->stacks.in_use, left);
  for (uint32_t i = 0; i < profile->stacks.count; i++)
    used += profile->stacks.nodes[i].bytes.used;
  ck_assert_uint_eq(used, WORKERS * rounds * bytes);
  for (size_t i = 0; i < PLACES; i++)
    clpt_ok(clp_buffer_release(atomic_exchange(&places[i], NULL)));
  writes(print, CLP_VIEW_NOW, "_root (0.00B)\n");
  clpt_ok(clp_pool_remove_hook(rig.pool, clp_line_profile_hook(profile)));
}
END_TEST

CLPT_MAIN("line profile", clpt_run)
{
  TCase *tests = clpt_case(suite, "made-up stacks");
  tcase_add_checked_fixture(tests, setup, teardown);
  clpt_add_table(tests, stacks_become_lines, reports);
  clpt_add_table(tests, sizes_read_as_cupys, sizes);
  tcase_add_loop_test(tests, random_programs_are_as_the_model, 0, 20);
  clpt_add_table(tests, a_file_that_takes_no_more_is_told, writers);
  tcase_add_test(tests, a_profile_without_host_memory_is_not_made);
  tcase_add_test(tests, what_was_not_recorded_is_told);
  clpt_add_table(tests, a_report_without_host_memory_says_so, writers);
  tests = clpt_case(suite, "pools");
  tcase_add_checked_fixture(tests, setup_device, end_pool);
  clpt_add_table(tests, a_request_is_used_once_and_acquires_what_the_device_gives, requests);
  clpt_add_table(tests, between_the_program_and_what_it_gave_the_library_is_no_frame, operations);
  tcase_add_test(tests, threads);
}
