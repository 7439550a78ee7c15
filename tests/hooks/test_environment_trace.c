/* SPDX-License-Identifier: MIT */
/* CLPOOL_TRACE and CLPOOL_TRACE_STACKS of clpool/trace.h: which file, and what is in it when the
 * process has ended. They are read once, so each process is one of its own. */
#include "support/cuda_device.h"
#include "support/failmalloc.h"
#include "support/pools.h"
#include "support/replays.h"
#include "support/traces.h"
#include "support/workers.h"

#include <clpool/clpool.h>
#include <clpool/cuda.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define VARIABLE "CLPOOL_TRACE"

/* --- the folder, empty for each test --- */

static char folder[64];

static void setup(void)
{
  snprintf(folder, sizeof(folder), "/tmp/clpt-trace-XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void teardown(void)
{
  DIR *files = opendir(folder);
  for (struct dirent *file; files && (file = readdir(files));)
    unlinkat(dirfd(files), file->d_name, 0);
  closedir(files);
  rmdir(folder);
}

/* Until the next call. */
static const char *path_of(const char *name)
{
  static char path[512];
  snprintf(path, sizeof(path), "%s/%s", folder, name);
  return path;
}

/* How many files the folder has, the name of one that is not `but`. */
enum { NAME_BYTES = 256 };
static unsigned count_files(const char *but, char other[NAME_BYTES])
{
  unsigned count = 0;
  DIR *files = opendir(folder);
  for (struct dirent *file; (file = readdir(files));) {
    count += file->d_name[0] != '.';
    if (file->d_name[0] != '.' && strcmp(file->d_name, but) != 0)
      snprintf(other, NAME_BYTES, "%s", file->d_name);
  }
  closedir(files);
  return count;
}

/* A file is well-formed, makes sense, and has so many rows. */
static void has_rows(const char *name, uint64_t allocations, uint64_t frees, size_t peak)
{
  trace_reader *reader;
  trace_replay_result result;
  trace_replay_options options = clpt_pooled();
  clp_allocator *device = clpt_simulated(0);
  clpt_ok(trace_open(-1, path_of(name), &reader));
  clpt_ok(trace_replay(reader, device, &options, &result));
  trace_close(reader);
  clp_allocator_release(device);
  ck_assert_uint_eq(result.allocations, allocations);
  ck_assert_uint_eq(result.frees, frees);
  ck_assert_uint_eq(result.peak_active_bytes, peak);
}

/* --- other processes: a failed assertion ends them, and is the test's --- */

static pid_t spawn(void (*work)(void))
{
  fflush(NULL);
  pid_t id = fork();
  if (id)
    return id;
  work();
  exit(EXIT_SUCCESS);
}

static void wait_for(pid_t id)
{
  int result = -1;
  ck_assert_int_eq(waitpid(id, &result, 0), id);
  ck_assert_int_eq(result, 0);
}

/* With the variable set to a file of that name in the folder. */
static pid_t start(const char *name, void (*work)(void))
{
  setenv(VARIABLE, path_of(name), 1);
  pid_t id = spawn(work);
  unsetenv(VARIABLE);
  return id;
}

static pid_t run(const char *name, void (*work)(void))
{
  pid_t id = start(name, work);
  wait_for(id);
  return id;
}

/* What the library calls: what another thread does while fopen waits for it, as for a file far
 * away; and how many calls of pthread_atfork succeed until all fail, as without memory. */
static void *(*during_fopen)(void *);
static int working_atforks = INT_MAX;

FILE *__real_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode);
int __real_pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void));
int __wrap_pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void));

FILE *__wrap_fopen(const char *path, const char *mode)
{
  void *(*work)(void *) = during_fopen;
  during_fopen = NULL;
  if (work)
    clpt_aside(work, NULL);
  return __real_fopen(path, mode);
}

int __wrap_pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void))
{
  return working_atforks-- > 0 ? __real_pthread_atfork(prepare, parent, child) : ENOMEM;
}

/* --- what processes do --- */

/* Static, for what they leave to their end is no leak. */
static clp_allocator *device, *older_device;
static clp_pool *pool, *older_pool;
static clp_buffer *buffers[2];

static void make_pool(void)
{
  device = clpt_simulated(0);
  pool = clpt_pool(device);
}

static void end_pool(void)
{
  clp_pool_release(pool);
  clp_allocator_release(device);
}

static void use_one_pool(void)
{
  clp_allocator *own_device = clpt_simulated(0);
  clp_pool *own = clpt_pool(own_device);
  clpt_hold(own, 100, 3);
  clp_pool_release(own);
  clp_allocator_release(own_device);
}

static void leave_all(void)
{
  make_pool();
  clpt_hold(pool, 100, 3);
  buffers[0] = clpt_allocate(pool, 100);
}

enum { THREADS = 3, ROUNDS = 400, ALL = THREADS * ROUNDS };

static void use_often(clpt_worker *unused)
{
  for (int i = 0; i < ROUNDS; i++)
    clpt_hold(pool, 0, 1);
}

/* More than the trace's buffer. */
static void use_threads(void)
{
  static clpt_workers workers;
  make_pool();
  clpt_workers_start(&workers, THREADS, (const clpt_work[]){use_often}, 1, 1, NULL);
  clpt_workers_join(&workers);
  end_pool();
}

static void use_an_asynchronous_pool(void)
{
  clp_cuda_async_pool *async;
  unsigned long long memory;
  clpt_ok(clp_cuda_async_pool_create(NULL, &async));
  clpt_ok(clp_cuda_async_pool_malloc(async, 1000, NULL, &memory));
  clpt_ok(clp_cuda_async_pool_free(async, memory, NULL));
  clp_cuda_async_pool_release(async);
  fakecuda_reset();
}

/* What the pool has is lost with the library: no leak of its own. */
static void close_the_library(void)
{
#define ITS(function) ((__typeof__(&function))dlsym(library, #function))
  char path[PATH_MAX];
  snprintf(path, sizeof(path), "%s/.libs/libclpool.so", getenv("top_builddir"));
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  ck_assert_ptr_nonnull(library);
  clpt_ok(ITS(clp_simulated_allocator_create)(0, &device));
  clpt_ok(ITS(clp_pool_create)(device, NULL, &pool));
  clpt_ok(ITS(clp_pool_allocate)(pool, 100, &buffers[0]));
  ck_assert_int_eq(dlclose(library), 0);
  _exit(EXIT_SUCCESS); /* so what was written, dlclose wrote */
}

static void run_out_of_host_memory(void)
{
  clp_status status = CLP_OUT_OF_HOST_MEMORY;
  unsigned long nth = 0;
  device = clpt_simulated(0);
  for (; status == CLP_OUT_OF_HOST_MEMORY; nth++) {
    clpt_host_start(CLPT_HOST_FAILS_ONCE, nth);
    status = clp_pool_create(device, NULL, &pool);
    clpt_host_stop();
    ck_assert(!status == !!pool && !status == !clpt_host_failed());
  }
  clpt_ok(status);
  ck_assert_uint_ge(nth, 5); /* the pool, the trace, its hook, its registration, and none */
  clpt_hold(pool, 100, 1);
  end_pool();
}

/* --- forks --- */

static void (*work_of_child)(void);

/* What is buffered when the process forks must not come twice. */
static void fork_in_the_middle(void)
{
  make_pool();
  for (int i = 0; i < 2; i++)
    buffers[i] = clpt_allocate(pool, 100);
  wait_for(spawn(work_of_child));
  for (int i = 0; i < 2; i++)
    clpt_ok(clp_buffer_release(buffers[i]));
  end_pool();
}

/* Whoever forks before the first pool has a trace as any process. */
static void fork_before(void)
{
  wait_for(spawn(use_one_pool));
}

static void use_the_parents_pool_and_another(void)
{
  clp_buffer *none;
  clpt_fails(CLP_NOT_SUPPORTED, clp_pool_allocate(pool, 1000, &none));
  clpt_ok(clp_buffer_release(buffers[0]));
  use_one_pool();
}

static void end_both_pools(void)
{
  end_pool();
  for (int i = 0; i < 2; i++)
    clpt_ok(clp_buffer_release(buffers[i]));
  clp_pool_release(older_pool);
  clp_allocator_release(older_device);
}

static void fork_again(void)
{
  older_pool = pool;
  older_device = device;
  make_pool();
  wait_for(spawn(end_both_pools));
  end_pool();
}

/* What other threads have just made is lost to the child: no leak of its own. */
static void use_a_pool_and_leave(void)
{
  use_one_pool();
  clpt_leave(EXIT_SUCCESS);
}

static void *fork_aside(void *unused)
{
  wait_for(spawn(use_a_pool_and_leave));
  return unused;
}

static void fork_while_a_thread_opens(void)
{
  during_fopen = fork_aside;
  use_one_pool();
}

static void *end_aside(void *unused)
{
  exit(EXIT_SUCCESS);
}

static void end_while_a_thread_opens(void)
{
  during_fopen = end_aside;
  use_one_pool();
}

static void make_pools_and_fork(clpt_worker *self)
{
  for (unsigned i = 0; i < 100 * self->rounds; i++)
    if (i % 100)
      use_one_pool();
    else
      wait_for(spawn(use_a_pool_and_leave));
}

static void fork_while_threads_make_pools(void)
{
  static clpt_workers workers;
  use_one_pool(); /* ThreadSanitizer's pthread_once does not survive a fork inside it */
  clpt_workers_start(&workers, THREADS, (const clpt_work[]){make_pools_and_fork}, 1,
                     clpt_iterations(70), NULL);
  clpt_workers_join(&workers);
}

/* --- runs --- */

/* Rows of the process's own file, with the peak of bytes, and of its child's, if that has one. */
static const struct {
  const char *name;
  void (*work)(void), (*child)(void);
  unsigned allocations, frees, peak, childs_files, childs_rows;
  bool loses_memory; /* which valgrind takes for a leak */
} runs[] = {
    {"%%%p%%p-%p.csv", use_one_pool, NULL, 3, 3, 300, 0, 0, false},
    {"trace.csv", leave_all, NULL, 4, 3, 300, 0, 0, false},
    {"trace.csv", use_threads, NULL, ALL, ALL, 0, 0, 0, false},
    {"trace.csv", use_an_asynchronous_pool, NULL, 1, 1, 1000, 0, 0, false},
    {"trace.csv", close_the_library, NULL, 1, 0, 100, 0, 0, true},
    {"trace.csv", run_out_of_host_memory, NULL, 1, 1, 100, 0, 0, false},
    {"trace.csv", fork_before, NULL, 3, 3, 300, 0, 0, false},
    /* Two pools at once, whose devices are made up alike. */
    {"trace.csv", fork_in_the_middle, use_the_parents_pool_and_another, 2, 2, 200, 0, 0, false},
    {"%p.csv", fork_in_the_middle, use_the_parents_pool_and_another, 2, 2, 200, 1, 3, false},
    {"%p.csv", fork_in_the_middle, fork_again, 2, 2, 200, 1, 0, false},
    {"trace.csv", fork_while_a_thread_opens, NULL, 3, 3, 300, 0, 0, true},
};

START_TEST(a_process_has_a_trace)
{
  char name[64], child[NAME_BYTES] = "";
  size_t length = 0;
  if (runs[_i].loses_memory && clpt_is_on_valgrind())
    return;
  work_of_child = runs[_i].child;
  pid_t id = run(runs[_i].name, runs[_i].work);
  for (const char *from = runs[_i].name; *from; from++)
    if (*from != '%' || *++from == '%')
      name[length++] = *from;
    else
      length += (size_t)sprintf(name + length, "%d", (int)id);
  name[length] = '\0';
  has_rows(name, runs[_i].allocations, runs[_i].frees, runs[_i].peak);
  ck_assert_uint_eq(count_files(name, child), 1 + runs[_i].childs_files);
  if (*child)
    has_rows(child, runs[_i].childs_rows, runs[_i].childs_rows, 100 * runs[_i].childs_rows);
}
END_TEST

/* AddressSanitizer's own locks may stay so in a child, by a thread that is lost. */
START_TEST(forks_while_pools_are_made)
{
#ifdef __SANITIZE_ADDRESS__
  return;
#endif
  if (!clpt_is_on_valgrind())
    run("trace-%p.csv", fork_while_threads_make_pools);
}
END_TEST

/* Once the first pool is there, the variable is not looked at. */
static void use_without_the_variable(void)
{
  use_one_pool();
  setenv(VARIABLE, path_of("late.csv"), 1);
  use_one_pool();
}

static void watch_no_forks(void)
{
  clp_status made = clp_simulated_allocator_create(0, &device);
  if (!made)
    made = clp_pool_create(device, NULL, &pool);
  ck_assert_int_eq(made, CLP_OUT_OF_HOST_MEMORY);
  ck_assert_ptr_null(pool);
  clp_allocator_release(device);
}

/* Without the variable; where the process ends while a thread opens it; without memory to watch
 * forks, as a child would use what the parent has locked, and write its rows. */
START_TEST(processes_without_a_file)
{
  char none[NAME_BYTES];
  wait_for(spawn(use_without_the_variable));
  run("trace.csv", end_while_a_thread_opens);
  for (working_atforks = 0; working_atforks < 3; working_atforks++)
    run("trace.csv", watch_no_forks);
  ck_assert_uint_eq(count_files("", none), 0);
}
END_TEST

static const struct {
  const char *value, *message;
  int code;
} refused[] = {
    {"", " is \"\"; expected a file name, found an empty string", 0},
    {"a%", " is \"a%\"; expected a file name, found a percent sign that is in neither %p", 0},
    {"/no/such/folder/trace.csv", ": /no/such/folder/trace.csv: No such file or directory", ENOENT},
    {"pipe", ": pipe: no process reads this pipe", ENXIO},
    {NULL, "nnn\"; expected a file name, found one that is too long", 0},
};
static int row;

/* Again and again, until the value is a good one, here a relative name. */
static void be_refused(void)
{
  static char long_name[2 * PATH_MAX];
  clp_pool *none;
  clp_cuda_async_pool *async;
  const clp_status status = refused[row].code ? CLP_IO_ERROR : CLP_INVALID_ARGUMENT;
  memset(long_name, 'n', sizeof(long_name) - 1);
  ck_assert(chdir(folder) == 0 && mkfifo("pipe", 0600) == 0);
  device = clpt_simulated(0);
  setenv(VARIABLE, refused[row].value ? refused[row].value : long_name, 1);
  clpt_fails(status, clp_cuda_async_pool_create(NULL, &async));
  clpt_fails(status, clp_pool_create(device, NULL, &none));
  clpt_message_has(VARIABLE);
  clpt_message_has(refused[row].message);
  ck_assert_int_eq(clp_last_error()->native_code, refused[row].code);
  clp_allocator_release(device);
  setenv(VARIABLE, "good.csv", 1);
  use_one_pool();
}

START_TEST(names_that_are_refused)
{
  row = _i;
  run("unused", be_refused);
  has_rows("good.csv", 3, 3, 300);
}
END_TEST

/* More than a pipe takes at once, so that writing waits for the reader. */
START_TEST(a_pipe_with_a_reader_gets_all)
{
  char line[256];
  size_t lines = 0;
  ck_assert_int_eq(mkfifo(path_of("pipe"), 0600), 0);
  FILE *end = fdopen(open(path_of("pipe"), O_RDONLY | O_NONBLOCK), "r");
  pid_t id = start("pipe", use_threads);
  for (; lines < 1 + 2 * ALL; clearerr(end))
    while (fgets(line, sizeof(line), end))
      lines += strchr(line, '\n') != NULL;
  wait_for(id);
  fclose(end);
}
END_TEST

__attribute__((noinline)) static void use_deep_below(unsigned levels) /* NOLINT: that is the test */
{
  if (levels > 0)
    use_deep_below(levels - 1);
  else
    use_often(NULL);
  __asm__ volatile("" ::: "memory");
}

/* In the middle there is no host memory for all frames. */
static void use_a_pool_with_stacks(void)
{
  device = clpt_simulated(0);
  setenv("CLPOOL_TRACE_STACKS", "2", 1);
  clpt_fails(CLP_INVALID_ARGUMENT, clp_pool_create(device, NULL, &pool));
  clpt_message_has("CLPOOL_TRACE_STACKS is \"2\"");
  setenv("CLPOOL_TRACE_STACKS", "1", 1);
  pool = clpt_pool(device);
  clpt_hold(pool, 100, 2);
  clpt_host_start(CLPT_HOST_STAYS_OUT, 0);
  use_deep_below(100);
  clpt_host_stop();
  ck_assert(clpt_host_failed());
  end_pool();
}

/* Each frame is defined once, before the row that has it; the first two rows have the same. */
START_TEST(rows_have_stacks)
{
  char line[2048], text[2048];
  unsigned defined = 0, number, caller, rows = 0, first = 0, names = 0;
  run("trace.csv", use_a_pool_with_stacks);
  has_rows("trace.csv", 2 + ROUNDS, 2 + ROUNDS, 200);
  FILE *file = fopen(path_of("trace.csv"), "r");
  ck_assert_ptr_nonnull(fgets(line, sizeof(line), file));
  ck_assert_str_eq(line, "Thread,Time,Action,Pointer,Size,Stream,Stack\n");
  while (fgets(line, sizeof(line), file)) {
    if (sscanf(line, "#frame %u %u %s", &number, &caller, text) == 3) {
      ck_assert_uint_eq(number, ++defined);
      ck_assert_uint_lt(caller, number);
      names += strstr(text, "/test_environment_trace+0x") != NULL;
    } else if (strstr(line, ",allocate,")) {
      number = (unsigned)strtoul(strrchr(line, ',') + 1, NULL, 10);
      first = rows++ ? first : number;
      ck_assert(number > 0 && number <= defined && (rows != 2 || number == first));
    } else {
      ck_assert_str_eq(strrchr(line, ','), ",0\n");
    }
  }
  ck_assert_uint_ge(names, 3);
  fclose(file);
}
END_TEST

/* When a file is full: at once, with room for its header and a row or two at the last pool's end,
 * while pools are used, or at the process's end, when the callback may be gone. */
enum { AT_ONCE, AT_THE_POOLS_END, IN_USE, AT_THE_END, MOMENTS };
static unsigned warnings;

static void count_warning(clp_log_level level, const char *message, void *unused)
{
  ck_assert_int_eq(level, CLP_LOG_WARNING);
  ck_assert_ptr_nonnull(strstr(message, "some events could not be written: "));
  ck_assert_uint_lt(++warnings, 3); /* AT_THE_END: none */
}

static void fill_the_disk(void)
{
  static struct rlimit limit = {150, 150};
  signal(SIGXFSZ, SIG_IGN);
  setenv("GCOV_PREFIX", "/dev/null", 1); /* gcov's files would get full, too */
  if (row != AT_ONCE)
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
  clp_set_log(count_warning, NULL);
  (void)clp_set_last_error(CLP_BUSY, 5, "from before");
  make_pool();
  clpt_hold(pool, 100, 4);
  ck_assert_uint_eq(warnings, row == AT_ONCE);
  warnings = row == AT_THE_END ? 2 : warnings;
  if (row == AT_THE_END)
    return;
  for (int i = 0; i < THREADS && row == IN_USE; i++)
    use_often(NULL);
  ck_assert_uint_eq(warnings, row != AT_THE_POOLS_END);
  end_pool();
  ck_assert_uint_eq(warnings, 1);
  ck_assert_int_eq(clp_last_error()->status, CLP_BUSY);
}

START_TEST(disks_that_are_full_or_get_full)
{
  row = _i;
  run(_i == AT_ONCE ? "../../dev/full" : "trace.csv", fill_the_disk);
}
END_TEST

CLPT_MAIN("trace environment", clpt_run_apart)
{
  TCase *tests = clpt_case(suite, "processes");
  clpt_cuda_use_fake();
  unsetenv(VARIABLE);
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_loop_test(tests, disks_that_are_full_or_get_full, 0, MOMENTS);
  clpt_add_table(tests, a_process_has_a_trace, runs);
  tcase_add_test(tests, forks_while_pools_are_made);
  tcase_add_test(tests, processes_without_a_file);
  clpt_add_table(tests, names_that_are_refused, refused);
  tcase_add_test(tests, a_pipe_with_a_reader_gets_all);
  tcase_add_test(tests, rows_have_stacks);
}
