/* SPDX-License-Identifier: MIT */
/* A program of another project, which knows the installed clpool alone. */
#include <clpool/clpool.h>
#include <stdio.h>
#include <string.h>

int main(void)
{
  clp_allocator *allocator = NULL;
  clp_pool *pool = NULL;
  clp_buffer *buffer = NULL;
  clp_pool_stats stats = CLP_POOL_STATS_INIT;
  int failed = strcmp(clp_version(), CLP_VERSION_STRING) != 0 ||
               clp_host_allocator_create(0, &allocator) != CLP_SUCCESS ||
               clp_pool_create(allocator, NULL, &pool) != CLP_SUCCESS ||
               clp_pool_allocate(pool, 1000, &buffer) != CLP_SUCCESS ||
               clp_buffer_release(buffer) != CLP_SUCCESS ||
               clp_pool_allocate(pool, 1000, &buffer) != CLP_SUCCESS ||
               clp_pool_get_stats(pool, &stats) != CLP_SUCCESS ||
               clp_buffer_release(buffer) != CLP_SUCCESS || stats.hits != 1 || stats.misses != 1;
  clp_pool_release(pool);
  clp_allocator_release(allocator);
  if (failed)
    fprintf(stderr, "consumer: %s\n", clp_last_error()->message);
  else
    printf("clpool %s\n", clp_version());
  return failed;
}
