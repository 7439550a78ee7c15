/* SPDX-License-Identifier: MIT */
/* Warm pairs on every OpenCL device: straight from the driver, and through pools. */
#include "pair.h"

#include <clpool/opencl.h>
#include <stdio.h>
#include <string.h>

enum { MAX_PLATFORMS = 16, MAX_DEVICES = 64 };

/* What a contest on one device works with. */
typedef struct workbench {
  cl_context context;
  cl_command_queue queue;
  clp_allocator *deferred, *immediate;
  pair_pool pooled_deferred, pooled_immediate;
  size_t bytes;
} workbench;

/* As a program does without any library: the driver may put the memory off until it is used. */
static bool run_create(void *self, size_t times)
{
  const workbench *bench = self;
  for (size_t i = 0; i < times; i++) {
    cl_int code = CL_SUCCESS;
    cl_mem memory = clCreateBuffer(bench->context, CL_MEM_READ_WRITE, bench->bytes, NULL, &code);
    if (code != CL_SUCCESS || (code = clReleaseMemObject(memory)) != CL_SUCCESS) {
      fprintf(stderr, "pair: clCreateBuffer of %zu bytes: OpenCL error %d\n", bench->bytes, code);
      return false;
    }
  }
  return true;
}

/* Memory that exists, as a pool takes it; the migrations that make sure of it are waited for. */
static bool run_immediate(void *self, size_t times)
{
  const workbench *bench = self;
  for (size_t i = 0; i < times; i++) {
    clp_memory memory = 0;
    if (clp_allocator_allocate(bench->immediate, bench->bytes, &memory) != CLP_SUCCESS ||
        clp_allocator_free(bench->immediate, memory, bench->bytes) != CLP_SUCCESS)
      return pair_failed("the immediate allocator");
  }
  return clFinish(bench->queue) == CL_SUCCESS;
}

static void end_workbench(workbench *bench)
{
  clp_pool_release(bench->pooled_deferred.pool);
  clp_pool_release(bench->pooled_immediate.pool);
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
  if (code != CL_SUCCESS) {
    fprintf(stderr, "pair: no context or queue: OpenCL error %d\n", code);
    return false;
  }
  if (clp_cl_deferred_allocator_create(bench->context, 0, &bench->deferred) != CLP_SUCCESS ||
      clp_cl_immediate_allocator_create(bench->queue, 0, &bench->immediate) != CLP_SUCCESS ||
      clp_pool_create(bench->deferred, NULL, &bench->pooled_deferred.pool) != CLP_SUCCESS ||
      clp_pool_create(bench->immediate, NULL, &bench->pooled_immediate.pool) != CLP_SUCCESS)
    return pair_failed("a pool of OpenCL memory");
  return true;
}

static bool contest_on_device(const pair_options *options, workbench *bench, const char *name,
                              size_t bytes)
{
  bench_contender contenders[] = {
      {.name = "cl-immediate, bare", .run = run_immediate, .self = bench},
      {.name = "clCreateBuffer, release", .run = run_create, .self = bench},
      {.name = "pool on cl-deferred", .run = pair_run_pooled, .self = &bench->pooled_deferred},
      {.name = "pool on cl-immediate", .run = pair_run_pooled, .self = &bench->pooled_immediate},
  };
  size_t count = sizeof contenders / sizeof *contenders;
  bench->bytes = bench->pooled_deferred.bytes = bench->pooled_immediate.bytes = bytes;
  if (!bench_contest(contenders, count, &options->effort))
    return false;
  options->report(name, bytes, contenders, count);
  return true;
}

static bool pair_on_device(const pair_options *options, cl_device_id device)
{
  char name[256] = "OpenCL device";
  workbench bench = {.context = NULL};
  (void)clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof name, name, NULL);
  bool ok = begin_workbench(device, &bench);
  for (size_t i = 0; ok && i < options->size_count; i++)
    ok = contest_on_device(options, &bench, name, options->sizes[i]);
  end_workbench(&bench);
  return ok;
}

bool pair_on_opencl(const pair_options *options, size_t *devices)
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
