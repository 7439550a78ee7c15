/* SPDX-License-Identifier: MIT */
/* A plug-in with a copy of the library in it (test_dlopen.c). */
#include <clpool/clpool.h>
#include <stdbool.h>

bool plugin_use(void);

/* Takes and releases a few buffers, and fails. */
bool plugin_use(void)
{
  clp_allocator *allocator;
  clp_pool *pool;
  clp_buffer *buffer;
  bool ok = clp_host_allocator_create(0, &allocator) == CLP_SUCCESS &&
            clp_pool_create(allocator, NULL, &pool) == CLP_SUCCESS;

  for (size_t i = 1; ok && i <= 10; i++)
    ok = clp_pool_allocate(pool, 100 * i, &buffer) == CLP_SUCCESS &&
         clp_buffer_release(buffer) == CLP_SUCCESS;
  ok = ok && clp_pool_allocate(pool, 1, NULL) == CLP_INVALID_ARGUMENT &&
       clp_last_error()->status == CLP_INVALID_ARGUMENT;
  clp_pool_release(pool);
  clp_allocator_release(allocator);
  return ok;
}
