/* SPDX-License-Identifier: MIT */
/* What a warm pair costs on a CUDA device: from pools of clpool over the driver's stream-ordered
 * allocator, and from the driver itself. Exits with 77 where there is no such device. */
#include "compare.h"
#include "cuda_driver.h"
#include "failed.h"

#include <clpool/cuda_mempool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { ORDINAL = 0 };

typedef struct workbench {
  char name[256];
  int device; /* the driver's name for ORDINAL */
  cuda_context context;
  cuda_stream streams[BENCH_MAX_THREADS]; /* one for each thread */
  unsigned stream_count;
  clp_cuda_mempool mempools[BENCH_MAX_THREADS]; /* likewise */
  unsigned mempool_count;
  clp_allocator *allocator;
  clp_pool *pool, *pool_on_streams;
  clp_cuda_async_pool *async_pool;
} workbench;

static cuda_driver cuda;

static bool done(cuda_result code, const char *what)
{
  return code == 0 || bench_failed("%s: CUDA error %d", what, code);
}

static bool served(clp_status status, const char *what)
{
  return status == CLP_SUCCESS || bench_failed("%s: %s", what, clp_last_error()->message);
}

/* --- contenders --- */

/* Of the pool without streams the pattern has the loop. Each of these is written out, as a call
 * through a pointer more would be seen in the figures. */

static bool run_on_streams(void *self, unsigned thread, size_t times)
{
  const bench_source *source = self;
  const workbench *bench = source->device;
  clp_stream stream = bench->streams[thread];
  for (size_t i = 0; i < times; i++) {
    clp_buffer *buffer = NULL;
    if (!served(clp_pool_allocate_on(source->pool, source->bytes, stream, &buffer), source->name) ||
        !served(clp_buffer_release_on(buffer, stream), source->name))
      return false;
  }
  return true;
}

/* Work that the driver put off is waited for, here and in the two below. */
static bool run_async_pool(void *self, unsigned thread, size_t times)
{
  const bench_source *source = self;
  const workbench *bench = source->device;
  cuda_stream stream = bench->streams[thread];
  if (!done(cuda.context_set(bench->context), "cuCtxSetCurrent"))
    return false;
  for (size_t i = 0; i < times; i++) {
    unsigned long long memory;
    clp_status status =
        clp_cuda_async_pool_malloc(bench->async_pool, source->bytes, stream, &memory);
    if (status == CLP_SUCCESS)
      status = clp_cuda_async_pool_free(bench->async_pool, memory, stream);
    if (status != CLP_SUCCESS)
      return served(status, source->name);
  }
  return done(cuda.stream_wait(stream), "cuStreamSynchronize");
}

static bool run_driver_async(void *self, unsigned thread, size_t times)
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

static bool run_driver_pools(void *self, unsigned thread, size_t times)
{
  const bench_source *source = self;
  const workbench *bench = source->device;
  cuda_stream stream = bench->streams[thread];
  clp_cuda_mempool mempool = bench->mempools[thread];
  if (!done(cuda.context_set(bench->context), "cuCtxSetCurrent"))
    return false;
  for (size_t i = 0; i < times; i++) {
    cuda_pointer memory;
    cuda_result code = cuda.allocate_from(&memory, source->bytes, mempool, stream);
    if (code != 0 || (code = cuda.free_async(memory, stream)) != 0)
      return done(code, source->name);
  }
  return done(cuda.stream_wait(stream), "cuStreamSynchronize");
}

static bool run_driver(void *self, unsigned thread, size_t times)
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

static bool hold_warm(void *of, const bench_options *options, const bench_title *title)
{
  workbench *bench = of;
  bench_source sources[] = {
      {.name = "cuMemAllocAsync", .run = run_driver_async, .is_basis = true, .device = bench},
      {.name = "cuMemAllocFromPoolAsync", .run = run_driver_pools, .device = bench},
      {.name = "cuMemAlloc", .run = run_driver, .device = bench},
      {.name = "clp_cuda_async_pool", .run = run_async_pool, .device = bench},
      {.name = "pool on cuda-async", .kind = BENCH_POOL, .pool = bench->pool},
      {.name = "pool on cuda-async, streams",
       .run = run_on_streams,
       .pool = bench->pool_on_streams,
       .device = bench},
  };
  return bench_compare(options, title, sources, sizeof sources / sizeof *sources);
}

static bool run_driver_live(void *self, unsigned thread, size_t times)
{
  const bench_source *source = self;
  const workbench *bench = source->device;
  cuda_stream stream = bench->streams[thread];
  cuda_pointer blocks[BENCH_LIVE_BLOCKS];
  cuda_result code = cuda.context_set(bench->context);
  for (; code == 0 && times >= BENCH_LIVE_BLOCKS; times -= BENCH_LIVE_BLOCKS) {
    for (size_t i = 0; code == 0 && i < BENCH_LIVE_BLOCKS; i++)
      code = cuda.allocate_async(&blocks[i], source->bytes + i * source->step, stream);
    for (size_t i = 0; code == 0 && i < BENCH_LIVE_BLOCKS; i++)
      code = cuda.free_async(blocks[i], stream);
  }
  return done(code, source->name) && done(cuda.stream_wait(stream), "cuStreamSynchronize");
}

static bool hold_live(void *of, const bench_options *options, const bench_title *title)
{
  static const char *const names[2][BENCH_LIVE_SETS] = {
      {"cuMemAllocAsync, 2 MiB", "cuMemAllocAsync, 200 MiB", "cuMemAllocAsync, 4 GiB"},
      {"pool on cuda-async, 2 MiB", "pool on cuda-async, 200 MiB", "pool on cuda-async, 4 GiB"}};
  workbench *bench = of;
  bench_source sources[2 * BENCH_LIVE_SETS];
  for (size_t i = 0; i < 2 * BENCH_LIVE_SETS; i++) {
    bool is_pool = i >= BENCH_LIVE_SETS;
    size_t set = i % BENCH_LIVE_SETS;
    sources[i] = (bench_source){.name = names[is_pool][set],
                                .kind = is_pool ? BENCH_POOL : BENCH_NOTHING,
                                .run = is_pool ? NULL : run_driver_live,
                                .is_basis = i == 0,
                                .pool = is_pool ? bench->pool : NULL,
                                .device = bench};
    bench_set_live(&sources[i], bench_live_sets[set]);
  }
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
  if (status != CLP_SUCCESS)
    bench_failed("%s", clp_last_error()->message);
  else if (!has_mempools)
    bench_failed("%s has no memory pools", bench->name);
  bool is_missing = status == CLP_NOT_SUPPORTED || (status == CLP_SUCCESS && !has_mempools);
  return is_missing ? SKIPPED : status == CLP_SUCCESS ? EXIT_SUCCESS : EXIT_FAILURE;
}

static bool open_context(workbench *bench, unsigned threads)
{
  if (!done(cuda.init(0), "cuInit") ||
      !done(cuda.device_get(&bench->device, ORDINAL), "cuDeviceGet") ||
      !done(cuda.context_retain(&bench->context, bench->device), "cuDevicePrimaryCtxRetain") ||
      !done(cuda.context_set(bench->context), "cuCtxSetCurrent"))
    return false;
  for (; bench->stream_count < threads; bench->stream_count++)
    if (!done(cuda.stream_create(&bench->streams[bench->stream_count], CUDA_STREAM_NON_BLOCKING),
              "cuStreamCreate"))
      return false;
  return true;
}

/* A memory pool keeps all that it has, as clpool does: else the driver would give it back whenever
 * a turn ends in a wait. */
static bool keep_all(clp_cuda_mempool mempool)
{
  return served(clp_cuda_mempool_set_release_threshold(mempool, UINT64_MAX), "no threshold");
}

static bool make_mempools(workbench *bench, unsigned threads)
{
  clp_cuda_mempool_options options = CLP_CUDA_MEMPOOL_OPTIONS_INIT;
  options.device = ORDINAL;
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
static bool make_pools(workbench *bench)
{
  clp_cuda_async_options options = CLP_CUDA_ASYNC_OPTIONS_INIT;
  clp_cuda_mempool mempool = NULL;
  options.device = ORDINAL;
  return served(clp_cuda_mempool_default(ORDINAL, &mempool), "no memory pool") &&
         keep_all(mempool) &&
         served(clp_cuda_async_allocator_create(&options, &bench->allocator), "no allocator") &&
         served(clp_pool_create(bench->allocator, NULL, &bench->pool), "no pool") &&
         served(clp_pool_create(bench->allocator, NULL, &bench->pool_on_streams), "no pool") &&
         served(clp_cuda_async_pool_create(NULL, &bench->async_pool), "no async pool");
}

/* Streams last of all: the pools may need them to the end. */
static void end_workbench(workbench *bench)
{
  clp_cuda_async_pool_release(bench->async_pool);
  clp_pool_release(bench->pool);
  clp_pool_release(bench->pool_on_streams);
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
  static const char *const contests[] = {"warm", "live", NULL};
  static const bench_program program = {
      "Times warm pairs on a CUDA device, of the driver and of pools over it.", contests, false,
      .by_name = 1u << 1};
  static const bench_event events[] = {{0, &bench_one, true, true, hold_warm},
                                       {1, &bench_live, false, true, hold_live}};
  static workbench bench;
  bench_options options;
  int status;
  if (!bench_read_options(argc, argv, &program, &options, &status))
    return status;
  status = find_device(&bench);
  if (status != EXIT_SUCCESS)
    return status;
  if (!options.json)
    printf("clpool %s: medians of %u rounds; release threshold of the memory pools: all\n",
           clp_version(), options.effort.rounds);
  bool ok = cuda_driver_load(&cuda) && open_context(&bench, options.threads) &&
            make_mempools(&bench, options.threads) && make_pools(&bench) &&
            bench_hold(events, 2, &options, bench.name, &bench);
  end_workbench(&bench);
  return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
