/* SPDX-License-Identifier: MIT */
/* What a pair costs on a CUDA device: from pools of clpool over the driver's stream-ordered
 * allocator, and from the driver itself. Exits with 77 where there is no such device. */
#include "compare.h"

#include <clpool/cuda_mempool.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* --- the driver: what a program calls that allocates without clpool, found when this one runs ---
 */

enum { ORDINAL = 0, STREAM_NON_BLOCKING = 1 };
typedef int cuda_result;
typedef unsigned long long cuda_pointer;

/* The one list of functions: X(member, name in the library, parameters). */
#define CUDA_FUNCTIONS(X)                                                                          \
  X(init, "cuInit", (unsigned flags))                                                              \
  X(device_get, "cuDeviceGet", (int *device, int ordinal))                                         \
  X(context_retain, "cuDevicePrimaryCtxRetain", (void **context, int device))                      \
  X(context_release, "cuDevicePrimaryCtxRelease_v2", (int device))                                 \
  X(context_set, "cuCtxSetCurrent", (void *context))                                               \
  X(stream_create, "cuStreamCreate", (clp_stream * stream, unsigned flags))                        \
  X(stream_wait, "cuStreamSynchronize", (clp_stream stream))                                       \
  X(stream_destroy, "cuStreamDestroy_v2", (clp_stream stream))                                     \
  X(allocate_async, "cuMemAllocAsync", (cuda_pointer * memory, size_t bytes, clp_stream stream))   \
  X(allocate_from, "cuMemAllocFromPoolAsync",                                                      \
    (cuda_pointer * memory, size_t bytes, clp_cuda_mempool mempool, clp_stream stream))            \
  X(free_async, "cuMemFreeAsync", (cuda_pointer memory, clp_stream stream))                        \
  X(allocate, "cuMemAlloc_v2", (cuda_pointer * memory, size_t bytes))                              \
  X(free, "cuMemFree_v2", (cuda_pointer memory))

static struct {
#define MEMBER(member, name, parameters) cuda_result(*member) parameters;
  CUDA_FUNCTIONS(MEMBER)
} cuda;

/* The driver that clpool takes. */
static bool load_driver(void)
{
  const char *chosen = getenv("CLPOOL_CUDA_LIBRARY");
  void *library =
      dlopen(chosen != NULL && *chosen != '\0' ? chosen : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == NULL)
    return bench_failed("there is no CUDA driver: %s", dlerror());
#define RESOLVE(member, name, parameters)                                                          \
  if ((*(void **)&cuda.member = dlsym(library, name)) == NULL)                                     \
    return bench_failed("the CUDA driver has no %s", name);
  CUDA_FUNCTIONS(RESOLVE)
  return true;
}

typedef struct workbench {
  char name[256];
  int device; /* the driver's name for ORDINAL */
  void *context;
  clp_stream streams[BENCH_MAX_THREADS]; /* one for each thread */
  unsigned stream_count;
  clp_cuda_mempool mempools[BENCH_MAX_THREADS]; /* likewise */
  unsigned mempool_count;
  clp_allocator *allocator;
  clp_cuda_async_pool *async_pool;
} workbench;

static bool done(cuda_result code, const char *what)
{
  return code == 0 || bench_failed("%s: CUDA error %d", what, code);
}

static bool served(clp_status status, const char *what)
{
  return status == CLP_SUCCESS || bench_failed("%s: %s", what, clp_last_error()->message);
}

/* --- contenders; an address of the device's is a block --- */

static bool begin(const bench_source *on)
{
  const workbench *bench = on->device;
  return done(cuda.context_set(bench->context), "cuCtxSetCurrent");
}

/* Work that the driver put off is waited for. */
static bool finish(const bench_source *on)
{
  return done(cuda.stream_wait(on->stream), "cuStreamSynchronize");
}

static void *take_async(const bench_source *from, size_t bytes)
{
  cuda_pointer memory = 0;
  return done(cuda.allocate_async(&memory, bytes, from->stream), from->name) ? (void *)memory
                                                                             : NULL;
}

static bool give_async(const bench_source *to, void *memory)
{
  return done(cuda.free_async((cuda_pointer)memory, to->stream), to->name);
}

/* Each thread's stream and memory pool have the same number. */
static void *take_from_mempool(const bench_source *from, size_t bytes)
{
  const workbench *bench = from->device;
  clp_cuda_mempool mempool = bench->mempools[from->thread];
  cuda_pointer memory = 0;
  return done(cuda.allocate_from(&memory, bytes, mempool, from->stream), from->name)
             ? (void *)memory
             : NULL;
}

static void *take_driver(const bench_source *from, size_t bytes)
{
  cuda_pointer memory = 0;
  return done(cuda.allocate(&memory, bytes), from->name) ? (void *)memory : NULL;
}

static bool give_driver(const bench_source *to, void *memory)
{
  return done(cuda.free((cuda_pointer)memory), to->name);
}

static void *take_async_pool(const bench_source *from, size_t bytes)
{
  const workbench *bench = from->device;
  cuda_pointer memory = 0;
  clp_status status = clp_cuda_async_pool_malloc(bench->async_pool, bytes, from->stream, &memory);
  return served(status, from->name) ? (void *)memory : NULL;
}

static bool give_async_pool(const bench_source *to, void *memory)
{
  const workbench *bench = to->device;
  return served(clp_cuda_async_pool_free(bench->async_pool, (cuda_pointer)memory, to->stream),
                to->name);
}

static bench_source of_calls(const char *name, void *(*take)(const bench_source *, size_t),
                             bool (*give)(const bench_source *, void *), workbench *bench)
{
  return (bench_source){name,         BENCH_CALLS,    .streams = bench->streams, .take = take,
                        .give = give, .begin = begin, .finish = finish,          .device = bench};
}

static bench_source pooled(const char *name, bench_kind kind, const workbench *bench)
{
  return (bench_source){name, kind,
                        .pool = bench_make_pool(bench->allocator, CLP_DEFAULT_REUSE_FLAGS),
                        .streams = bench->streams};
}

static bool hold_warm(void *of, const bench_options *options, const bench_title *title)
{
  workbench *bench = of;
  bench_source sources[] = {
      of_calls("cuMemAllocAsync", take_async, give_async, bench),
      of_calls("cuMemAllocFromPoolAsync", take_from_mempool, give_async, bench),
      of_calls("cuMemAlloc", take_driver, give_driver, bench),
      of_calls("clp_cuda_async_pool", take_async_pool, give_async_pool, bench),
      pooled("pool on cuda-async", BENCH_POOL, bench),
      pooled("pool on cuda-async, streams", BENCH_STREAM, bench),
  };
  sources[0].is_basis = true;
  return bench_compare(options, title, sources, sizeof sources / sizeof *sources);
}

static bool hold_live(void *of, const bench_options *options, const bench_title *title)
{
  static const char *const names[2][BENCH_LIVE_SETS] = {
      {"cuMemAllocAsync, 2 MiB", "cuMemAllocAsync, 200 MiB", "cuMemAllocAsync, 4 GiB"},
      {"pool on cuda-async, 2 MiB", "pool on cuda-async, 200 MiB", "pool on cuda-async, 4 GiB"}};
  workbench *bench = of;
  bench_source sources[2 * BENCH_LIVE_SETS];
  for (size_t i = 0; i < BENCH_LIVE_SETS; i++) {
    sources[i] = of_calls(names[0][i], take_async, give_async, bench);
    sources[BENCH_LIVE_SETS + i] = pooled(names[1][i], BENCH_POOL, bench);
    bench_set_live(&sources[i], bench_live_sets[i]);
    bench_set_live(&sources[BENCH_LIVE_SETS + i], bench_live_sets[i]);
  }
  sources[0].is_basis = true;
  return bench_compare(options, title, sources, 2 * BENCH_LIVE_SETS);
}

/* --- the device --- */

/* EXIT_SUCCESS, or what the program ends with, and said why. */
static int find_device(workbench *bench)
{
  enum { SKIPPED = 77 };
  bool has_mempools = false;
  clp_status status = clp_cuda_device_supports_mempools(ORDINAL, &has_mempools);
  if (status == CLP_SUCCESS)
    status = clp_cuda_device_name(ORDINAL, bench->name, sizeof bench->name);
  if (status == CLP_SUCCESS && has_mempools)
    return EXIT_SUCCESS;
  bench_failed("%s", status != CLP_SUCCESS ? clp_last_error()->message : "no memory pools");
  return status == CLP_SUCCESS || status == CLP_NOT_SUPPORTED ? SKIPPED : EXIT_FAILURE;
}

static bool open_context(workbench *bench)
{
  return done(cuda.init(0), "cuInit") &&
         done(cuda.device_get(&bench->device, ORDINAL), "cuDeviceGet") &&
         done(cuda.context_retain(&bench->context, bench->device), "cuDevicePrimaryCtxRetain") &&
         done(cuda.context_set(bench->context), "cuCtxSetCurrent");
}

/* A memory pool keeps all that it has, as clpool does: else the driver would give it back whenever
 * a turn ends in a wait. */
static bool keep_all(clp_cuda_mempool mempool)
{
  return served(clp_cuda_mempool_set_release_threshold(mempool, UINT64_MAX), "no threshold");
}

static bool make_of_threads(workbench *bench, unsigned threads)
{
  clp_cuda_mempool_options options = CLP_CUDA_MEMPOOL_OPTIONS_INIT;
  options.device = ORDINAL;
  for (; bench->stream_count < threads; bench->stream_count++)
    if (!done(cuda.stream_create(&bench->streams[bench->stream_count], STREAM_NON_BLOCKING),
              "cuStreamCreate"))
      return false;
  while (bench->mempool_count < threads) {
    clp_cuda_mempool *mempool = &bench->mempools[bench->mempool_count];
    if (!served(clp_cuda_mempool_create(&options, mempool), "no memory pool"))
      return false;
    bench->mempool_count++;
    if (!keep_all(*mempool))
      return false;
  }
  return true;
}

/* They take from the device's default memory pool, as cuMemAllocAsync does. */
static bool make_allocators(workbench *bench)
{
  clp_cuda_async_options options = CLP_CUDA_ASYNC_OPTIONS_INIT;
  clp_cuda_mempool mempool = NULL;
  options.device = ORDINAL;
  return served(clp_cuda_mempool_default(ORDINAL, &mempool), "no memory pool") &&
         keep_all(mempool) &&
         served(clp_cuda_async_allocator_create(&options, &bench->allocator), "no allocator") &&
         served(clp_cuda_async_pool_create(NULL, &bench->async_pool), "no async pool");
}

/* Streams last of all: the pools may need them to the end. */
static void end_workbench(workbench *bench)
{
  clp_cuda_async_pool_release(bench->async_pool);
  clp_allocator_release(bench->allocator);
  while (bench->mempool_count > 0)
    clp_cuda_mempool_destroy(bench->mempools[--bench->mempool_count]);
  while (bench->stream_count > 0)
    (void)cuda.stream_destroy(bench->streams[--bench->stream_count]);
  if (bench->context != NULL)
    (void)cuda.context_release(bench->device);
}

int main(int argc, char **argv)
{
  static const bench_program program = {
      .purpose = "Times pairs on a CUDA device, of the driver and of pools over it.",
      .contests = "warm",
      .by_name = "live"};
  static const bench_event events[] = {{"warm", &bench_one, true, true, hold_warm},
                                       {"live", &bench_live, false, true, hold_live}};
  static workbench bench;
  bench_options options;
  int status;
  if (!bench_read_options(argc, argv, &program, &options, &status) ||
      (status = find_device(&bench)) != EXIT_SUCCESS)
    return status;
  if (!options.json)
    printf("clpool %s: medians of %u rounds; release threshold of the memory pools: all\n",
           clp_version(), options.effort.rounds);
  bool ok = load_driver() && open_context(&bench) && make_of_threads(&bench, options.threads) &&
            make_allocators(&bench) && bench_hold(events, 2, &options, bench.name, &bench);
  end_workbench(&bench);
  return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
