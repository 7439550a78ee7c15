/* SPDX-License-Identifier: MIT */
/* What a warm pair of the CUDA driver's own pool costs on 1, 2, 4, ... threads, against a pool of
 * clpool on memory of the same device. Needs the driver alone, which it loads when it runs, and
 * exits with 77 where there is none. */
#include "compare.h"
#include "failed.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Of the driver's interface, what is used here. */
typedef int cuda_result;
typedef unsigned long long cuda_pointer;
typedef struct cuda_context *cuda_context;
typedef struct cuda_stream *cuda_stream;
typedef struct cuda_mempool *cuda_mempool;
enum { CUDA_OUT_OF_MEMORY = 2, CUDA_STREAM_NON_BLOCKING = 1, CUDA_RELEASE_THRESHOLD = 4 };

/* The one list of functions: X(member, name in the library, parameters). */
#define DRIVER_FUNCTIONS(X)                                                                        \
  X(init, "cuInit", (unsigned flags))                                                              \
  X(device_get, "cuDeviceGet", (int *device, int ordinal))                                         \
  X(device_name, "cuDeviceGetName", (char *name, int length, int device))                          \
  X(context_retain, "cuDevicePrimaryCtxRetain", (cuda_context * context, int device))              \
  X(context_release, "cuDevicePrimaryCtxRelease_v2", (int device))                                 \
  X(context_set, "cuCtxSetCurrent", (cuda_context context))                                        \
  X(stream_create, "cuStreamCreate", (cuda_stream * stream, unsigned flags))                       \
  X(stream_wait, "cuStreamSynchronize", (cuda_stream stream))                                      \
  X(stream_destroy, "cuStreamDestroy_v2", (cuda_stream stream))                                    \
  X(mempool_get, "cuDeviceGetDefaultMemPool", (cuda_mempool * mempool, int device))                \
  X(mempool_set, "cuMemPoolSetAttribute", (cuda_mempool mempool, int attribute, void *value))      \
  X(allocate_async, "cuMemAllocAsync", (cuda_pointer * memory, size_t bytes, cuda_stream stream))  \
  X(free_async, "cuMemFreeAsync", (cuda_pointer memory, cuda_stream stream))                       \
  X(allocate, "cuMemAlloc_v2", (cuda_pointer * memory, size_t bytes))                              \
  X(free, "cuMemFree_v2", (cuda_pointer memory))

#define DRIVER_MEMBER(member, name, parameters) cuda_result(*member) parameters;
static struct {
  DRIVER_FUNCTIONS(DRIVER_MEMBER)
} cuda;

typedef struct workbench {
  int device;
  char name[256];
  cuda_context context;
  cuda_stream streams[BENCH_MAX_THREADS]; /* one for each thread */
  unsigned stream_count;
  clp_allocator *allocator; /* of cuMemAlloc */
  clp_pool *pool;
} workbench;

static bool done(cuda_result code, const char *what)
{
  return code == 0 || bench_failed("%s: CUDA error %d", what, code);
}

/* --- contenders ----------------------------------------------------------------------------------
 */

/* Memory from the driver's pool, in the order of the thread's stream. */
static bool run_async(void *self, unsigned thread, size_t times)
{
  const bench_source *source = self;
  const workbench *bench = source->device;
  cuda_stream stream = bench->streams[thread];
  if (!done(cuda.context_set(bench->context), "cuCtxSetCurrent"))
    return false;
  for (size_t i = 0; i < times; i++) {
    cuda_pointer memory;
    cuda_result code = cuda.allocate_async(&memory, source->bytes, stream);
    if (code != 0 || (code = cuda.free_async(memory, stream)) != 0)
      return done(code, source->name);
  }
  return done(cuda.stream_wait(stream), "cuStreamSynchronize");
}

static bool run_bare(void *self, unsigned thread, size_t times)
{
  const bench_source *source = self;
  const workbench *bench = source->device;
  (void)thread;
  if (!done(cuda.context_set(bench->context), "cuCtxSetCurrent"))
    return false;
  for (size_t i = 0; i < times; i++) {
    cuda_pointer memory;
    cuda_result code = cuda.allocate(&memory, source->bytes);
    if (code != 0 || (code = cuda.free(memory)) != 0)
      return done(code, source->name);
  }
  return true;
}

/* An allocator of the program's own, for the pool that competes. */
static clp_status status_of(cuda_result code, const char *message)
{
  if (code == 0)
    return CLP_SUCCESS;
  return clp_set_last_error(
      code == CUDA_OUT_OF_MEMORY ? CLP_OUT_OF_DEVICE_MEMORY : CLP_BACKEND_ERROR, code, message);
}

static clp_status take_memory(void *self, size_t bytes, clp_memory *out)
{
  const workbench *bench = self;
  cuda_pointer memory = 0;
  cuda_result code = cuda.context_set(bench->context);
  if (code == 0)
    code = cuda.allocate(&memory, bytes);
  *out = (clp_memory)memory;
  return status_of(code, "cuMemAlloc failed");
}

static clp_status give_memory(void *self, clp_memory memory, size_t bytes)
{
  const workbench *bench = self;
  (void)bytes;
  cuda_result code = cuda.context_set(bench->context);
  if (code == 0)
    code = cuda.free((cuda_pointer)memory);
  return status_of(code, "cuMemFree failed");
}

/* --- the driver and the device -------------------------------------------------------------------
 */

static bool load_driver(void)
{
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == NULL)
    return bench_failed("no CUDA driver here: %s", dlerror());
#define DRIVER_RESOLVE(member, name, parameters)                                                   \
  if ((*(void **)&cuda.member = dlsym(library, name)) == NULL)                                     \
    return bench_failed("the CUDA driver has no %s", name);
  DRIVER_FUNCTIONS(DRIVER_RESOLVE)
  return true;
}

/* The driver's pool keeps all that it has, as clpool does. */
static bool keep_what_is_freed(int device)
{
  cuda_mempool mempool = NULL;
  uint64_t all = UINT64_MAX;
  return done(cuda.mempool_get(&mempool, device), "cuDeviceGetDefaultMemPool") &&
         done(cuda.mempool_set(mempool, CUDA_RELEASE_THRESHOLD, &all), "cuMemPoolSetAttribute");
}

static bool make_pool(workbench *bench)
{
  clp_allocator_ops ops = CLP_ALLOCATOR_OPS_INIT;
  ops.name = "cuMemAlloc";
  ops.allocate = take_memory;
  ops.free = give_memory;
  ops.memory_kind = CLP_MEMORY_CUDA;
  return (clp_allocator_create(&ops, bench, &bench->allocator) == CLP_SUCCESS &&
          clp_pool_create(bench->allocator, NULL, &bench->pool) == CLP_SUCCESS) ||
         bench_failed("no pool: %s", clp_last_error()->message);
}

static void end_workbench(workbench *bench)
{
  clp_pool_release(bench->pool);
  clp_allocator_release(bench->allocator);
  while (bench->stream_count > 0)
    (void)cuda.stream_destroy(bench->streams[--bench->stream_count]);
  if (bench->context != NULL)
    (void)cuda.context_release(bench->device);
}

static bool begin_workbench(workbench *bench, unsigned threads)
{
  if (!done(cuda.context_retain(&bench->context, bench->device), "cuDevicePrimaryCtxRetain") ||
      !done(cuda.context_set(bench->context), "cuCtxSetCurrent") ||
      !keep_what_is_freed(bench->device))
    return false;
  for (; bench->stream_count < threads; bench->stream_count++)
    if (!done(cuda.stream_create(&bench->streams[bench->stream_count], CUDA_STREAM_NON_BLOCKING),
              "cuStreamCreate"))
      return false;
  (void)cuda.device_name(bench->name, sizeof bench->name, bench->device);
  return make_pool(bench);
}

static bool compare_all(const bench_options *options, workbench *bench)
{
  bool ok = true;
  for (size_t i = 0; ok && i < options->size_count; i++) {
    bench_source sources[] = {
        {.name = "cuMemAllocAsync", .run = run_async, .is_basis = true, .device = bench},
        {.name = "cuMemAlloc", .run = run_bare, .device = bench},
        {.name = "pool on cuMemAlloc", .kind = BENCH_POOL, .pool = bench->pool},
    };
    bench_title title = {"cuda", bench->name, &bench_one, options->sizes[i], true};
    ok = bench_compare(options, &title, sources, sizeof sources / sizeof *sources);
  }
  return ok;
}

int main(int argc, char **argv)
{
  static const bench_program program = {
      "Times warm pairs on a CUDA device, of the driver's pool and of clpool's.", NULL, false};
  static workbench bench = {.name = "CUDA device"};
  enum { SKIPPED = 77 };
  bench_options options;
  int status;
  if (!bench_read_options(argc, argv, &program, &options, &status))
    return status;
  if (!load_driver())
    return SKIPPED;
  if (cuda.init(0) != 0 || cuda.device_get(&bench.device, 0) != 0) {
    bench_failed("no CUDA device here");
    return SKIPPED;
  }
  if (!options.json)
    printf("clpool %s: medians of %u rounds\n", clp_version(), options.effort.rounds);
  bool ok = begin_workbench(&bench, options.threads) && compare_all(&options, &bench);
  end_workbench(&bench);
  return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
