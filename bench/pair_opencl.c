/* SPDX-License-Identifier: MIT */
/* Pairs on every OpenCL device: straight from the driver, and through pools. */
#include "pair.h"

#include "failed.h"

#include <clpool/opencl.h>

enum { MAX_PLATFORMS = 16, MAX_DEVICES = 64 };

/* What a contest on one device works with. */
typedef struct workbench {
  cl_context context;
  cl_command_queue queue;
  clp_allocator *deferred, *immediate;
  clp_pool *on_deferred, *on_immediate, *not_holding;
} workbench;

/* As a program does without any library: the driver may put the memory off until it is used. */
static bool run_create(void *self, unsigned thread, size_t times)
{
  const bench_source *source = self;
  const workbench *bench = source->device;
  (void)thread;
  for (size_t i = 0; i < times; i++) {
    cl_int code = CL_SUCCESS;
    cl_mem memory = clCreateBuffer(bench->context, CL_MEM_READ_WRITE, source->bytes, NULL, &code);
    if (code != CL_SUCCESS || (code = clReleaseMemObject(memory)) != CL_SUCCESS)
      return bench_failed("clCreateBuffer of %zu bytes: OpenCL error %d", source->bytes, code);
  }
  return true;
}

/* The migrations that make sure of the memory are waited for. */
static bool finish(void *device)
{
  const workbench *bench = device;
  cl_int code = clFinish(bench->queue);
  return code == CL_SUCCESS || bench_failed("clFinish: OpenCL error %d", code);
}

static bench_source bare(workbench *bench)
{
  return (bench_source){.name = "cl-immediate, bare",
                        .kind = BENCH_ALLOCATOR,
                        .is_basis = true,
                        .allocator = bench->immediate,
                        .finish = finish,
                        .device = bench};
}

static bool hold_one(void *device, const bench_options *options, const bench_title *title)
{
  workbench *bench = device;
  bench_source sources[] = {
      bare(bench),
      {.name = "clCreateBuffer, release", .run = run_create, .device = bench},
      {.name = "pool on cl-deferred", .kind = BENCH_POOL, .pool = bench->on_deferred},
      {.name = "pool on cl-immediate", .kind = BENCH_POOL, .pool = bench->on_immediate},
  };
  return bench_compare(options, title, sources, sizeof sources / sizeof *sources);
}

static bool hold_threads(void *device, const bench_options *options, const bench_title *title)
{
  workbench *bench = device;
  bench_source sources[] = {
      bare(bench),
      {.name = "pool on cl-immediate", .kind = BENCH_POOL, .pool = bench->on_immediate},
  };
  return bench_compare(options, title, sources, sizeof sources / sizeof *sources);
}

static bool hold_miss(void *device, const bench_options *options, const bench_title *title)
{
  workbench *bench = device;
  bench_source sources[] = {
      bare(bench),
      {.name = "pool that holds no more",
       .kind = BENCH_POOL,
       .pool = bench->not_holding,
       .finish = finish,
       .device = bench},
  };
  return bench_compare(options, title, sources, sizeof sources / sizeof *sources);
}

static void end_workbench(workbench *bench)
{
  clp_pool_release(bench->on_deferred);
  clp_pool_release(bench->on_immediate);
  clp_pool_release(bench->not_holding);
  clp_allocator_release(bench->deferred);
  clp_allocator_release(bench->immediate);
  if (bench->queue != NULL)
    clReleaseCommandQueue(bench->queue);
  if (bench->context != NULL)
    clReleaseContext(bench->context);
}

static bool begin_workbench(cl_device_id device, workbench *bench)
{
  cl_int code = CL_SUCCESS;
  bench->context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
  if (code == CL_SUCCESS)
    bench->queue = clCreateCommandQueueWithProperties(bench->context, device, NULL, &code);
  if (code != CL_SUCCESS)
    return bench_failed("no context or queue: OpenCL error %d", code);
  if (clp_cl_deferred_allocator_create(bench->context, 0, &bench->deferred) != CLP_SUCCESS ||
      clp_cl_immediate_allocator_create(bench->queue, 0, &bench->immediate) != CLP_SUCCESS)
    return bench_failed("no allocator of OpenCL memory: %s", clp_last_error()->message);
  bench->on_deferred = pair_make_pool(bench->deferred, true);
  bench->on_immediate = pair_make_pool(bench->immediate, true);
  bench->not_holding = pair_make_pool(bench->immediate, false);
  return bench->on_deferred != NULL && bench->on_immediate != NULL && bench->not_holding != NULL;
}

static bool pair_on_device(const bench_options *options, cl_device_id device)
{
  static const pair_event events[] = {
      {PAIR_ONE, &bench_one, true, false, hold_one},
      {PAIR_THREADS, &bench_one, false, true, hold_threads},
      {PAIR_MISS, &bench_one, true, false, hold_miss},
  };
  char name[256] = "OpenCL device";
  workbench bench = {.context = NULL};
  (void)clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof name, name, NULL);
  bool ok = begin_workbench(device, &bench) &&
            pair_hold(events, sizeof events / sizeof *events, options, name, &bench);
  end_workbench(&bench);
  return ok;
}

bool pair_on_opencl(const bench_options *options, size_t *devices)
{
  cl_platform_id platforms[MAX_PLATFORMS];
  cl_uint platform_count = 0;
  *devices = 0;
  if (clGetPlatformIDs(MAX_PLATFORMS, platforms, &platform_count) != CL_SUCCESS)
    return true; /* the loader's way of saying that there is none */
  if (platform_count > MAX_PLATFORMS)
    platform_count = MAX_PLATFORMS;
  for (cl_uint p = 0; p < platform_count; p++) {
    cl_device_id found[MAX_DEVICES];
    cl_uint count = 0;
    if (clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, MAX_DEVICES, found, &count) != CL_SUCCESS)
      continue;
    for (cl_uint d = 0; d < count && d < MAX_DEVICES; d++, (*devices)++)
      if (!pair_on_device(options, found[d]))
        return false;
  }
  return true;
}
