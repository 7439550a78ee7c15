/* SPDX-License-Identifier: MIT */
/* The calls that a request passes in the library, for walk.sh: the library and this program
 * are built with -finstrument-functions, and each call is printed as "depth address". */
#include <clpool/clpool.h>
#include <clpool/opencl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define UNSEEN __attribute__((no_instrument_function))
enum { MOST_CALLS = 4096 };

static struct {
  void *function;
  int depth;
} calls[MOST_CALLS];
static int call_count, depth;
static bool is_on;

void __cyg_profile_func_enter(void *function, void *caller) UNSEEN;
void __cyg_profile_func_exit(void *function, void *caller) UNSEEN;

void __cyg_profile_func_enter(void *function, void *caller)
{
  (void)caller;
  if (is_on && call_count < MOST_CALLS) {
    calls[call_count].function = function;
    calls[call_count++].depth = depth;
  }
  depth++;
}

void __cyg_profile_func_exit(void *function, void *caller)
{
  (void)function, (void)caller;
  depth--;
}

UNSEEN static void require(clp_status status)
{
  if (!status)
    return;
  fprintf(stderr, "walk: %s\n", clp_last_error()->message);
  exit(1);
}

UNSEEN static void begin(void)
{
  call_count = depth = 0;
  is_on = true;
}

UNSEEN static void end(const char *what)
{
  is_on = false;
  printf("# %s\n", what);
  for (int i = 0; i < call_count; i++)
    printf("%d %p\n", calls[i].depth, calls[i].function);
}

UNSEEN static clp_buffer *allocate(clp_pool *pool, size_t bytes)
{
  clp_buffer *buffer;
  require(clp_pool_allocate(pool, bytes, &buffer));
  return buffer;
}

UNSEEN static clp_buffer *show_allocate(clp_pool *pool, size_t bytes, const char *what)
{
  begin();
  clp_buffer *buffer = allocate(pool, bytes);
  end(what);
  return buffer;
}

UNSEEN static void *allocate_and_release(void *pool)
{
  clp_buffer_release(allocate(pool, 4096));
  return NULL;
}

/* The calls of a pool that does not stand on an arena. */
UNSEEN static void show_plain(clp_pool *pool)
{
  clp_pool_stats stats = CLP_POOL_STATS_INIT;
  pthread_t other;
  clp_buffer_release(show_allocate(pool, 4096, "a miss: the first allocation of a pool"));
  allocate_and_release(pool);
  clp_buffer *hit = show_allocate(pool, 4096, "a hit: the thread has released such a block before");
  if (pthread_create(&other, NULL, allocate_and_release, pool) || pthread_join(other, NULL))
    exit(1);
  clp_buffer *taken = show_allocate(pool, 4096, "a take-over: another thread has released it");
  begin();
  require(clp_pool_get_stats(pool, &stats));
  end("statistics");
  clp_buffer_release(hit);
  clp_buffer_release(taken);
}

UNSEEN static cl_command_queue make_queue(void)
{
  cl_platform_id platform;
  cl_device_id device;
  if (clGetPlatformIDs(1, &platform, NULL) ||
      clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL)) {
    fprintf(stderr, "walk: there is no OpenCL device\n");
    exit(77);
  }
  cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
  cl_command_queue queue = clCreateCommandQueue(context, device, 0, NULL);
  clReleaseContext(context);
  return queue;
}

UNSEEN int main(void)
{
  cl_command_queue queue = make_queue();
  clp_allocator *immediate, *host, *arena;
  clp_arena_options options = CLP_ARENA_OPTIONS_INIT;
  clp_pool *plain, *carving;
  require(clp_cl_immediate_allocator_create(queue, CL_MEM_READ_WRITE, &immediate));
  require(clp_host_allocator_create(0, &host));
  options.reserve_bytes = 1 << 20;
  require(clp_arena_allocator_create(host, &options, &arena));
  require(clp_pool_create(immediate, NULL, &plain));
  require(clp_pool_create(arena, NULL, &carving));
  show_plain(plain);
  clp_buffer *first = allocate(carving, 400);
  clp_buffer *carved =
      show_allocate(carving, 400, "a carve: an arena has room, memory is an address");
  clp_buffer_release(first);
  clp_buffer_release(carved);
  clp_pool_release(plain);
  clp_pool_release(carving);
  clp_allocator_release(arena);
  clp_allocator_release(host);
  clp_allocator_release(immediate);
  clReleaseCommandQueue(queue);
  return 0;
}
