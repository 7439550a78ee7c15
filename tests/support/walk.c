/* SPDX-License-Identifier: MIT */
/* The calls that a request passes in the library, for walk.sh: the library and this program
 * are built with -finstrument-functions, and each call is printed as "depth address". */
#include <clpool/clpool.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define UNSEEN __attribute__((no_instrument_function))

static int depth;
static bool is_on;

void __cyg_profile_func_enter(void *function, void *caller) UNSEEN;
void __cyg_profile_func_exit(void *function, void *caller) UNSEEN;

void __cyg_profile_func_enter(void *function, void *caller)
{
  if (is_on)
    printf("%d %p\n", depth, function);
  depth++;
}

void __cyg_profile_func_exit(void *function, void *caller)
{
  depth--;
}

UNSEEN static void require(clp_status status)
{
  is_on = false;
  if (!status)
    return;
  fprintf(stderr, "walk: %s\n", clp_last_error()->message);
  exit(1);
}

/* Up to the next require, calls are printed; NULL: none. */
UNSEEN static void begin(const char *what)
{
  if (what)
    printf("# %s\n", what);
  depth = 0;
  is_on = what;
}

UNSEEN static clp_buffer *allocate(clp_pool *pool, const char *what)
{
  clp_buffer *buffer;
  begin(what);
  require(clp_pool_allocate(pool, 400, &buffer));
  return buffer;
}

UNSEEN static void *allocate_and_release(void *pool)
{
  clp_buffer_release(allocate(pool, NULL));
  return NULL;
}

UNSEEN int main(void)
{
  clp_allocator *host, *arena;
  clp_arena_options options = CLP_ARENA_OPTIONS_INIT;
  clp_pool *plain, *carving;
  clp_pool_stats stats = CLP_POOL_STATS_INIT;
  pthread_t other;
  require(clp_host_allocator_create(0, &host));
  options.reserve_bytes = 1 << 20;
  require(clp_arena_allocator_create(host, &options, &arena));
  require(clp_pool_create(host, NULL, &plain));
  require(clp_pool_create(arena, NULL, &carving));
  clp_buffer_release(allocate(plain, "a miss: the first allocation of a pool"));
  allocate_and_release(plain);
  (void)allocate(plain, "a hit: the thread has released such a block before");
  if (pthread_create(&other, NULL, allocate_and_release, plain) || pthread_join(other, NULL))
    return 1;
  (void)allocate(plain, "a take-over: another thread has released it");
  begin("statistics");
  require(clp_pool_get_stats(plain, &stats));
  (void)allocate(carving, NULL);
  (void)allocate(carving, "a carve: an arena has room, memory is an address");
  return 0;
}
