/* SPDX-License-Identifier: MIT */
/* Processes that trace, the files they leave, and what the library calls for them. */
#include "traced_process.h"

#include "replays.h"
#include "traces.h"

#include <clpool/clpool.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

char traced_folder[64];

static void setup(void)
{
  snprintf(traced_folder, sizeof(traced_folder), "/tmp/clpt-trace-XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(traced_folder));
}

static void teardown(void)
{
  DIR *files = opendir(traced_folder);
  for (struct dirent *file; files && (file = readdir(files));)
    unlinkat(dirfd(files), file->d_name, 0);
  closedir(files);
  rmdir(traced_folder);
}

TCase *traced_case(Suite *suite, const char *name)
{
  TCase *tests = clpt_case(suite, name);
  tcase_add_checked_fixture(tests, setup, teardown);
  return tests;
}

/* --- other processes --- */

/* Forks: the child does the work and exits. Its id. */
pid_t traced_spawn(void (*work)(void))
{
  fflush(NULL);
  pid_t id = fork();
  if (id)
    return id;
  work();
  exit(EXIT_SUCCESS);
}

bool traced_succeeds(pid_t id)
{
  int result;
  return id > 0 && waitpid(id, &result, 0) == id && result == 0;
}

/* A process with the variable set to a file of that name in the folder. */
pid_t traced_run(const char *name, void (*work)(void))
{
  char value[128];
  snprintf(value, sizeof(value), "%s/%s", traced_folder, name);
  setenv(TRACED_VARIABLE, value, 1);
  pid_t id = traced_spawn(work);
  unsetenv(TRACED_VARIABLE);
  ck_assert(traced_succeeds(id));
  return id;
}

/* What processes do. Static, for what they leave to their end is no leak. */
clp_allocator *traced_allocator;
clp_pool *traced_pool;
clp_buffer *traced_buffers[8];

void traced_make_pool(void)
{
  traced_require(clp_simulated_allocator_create(0, &traced_allocator) == CLP_SUCCESS);
  traced_require(clp_pool_create(traced_allocator, NULL, &traced_pool) == CLP_SUCCESS);
}

void traced_end_pool(void)
{
  clp_pool_release(traced_pool);
  clp_allocator_release(traced_allocator);
}

/* Allocates `count` blocks of that many bytes. */
void traced_allocate(size_t count, size_t bytes)
{
  for (size_t i = 0; i < count; i++)
    traced_require(clp_pool_allocate(traced_pool, bytes, &traced_buffers[i]) == CLP_SUCCESS);
}

void traced_release(size_t count)
{
  for (size_t i = 0; i < count; i++)
    traced_require(clp_buffer_release(traced_buffers[i]) == CLP_SUCCESS);
}

/* --- what the library calls --- */

FILE *__real_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode);
int __real_pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void));
int __wrap_pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void));

/* What fopen does first, as that of a file far away waits; NULL: nothing. */
void (*traced_before_fopen)(void);

FILE *__wrap_fopen(const char *path, const char *mode)
{
  if (traced_before_fopen)
    traced_before_fopen();
  return __real_fopen(path, mode);
}

/* How many calls succeed until all fail, as without memory. */
int traced_atforks = INT_MAX;

int __wrap_pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void))
{
  return traced_atforks-- > 0 ? __real_pthread_atfork(prepare, parent, child) : ENOMEM;
}

/* --- files --- */

const char *traced_path_of(const char *name)
{
  static char path[128];
  snprintf(path, sizeof(path), "%s/%s", traced_folder, name);
  return path;
}

bool traced_exists(const char *name)
{
  struct stat file;
  return stat(traced_path_of(name), &file) == 0;
}

size_t traced_files_in_folder(void)
{
  size_t count = 0;
  DIR *files = opendir(traced_folder);
  ck_assert_ptr_nonnull(files);
  for (struct dirent *file; (file = readdir(files));)
    count += file->d_name[0] != '.';
  closedir(files);
  return count;
}

/* How many descriptors of this process are of files in the folder. */
size_t traced_open_in_folder(void)
{
  size_t count = 0;
  DIR *descriptors = opendir("/proc/self/fd");
  traced_require(descriptors);
  for (struct dirent *one; (one = readdir(descriptors));) {
    char path[PATH_MAX] = "";
    if (readlinkat(dirfd(descriptors), one->d_name, path, sizeof(path) - 1) > 0)
      count += strncmp(path, traced_folder, strlen(traced_folder)) == 0;
  }
  closedir(descriptors);
  return count;
}

/* Replays a file, so it is well-formed and makes sense. */
trace_replay_result traced_replay(const char *name)
{
  trace_reader *reader;
  trace_replay_result result;
  trace_replay_options options = clpt_pooled();
  clp_allocator *device = clpt_simulated(0);
  clpt_ok(trace_open(-1, traced_path_of(name), &reader));
  clpt_ok(trace_replay(reader, device, &options, &result));
  trace_close(reader);
  clp_allocator_release(device);
  return result;
}

void traced_assert_trace(const char *name, uint64_t allocations, uint64_t frees)
{
  trace_replay_result result = traced_replay(name);
  ck_assert_uint_eq(result.allocations, allocations);
  ck_assert_uint_eq(result.frees, frees);
}

void traced_use_one_pool(void)
{
  traced_make_pool();
  traced_allocate(3, 100);
  traced_release(3);
  traced_end_pool();
}
