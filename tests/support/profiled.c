/* SPDX-License-Identifier: MIT */
/* A program that prints its line profile, for tests/hooks/check-line-profile.sh, which builds it in
 * several ways and knows its lines by the marks in their comments.
 *
 *   profiled         the profile
 *   profiled folded  as folded stacks
 *   profiled thread  the profile of another thread's work */
#include <clpool/clpool.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KB = 1024 };

static clp_pool *pool;

static void check(clp_status status)
{
  if (!status)
    return;
  fprintf(stderr, "profiled: %s\n", clp_last_error()->message);
  exit(EXIT_FAILURE);
}

__attribute__((always_inline)) static inline clp_buffer *temporary(size_t bytes)
{
  clp_buffer *buffer;
  check(clp_pool_allocate(pool, bytes, &buffer)); /* @temporary */
  return buffer;
}

__attribute__((noinline)) static void axpy(void)
{
  clp_buffer *first = temporary(KB);      /* @axpy1 */
  clp_buffer *second = temporary(2 * KB); /* @axpy2 */
  check(clp_buffer_release(first));
  check(clp_buffer_release(second));
}

static void *run_thread(void *unused)
{
  axpy(); /* @thread */
  return unused;
}

static void start_thread_and_wait(void)
{
  pthread_t thread;
  if (pthread_create(&thread, NULL, run_thread, NULL) || pthread_join(thread, NULL))
    check(CLP_BACKEND_ERROR);
}

static clp_pool *make_pool(void)
{
  clp_pool_options options = CLP_POOL_OPTIONS_INIT;
  clp_allocator *allocator;
  clp_pool *made;
  options.leading_bits_in_bin_id = CLP_MAX_LEADING_BITS; /* no rounding */
  check(clp_host_allocator_create(0, &allocator));
  check(clp_pool_create(allocator, &options, &made));
  clp_allocator_release(allocator);
  return made;
}

int main(int count, char **arguments)
{
  const char *wanted = count > 1 ? arguments[1] : "";
  clp_line_profile *profile;
  pool = make_pool();
  check(clp_line_profile_create(0, &profile));
  check(clp_pool_add_hook(pool, clp_line_profile_hook(profile)));
  if (strcmp(wanted, "thread") == 0) {
    start_thread_and_wait();
  } else {
    axpy(); /* @main1 */
    axpy(); /* @main2 */
  }
  check(strcmp(wanted, "folded") == 0 ? clp_line_profile_write_folded(profile, stdout)
                                      : clp_line_profile_print(profile, stdout));
  check(clp_pool_remove_hook(pool, clp_line_profile_hook(profile)));
  clp_line_profile_destroy(profile);
  clp_pool_release(pool);
  return EXIT_SUCCESS;
}
