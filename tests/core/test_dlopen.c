/* SPDX-License-Identifier: MIT */
/* The shared library as a plug-in's: opened, used by threads, and closed while they live on. */
#include "support/suite.h"

#include <clpool/clpool.h>
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

/* What is used of the library, found by name. */
typedef struct library {
  void *handle;
  clp_status (*host_allocator_create)(size_t, clp_allocator **);
  void (*allocator_release)(clp_allocator *);
  clp_status (*pool_create)(clp_allocator *, const clp_pool_options *, clp_pool **);
  void (*pool_release)(clp_pool *);
  clp_status (*pool_allocate)(clp_pool *, size_t, clp_buffer **);
  clp_status (*buffer_release)(clp_buffer *);
} library;

static void find(const library *it, const char *name, void *function)
{
  void *symbol = dlsym(it->handle, name);

  ck_assert_msg(symbol != NULL, "%s", dlerror());
  memcpy(function, &symbol, sizeof(symbol)); /* POSIX has them the same size */
}

static void library_open(library *it)
{
  const char *build = getenv("top_builddir");
  char path[4096];

  ck_assert_msg(build != NULL, "top_builddir is not set: run by make check");
  (void)snprintf(path, sizeof(path), "%s/.libs/libclpool.so", build);
  it->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  ck_assert_msg(it->handle != NULL, "%s", dlerror());
  find(it, "clp_host_allocator_create", &it->host_allocator_create);
  find(it, "clp_allocator_release", &it->allocator_release);
  find(it, "clp_pool_create", &it->pool_create);
  find(it, "clp_pool_release", &it->pool_release);
  find(it, "clp_pool_allocate", &it->pool_allocate);
  find(it, "clp_buffer_release", &it->buffer_release);
}

static bool is_loaded(void)
{
  char line[4096];
  bool found = false;
  FILE *maps = fopen("/proc/self/maps", "r");

  ck_assert_ptr_nonnull(maps);
  while (fgets(line, sizeof(line), maps))
    found = found || strstr(line, "libclpool.so");
  (void)fclose(maps);
  return found;
}

/* Takes and releases a few buffers, so that the calling thread has a shard. */
static bool use(const library *it, clp_pool *pool)
{
  clp_buffer *buffer;
  bool ok = true;

  for (size_t i = 1; i <= 10; i++)
    ok = it->pool_allocate(pool, 100 * i, &buffer) == CLP_SUCCESS &&
         it->buffer_release(buffer) == CLP_SUCCESS && ok;
  return ok;
}

typedef struct user {
  const library *library;
  clp_pool *pool;
  bool ok;
  sem_t used, may_end;
} user;

static void *use_and_live_on(void *argument)
{
  user *self = argument;

  self->ok = use(self->library, self->pool);
  sem_post(&self->used);
  sem_wait(&self->may_end);
  return NULL;
}

static void open_use_and_close(void)
{
  library it;
  clp_allocator *allocator;
  pthread_t thread;
  user other = {.library = &it};

  library_open(&it);
  ck_assert_int_eq(it.host_allocator_create(0, &allocator), CLP_SUCCESS);
  ck_assert_int_eq(it.pool_create(allocator, NULL, &other.pool), CLP_SUCCESS);
  it.allocator_release(allocator);
  ck_assert(use(&it, other.pool));
  sem_init(&other.used, 0, 0);
  sem_init(&other.may_end, 0, 0);
  ck_assert_int_eq(pthread_create(&thread, NULL, use_and_live_on, &other), 0);
  sem_wait(&other.used);
  ck_assert(other.ok);

  it.pool_release(other.pool);
  ck_assert_int_eq(dlclose(it.handle), 0);
  sem_post(&other.may_end); /* the thread ends without the library that it used */
  ck_assert_int_eq(pthread_join(thread, NULL), 0);
  sem_destroy(&other.used);
  sem_destroy(&other.may_end);
}

START_TEST(it_can_be_opened_used_and_closed_again_and_again)
{
  open_use_and_close();
  ck_assert(!is_loaded());
  for (unsigned i = 0; i < 50; i++)
    open_use_and_close();
  ck_assert(!is_loaded());
}
END_TEST

/* A copy of a file under another name is another library to dlopen. */
static void copy_plugin(char *path, size_t bytes, unsigned number)
{
  char command[3 * PATH_MAX];
  const char *build = getenv("top_builddir");

  ck_assert_msg(build != NULL, "top_builddir is not set: run by make check");
  (void)snprintf(path, bytes, "%s/tests/core/.libs/copy%u-%d.so", build, number, getpid());
  (void)snprintf(command, sizeof(command), "cp '%s/tests/core/.libs/plugin.so' '%s'", build, path);
  ck_assert_int_eq(system(command), 0);
}

static void *open_plugin(unsigned number)
{
  char path[PATH_MAX];

  copy_plugin(path, sizeof(path), number);
  void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  (void)unlink(path);
  ck_assert_msg(handle != NULL, "%s", dlerror());
  return handle;
}

START_TEST(plug_ins_may_each_bring_a_copy)
{
  enum { COPIES = 6 };
  void *handles[COPIES];

  for (unsigned i = 0; i < COPIES; i++) {
    bool (*use_plugin)(void);
    handles[i] = open_plugin(i);
    find(&(library){.handle = handles[i]}, "plugin_use", &use_plugin);
    ck_assert(use_plugin());
  }
  for (unsigned i = 0; i < COPIES; i++)
    ck_assert_int_eq(dlclose(handles[i]), 0);
}
END_TEST

CLPT_MAIN("dlopen", clpt_run)
{
  tcase_add_test(clpt_case(suite, "dlopen"), it_can_be_opened_used_and_closed_again_and_again);
  tcase_add_test(clpt_case(suite, "plug-ins"), plug_ins_may_each_bring_a_copy);
}
