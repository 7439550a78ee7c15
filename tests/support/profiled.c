/* SPDX-License-Identifier: MIT */
/* A program that prints its line profile as folded stacks, of work in main and, unless it has an
 * argument, in a thread. tests/hooks/check-line-profile.sh builds it in several ways, and knows its
 * lines by the marks in their comments. */
#include <clpool/clpool.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

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
  clp_buffer *first = temporary(1024); /* @axpy1 */
  for (size_t i = 0; i < 1; i++) {
    clp_buffer *second = temporary(2048); /* @axpy2 */
    check(clp_buffer_release(second));
  }
  check(clp_buffer_release(first));
}

static void *run_thread(void *unused)
{
  axpy(); /* @thread */
  return unused;
}

int main(int count, char **arguments)
{
  clp_pool_options options = CLP_POOL_OPTIONS_INIT;
  clp_allocator *allocator;
  clp_line_profile *profile;
  pthread_t thread;
  options.leading_bits_in_bin_id = CLP_MAX_LEADING_BITS; /* no rounding */
  check(clp_host_allocator_create(0, &allocator));
  check(clp_pool_create(allocator, &options, &pool));
  check(clp_line_profile_create(0, &profile));
  check(clp_pool_add_hook(pool, clp_line_profile_hook(profile)));
  axpy(); /* @main */
  if (count == 1 && (pthread_create(&thread, NULL, run_thread, NULL) || pthread_join(thread, NULL)))
    return EXIT_FAILURE;
  check(clp_line_profile_write_folded(profile, stdout));
  check(clp_pool_remove_hook(pool, clp_line_profile_hook(profile)));
  clp_line_profile_destroy(profile);
  clp_pool_release(pool);
  clp_allocator_release(allocator);
  return EXIT_SUCCESS;
}
