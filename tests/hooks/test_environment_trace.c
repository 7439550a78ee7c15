/* SPDX-License-Identifier: MIT */
/* CLPOOL_TRACE and CLPOOL_TRACE_STACKS of clpool/trace.h: which file, and what is in it when the
 * process has ended. They are read once, so each process is one of its own. */
#include "support/cuda_device.h"
#include "support/failmalloc.h"
#include "support/replays.h"
#include "support/suite.h"
#include "support/traces.h"

#include <clpool/clpool.h>
#include <clpool/cuda.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
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

/* How many descriptors of this process are of files in the folder. */
static size_t count_open(void)
{
  size_t count = 0;
  DIR *descriptors = opendir("/proc/self/fd");
  for (struct dirent *one; (one = readdir(descriptors));) {
    char path[PATH_MAX] = "";
    if (readlinkat(dirfd(descriptors), one->d_name, path, sizeof(path) - 1) > 0)
      count += strncmp(path, folder, strlen(folder)) == 0;
  }
  closedir(descriptors);
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

/* --- other processes --- */

/* In them, Check cannot be used. */
#define require(condition)                                                                         \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      fprintf(stderr, "line %d: does not hold: %s (%s)\n", __LINE__, #condition,                   \
              clp_last_error()->message);                                                          \
      _exit(EXIT_FAILURE);                                                                         \
    }                                                                                              \
  } while (0)

static pid_t spawn(void (*work)(void))
{
  fflush(NULL);
  pid_t id = fork();
  if (id)
    return id;
  work();
  exit(EXIT_SUCCESS);
}

static bool succeeds(pid_t id)
{
  int result;
  return id > 0 && waitpid(id, &result, 0) == id && result == 0;
}

/* With the variable set to a file of that name in the folder. */
static pid_t run(const char *name, void (*work)(void))
{
  setenv(VARIABLE, path_of(name), 1);
  pid_t id = spawn(work);
  unsetenv(VARIABLE);
  ck_assert(succeeds(id));
  return id;
}

/* What the library calls: what fopen does first, as that of a file far away waits; and how many
 * calls of pthread_atfork succeed until all fail, as without memory. */
static void (*before_fopen)(void);
static int working_atforks = INT_MAX;

FILE *__real_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode);
int __real_pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void));
int __wrap_pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void));

FILE *__wrap_fopen(const char *path, const char *mode)
{
  if (before_fopen)
    before_fopen();
  return __real_fopen(path, mode);
}

int __wrap_pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void))
{
  return working_atforks-- > 0 ? __real_pthread_atfork(prepare, parent, child) : ENOMEM;
}

/* --- what processes do --- */

/* Static, for what they leave to their end is no leak. */
static struct used {
  clp_allocator *allocator;
  clp_pool *pool;
  clp_buffer *buffers[8];
} used, older;

static void make_pool(void)
{
  require(clp_simulated_allocator_create(0, &used.allocator) == CLP_SUCCESS);
  require(clp_pool_create(used.allocator, NULL, &used.pool) == CLP_SUCCESS);
}

static void end_pool(void)
{
  clp_pool_release(used.pool);
  clp_allocator_release(used.allocator);
}

/* Blocks of 100 bytes. */
static void allocate(size_t count)
{
  for (size_t i = 0; i < count; i++)
    require(clp_pool_allocate(used.pool, 100, &used.buffers[i]) == CLP_SUCCESS);
}

static void release(size_t count)
{
  for (size_t i = 0; i < count; i++)
    require(clp_buffer_release(used.buffers[i]) == CLP_SUCCESS);
}

static void use_one_pool(void)
{
  clp_allocator *device;
  clp_pool *own;
  clp_buffer *some[3];
  require(clp_simulated_allocator_create(0, &device) == CLP_SUCCESS);
  require(clp_pool_create(device, NULL, &own) == CLP_SUCCESS);
  for (int i = 0; i < 3; i++)
    require(clp_pool_allocate(own, 100, &some[i]) == CLP_SUCCESS);
  for (int i = 0; i < 3; i++)
    require(clp_buffer_release(some[i]) == CLP_SUCCESS);
  clp_pool_release(own);
  clp_allocator_release(device);
}

static void leave_all(void)
{
  make_pool();
  allocate(4);
  release(1);
}

/* One after the other, and two at once whose devices are made up alike. */
static void use_several_pools(void)
{
  use_one_pool();
  make_pool();
  allocate(2);
  older = used;
  make_pool();
  allocate(1);
  release(1);
  end_pool();
  used = older;
  release(2);
  end_pool();
}

enum { THREADS = 3, ROUNDS = 400 };

static void *use_a_pool_often(void *unused)
{
  for (int i = 0; i < ROUNDS; i++) {
    clp_buffer *some;
    require(clp_pool_allocate(used.pool, 0, &some) == CLP_SUCCESS);
    require(clp_buffer_release(some) == CLP_SUCCESS);
  }
  return unused;
}

/* More than the trace's buffer. */
static void use_threads(void)
{
  pthread_t threads[THREADS];
  make_pool();
  for (int i = 0; i < THREADS; i++)
    require(pthread_create(&threads[i], NULL, use_a_pool_often, NULL) == 0);
  for (int i = 0; i < THREADS; i++)
    pthread_join(threads[i], NULL);
  end_pool();
}

static void use_an_asynchronous_pool(void)
{
  clp_cuda_async_pool *async;
  unsigned long long memory;
  require(clp_cuda_async_pool_create(NULL, &async) == CLP_SUCCESS);
  require(clp_cuda_async_pool_malloc(async, 1000, NULL, &memory) == CLP_SUCCESS);
  require(clp_cuda_async_pool_free(async, memory, NULL) == CLP_SUCCESS);
  clp_cuda_async_pool_release(async);
  fakecuda_reset();
}

/* What the pool has is lost with the library: no leak of its own. */
static void close_the_library(void)
{
  char path[PATH_MAX];
  snprintf(path, sizeof(path), "%s/.libs/libclpool.so", getenv("top_builddir"));
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  require(library);
  clp_status (*create_allocator)(size_t, clp_allocator **);
  clp_status (*create_pool)(clp_allocator *, const clp_pool_options *, clp_pool **);
  clp_status (*allocate_buffer)(clp_pool *, size_t, clp_buffer **);
  *(void **)&create_allocator = dlsym(library, "clp_simulated_allocator_create");
  *(void **)&create_pool = dlsym(library, "clp_pool_create");
  *(void **)&allocate_buffer = dlsym(library, "clp_pool_allocate");
  require(create_allocator && create_pool && allocate_buffer);
  require(create_allocator(0, &used.allocator) == CLP_SUCCESS);
  require(create_pool(used.allocator, NULL, &used.pool) == CLP_SUCCESS);
  require(allocate_buffer(used.pool, 100, &used.buffers[0]) == CLP_SUCCESS);
  require(dlclose(library) == 0);
  _exit(EXIT_SUCCESS); /* so what was written, dlclose wrote */
}

static void run_out_of_host_memory(void)
{
  clp_status status = CLP_OUT_OF_HOST_MEMORY;
  unsigned long nth = 0;
  require(clp_simulated_allocator_create(0, &used.allocator) == CLP_SUCCESS);
  for (; status == CLP_OUT_OF_HOST_MEMORY; nth++) {
    clpt_host_start(CLPT_HOST_FAILS_ONCE, nth);
    status = clp_pool_create(used.allocator, NULL, &used.pool);
    clpt_host_stop();
    require((status == CLP_OUT_OF_HOST_MEMORY) == clpt_host_failed());
    require(!status == !!used.pool);
  }
  require(status == CLP_SUCCESS);
  require(nth >= 5); /* the pool, the trace, its hook, its registration, and none */
  allocate(1);
  release(1);
  end_pool();
}

/* --- forks --- */

static void (*work_of_child)(void);

/* What is buffered when the process forks must not come twice. */
static void fork_in_the_middle(void)
{
  make_pool();
  allocate(2);
  require(succeeds(spawn(work_of_child)));
  release(2);
  end_pool();
}

/* Whoever forks before the first pool has a trace as any process. */
static void fork_before(void)
{
  require(succeeds(spawn(use_one_pool)));
}

static void do_nothing(void)
{
}

static void use_the_parents_pool_and_another(void)
{
  clp_buffer *none;
  require(clp_pool_allocate(used.pool, 1000, &none) == CLP_NOT_SUPPORTED);
  release(1);
  use_one_pool();
}

static void end_both_pools(void)
{
  require(count_open() == 2);
  end_pool();
  require(count_open() == 1);
  used = older;
  release(2);
  end_pool();
  require(count_open() == 0);
}

static void fork_again(void)
{
  older = used;
  make_pool();
  require(succeeds(spawn(end_both_pools)));
  end_pool();
  require(count_open() == 2); /* its own stays until it ends */
}

/* LeakSanitizer asks at the end of a process: what a thread has that the child of a fork lacks is
 * no leak. */
static bool has_lost_threads;
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
  return has_lost_threads;
}

static int arrived[2], go_on[2]; /* pipes: a thread is in fopen; it may return */

static void wait_in_fopen(void)
{
  char byte = 0;
  before_fopen = NULL;
  require(write(arrived[1], &byte, 1) == 1);
  require(read(go_on[0], &byte, 1) == 1);
}

static void *make_the_first_pool(void *unused)
{
  use_one_pool();
  return unused;
}

static pthread_t have_a_thread_in_fopen(void)
{
  char byte;
  pthread_t thread;
  require(pipe(arrived) == 0 && pipe(go_on) == 0);
  has_lost_threads = true;
  before_fopen = wait_in_fopen;
  require(pthread_create(&thread, NULL, make_the_first_pool, NULL) == 0);
  require(read(arrived[0], &byte, 1) == 1);
  return thread;
}

static void fork_while_a_thread_opens(void)
{
  pthread_t thread = have_a_thread_in_fopen();
  require(succeeds(spawn(do_nothing)));
  require(succeeds(spawn(use_one_pool)));
  require(write(go_on[1], "", 1) == 1);
  require(pthread_join(thread, NULL) == 0);
  has_lost_threads = false;
}

static void end_while_a_thread_opens(void)
{
  pthread_detach(have_a_thread_in_fopen());
}

static atomic_bool is_enough;

static void *make_pools(void *unused)
{
  while (!is_enough)
    use_one_pool();
  return unused;
}

/* What its threads have just made is lost to the child: no leak of its own. */
static void use_a_pool_and_leave(void)
{
  use_one_pool();
  _exit(EXIT_SUCCESS);
}

static void fork_while_threads_make_pools(void)
{
  pthread_t makers[THREADS];
  use_one_pool(); /* ThreadSanitizer's pthread_once does not survive a fork inside it */
  for (int i = 0; i < THREADS; i++)
    require(pthread_create(&makers[i], NULL, make_pools, NULL) == 0);
  for (unsigned i = clpt_iterations(200); i > 0; i--)
    require(succeeds(spawn(use_a_pool_and_leave)));
  is_enough = true;
  for (int i = 0; i < THREADS; i++)
    pthread_join(makers[i], NULL);
}

/* --- runs --- */

enum { ALL = THREADS * ROUNDS };

/* Rows of the process's own file, with the peak of bytes, and of its child's, if that has one. */
static const struct {
  const char *name;
  void (*work)(void), (*child)(void);
  unsigned allocations, frees, peak, childs_files, childs_rows;
  bool loses_memory; /* which valgrind takes for a leak */
} runs[] = {
    {"trace.csv", use_one_pool, NULL, 3, 3, 300, 0, 0, false},
    {"%%%p%%p-%p.csv", use_one_pool, NULL, 3, 3, 300, 0, 0, false},
    {"trace.csv", leave_all, NULL, 4, 1, 400, 0, 0, false},
    {"trace.csv", use_several_pools, NULL, 6, 6, 300, 0, 0, false},
    {"trace.csv", use_threads, NULL, ALL, ALL, 0, 0, 0, false},
    {"trace.csv", use_an_asynchronous_pool, NULL, 1, 1, 1000, 0, 0, false},
    {"trace.csv", close_the_library, NULL, 1, 0, 100, 0, 0, true},
    {"trace.csv", run_out_of_host_memory, NULL, 1, 1, 100, 0, 0, false},
    {"trace.csv", fork_before, NULL, 3, 3, 300, 0, 0, false},
    {"trace.csv", fork_in_the_middle, do_nothing, 2, 2, 200, 0, 0, false},
    {"trace-%p.csv", fork_in_the_middle, do_nothing, 2, 2, 200, 0, 0, false},
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
  if (clpt_is_on_valgrind())
    return;
  ck_assert(succeeds(spawn(fork_while_threads_make_pools)));
  run("trace-%p.csv", fork_while_threads_make_pools);
}
END_TEST

/* Once the first pool is there, the variable is not looked at. */
static void use_without_the_variable(void)
{
  use_one_pool();
  setenv(VARIABLE, path_of("late.csv"), 1);
  use_several_pools();
}

static void watch_no_forks(void)
{
  clp_status made = clp_simulated_allocator_create(0, &used.allocator);
  if (made) {
    require(made == CLP_OUT_OF_HOST_MEMORY);
    return;
  }
  require(clp_pool_create(used.allocator, NULL, &used.pool) == CLP_OUT_OF_HOST_MEMORY);
  require(!used.pool && clp_last_error()->status == CLP_OUT_OF_HOST_MEMORY);
  require(strstr(clp_last_error()->message, VARIABLE));
  clp_allocator_release(used.allocator);
}

/* Without the variable; where the process ends while a thread opens it; without memory to watch
 * forks, as a child would use what the parent has locked, and write its rows. */
START_TEST(processes_without_a_file)
{
  char none[NAME_BYTES];
  ck_assert(succeeds(spawn(use_without_the_variable)));
  run("trace.csv", end_while_a_thread_opens);
  for (int i = 0; i < 3; i++) {
    working_atforks = i;
    run("trace.csv", watch_no_forks);
  }
  ck_assert_uint_eq(count_files("", none), 0);
}
END_TEST

/* --- names --- */

static const struct refused {
  const char *value;
  clp_status status;
  int code;
  const char *message;
} refused[] = {
    {"", CLP_INVALID_ARGUMENT, 0,
     VARIABLE " is \"\"; expected the name of a file, found an empty text"},
    {"a%", CLP_INVALID_ARGUMENT, 0,
     VARIABLE " is \"a%\"; expected the name of a file, found a percent sign that is not in %p, "
              "for the process id, or %%, for itself"},
    {"%x.csv", CLP_INVALID_ARGUMENT, 0, VARIABLE " is \"%x.csv\"; expected the name of a file"},
    {"/no/such/folder/trace.csv", CLP_IO_ERROR, ENOENT,
     VARIABLE ": /no/such/folder/trace.csv: No such file or directory"},
    {"/", CLP_IO_ERROR, EISDIR, VARIABLE ": /: Is a directory"},
    {"pipe", CLP_IO_ERROR, ENXIO, VARIABLE ": pipe: a pipe that no process reads"},
    {NULL, CLP_INVALID_ARGUMENT, 0, "nnn\"; expected the name of a file, found a longer one than "},
};
static const struct refused *expected;

/* Again and again, until the value is a good one, here a relative name. */
static void be_refused(void)
{
  static char long_name[2 * PATH_MAX];
  clp_pool *none = (clp_pool *)1;
  memset(long_name, 'n', sizeof(long_name) - 1);
  require(chdir(folder) == 0 && mkfifo("pipe", 0600) == 0);
  require(clp_simulated_allocator_create(0, &used.allocator) == CLP_SUCCESS);
  setenv(VARIABLE, expected->value ? expected->value : long_name, 1);
  for (int i = 0; i < 2; i++) {
    clp_cuda_async_pool *async;
    require(clp_pool_create(used.allocator, NULL, &none) == expected->status && !none);
    require(strstr(clp_last_error()->message, expected->message));
    require(clp_last_error()->native_code == expected->code);
    require(clp_cuda_async_pool_create(NULL, &async) == expected->status && !async);
  }
  clp_allocator_release(used.allocator);
  setenv(VARIABLE, "good.csv", 1);
  use_one_pool();
}

START_TEST(names_that_are_refused)
{
  expected = &refused[_i];
  run("unused", be_refused);
  has_rows("good.csv", 3, 3, 300);
}
END_TEST

/* More than a pipe takes at once, so that writing waits for the reader. */
START_TEST(a_pipe_with_a_reader_gets_all)
{
  char text[4096];
  size_t lines = 0;
  ck_assert_int_eq(mkfifo(path_of("pipe"), 0600), 0);
  int end = open(path_of("pipe"), O_RDONLY | O_NONBLOCK);
  ck_assert_int_ge(end, 0);
  setenv(VARIABLE, path_of("pipe"), 1);
  pid_t id = spawn(use_threads);
  unsetenv(VARIABLE);
  for (ssize_t got = -1; got != 0 || lines == 0;) {
    got = read(end, text, sizeof(text));
    for (ssize_t i = 0; i < got; i++)
      lines += text[i] == '\n';
  }
  ck_assert(succeeds(id));
  ck_assert_uint_eq(lines, 1 + 2 * ALL);
  close(end);
}
END_TEST

/* --- stacks --- */

__attribute__((noinline)) static void use_deep_below(unsigned levels) /* NOLINT: that is the test */
{
  if (levels > 0)
    use_deep_below(levels - 1);
  else
    use_a_pool_often(NULL);
  __asm__ volatile("" ::: "memory");
}

/* In the middle there is no host memory for all frames. */
static void use_a_pool_with_stacks(void)
{
  require(clp_simulated_allocator_create(0, &used.allocator) == CLP_SUCCESS);
  setenv("CLPOOL_TRACE_STACKS", "2", 1);
  require(clp_pool_create(used.allocator, NULL, &used.pool) == CLP_INVALID_ARGUMENT);
  require(strstr(clp_last_error()->message, "CLPOOL_TRACE_STACKS is \"2\""));
  setenv("CLPOOL_TRACE_STACKS", "1", 1);
  require(clp_pool_create(used.allocator, NULL, &used.pool) == CLP_SUCCESS);
  allocate(2);
  release(2);
  clpt_host_start(CLPT_HOST_STAYS_OUT, 0);
  use_deep_below(100);
  clpt_host_stop();
  require(clpt_host_failed());
  allocate(2);
  release(2);
  end_pool();
}

START_TEST(rows_have_stacks)
{
  char line[2048], text[2048];
  unsigned defined = 0, number, caller, rows = 0, first = 0;
  int names = 0;
  run("trace.csv", use_a_pool_with_stacks);
  has_rows("trace.csv", 4 + ROUNDS, 4 + ROUNDS, 200);
  FILE *file = fopen(path_of("trace.csv"), "r");
  ck_assert_ptr_nonnull(fgets(line, sizeof(line), file));
  ck_assert_str_eq(line, "Thread,Time,Action,Pointer,Size,Stream,Stack\n");
  while (fgets(line, sizeof(line), file)) {
    if (sscanf(line, "#frame %u %u %s", &number, &caller, text) == 3) {
      ck_assert_uint_eq(number, ++defined); /* each once, before the row that has it */
      ck_assert_uint_lt(caller, number);
      names += strstr(text, "/test_environment_trace+0x") != NULL;
    } else if (strstr(line, ",allocate,")) {
      number = (unsigned)strtoul(strrchr(line, ',') + 1, NULL, 10);
      ck_assert_uint_le(number, defined);
      first = rows ? first : number;
      ck_assert(rows != 1 || number == first); /* the same stack */
      ck_assert(number > 0);
      rows++;
    } else {
      ck_assert_str_eq(strrchr(line, ','), ",0\n");
    }
  }
  ck_assert_int_ge(names, 3);
  fclose(file);
}
END_TEST

/* --- full disks --- */

static unsigned warnings;

static void count_warning(clp_log_level level, const char *message, void *why)
{
  require(level == CLP_LOG_WARNING);
  require(strstr(message, "not all could be written: "));
  require(strstr(message, why));
  warnings++;
}

static void write_to_a_full_disk(void)
{
  setenv(VARIABLE, "/dev/full", 1);
  clp_set_log(count_warning, strerror(ENOSPC));
  require(clp_set_last_error(CLP_BUSY, 5, "from before") == CLP_BUSY);
  make_pool();
  require(warnings == 1);
  require(clp_last_error()->status == CLP_BUSY);
  end_pool();
  use_threads();
  require(warnings == 1);
  require(clp_last_error()->status == CLP_BUSY);
}

/* When a file with room for its header and a row or two is full: at the last pool's end, while
 * pools are used, or at the process's end, when the callback may be gone. */
static int full_at;

static void fill_the_disk(void)
{
  static struct rlimit limit = {150, 150};
  signal(SIGXFSZ, SIG_IGN);
  require(setrlimit(RLIMIT_FSIZE, &limit) == 0);
  clp_set_log(count_warning, full_at == 3 ? (char[]){"no such message"} : strerror(EFBIG));
  make_pool();
  allocate(4);
  require(warnings == 0);
  if (full_at == 3)
    return;
  release(4);
  for (int i = 0; i < THREADS && full_at == 2; i++)
    use_a_pool_often(NULL);
  require(warnings == (full_at == 2));
  end_pool();
  require(warnings == 1);
}

START_TEST(disks_that_are_full_or_get_full)
{
  struct stat file;
  full_at = _i;
  run("trace.csv", _i ? fill_the_disk : write_to_a_full_disk);
  if (_i == 0)
    return;
  ck_assert_int_eq(stat(path_of("trace.csv"), &file), 0);
  ck_assert_int_le(file.st_size, 150);
  ck_assert_int_ge(file.st_size, 100);
}
END_TEST

#define ROWS(table) ((int)(sizeof(table) / sizeof((table)[0])))

CLPT_MAIN("trace environment", clpt_run_apart)
{
  TCase *tests = clpt_case(suite, "processes");
  clpt_cuda_use_fake();
  unsetenv(VARIABLE);
  tcase_add_checked_fixture(tests, setup, teardown);
  /* First: gcov's files get full, too. */
  tcase_add_loop_test(tests, disks_that_are_full_or_get_full, 0, 4);
  tcase_add_loop_test(tests, a_process_has_a_trace, 0, ROWS(runs));
  tcase_add_test(tests, forks_while_pools_are_made);
  tcase_add_test(tests, processes_without_a_file);
  tcase_add_loop_test(tests, names_that_are_refused, 0, ROWS(refused));
  tcase_add_test(tests, a_pipe_with_a_reader_gets_all);
  tcase_add_test(tests, rows_have_stacks);
}
