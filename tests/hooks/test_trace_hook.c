/* SPDX-License-Identifier: MIT */
/* The trace hook of clpool/trace.h: its rows, that they can be replayed, and files that fail. */
#include "core/hooks/hook.h"
#include "support/failmalloc.h"
#include "support/pools.h"
#include "support/replays.h"
#include "support/suite.h"
#include "support/traces.h"
#include "support/workers.h"

#include <clpool/trace.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- a file in memory, and the hook that writes to it --- */

static clpt_rig rig;
static clp_hook *hook;
static int file;

/* By the path of the file, or by one of the caller's. */
static void start(FILE **callers)
{
  char path[64];
  file = memfd_create("trace", MFD_CLOEXEC);
  (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
  if (callers)
    ck_assert_ptr_nonnull(*callers = fdopen(dup(file), "w"));
  clpt_ok(clp_trace_hook_create(callers ? NULL : path, callers ? *callers : NULL, &hook));
  ck_assert_str_eq(hook->name, "trace");
}

static void setup(void)
{
  clpt_rig_start(&rig);
  start(NULL);
}

static void teardown(void)
{
  close(file);
  clpt_rig_end(&rig);
}

static char *text_of_file(void)
{
  off_t length = lseek(file, 0, SEEK_END);
  char *text = calloc((size_t)length + 1, 1);
  ck_assert_ptr_nonnull(text);
  ck_assert_int_eq(pread(file, text, (size_t)length, 0), length);
  return text;
}

/* On a pool with the default options, on a simulated device. */
static trace_replay_result replay(void)
{
  trace_replay_options options = clpt_pooled();
  clp_allocator *allocator = clpt_simulated(0);
  trace_replay_result result;
  char *text = text_of_file();
  trace_reader *reader = clpt_trace(text);
  free(text);
  clpt_ok(trace_replay(reader, allocator, &options, &result));
  ck_assert_uint_eq(result.failures, 0);
  trace_close(reader);
  clp_allocator_release(allocator);
  return result;
}

/* Asserts that `*at` begins with a row of this thread, at whatever time, with these fields, and
 * steps behind it. */
static void row(char **at, const char *action, clp_memory memory, size_t size, const char *rest)
{
  char fields[256];
  unsigned thread, hours, minutes, seconds, microseconds;
  int length = 0;
  ck_assert_int_eq(sscanf(*at, "%u,%2u:%2u:%2u.%6u,%n", &thread, &hours, &minutes, &seconds,
                          &microseconds, &length),
                   5);
  ck_assert_int_eq((int)thread, gettid());
  ck_assert(hours < 24 && minutes < 60 && seconds < 60);
  ck_assert_int_eq(length, snprintf(NULL, 0, "%u,00:00:00.000000,", thread));
  *at += length;
  length =
      snprintf(fields, sizeof(fields), "%s,0x%" PRIxPTR ",%zu,%s\n", action, memory, size, rest);
  ck_assert_msg(strncmp(*at, fields, (size_t)length) == 0, "\"%s\" is not \"%s\"", *at, fields);
  *at += length;
}

/* --- rows --- */

/* Steps: + and - register the hook and take it off, a100 allocates that many bytes, into the next
 * place, r0 releases the one in the first place, x100 is refused by the device, h frees what is
 * held, and from d on nothing is held, and the device allocates once itself while it gets memory
 * back. Rows: places and bytes. */
static const struct {
  const char *steps, *rows;
} runs[] = {
    {"", ""},
    {"+ a100 a0 r0 x12345 r1 h -", "a0=100 a1=0 f0=100 x9=12345 f1=0"},
    /* Frees of what was allocated unseen are left out; buffers of no bytes go by their count. */
    {"a100 + a101 r0 r1 -", "a1=101 f1=101"},
    {"a0 + a0 a0 r0 r1 r2 -", "a1=0 a2=0 f1=0 f2=0"},
    /* What was freed unseen is told when it comes back, with the size that was told. */
    {"+ a100 - r0 + a101 r1 -", "a0=100 f0=100 a1=101 f1=101"},
    {"+ a100 - r0 a101 + r1 -", "a0=100 f0=100"},
    /* A free is written before the memory is given back, which another thread may get then. */
    {"+ d a100 r0 -", "a0=100 f0=100 a1=200 f1=200"},
};

static struct {
  clp_buffer *buffer;
  clp_memory memory;
} places[10];
static unsigned place_count;

static void take_step(const char *step);

static void allocate_at_free(clpt_device *device, clpt_call call, size_t bytes)
{
  if (call != CLPT_FREE)
    return;
  device->on_call = NULL;
  take_step("a200");
  take_step("r1");
}

static void take_step(const char *step)
{
  const size_t number = strtoul(step + 1, NULL, 10);
  clp_buffer *none;
  switch (*step) {
  case '+':
    clpt_ok(clp_hook_push(hook));
    break;
  case '-':
    clpt_ok(clp_hook_pop(hook));
    break;
  case 'a':
    places[place_count].buffer = clpt_allocate(rig.pool, number);
    places[place_count].memory = clp_buffer_memory(places[place_count].buffer);
    place_count++;
    break;
  case 'd':
    rig.device.on_call = allocate_at_free;
    clpt_ok(clp_pool_stop_holding(rig.pool));
    break;
  case 'r':
    clpt_ok(clp_buffer_release(places[number].buffer));
    break;
  case 'x':
    rig.device.allocate_fault = (clpt_fault){.count = 1, .status = CLP_BACKEND_ERROR};
    clpt_fails(CLP_BACKEND_ERROR, clp_pool_allocate(rig.pool, number, &none));
    break;
  default:
    clpt_ok(clp_pool_free_held(rig.pool));
  }
}

static void file_has(const char *rows, const char *end)
{
  char *text = text_of_file(), *at = text + strlen(CLPT_HEADER);
  ck_assert_ptr_eq(strstr(text, CLPT_HEADER), text);
  for (; *rows; rows += strcspn(rows, " "), rows += *rows == ' ')
    row(&at,
        *rows == 'a'   ? "allocate"
        : *rows == 'f' ? "free"
                       : "allocate failure",
        places[rows[1] - '0'].memory, strtoul(rows + 3, NULL, 10), "0");
  ck_assert_str_eq(at, end);
  free(text);
}

/* Once for a path, once for the caller's file, which stays that. */
START_TEST(rows_are_those_of_rmm)
{
  const char *step = runs[_i / 2].steps, *rows = runs[_i / 2].rows;
  unsigned allocations = 0;
  FILE *callers = NULL;
  memset(places, 0, sizeof(places));
  place_count = 0;
  if (_i % 2) {
    clpt_ok(clp_trace_hook_destroy(hook));
    close(file);
    start(&callers);
  }
  for (; *step; step += strcspn(step, " "), step += *step == ' ')
    take_step(step);
  clpt_ok(clp_trace_hook_flush(hook));
  file_has(rows, "");
  clpt_ok(clp_trace_hook_destroy(hook));
  file_has(rows, "");
  for (const char *at = rows; (at = strchr(at, 'a')); at++)
    allocations++;
  ck_assert_uint_eq(replay().allocations, allocations);
  ck_assert_uint_eq(replay().frees, allocations);
  if (callers) {
    ck_assert_int_gt(fprintf(callers, "the end\n"), 0);
    ck_assert_int_eq(fclose(callers), 0);
    file_has(rows, "the end\n");
  }
  clpt_ok(clp_trace_hook_flush(NULL));
}
END_TEST

START_TEST(a_row_has_the_stream_of_its_call)
{
  clp_hook_event event = {.pool = rig.pool, .size = 100, .memory = 7, .buffer_id = 1};
  event.stream = &rig;
  hook->malloc_postprocess(&event, hook->user_data);
  event.stream = &file;
  hook->free_preprocess(&event, hook->user_data);
  clpt_ok(clp_trace_hook_destroy(hook));
  char *text = text_of_file(), *at = text + strlen(CLPT_HEADER), streams[2][32];
  (void)snprintf(streams[0], sizeof(*streams), "%p", (void *)&rig);
  (void)snprintf(streams[1], sizeof(*streams), "%p", (void *)&file);
  row(&at, "allocate", 7, 100, streams[0]);
  row(&at, "free", 7, 100, streams[1]);
  ck_assert_str_eq(at, "");
  free(text);
}
END_TEST

/* The name is there before the hook, before its first row, or after: then it is left out, as is all
 * that a trace without names has not. It is cut before the letter that would pass the 64 bytes. */
START_TEST(rows_have_the_names_of_pools)
{
  enum { BEFORE_THE_HOOK, BEFORE_A_ROW, TOO_LATE };
  static const char name[] = "0,\"a \"\"b\"\", \xc3\xa9 "
                             "01234567890123456789012345678901234567890123456789012\"";
  clp_pool_options options = CLP_POOL_OPTIONS_INIT;
  clp_pool *named = NULL;
  options.name =
      "a \"b\",\n\xc3\xa9 01234567890123456789012345678901234567890123456789012\xc3\xa9 more";
  clpt_ok(clp_trace_hook_destroy(hook));
  close(file);
  for (int at = BEFORE_THE_HOOK; at <= TOO_LATE; at++) {
    if (at == BEFORE_A_ROW)
      start(NULL);
    if (at == TOO_LATE) {
      clpt_ok(clp_hook_push(hook));
      clpt_hold(rig.pool, 0, 1);
    }
    if (at == _i)
      clpt_ok(clp_pool_create(rig.allocator, &options, &named));
  }
  clpt_hold(named, 0, 1);
  clpt_ok(clp_hook_pop(hook));
  clpt_ok(clp_trace_hook_destroy(hook));
  char *text = text_of_file(), *at = strchr(text, '\n') + 1;
  ck_assert((strncmp(text, CLPT_HEADER, strlen(CLPT_HEADER)) == 0) == (_i == TOO_LATE));
  for (int i = 0; i < 4; i++)
    row(&at, i % 2 ? "free" : "allocate", 0, 0, _i == TOO_LATE ? "0" : i < 2 ? "0," : name);
  ck_assert_str_eq(at, "");
  free(text);
  clp_pool_release(named);
}
END_TEST

/* Its copy of the trace has the parent's file, and its buffer, which rows would fill. */
START_TEST(the_child_of_a_fork_writes_no_rows)
{
  int status = -1;
  pid_t child = fork();
  for (int i = 0; i < 4000 && !child; i++) {
    clp_hook_event event = {.pool = rig.pool, .size = 100, .memory = 1, .buffer_id = 1};
    hook->malloc_postprocess(&event, hook->user_data);
    hook->free_preprocess(&event, hook->user_data);
  }
  if (!child)
    clpt_leave(clp_trace_hook_flush(hook) || clp_trace_hook_destroy(hook));
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  ck_assert_int_eq(status, 0);
  clpt_ok(clp_trace_hook_destroy(hook));
  file_has("", "");
}
END_TEST

/* --- replays --- */

enum { LIVE = 200 };

/* Buffers that threads hand to each other, and the hook of every other thread; NULL: the pool's. */
static _Atomic(clp_buffer *) handed[LIVE];
static clp_hook *pushed;

static void trade(clpt_worker *self)
{
  if (pushed && self->number % 2 == 0)
    clpt_note_failure(self, "push", clp_hook_push(pushed));
  for (unsigned i = 0; i < self->rounds; i++) {
    clp_buffer *buffer = NULL;
    size_t size = clpt_chance_below(&self->chance, (uint64_t)1 << (i % 20));
    clpt_note_failure(self, "allocate", clp_pool_allocate(rig.pool, size, &buffer));
    buffer = atomic_exchange(&handed[clpt_chance_below(&self->chance, LIVE)], buffer);
    clpt_note_failure(self, "release", clp_buffer_release(buffer));
    if (i % 200 == 0)
      (void)clp_pool_free_held(rig.pool);
  }
}

/* By one thread, whose figures are the replay's; by several; and by several of which half have the
 * hook. */
START_TEST(what_was_written_can_be_replayed)
{
  static const clpt_work work[] = {trade};
  clpt_workers workers;
  pushed = _i == 2 ? hook : NULL;
  if (!pushed)
    clpt_ok(clp_pool_add_hook(rig.pool, hook));
  clpt_workers_start(&workers, _i ? 6 : 1, work, 1, clpt_iterations(8000), NULL);
  clpt_workers_join(&workers);
  clp_pool_stats stats = clpt_stats(rig.pool);
  for (size_t i = 0; i < LIVE; i++)
    clpt_ok(clp_buffer_release(atomic_exchange(&handed[i], NULL)));
  if (!pushed)
    clpt_ok(clp_pool_remove_hook(rig.pool, hook));
  clpt_ok(clp_trace_hook_destroy(hook));
  trace_replay_result result = replay();
  ck_assert_uint_eq(result.allocations, stats.allocations / (pushed ? 2 : 1));
  if (!pushed)
    ck_assert_uint_eq(result.frees, result.allocations);
  if (_i == 0)
    ck_assert_uint_eq(result.peak_active_bytes, stats.peak_active_bytes);
}
END_TEST

/* --- what fails --- */

/* What the C library is made to do. */
static bool open_has_no_memory;
static unsigned interruptions, writes;

FILE *__real_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode);
size_t __real_fwrite(const void *bytes, size_t size, size_t count, FILE *to);
size_t __wrap_fwrite(const void *bytes, size_t size, size_t count, FILE *to);

FILE *__wrap_fopen(const char *path, const char *mode)
{
  errno = ENOMEM;
  return open_has_no_memory ? NULL : __real_fopen(path, mode);
}

/* Writes a part where a signal comes in between. */
size_t __wrap_fwrite(const void *bytes, size_t size, size_t count, FILE *to)
{
  size_t written = __real_fwrite(bytes, size, interruptions ? count / 3 : count, to);
  writes++;
  if (interruptions) {
    interruptions--;
    errno = EINTR;
  }
  return written;
}

/* Nor without host memory, the hook's or, last, the C library's. environment_trace has names. */
START_TEST(a_file_that_cannot_be_opened_is_told)
{
  clp_hook *none = hook;
  clpt_fails(CLP_IO_ERROR, clp_trace_hook_create("/", NULL, &none));
  ck_assert_ptr_null(none);
  ck_assert_int_eq(clp_last_error()->native_code, EISDIR);
  clpt_message_has("/: Is a directory");
  for (int i = 0; i < 2; i++) {
    none = hook;
    open_has_no_memory = i;
    clpt_host_start(i ? CLPT_HOST_COUNTS : CLPT_HOST_FAILS_ONCE, 0);
    clp_status status = clp_trace_hook_create("/dev/null", NULL, &none);
    (void)clpt_host_stop();
    open_has_no_memory = false;
    ck_assert(status == CLP_OUT_OF_HOST_MEMORY && !none && clpt_host_live() == 0);
  }
  clpt_ok(clp_trace_hook_destroy(hook));
}
END_TEST

/* A path, a long one, the caller's file; no row, a few, or more than the buffer holds. The program
 * does not notice until it flushes or ends the hook, and the file is asked no more. */
START_TEST(a_full_disk_is_told)
{
  enum { PATH, LONG_PATH, CALLERS, KINDS };
  static const unsigned counts[] = {0, 1, 2500};
  const int kind = _i % KINDS;
  const unsigned count = counts[_i / KINDS];
  char path[2048] = "/dev";
  unsigned writes_before = 0;
  FILE *callers = kind == CALLERS ? fopen("/dev/full", "w") : NULL;
  for (int i = 0; i < 150 && kind == LONG_PATH; i++)
    strcat(path, "/../dev");
  strcat(path, "/full");
  clpt_ok(clp_trace_hook_destroy(hook));
  clpt_ok(clp_trace_hook_create(callers ? NULL : path, callers, &hook));
  clpt_ok(clp_hook_push(hook));
  for (unsigned i = 0; i < count; i++) {
    clpt_hold(rig.pool, 100, 1);
    writes_before = i == 1500 ? writes : writes_before;
  }
  ck_assert(count < 1500 || writes == writes_before);
  clpt_ok(clp_hook_pop(hook));
  if (count == 1)
    clpt_fails(CLP_IO_ERROR, clp_trace_hook_flush(hook));
  clpt_fails(CLP_IO_ERROR, clp_trace_hook_destroy(hook));
  ck_assert_int_eq(clp_last_error()->native_code, ENOSPC);
  clpt_message_has(callers
                       ? "the trace: some events could not be written: No space left on device"
                       : "/dev/full: some events could not be written: No space left on device");
  ck_assert((strncmp(clp_last_error()->message, "...", 3) == 0) == (kind == LONG_PATH));
  if (callers)
    (void)fclose(callers);
}
END_TEST

/* The first allocation makes the table of what is live, later ones make it larger. What was told
 * until then is in the file. */
START_TEST(a_trace_that_cannot_follow_says_so_at_the_end)
{
  enum { MANY = 300 };
  clp_memory rows = 0;
  for (clp_memory i = 1; i <= MANY; i++) {
    clp_hook_event event = {.pool = rig.pool, .size = 100, .memory = i, .buffer_id = i};
    if (i == 1 + (clp_memory)_i)
      clpt_host_start(CLPT_HOST_STAYS_OUT, 0);
    hook->malloc_postprocess(&event, hook->user_data);
  }
  (void)clpt_host_stop();
  clpt_fails(CLP_IO_ERROR, clp_trace_hook_destroy(hook));
  ck_assert_int_eq(clp_last_error()->native_code, ENOMEM);
  char *text = text_of_file(), *at = text + strlen(CLPT_HEADER);
  while (*at)
    row(&at, "allocate", ++rows, 100, "0");
  ck_assert(_i ? rows > 0 && rows < MANY : rows == 0);
  free(text);
}
END_TEST

/* Signals interrupt no writing. */
START_TEST(writing_that_is_interrupted)
{
  clpt_ok(clp_hook_push(hook));
  for (int i = 0; i < 100; i++)
    clpt_hold(rig.pool, 100, 1);
  clpt_ok(clp_hook_pop(hook));
  interruptions = 3;
  clp_status status = clp_trace_hook_flush(hook);
  unsigned left = interruptions;
  interruptions = 0; /* Check writes, too */
  ck_assert(status == CLP_SUCCESS && left == 0);
  clpt_ok(clp_trace_hook_destroy(hook));
  ck_assert_uint_eq(replay().frees, 100);
}
END_TEST

CLPT_MAIN("trace hook", clpt_run)
{
  TCase *tests = clpt_case(suite, "trace hook");
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_loop_test(tests, rows_are_those_of_rmm, 0, 2 * sizeof(runs) / sizeof(runs[0]));
  tcase_add_test(tests, a_row_has_the_stream_of_its_call);
  tcase_add_loop_test(tests, rows_have_the_names_of_pools, 0, 3);
  tcase_add_test(tests, the_child_of_a_fork_writes_no_rows);
  tcase_add_loop_test(tests, what_was_written_can_be_replayed, 0, 3);
  tcase_add_test(tests, a_file_that_cannot_be_opened_is_told);
  tcase_add_loop_test(tests, a_full_disk_is_told, 0, 9);
  tcase_add_loop_test(tests, a_trace_that_cannot_follow_says_so_at_the_end, 0, 2);
  tcase_add_test(tests, writing_that_is_interrupted);
}
