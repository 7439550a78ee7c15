/* SPDX-License-Identifier: MIT */
/* Pairs on every OpenCL device: straight from the driver, and through pools. */
#include "pair.h"

#include "devices.h"
#include "failed.h"
#include "pair_cplusplus.h"

#include <clpool/opencl.h>

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

#ifdef HAVE_OPENCL_HPP
/* As C++ programs do. */
static bool run_cl_buffer(void *self, unsigned thread, size_t times)
{
  const bench_source *source = self;
  const workbench *bench = source->device;
  (void)thread;
  return pair_of_cl_buffers(bench->context, source->bytes, times) ||
         bench_failed("cl::Buffer of %zu bytes: OpenCL refuses it", source->bytes);
}

static bool run_pooled_buffer(void *self, unsigned thread, size_t times)
{
  const bench_source *source = self;
  const workbench *bench = source->device;
  (void)thread;
  return pair_of_pooled_buffers(bench->on_immediate, source->bytes, times) ||
         bench_failed("clpool::buffer: %s", clp_last_error()->message);
}

static bool run_pooled_cl_buffer(void *self, unsigned thread, size_t times)
{
  const bench_source *source = self;
  const workbench *bench = source->device;
  (void)thread;
  return pair_of_pooled_cl_buffers(bench->on_immediate, source->bytes, times) ||
         bench_failed("clpool::cl_buffer: %s", clp_last_error()->message);
}
#endif

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
#ifdef HAVE_OPENCL_HPP
      {.name = "cl::Buffer", .run = run_cl_buffer, .device = bench},
      {.name = "clpool::buffer", .run = run_pooled_buffer, .device = bench},
      {.name = "clpool::cl_buffer", .run = run_pooled_cl_buffer, .device = bench},
#endif
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

static bool hold_scale(void *device, const bench_options *options, const bench_title *title)
{
  static const char *const names[BENCH_LIVE_SETS] = {"pool on cl-immediate, 2 MiB",
                                                     "pool on cl-immediate, 200 MiB",
                                                     "pool on cl-immediate, 4 GiB"};
  workbench *bench = device;
  bench_source sources[BENCH_LIVE_SETS];
  for (size_t i = 0; i < BENCH_LIVE_SETS; i++) {
    sources[i] = (bench_source){
        .name = names[i], .kind = BENCH_POOL, .is_basis = i == 0, .pool = bench->on_immediate};
    bench_set_live(&sources[i], bench_live_sets[i]);
  }
  return bench_compare(options, title, sources, BENCH_LIVE_SETS);
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

static bool pair_on_device(const bench_options *options, cl_device_id device, const char *name)
{
  static const bench_event events[] = {
      {PAIR_ONE, &bench_one, true, false, hold_one},
      {PAIR_THREADS, &bench_one, false, true, hold_threads},
      {PAIR_MISS, &bench_one, true, false, hold_miss},
      {PAIR_SCALE, &bench_live, false, true, hold_scale},
  };
  workbench bench = {.context = NULL};
  bool ok = begin_workbench(device, &bench) &&
            bench_hold(events, sizeof events / sizeof *events, options, name, &bench);
  end_workbench(&bench);
  return ok;
}

bool pair_on_opencl(const bench_options *options, size_t *devices)
{
  return bench_on_devices(options, pair_on_device, devices);
}
