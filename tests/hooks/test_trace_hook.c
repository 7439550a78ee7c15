/* SPDX-License-Identifier: MIT */
/* The trace hook: its rows, and files that fail. */
#include "support/failmalloc.h"
#include "support/late_rig.h"
#include "support/suite.h"
#include "support/trace_log.h"
#include "support/traces.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- Rows --- */

START_TEST(a_row_has_what_rmm_writes)
{
  clpt_rig rig;
  clp_buffer *buffer, *empty, *none;
  clp_memory memory;
  clpt_trace_log log;
  char *text;
  const char *at;

  clpt_rig_start(&rig);
  clpt_trace_log_start(&log);
  clpt_ok(clp_hook_push(log.hook));
  buffer = clpt_allocate(rig.pool, 100);
  memory = clp_buffer_memory(buffer);
  empty = clpt_allocate(rig.pool, 0);
  clpt_ok(clp_buffer_release(buffer));
  rig.device.allocate_fault = (clpt_fault){.count = 1, .status = CLP_BACKEND_ERROR};
  clpt_fails(CLP_BACKEND_ERROR, clp_pool_allocate(rig.pool, 12345, &none));
  clpt_ok(clp_buffer_release(empty));
  clpt_ok(clp_pool_free_held(rig.pool));
  clpt_ok(clp_hook_pop(log.hook));
  clpt_trace_log_close(&log);
  text = clpt_trace_log_text(&log);
  ck_assert_ptr_eq(strstr(text, CLPT_HEADER), text);
  at = text + strlen(CLPT_HEADER);
  at = clpt_after_row(at, clpt_row("allocate", memory, 100, "0"));
  at = clpt_after_row(at, clpt_row("allocate", 0, 0, "0"));
  at = clpt_after_row(at, clpt_row("free", memory, 100, "0"));
  at = clpt_after_row(at, clpt_row("allocate failure", 0, 12345, "0"));
  at = clpt_after_row(at, clpt_row("free", 0, 0, "0"));
  ck_assert_str_eq(at, "");
  free(text);
  clpt_rig_end(&rig);
}
END_TEST

/* Allocates once, when the device gets memory back. */
static void allocate_at_free(clpt_device *device, clpt_call call, size_t bytes)
{
  clp_pool *pool = device->on_call_data;

  (void)bytes;
  if (call != CLPT_FREE)
    return;
  device->on_call = NULL;
  clpt_ok(clp_buffer_release(clpt_allocate(pool, 200)));
}

/* Else another thread's row could tell the memory as allocated before it is told as free. */
START_TEST(a_free_is_written_before_the_memory_is_given_back)
{
  clpt_rig rig;
  clp_buffer *buffer;
  clp_memory memory;
  clpt_trace_log log;
  char *text;
  const char *at;

  clpt_rig_start(&rig);
  clpt_trace_log_start(&log);
  clpt_ok(clp_hook_push(log.hook));
  clpt_ok(clp_pool_stop_holding(rig.pool));
  buffer = clpt_allocate(rig.pool, 100);
  memory = clp_buffer_memory(buffer);
  rig.device.on_call = allocate_at_free;
  rig.device.on_call_data = rig.pool;
  clpt_ok(clp_buffer_release(buffer));
  clpt_ok(clp_hook_pop(log.hook));
  clpt_trace_log_close(&log);
  text = clpt_trace_log_text(&log);
  at = clpt_after_row(text + strlen(CLPT_HEADER), clpt_row("allocate", memory, 100, "0"));
  (void)clpt_after_row(at, clpt_row("free", memory, 100, "0"));
  free(text);
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(a_row_has_the_stream_of_its_call)
{
  char s[32], t[32];
  clpt_late_rig rig;
  clp_buffer *buffer;
  clp_memory memory;
  clpt_trace_log log;
  char *text;
  const char *at;

  clpt_late_rig_start(&rig, CLPT_REUSE_EITHER);
  clpt_trace_log_start(&log);
  clpt_ok(clp_hook_push(log.hook));
  clpt_ok(clp_pool_allocate_on(rig.pool, 100, rig.s, &buffer));
  memory = clp_buffer_memory(buffer);
  clpt_ok(clp_buffer_release_on(buffer, rig.t));
  clpt_ok(clp_hook_pop(log.hook));
  clpt_trace_log_close(&log);
  (void)snprintf(s, sizeof(s), "0x%" PRIxPTR, (uintptr_t)rig.s);
  (void)snprintf(t, sizeof(t), "0x%" PRIxPTR, (uintptr_t)rig.t);
  text = clpt_trace_log_text(&log);
  at = clpt_after_row(text + strlen(CLPT_HEADER), clpt_row("allocate", memory, 100, s));
  at = clpt_after_row(at, clpt_row("free", memory, 100, t));
  ck_assert_str_eq(at, "");
  free(text);
  clpt_late_rig_end(&rig);
}
END_TEST

/* Each is told as freed once; the third was there before the trace. */
START_TEST(buffers_of_zero_bytes_are_told_apart_by_their_count)
{
  char *text = NULL;
  size_t length;
  FILE *file = open_memstream(&text, &length);
  clp_hook *hook;
  clp_buffer *buffers[3];
  clpt_rig rig;

  ck_assert_ptr_nonnull(file);
  clpt_rig_start(&rig);
  clpt_ok(clp_trace_hook_create(NULL, file, &hook));
  clpt_ok(clp_pool_allocate(rig.pool, 0, &buffers[0]));
  clpt_ok(clp_pool_add_hook(rig.pool, hook));
  clpt_ok(clp_pool_allocate(rig.pool, 0, &buffers[1]));
  clpt_ok(clp_pool_allocate(rig.pool, 0, &buffers[2]));
  for (int i = 0; i < 3; i++)
    clpt_ok(clp_buffer_release(buffers[i]));
  clpt_ok(clp_pool_remove_hook(rig.pool, hook));
  clpt_ok(clp_trace_hook_destroy(hook));
  ck_assert_int_eq(fclose(file), 0);
  const char *row = text + strlen(CLPT_HEADER);
  for (int i = 0; i < 4; i++)
    row = clpt_after_row(row, i < 2 ? "allocate,0x0,0,0" : "free,0x0,0,0");
  ck_assert_str_eq(row, "");
  free(text);
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(the_callers_file_stays_the_callers)
{
  char *text = NULL;
  size_t length;
  FILE *file = open_memstream(&text, &length);
  clp_hook *hook;
  clpt_rig rig;

  ck_assert_ptr_nonnull(file);
  clpt_rig_start(&rig);
  clpt_ok(clp_trace_hook_create(NULL, file, &hook));
  ck_assert_str_eq(hook->name, "trace");
  clpt_ok(clp_pool_add_hook(rig.pool, hook));
  clpt_hold(rig.pool, 0, 1);
  clpt_ok(clp_pool_remove_hook(rig.pool, hook));
  clpt_ok(clp_trace_hook_destroy(hook));
  ck_assert_str_ne(text, ""); /* flushed */
  ck_assert_int_gt(fprintf(file, "the end\n"), 0);
  ck_assert_int_eq(fclose(file), 0);
  ck_assert_str_eq(clpt_after_row(clpt_after_row(text + strlen(CLPT_HEADER), "allocate,0x0,0,0"),
                                  "free,0x0,0,0"),
                   "the end\n");
  free(text);
  clpt_rig_end(&rig);
}
END_TEST

/* The name is there before the hook, before its first row, or after: then it is left out, as is all
 * that a trace without names has not. It is cut before the letter that would pass the 64 bytes. */
START_TEST(rows_have_the_names_of_pools)
{
  clpt_rig rig;
  clpt_trace_log log;
  clp_pool_options options = CLP_POOL_OPTIONS_INIT;
  clp_pool *named = NULL;
  options.name =
      "a \"b\",\n\xc3\xa9 01234567890123456789012345678901234567890123456789012\xc3\xa9 more";
  clpt_rig_start(&rig);
  if (_i == 0)
    clpt_ok(clp_pool_create(rig.allocator, &options, &named));
  clpt_trace_log_start(&log);
  clpt_ok(clp_trace_hook_flush(log.hook));
  if (_i == 1)
    clpt_ok(clp_pool_create(rig.allocator, &options, &named));
  clpt_ok(clp_hook_push(log.hook));
  clpt_ok(clp_buffer_release(clpt_allocate(rig.pool, 0)));
  if (_i == 2)
    clpt_ok(clp_pool_create(rig.allocator, &options, &named));
  clpt_ok(clp_buffer_release(clpt_allocate(named, 0)));
  clpt_ok(clp_hook_pop(log.hook));
  clpt_trace_log_close(&log);
  char *text = clpt_trace_log_text(&log), *at = strchr(text, '\n') + 1;
  bool has_names = _i < 2;
  ck_assert_msg(strncmp(text,
                        has_names ? "Thread,Time,Action,Pointer,Size,Stream,Pool\n" : CLPT_HEADER,
                        (size_t)(at - text)) == 0,
                "%s", text);
  const char *name =
      ",\"a \"\"b\"\", \xc3\xa9 01234567890123456789012345678901234567890123456789012\"";
  for (int i = 0; i < 4; i++) {
    char fields[256];
    snprintf(fields, sizeof(fields), "%s,0x0,0,0%s", i % 2 ? "free" : "allocate",
             !has_names ? ""
             : i < 2    ? ","
                        : name);
    at = (char *)clpt_after_row(at, fields);
  }
  ck_assert_str_eq(at, "");
  free(text);
  clp_pool_release(named);
  clpt_rig_end(&rig);
}
END_TEST

/* Allocates until rows would fill the buffer of a trace more than once. */
static int allocate_as_child(void)
{
  enum { ALLOCATIONS = 4000 };
  clpt_rig rig;
  clp_status status = CLP_SUCCESS;

  clpt_rig_start(&rig);
  for (int i = 0; i < ALLOCATIONS && !status; i++) {
    clp_buffer *buffer;
    status = clp_pool_allocate(rig.pool, 100, &buffer);
    if (!status)
      status = clp_buffer_release(buffer);
  }
  return status ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* Its copy of the trace has the parent's file. */
START_TEST(the_child_of_a_fork_writes_no_rows)
{
  int status = -1;
  clpt_trace_log log;
  char *text;

  clpt_trace_log_start(&log);
  clpt_ok(clp_hook_push(log.hook));
  pid_t child = fork();
  if (child == 0)
    _exit(allocate_as_child());
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  ck_assert_int_eq(status, 0);
  clpt_ok(clp_hook_pop(log.hook));
  clpt_trace_log_close(&log);
  text = clpt_trace_log_text(&log);
  ck_assert_str_eq(text, CLPT_HEADER);
  free(text);
}
END_TEST

START_TEST(a_trace_of_nothing_is_a_header)
{
  trace_replay_result result;
  clpt_trace_log log;

  clpt_trace_log_start(&log);
  clpt_trace_log_close(&log);
  result = clpt_trace_log_replay(&log);
  ck_assert_uint_eq(result.allocations, 0);
}
END_TEST

/* --- What fails --- */

START_TEST(a_file_that_cannot_be_opened_is_told)
{
  clp_hook *hook = (clp_hook *)stdout;

  clpt_fails(CLP_IO_ERROR, clp_trace_hook_create("/no/such/folder/trace.csv", NULL, &hook));
  ck_assert_ptr_null(hook);
  ck_assert_int_eq(clp_last_error()->native_code, ENOENT);
  clpt_message_has("/no/such/folder/trace.csv: ");
  clpt_fails(CLP_IO_ERROR, clp_trace_hook_create("/", NULL, &hook));
  ck_assert_int_eq(clp_last_error()->native_code, EISDIR);
}
END_TEST

/* More rows than the buffer holds, or a few. */
static const unsigned row_counts[] = {0, 2, 5000};

START_TEST(a_full_disk_is_told_at_the_end)
{
  unsigned pairs = row_counts[_i / 2] / 2;
  FILE *full = NULL;
  clp_hook *hook;
  clpt_rig rig;

  clpt_rig_start(&rig);
  if (_i % 2 == 0) {
    clpt_ok(clp_trace_hook_create("/dev/full", NULL, &hook));
  } else {
    full = fopen("/dev/full", "w");
    ck_assert_ptr_nonnull(full);
    clpt_ok(clp_trace_hook_create(NULL, full, &hook));
  }
  clpt_ok(clp_hook_push(hook));
  for (unsigned i = 0; i < pairs; i++)
    clpt_hold(rig.pool, 100, 1); /* the program does not notice */
  clpt_ok(clp_hook_pop(hook));
  clpt_fails(CLP_IO_ERROR, clp_trace_hook_destroy(hook));
  ck_assert_int_eq(clp_last_error()->native_code, ENOSPC);
  clpt_message_has(full ? "the trace: " : "/dev/full: ");
  if (full)
    (void)fclose(full);
  clpt_rig_end(&rig);
}
END_TEST

/* A stream that takes some bytes and then fails. */
typedef struct sink {
  size_t room;
  int code; /* errno then; 0: fails without a word */
  unsigned failures;
} sink;

static ssize_t fill(void *cookie, const char *bytes, size_t length)
{
  sink *self = cookie;

  (void)bytes;
  if (length <= self->room) {
    self->room -= length;
    return (ssize_t)length;
  }
  self->failures++;
  errno = self->code;
  return 0;
}

START_TEST(a_stream_that_fails_is_asked_no_more)
{
  const struct {
    int code, told;
    bool buffered; /* by stdio too */
  } cases[] = {{EDQUOT, EDQUOT, false}, {EDQUOT, EDQUOT, true}, {0, EIO, false}};
  sink to = {.room = (size_t)100 * 1024, .code = cases[_i].code};
  FILE *file = fopencookie(&to, "w", (cookie_io_functions_t){.write = fill});
  unsigned failures = 0;
  clp_hook *hook;
  clpt_rig rig;

  ck_assert_ptr_nonnull(file);
  if (!cases[_i].buffered)
    (void)setvbuf(file, NULL, _IONBF, 0);
  clpt_rig_start(&rig);
  clpt_ok(clp_trace_hook_create(NULL, file, &hook));
  clpt_ok(clp_hook_push(hook));
  for (int i = 0; i < 10000; i++) {
    clpt_hold(rig.pool, 100, 1);
    ck_assert(failures == 0 || to.failures == failures);
    failures = to.failures;
  }
  ck_assert_uint_gt(failures, 0);
  clpt_ok(clp_hook_pop(hook));
  clpt_fails(CLP_IO_ERROR, clp_trace_hook_destroy(hook));
  ck_assert_int_eq(clp_last_error()->native_code, cases[_i].told);
  (void)fclose(file);
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(without_host_memory_there_is_no_hook_and_nothing_is_lost)
{
  clp_hook *hook = (clp_hook *)stdout;
  clp_status status;

  clpt_host_start(CLPT_HOST_FAILS_ONCE, 0);
  status = clp_trace_hook_create("/dev/null", NULL, &hook);
  (void)clpt_host_stop();
  ck_assert_int_eq(status, CLP_OUT_OF_HOST_MEMORY);
  ck_assert_ptr_null(hook);

  clpt_host_start(CLPT_HOST_COUNTS, 0);
  status = clp_trace_hook_create("/no/such/folder/trace.csv", NULL, &hook);
  (void)clpt_host_stop();
  ck_assert_int_eq(status, CLP_IO_ERROR);
  ck_assert_int_eq(clpt_host_live(), 0);
}
END_TEST

/* The first allocation makes the table of what is live, later ones make it larger. What was told
 * until then is in the file. */
START_TEST(a_trace_that_cannot_follow_says_so_at_the_end)
{
  enum { MANY = 300 };
  unsigned last = _i == 0 ? 0 : MANY - 1, rows = 0;
  clp_buffer *buffers[MANY];
  clp_memory memory[MANY];
  clp_status statuses[MANY];
  clpt_trace_log log;
  clpt_rig rig;
  char *text;

  clpt_rig_start(&rig);
  for (int i = 0; i < MANY; i++)
    buffers[i] = clpt_allocate(rig.pool, 100);
  for (int i = 0; i < MANY; i++)
    clpt_ok(clp_buffer_release(buffers[i]));
  clpt_trace_log_start(&log);
  clpt_ok(clp_hook_push(log.hook));
  if (last > 0)
    buffers[0] = clpt_allocate(rig.pool, 100);
  clpt_host_start(CLPT_HOST_STAYS_OUT, 0);
  for (unsigned i = last > 0; i <= last; i++)
    statuses[i] = clp_pool_allocate(rig.pool, 100, &buffers[i]);
  (void)clpt_host_stop();
  for (unsigned i = last > 0; i <= last; i++)
    clpt_ok(statuses[i]);
  ck_assert(clpt_host_failed());
  for (unsigned i = 0; i <= last; i++) {
    memory[i] = clp_buffer_memory(buffers[i]);
    clpt_ok(clp_buffer_release(buffers[i]));
  }
  clpt_ok(clp_hook_pop(log.hook));
  clpt_fails(CLP_IO_ERROR, clp_trace_hook_destroy(log.hook));
  ck_assert_int_eq(clp_last_error()->native_code, ENOMEM);
  text = clpt_trace_log_text(&log);
  ck_assert_ptr_eq(strstr(text, CLPT_HEADER), text);
  for (const char *at = text + strlen(CLPT_HEADER); *at; rows++)
    at = clpt_after_row(at, clpt_row("allocate", memory[rows], 100, "0"));
  ck_assert((last > 0) == (rows > 0));
  ck_assert_uint_lt(rows, last + 1);
  free(text);
  clpt_rig_end(&rig);
}
END_TEST

/* Readers leave out the row that it breaks off in. */
START_TEST(a_file_that_grows_no_more_can_be_replayed)
{
  enum { MOST_BYTES = 1000 };
  struct rlimit before, small;
  trace_replay_result result;
  clpt_trace_log log;
  clpt_rig rig;

  clpt_rig_start(&rig);
  clpt_trace_log_start(&log);
  clpt_ok(clp_hook_push(log.hook));
  for (int i = 0; i < 100; i++)
    clpt_hold(rig.pool, 100, 1);
  clpt_ok(clp_hook_pop(log.hook));
  ck_assert(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
  ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
  small = before;
  small.rlim_cur = MOST_BYTES;
  ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
  clp_status status = clp_trace_hook_destroy(log.hook);
  ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
  ck_assert_int_eq(status, CLP_IO_ERROR);
  ck_assert_int_eq(clp_last_error()->native_code, EFBIG);
  ck_assert_int_le(lseek(log.descriptor, 0, SEEK_END), MOST_BYTES);
  result = clpt_trace_log_replay(&log);
  ck_assert_uint_gt(result.allocations, 5);
  clpt_rig_end(&rig);
}
END_TEST

/* --- What the C library is made to do --- */

static struct {
  bool open_has_no_memory;
  unsigned interruptions;
} made_to;

FILE *__real_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode);
size_t __real_fwrite(const void *bytes, size_t size, size_t count, FILE *file);
size_t __wrap_fwrite(const void *bytes, size_t size, size_t count, FILE *file);

FILE *__wrap_fopen(const char *path, const char *mode)
{
  if (!made_to.open_has_no_memory)
    return __real_fopen(path, mode);
  errno = ENOMEM;
  return NULL;
}

/* Writes a part where a signal comes in between. */
size_t __wrap_fwrite(const void *bytes, size_t size, size_t count, FILE *file)
{
  size_t written;

  if (made_to.interruptions == 0)
    return __real_fwrite(bytes, size, count, file);
  made_to.interruptions--;
  written = __real_fwrite(bytes, size, count / 3, file);
  errno = EINTR;
  return written;
}

START_TEST(signals_interrupt_no_writing)
{
  trace_replay_result result;
  clp_status status;
  unsigned left;
  clpt_trace_log log;
  clpt_rig rig;

  clpt_rig_start(&rig);
  clpt_trace_log_start(&log);
  clpt_ok(clp_hook_push(log.hook));
  clpt_hold(rig.pool, 100, 1);
  clpt_ok(clp_hook_pop(log.hook));
  made_to.interruptions = 3;
  status = clp_trace_hook_destroy(log.hook);
  left = made_to.interruptions;
  made_to.interruptions = 0; /* Check writes, too */
  ck_assert_int_eq(status, CLP_SUCCESS);
  ck_assert_uint_eq(left, 0);
  result = clpt_trace_log_replay(&log);
  ck_assert_uint_eq(result.frees, 1);
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(a_file_that_finds_no_host_memory_is_told_as_that)
{
  clp_hook *hook = (clp_hook *)stdout;
  clp_status status;

  made_to.open_has_no_memory = true;
  status = clp_trace_hook_create("/dev/null", NULL, &hook);
  made_to.open_has_no_memory = false;
  ck_assert_int_eq(status, CLP_OUT_OF_HOST_MEMORY);
  ck_assert_ptr_null(hook);
}
END_TEST

/* Messages have an end, and what is wrong must come before it. */
START_TEST(of_a_long_path_the_end_is_told)
{
  char path[2048] = "/dev";
  const char *const names[] = {"/none/x", "/full"};
  clp_hook *hook;

  for (int i = 0; i < 150; i++)
    strcat(path, "/../dev");
  strcat(path, names[_i]);
  if (_i == 0) {
    clpt_fails(CLP_IO_ERROR, clp_trace_hook_create(path, NULL, &hook));
    clpt_message_has("/../dev/none/x: No such file or directory");
  } else {
    clpt_ok(clp_trace_hook_create(path, NULL, &hook));
    clpt_fails(CLP_IO_ERROR, clp_trace_hook_destroy(hook));
    clpt_message_has("/../dev/full: not all could be written: No space left on device");
  }
  ck_assert_int_eq(strncmp(clp_last_error()->message, "...", 3), 0);
}
END_TEST

CLPT_MAIN("trace hook", clpt_run)
{
  TCase *rows = clpt_case(suite, "rows"), *failures = clpt_case(suite, "failures");

  tcase_add_test(rows, a_row_has_what_rmm_writes);
  tcase_add_test(rows, a_free_is_written_before_the_memory_is_given_back);
  tcase_add_test(rows, a_row_has_the_stream_of_its_call);
  tcase_add_test(rows, buffers_of_zero_bytes_are_told_apart_by_their_count);
  tcase_add_test(rows, the_callers_file_stays_the_callers);
  tcase_add_loop_test(rows, rows_have_the_names_of_pools, 0, 3);
  tcase_add_test(rows, the_child_of_a_fork_writes_no_rows);
  tcase_add_test(rows, a_trace_of_nothing_is_a_header);
  tcase_add_test(failures, a_file_that_cannot_be_opened_is_told);
  tcase_add_loop_test(failures, a_full_disk_is_told_at_the_end, 0, 6);
  tcase_add_loop_test(failures, a_stream_that_fails_is_asked_no_more, 0, 3);
  tcase_add_test(failures, without_host_memory_there_is_no_hook_and_nothing_is_lost);
  tcase_add_loop_test(failures, a_trace_that_cannot_follow_says_so_at_the_end, 0, 2);
  tcase_add_test(failures, a_file_that_grows_no_more_can_be_replayed);
  tcase_add_test(failures, signals_interrupt_no_writing);
  tcase_add_test(failures, a_file_that_finds_no_host_memory_is_told_as_that);
  tcase_add_loop_test(failures, of_a_long_path_the_end_is_told, 0, 2);
}
