/* SPDX-License-Identifier: MIT */
/* The shared library as plug-ins': opened, used by threads, and closed while they live on. */
#include "support/suite.h"

#include <clpool/clpool.h>
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { COPIES = 6 };

typedef struct user {
  char path[PATH_MAX];
  void *library;
  pthread_t thread;
  bool ok;
  pthread_barrier_t turn;
} user;

/* Takes and releases a few buffers, and fails, unless the thread lives on: it keeps the text of its
 * last error. */
static bool use(void *library, bool fails)
{
#define CALL(name) ((__typeof__(&name))dlsym(library, #name))
  clp_allocator *allocator;
  clp_pool *pool;
  clp_buffer *buffer;
  bool ok = CALL(clp_host_allocator_create)(0, &allocator) == CLP_SUCCESS &&
            CALL(clp_pool_create)(allocator, NULL, &pool) == CLP_SUCCESS;
  for (size_t i = 1; ok && i <= 10; i++)
    ok = CALL(clp_pool_allocate)(pool, 100 * i, &buffer) == CLP_SUCCESS &&
         CALL(clp_buffer_release)(buffer) == CLP_SUCCESS;
  if (fails)
    ok = ok && CALL(clp_pool_allocate)(pool, 1, NULL) == CLP_INVALID_ARGUMENT &&
         CALL(clp_last_error)()->status == CLP_INVALID_ARGUMENT;
  CALL(clp_pool_release)(pool);
  CALL(clp_allocator_release)(allocator);
  return ok;
}

static void *use_and_live_on(void *argument)
{
  user *self = argument;
  self->ok = use(self->library, false);
  pthread_barrier_wait(&self->turn);
  pthread_barrier_wait(&self->turn);
  return NULL;
}

/* A copy under another name is another library to dlopen. */
static void open_copy(user *self, int number)
{
  char command[3 * PATH_MAX];
  const char *build = getenv("top_builddir");
  ck_assert_msg(build != NULL, "top_builddir is not set: run by make check");
  (void)snprintf(self->path, sizeof(self->path), "%s/tests/core/copy%d-%d.so", build, number,
                 getpid());
  (void)snprintf(command, sizeof(command), "cp '%s/.libs/libclpool.so' '%s'", build, self->path);
  ck_assert_int_eq(system(command), 0);
  self->library = dlopen(self->path, RTLD_NOW | RTLD_LOCAL);
  (void)unlink(self->path);
  ck_assert_msg(self->library != NULL, "%s", dlerror());
  ck_assert(use(self->library, true));
  ck_assert_int_eq(pthread_barrier_init(&self->turn, NULL, 2), 0);
  ck_assert_int_eq(pthread_create(&self->thread, NULL, use_and_live_on, self), 0);
  pthread_barrier_wait(&self->turn);
  ck_assert(self->ok);
}

static bool is_loaded(const user *self)
{
  void *library = dlopen(self->path, RTLD_NOW | RTLD_NOLOAD);
  return library && dlclose(library) == 0;
}

START_TEST(plug_ins_may_each_bring_a_copy_and_close_it)
{
  user users[COPIES];
  for (int i = 0; i < COPIES; i++)
    open_copy(&users[i], i);
  for (int i = 0; i < COPIES; i++) {
    ck_assert(is_loaded(&users[i]));
    ck_assert_int_eq(dlclose(users[i].library), 0);
    ck_assert(!is_loaded(&users[i]));
  }
  for (int i = 0; i < COPIES; i++) { /* the threads end without the library that they used */
    pthread_barrier_wait(&users[i].turn);
    ck_assert_int_eq(pthread_join(users[i].thread, NULL), 0);
    pthread_barrier_destroy(&users[i].turn);
  }
}
END_TEST

CLPT_MAIN("dlopen", clpt_run_apart)
{
  tcase_add_loop_test(clpt_case(suite, "dlopen"), plug_ins_may_each_bring_a_copy_and_close_it, 0,
                      10);
}
