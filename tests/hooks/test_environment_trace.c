/* SPDX-License-Identifier: MIT */
/* CLPOOL_TRACE: which file, what is in it when the process has ended, and what becomes of it in the
 * child of a fork. The variable is read once, so each process here is one of its own, whose file
 * its parent looks at. */
#include "support/cuda_device.h"
#include "support/failmalloc.h"
#include "support/replays.h"
#include "support/suite.h"
#include "support/traces.h"

#include <clpool/clpool.h>
#include <clpool/cuda.h>
#include <clpool/trace.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
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

/* --- other processes --- */

/* For what is asserted in them, where Check cannot be used. */
#define require(condition)                                                                         \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      fprintf(stderr, "line %d: does not hold: %s (%s)\n", __LINE__, #condition,                   \
              clp_last_error()->message);                                                          \
      _exit(EXIT_FAILURE);                                                                         \
    }                                                                                              \
  } while (0)

/* Forks: the child does the work and exits. Its id. */
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

/* A process with the variable set to a file of that name in the folder. */
static pid_t run(const char *name, void (*work)(void))
{
  char value[128];
  snprintf(value, sizeof(value), "%s/%s", folder, name);
  setenv(VARIABLE, value, 1);
  pid_t id = spawn(work);
  unsetenv(VARIABLE);
  ck_assert(succeeds(id));
  return id;
}

/* What processes do. Static, for what they leave to their end is no leak. */
static clp_allocator *allocator;
static clp_pool *pool;
static clp_buffer *buffers[8];

static void make_pool(void)
{
  require(clp_simulated_allocator_create(0, &allocator) == CLP_SUCCESS);
  require(clp_pool_create(allocator, NULL, &pool) == CLP_SUCCESS);
}

static void end_pool(void)
{
  clp_pool_release(pool);
  clp_allocator_release(allocator);
}

/* Allocates `count` blocks of that many bytes. */
static void allocate(size_t count, size_t bytes)
{
  for (size_t i = 0; i < count; i++)
    require(clp_pool_allocate(pool, bytes, &buffers[i]) == CLP_SUCCESS);
}

static void release(size_t count)
{
  for (size_t i = 0; i < count; i++)
    require(clp_buffer_release(buffers[i]) == CLP_SUCCESS);
}

/* --- what the library calls --- */

FILE *__real_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode);
int __real_pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void));
int __wrap_pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void));

/* What fopen does first, as one of a pipe waits for a reader; NULL: nothing. */
static void (*before_fopen)(void);

FILE *__wrap_fopen(const char *path, const char *mode)
{
  if (before_fopen)
    before_fopen();
  return __real_fopen(path, mode);
}

/* How many calls succeed until all fail, as without memory. */
static int atforks = INT_MAX;

int __wrap_pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void))
{
  return atforks-- > 0 ? __real_pthread_atfork(prepare, parent, child) : ENOMEM;
}

/* --- files --- */

static const char *path_of(const char *name)
{
  static char path[128];
  snprintf(path, sizeof(path), "%s/%s", folder, name);
  return path;
}

static bool exists(const char *name)
{
  struct stat file;
  return stat(path_of(name), &file) == 0;
}

static size_t files_in_folder(void)
{
  size_t count = 0;
  DIR *files = opendir(folder);
  ck_assert_ptr_nonnull(files);
  for (struct dirent *file; (file = readdir(files));)
    count += file->d_name[0] != '.';
  closedir(files);
  return count;
}

/* How many descriptors of this process are of files in the folder. */
static size_t open_in_folder(void)
{
  size_t count = 0;
  DIR *descriptors = opendir("/proc/self/fd");
  require(descriptors);
  for (struct dirent *one; (one = readdir(descriptors));) {
    char path[PATH_MAX] = "";
    if (readlinkat(dirfd(descriptors), one->d_name, path, sizeof(path) - 1) > 0)
      count += strncmp(path, folder, strlen(folder)) == 0;
  }
  closedir(descriptors);
  return count;
}

/* Replays a file, so it is well-formed and makes sense. */
static trace_replay_result replay(const char *name)
{
  trace_reader *reader;
  trace_replay_result result;
  trace_replay_options options = clpt_pooled();
  clp_allocator *device = clpt_simulated(0);
  clpt_ok(trace_open(path_of(name), &reader));
  clpt_ok(trace_replay(reader, device, &options, &result));
  trace_close(reader);
  clp_allocator_release(device);
  return result;
}

static void assert_trace(const char *name, uint64_t allocations, uint64_t frees)
{
  trace_replay_result result = replay(name);
  ck_assert_uint_eq(result.allocations, allocations);
  ck_assert_uint_eq(result.frees, frees);
}

/* --- normal ends --- */

static void use_one_pool(void)
{
  make_pool();
  allocate(3, 100);
  release(3);
  end_pool();
}

START_TEST(all_is_released)
{
  run("trace.csv", use_one_pool);
  assert_trace("trace.csv", 3, 3);
}
END_TEST

static void leave_all(void)
{
  make_pool();
  allocate(4, 100);
  release(1);
}

START_TEST(pools_that_live_at_the_end)
{
  run("trace.csv", leave_all);
  assert_trace("trace.csv", 4, 1);
}
END_TEST

/* One after the other, and two at once whose devices are made up alike. */
static void use_several_pools(void)
{
  use_one_pool();
  make_pool();
  clp_pool *first = pool;
  clp_allocator *its_allocator = allocator;
  allocate(2, 100);
  make_pool();
  clp_buffer *other;
  require(clp_pool_allocate(pool, 100, &other) == CLP_SUCCESS);
  release(2);
  require(clp_buffer_release(other) == CLP_SUCCESS);
  end_pool();
  clp_pool_release(first);
  clp_allocator_release(its_allocator);
}

START_TEST(several_pools_in_one_file)
{
  run("trace.csv", use_several_pools);
  assert_trace("trace.csv", 6, 6);
  ck_assert_uint_eq(replay("trace.csv").peak_active_bytes, 300);
}
END_TEST

enum { THREADS = 3, ROUNDS = 400 };

static void *use_a_pool_often(void *argument)
{
  clp_pool *own = argument;
  for (int i = 0; i < ROUNDS; i++) {
    clp_buffer *some;
    require(clp_pool_allocate(own, 1000, &some) == CLP_SUCCESS);
    require(clp_buffer_release(some) == CLP_SUCCESS);
  }
  return NULL;
}

/* More than the trace's buffer. */
static void use_threads(void)
{
  pthread_t threads[THREADS];
  make_pool();
  for (int i = 0; i < THREADS; i++)
    require(pthread_create(&threads[i], NULL, use_a_pool_often, pool) == 0);
  for (int i = 0; i < THREADS; i++)
    pthread_join(threads[i], NULL);
  end_pool();
}

START_TEST(threads)
{
  struct stat file;
  run("trace.csv", use_threads);
  assert_trace("trace.csv", THREADS * ROUNDS, THREADS * ROUNDS);
  ck_assert_int_eq(stat(path_of("trace.csv"), &file), 0);
  ck_assert_int_gt(file.st_size, 64 * 1024);
}
END_TEST

static void use_an_asynchronous_pool(void)
{
  clp_cuda_async_pool *async;
  unsigned long long first, second;
  require(clp_cuda_async_pool_create(NULL, &async) == CLP_SUCCESS);
  require(clp_cuda_async_pool_malloc(async, 1000, NULL, &first) == CLP_SUCCESS);
  require(clp_cuda_async_pool_malloc(async, 2000, NULL, &second) == CLP_SUCCESS);
  require(clp_cuda_async_pool_free(async, first, NULL) == CLP_SUCCESS);
  require(clp_cuda_async_pool_free(async, second, NULL) == CLP_SUCCESS);
  clp_cuda_async_pool_release(async);
  fakecuda_reset();
}

START_TEST(asynchronous_pools)
{
  run("trace.csv", use_an_asynchronous_pool);
  assert_trace("trace.csv", 2, 2);
  ck_assert_uint_eq(replay("trace.csv").peak_active_bytes, 3000);
}
END_TEST

static void make_a_pool_of_ones_own(const clp_hook_event *event, void *user_data)
{
  bool *is_done = user_data;
  clp_pool *own;
  clp_buffer *buffer;
  if (*is_done)
    return;
  *is_done = true;
  require(clp_pool_create(clp_pool_allocator(event->pool), NULL, &own) == CLP_SUCCESS);
  require(clp_pool_allocate(own, 100, &buffer) == CLP_SUCCESS);
  require(clp_buffer_release(buffer) == CLP_SUCCESS);
  clp_pool_release(own);
}

/* What a callback does is shown to no hook, but it can do it. */
static void use_a_pool_in_a_callback(void)
{
  bool is_done = false;
  clp_hook maker = CLP_HOOK_INIT;
  maker.name = "maker";
  maker.alloc_preprocess = make_a_pool_of_ones_own;
  maker.user_data = &is_done;
  require(clp_hook_push(&maker) == CLP_SUCCESS);
  use_several_pools();
  require(clp_hook_pop(&maker) == CLP_SUCCESS);
  require(is_done);
}

START_TEST(pools_made_in_callbacks)
{
  run("trace.csv", use_a_pool_in_a_callback);
  assert_trace("trace.csv", 6, 6);
}
END_TEST

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
  require(create_allocator(0, &allocator) == CLP_SUCCESS);
  require(create_pool(allocator, NULL, &pool) == CLP_SUCCESS);
  require(allocate_buffer(pool, 100, &buffers[0]) == CLP_SUCCESS);
  require(dlclose(library) == 0);
  _exit(EXIT_SUCCESS); /* so what was written, dlclose wrote */
}

/* What the pool has is lost with the library: no leak of its own. */
START_TEST(library_that_is_closed)
{
  if (clpt_is_on_valgrind())
    return;
  run("trace.csv", close_the_library);
  assert_trace("trace.csv", 1, 0);
}
END_TEST

/* --- forks --- */

static void do_nothing(void)
{
}

static void use_the_parents_pool_and_another(void)
{
  static clp_pool *the_parents;
  static clp_allocator *its_allocator;
  allocate(1, 1000);
  release(1);
  the_parents = pool;
  its_allocator = allocator;
  use_one_pool();
  pool = the_parents; /* what it still has is no leak of the child's */
  allocator = its_allocator;
}

static void (*work_of_child)(void);

/* What is buffered when the process forks must not come twice. */
static void fork_in_the_middle(void)
{
  make_pool();
  allocate(2, 100);
  require(succeeds(spawn(work_of_child)));
  release(2);
  end_pool();
}

START_TEST(child_that_uses_nothing)
{
  work_of_child = do_nothing;
  run("trace.csv", fork_in_the_middle);
  run("trace-%p.csv", fork_in_the_middle);
  ck_assert_uint_eq(files_in_folder(), 2);
  assert_trace("trace.csv", 2, 2);
}
END_TEST

START_TEST(child_without_a_file_of_its_own)
{
  work_of_child = use_the_parents_pool_and_another;
  run("trace.csv", fork_in_the_middle);
  assert_trace("trace.csv", 2, 2);
  ck_assert_uint_eq(files_in_folder(), 1);
}
END_TEST

static void fork_and_tell_ids(void)
{
  char path[128];
  make_pool();
  allocate(2, 100);
  pid_t id = spawn(use_the_parents_pool_and_another);
  require(succeeds(id));
  release(2);
  end_pool();
  snprintf(path, sizeof(path), "%s/%ld.csv", folder, (long)id);
  require(rename(path, path_of("child.csv")) == 0);
}

START_TEST(child_with_a_file_of_its_own)
{
  char name[32];
  pid_t id = run("%p.csv", fork_and_tell_ids);
  snprintf(name, sizeof(name), "%ld.csv", (long)id);
  assert_trace(name, 2, 2);
  assert_trace("child.csv", 3, 3);
  ck_assert_uint_eq(files_in_folder(), 2);
}
END_TEST

/* Whoever forks before the first pool has a trace as any process. */
static void fork_before_the_first_pool(void)
{
  require(succeeds(spawn(use_one_pool)));
}

START_TEST(child_with_the_first_pool)
{
  run("trace.csv", fork_before_the_first_pool);
  assert_trace("trace.csv", 3, 3);
}
END_TEST

static void end_the_parents_pool(void)
{
  require(open_in_folder() == 1);
  release(2);
  end_pool();
  require(open_in_folder() == 0);
}

START_TEST(child_that_ends_the_parents_pool)
{
  work_of_child = end_the_parents_pool;
  run("trace.csv", fork_in_the_middle);
  assert_trace("trace.csv", 2, 2);
  ck_assert_uint_eq(files_in_folder(), 1);
}
END_TEST

static clp_pool *older;
static clp_allocator *its_allocator;

static void end_both_pools(void)
{
  require(open_in_folder() == 2);
  end_pool();
  require(open_in_folder() == 1);
  release(2);
  clp_pool_release(older);
  clp_allocator_release(its_allocator);
  require(open_in_folder() == 0);
}

static void fork_again(void)
{
  older = pool;
  its_allocator = allocator;
  make_pool();
  require(succeeds(spawn(end_both_pools)));
  end_pool();
  require(open_in_folder() == 2); /* its own stays until it ends */
  pool = older;
  allocator = its_allocator;
}

START_TEST(grandchild_that_ends_the_pools_of_both)
{
  work_of_child = fork_again;
  run("%p.csv", fork_in_the_middle);
  ck_assert_uint_eq(files_in_folder(), 2);
}
END_TEST

/* --- forks among threads --- */

static void use_a_pool_of_ones_own(void)
{
  clp_allocator *device;
  clp_pool *own;
  clp_buffer *some;
  require(clp_simulated_allocator_create(0, &device) == CLP_SUCCESS);
  require(clp_pool_create(device, NULL, &own) == CLP_SUCCESS);
  require(clp_pool_allocate(own, 100, &some) == CLP_SUCCESS);
  require(clp_buffer_release(some) == CLP_SUCCESS);
  clp_pool_release(own);
  clp_allocator_release(device);
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
  (void)unused;
  use_a_pool_of_ones_own();
  return NULL;
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
  require(succeeds(spawn(use_a_pool_of_ones_own)));
  require(write(go_on[1], "", 1) == 1);
  require(pthread_join(thread, NULL) == 0);
  has_lost_threads = false;
}

/* What a thread that is lost had is no leak of the child's. */
START_TEST(fork_while_the_file_is_opened)
{
  if (clpt_is_on_valgrind())
    return;
  run("trace.csv", fork_while_a_thread_opens);
  assert_trace("trace.csv", 1, 1);
}
END_TEST

static void end_while_a_thread_opens(void)
{
  pthread_detach(have_a_thread_in_fopen());
}

START_TEST(end_while_the_file_is_opened)
{
  run("trace.csv", end_while_a_thread_opens);
  ck_assert(!exists("trace.csv"));
}
END_TEST

static atomic_bool is_enough;

static void *make_pools(void *unused)
{
  (void)unused;
  while (!is_enough)
    use_a_pool_of_ones_own();
  return NULL;
}

/* What its threads have just made is lost to the child: no leak of its own. */
static void use_a_pool_and_leave(void)
{
  use_a_pool_of_ones_own();
  _exit(EXIT_SUCCESS);
}

static void fork_while_threads_make_pools(void)
{
  pthread_t makers[THREADS];
  use_a_pool_of_ones_own(); /* ThreadSanitizer's pthread_once does not survive a fork inside it */
  for (int i = 0; i < THREADS; i++)
    require(pthread_create(&makers[i], NULL, make_pools, NULL) == 0);
  for (unsigned i = clpt_iterations(200); i > 0; i--)
    require(succeeds(spawn(use_a_pool_and_leave)));
  is_enough = true;
  for (int i = 0; i < THREADS; i++)
    pthread_join(makers[i], NULL);
}

/* AddressSanitizer's own locks may stay so in a child, by a thread that is lost. */
START_TEST(forks_while_pools_are_made)
{
#ifdef __SANITIZE_ADDRESS__
  return;
#endif
  if (clpt_is_on_valgrind())
    return;
  unsetenv(VARIABLE);
  ck_assert(succeeds(spawn(fork_while_threads_make_pools)));
  run("trace-%p.csv", fork_while_threads_make_pools);
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

START_TEST(full_disk)
{
  if (access("/dev/full", W_OK) == 0)
    run("unused", write_to_a_full_disk);
}
END_TEST

/* The file has room for its header and a row or two. */
static void limit_the_file(void)
{
  static struct rlimit limit = {150, 150};
  signal(SIGXFSZ, SIG_IGN);
  require(setrlimit(RLIMIT_FSIZE, &limit) == 0);
  clp_set_log(count_warning, strerror(EFBIG));
  make_pool();
  require(warnings == 0);
}

static void fill_the_disk_at_the_last_pools_end(void)
{
  limit_the_file();
  allocate(4, 100);
  release(4);
  require(warnings == 0);
  end_pool();
  require(warnings == 1);
}

static void fill_the_disk_while_pools_are_used(void)
{
  limit_the_file();
  for (int i = 0; i < THREADS; i++)
    use_a_pool_often(pool);
  require(warnings == 1);
  end_pool();
  require(warnings == 1);
}

/* The callback may be gone by then. */
static void fill_the_disk_at_the_end(void)
{
  limit_the_file();
  clp_set_log(count_warning, (void *)(uintptr_t) "no such message");
  allocate(4, 100);
}

START_TEST(disk_that_gets_full)
{
  static void (*const fill[])(void) = {fill_the_disk_at_the_last_pools_end,
                                       fill_the_disk_while_pools_are_used,
                                       fill_the_disk_at_the_end};
  run("trace.csv", fill[_i]);
  struct stat file;
  ck_assert_int_eq(stat(path_of("trace.csv"), &file), 0);
  ck_assert_int_le(file.st_size, 150);
  replay("trace.csv"); /* it has whole rows */
}
END_TEST

/* --- names --- */

START_TEST(process_ids_and_percent_signs)
{
  char name[64];
  pid_t id = run("%%%p%%p-%p.csv", use_one_pool);
  snprintf(name, sizeof(name), "%%%ld%%p-%ld.csv", (long)id, (long)id);
  assert_trace(name, 3, 3);
  ck_assert_uint_eq(files_in_folder(), 1);
}
END_TEST

static void use_relative_name(void)
{
  require(chdir(folder) == 0);
  setenv(VARIABLE, "relative", 1);
  use_one_pool();
}

START_TEST(relative_names)
{
  run("unused", use_relative_name);
  ck_assert(exists("relative"));
  ck_assert(!exists("unused"));
}
END_TEST

static const struct refused {
  const char *value;
  clp_status status;
  const char *message;
} refused[] = {
    {"", CLP_INVALID_ARGUMENT,
     VARIABLE " is \"\"; expected the name of a file, found an empty text"},
    {"a%", CLP_INVALID_ARGUMENT,
     VARIABLE
     " is \"a%\"; expected the name of a file, found a percent sign that is not in %p, for "
     "the process id, or %%, for itself"},
    {"%x.csv", CLP_INVALID_ARGUMENT,
     VARIABLE " is \"%x.csv\"; expected the name of a file, found a percent sign"},
    {"%P", CLP_INVALID_ARGUMENT,
     VARIABLE " is \"%P\"; expected the name of a file, found a percent sign"},
    {"/no/such/folder/trace.csv", CLP_IO_ERROR,
     VARIABLE ": /no/such/folder/trace.csv: No such file or directory"},
    {"/", CLP_IO_ERROR, VARIABLE ": /: Is a directory"},
};
static const struct refused *expected;

/* Again and again, until the value is a good one. */
static void be_refused(void)
{
  clp_pool *none = (clp_pool *)1;
  require(clp_simulated_allocator_create(0, &allocator) == CLP_SUCCESS);
  setenv(VARIABLE, expected->value, 1);
  for (int i = 0; i < 2; i++) {
    require(clp_pool_create(allocator, NULL, &none) == expected->status);
    require(!none);
    require(strstr(clp_last_error()->message, expected->message));
    require((clp_last_error()->native_code != 0) == (expected->status == CLP_IO_ERROR));
    clp_cuda_async_pool *async;
    require(clp_cuda_async_pool_create(NULL, &async) == expected->status && !async);
  }
  clp_allocator_release(allocator);
  setenv(VARIABLE, path_of("good.csv"), 1);
  use_one_pool();
}

START_TEST(names_that_are_refused)
{
  expected = &refused[_i];
  run("unused", be_refused);
  assert_trace("good.csv", 3, 3);
}
END_TEST

static void use_a_long_name(void)
{
  static char name[2 * PATH_MAX];
  memset(name, 'n', sizeof(name) - 1);
  require(clp_simulated_allocator_create(0, &allocator) == CLP_SUCCESS);
  setenv(VARIABLE, name, 1);
  memcpy(name + sizeof(name) - sizeof("end"), "end", sizeof("end"));
  for (int i = 0; i < 2; i++) {
    setenv(VARIABLE, name, 1);
    require(clp_pool_create(allocator, NULL, &pool) == CLP_INVALID_ARGUMENT);
    require(strncmp(clp_last_error()->message, VARIABLE " is \"...nnn", 20) == 0);
    require(strstr(clp_last_error()->message, i ? "nnnend%\"; expected the name of a file, found a "
                                                  "percent sign that is not in %p, for the process "
                                                  "id, or %%, for itself"
                                                : "nnnend\"; expected the name of a file, found a "
                                                  "longer one than there can be"));
    memcpy(name, name + sizeof(name) - 600, 600);
    strcpy(name + 599, "%");
  }
  clp_allocator_release(allocator);
}

START_TEST(long_names_are_refused)
{
  run("unused", use_a_long_name);
}
END_TEST

/* --- without --- */

static void use_without_the_variable(void)
{
  use_one_pool();
  setenv(VARIABLE, path_of("late.csv"), 1);
  use_several_pools();
}

/* Once the first pool is there, the variable is not looked at. */
START_TEST(variable_that_is_unset)
{
  unsetenv(VARIABLE);
  ck_assert(succeeds(spawn(use_without_the_variable)));
  ck_assert_uint_eq(files_in_folder(), 0);
}
END_TEST

static void run_out_of_host_memory(void)
{
  clp_status status = CLP_OUT_OF_HOST_MEMORY;
  unsigned long nth = 0;
  require(clp_simulated_allocator_create(0, &allocator) == CLP_SUCCESS);
  for (; status == CLP_OUT_OF_HOST_MEMORY; nth++) {
    clpt_host_start(CLPT_HOST_FAILS_ONCE, nth);
    status = clp_pool_create(allocator, NULL, &pool);
    clpt_host_stop();
    require((status == CLP_OUT_OF_HOST_MEMORY) == clpt_host_failed());
    require(!status == !!pool);
  }
  require(status == CLP_SUCCESS);
  require(nth >= 5); /* the pool, the trace, its hook, its registration, and none */
  allocate(1, 100);
  release(1);
  end_pool();
}

START_TEST(without_host_memory)
{
  run("trace.csv", run_out_of_host_memory);
  assert_trace("trace.csv", 1, 1);
}
END_TEST

static int working_atforks;

static void watch_no_forks(void)
{
  require(clp_simulated_allocator_create(0, &allocator) == CLP_SUCCESS);
  require(clp_pool_create(allocator, NULL, &pool) == CLP_OUT_OF_HOST_MEMORY);
  require(!pool && clp_last_error()->status == CLP_OUT_OF_HOST_MEMORY);
  require(strstr(clp_last_error()->message, VARIABLE));
  clp_hook *none = (clp_hook *)1;
  bool works = clp_trace_hook_create("/dev/null", NULL, &none) == CLP_SUCCESS;
  require(works == (working_atforks == 2) && works == !!none);
  require(works || clp_last_error()->status == CLP_OUT_OF_HOST_MEMORY);
  require(clp_trace_hook_destroy(none) == CLP_SUCCESS);
  clp_allocator_release(allocator);
}

/* A child would write the parent's rows. The first call is that of the list of pools. */
START_TEST(without_memory_to_watch_forks)
{
  working_atforks = atforks = _i;
  run("trace.csv", watch_no_forks);
  ck_assert_uint_eq(files_in_folder(), 0);
}
END_TEST

/* --- the hook itself, whoever registers it --- */

static clp_hook *hook;

static void use_the_parents_hook(void)
{
  require(clp_hook_push(hook) == CLP_SUCCESS);
  use_one_pool();
  require(clp_hook_pop(hook) == CLP_SUCCESS);
  require(clp_trace_hook_flush(hook) == CLP_SUCCESS);
  require(clp_trace_hook_destroy(hook) == CLP_SUCCESS);
}

START_TEST(hooks_of_the_parent)
{
  unsetenv(VARIABLE);
  clpt_ok(clp_trace_hook_create(path_of("trace.csv"), NULL, &hook));
  clpt_ok(clp_hook_push(hook));
  use_one_pool();
  clpt_ok(clp_hook_pop(hook));
  ck_assert(succeeds(spawn(use_the_parents_hook)));
  clpt_ok(clp_trace_hook_destroy(hook));
  assert_trace("trace.csv", 3, 3);
}
END_TEST

START_TEST(flushed_rows_are_in_the_file)
{
  unsetenv(VARIABLE);
  clpt_ok(clp_trace_hook_flush(NULL));
  FILE *file = fopen(path_of("caller.csv"), "w");
  for (int i = 0; i < 2; i++) {
    clpt_ok(clp_trace_hook_create(i ? NULL : path_of("own.csv"), i ? file : NULL, &hook));
    for (uint64_t rows = 3; rows <= 6; rows += 3) {
      clpt_ok(clp_hook_push(hook));
      use_one_pool();
      clpt_ok(clp_hook_pop(hook));
      clpt_ok(clp_trace_hook_flush(hook));
      assert_trace(i ? "caller.csv" : "own.csv", rows, rows);
    }
    clpt_ok(clp_trace_hook_destroy(hook));
    assert_trace(i ? "caller.csv" : "own.csv", 6, 6);
  }
  fclose(file);
}
END_TEST

START_TEST(flush_tells_what_could_not_be_written)
{
  unsetenv(VARIABLE);
  if (access("/dev/full", W_OK))
    return;
  clpt_ok(clp_trace_hook_create("/dev/full", NULL, &hook));
  clpt_fails(CLP_IO_ERROR, clp_trace_hook_flush(hook));
  ck_assert_int_eq(clp_last_error()->native_code, ENOSPC);
  clpt_fails(CLP_IO_ERROR, clp_trace_hook_destroy(hook));
}
END_TEST

int main(void)
{
  clpt_cuda_use_fake();
  Suite *suite = suite_create("trace environment");
  TCase *ends = clpt_case(suite, "ends");
  tcase_add_checked_fixture(ends, setup, teardown);
  tcase_add_test(ends, all_is_released);
  tcase_add_test(ends, pools_that_live_at_the_end);
  tcase_add_test(ends, several_pools_in_one_file);
  tcase_add_test(ends, threads);
  tcase_add_test(ends, asynchronous_pools);
  tcase_add_test(ends, pools_made_in_callbacks);
  tcase_add_test(ends, library_that_is_closed);
  TCase *forks = clpt_case(suite, "forks");
  tcase_add_checked_fixture(forks, setup, teardown);
  tcase_add_test(forks, child_that_uses_nothing);
  tcase_add_test(forks, child_without_a_file_of_its_own);
  tcase_add_test(forks, child_with_a_file_of_its_own);
  tcase_add_test(forks, child_with_the_first_pool);
  tcase_add_test(forks, child_that_ends_the_parents_pool);
  tcase_add_test(forks, grandchild_that_ends_the_pools_of_both);
  tcase_add_test(forks, fork_while_the_file_is_opened);
  tcase_add_test(forks, end_while_the_file_is_opened);
  tcase_add_test(forks, forks_while_pools_are_made);
  TCase *disks = clpt_case(suite, "disks");
  tcase_add_checked_fixture(disks, setup, teardown);
  tcase_add_test(disks, full_disk);
  tcase_add_loop_test(disks, disk_that_gets_full, 0, 3);
  TCase *names = clpt_case(suite, "names");
  tcase_add_checked_fixture(names, setup, teardown);
  tcase_add_test(names, process_ids_and_percent_signs);
  tcase_add_test(names, relative_names);
  tcase_add_loop_test(names, names_that_are_refused, 0, sizeof(refused) / sizeof(refused[0]));
  tcase_add_test(names, long_names_are_refused);
  TCase *without = clpt_case(suite, "without");
  tcase_add_checked_fixture(without, setup, teardown);
  tcase_add_test(without, variable_that_is_unset);
  tcase_add_test(without, without_host_memory);
  tcase_add_loop_test(without, without_memory_to_watch_forks, 1, 3);
  TCase *hooks = clpt_case(suite, "hooks");
  tcase_add_checked_fixture(hooks, setup, teardown);
  tcase_add_test(hooks, hooks_of_the_parent);
  tcase_add_test(hooks, flushed_rows_are_in_the_file);
  tcase_add_test(hooks, flush_tells_what_could_not_be_written);
  return clpt_run_apart(suite);
}
