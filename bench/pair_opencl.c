/* SPDX-License-Identifier: MIT */
/* Pairs on OpenCL devices: straight from the driver, and through pools. */
#include "pair_opencl.h"

#include "pair_scopes.h"

enum { MOST_PLATFORMS = 16, MOST_DEVICES = 64 };

bool pair_finish(const bench_source *on)
{
  const pair_device *device = on->device;
  return pair_done(on, clFinish(device->queues[0])) && pair_done(on, clFinish(device->queues[1]));
}

/* --- contests --- */

/* As a program does without any library: the driver may put the memory off until it is used. */
static void *create(const bench_source *from, size_t bytes)
{
  const pair_device *device = from->device;
  cl_int code = CL_SUCCESS;
  cl_mem memory = clCreateBuffer(device->context, CL_MEM_READ_WRITE, bytes, NULL, &code);
  return pair_done(from, code) ? memory : NULL;
}

static bool release(const bench_source *to, void *memory)
{
  return pair_done(to, clReleaseMemObject(memory));
}

static void *create_svm(const bench_source *from, size_t bytes)
{
  const pair_device *device = from->device;
  void *memory = clSVMAlloc(device->context, CL_MEM_READ_WRITE, bytes, 0);
  if (memory == NULL)
    bench_failed("clSVMAlloc of %zu bytes failed", bytes);
  return memory;
}

static bool release_svm(const bench_source *to, void *memory)
{
  const pair_device *device = to->device;
  clSVMFree(device->context, memory);
  return true;
}

/* The migrations that make sure of the memory are waited for. */
static bench_source bare(pair_device *device)
{
  return (bench_source){
      "cl-immediate, bare",  BENCH_BARE,      true, .allocator = device->immediate,
      .finish = pair_finish, .device = device};
}

static bench_source pooled(const char *name, bench_kind kind, clp_allocator *allocator,
                           const pair_device *device)
{
  unsigned reuse_flags = kind == BENCH_IN_TURN ? PAIR_NEVER : PAIR_EITHER;
  return (bench_source){name, kind, .pool = bench_make_pool(allocator, reuse_flags),
                        .streams = kind == BENCH_POOL ? NULL : device->queues};
}

static bool hold_one(void *of, const bench_options *options, const bench_title *title)
{
  pair_device *device = of;
  bench_source sources[] = {
      bare(device),
      {"clCreateBuffer, release", BENCH_CALLS, .take = create, .give = release, .device = device},
      pooled("pool on cl-deferred", BENCH_POOL, device->deferred, device),
      pooled("pool on cl-immediate", BENCH_POOL, device->immediate, device),
      pooled("on a stream", BENCH_STREAM, device->immediate, device),
      pooled("on two streams in turn", BENCH_IN_TURN, device->immediate, device),
  };
  return bench_compare(options, title, sources, sizeof sources / sizeof *sources);
}

static bool hold_svm(void *of, const bench_options *options, const bench_title *title)
{
  pair_device *device = of;
  if (device->svm == NULL)
    return true;
  bench_source sources[] = {
      {"clSVMAlloc, clSVMFree", BENCH_CALLS, true, .take = create_svm, .give = release_svm,
       .device = device},
      pooled("pool on cl-svm", BENCH_POOL, device->svm, device),
      pooled("on a stream", BENCH_STREAM, device->svm, device),
      pooled("on two streams in turn", BENCH_IN_TURN, device->svm, device),
  };
  return bench_compare(options, title, sources, sizeof sources / sizeof *sources);
}

static bool hold_threads(void *of, const bench_options *options, const bench_title *title)
{
  pair_device *device = of;
  bench_source sources[] = {
      bare(device),
      pooled("pool on cl-immediate", BENCH_POOL, device->immediate, device),
  };
  return bench_compare(options, title, sources, 2);
}

#ifdef HAVE_OPENCL_HPP
typedef struct scope {
  cl_context context;
  pair_scope *run;
} scope;

static bool run_scope(void *self, unsigned thread, size_t times)
{
  const bench_source *source = self;
  const scope *it = source->device;
  (void)thread;
  return it->run(it->context, source->pool, source->bytes, times) ||
         bench_failed("%s of %zu bytes is refused", source->name, source->bytes);
}

static bool hold_scopes(void *of, const bench_options *options, const bench_title *title)
{
  pair_device *device = of;
  scope scopes[] = {{device->context, pair_cl_buffer},
                    {device->context, pair_clpool_buffer},
                    {device->context, pair_clpool_cl_buffer}};
  bench_source sources[] = {
      pooled("cl::Buffer", BENCH_POOL, device->immediate, device),
      pooled("clpool::buffer", BENCH_POOL, device->immediate, device),
      pooled("clpool::cl_buffer", BENCH_POOL, device->immediate, device),
  };
  sources[0].is_basis = true;
  for (size_t i = 0; i < 3; i++) {
    sources[i].run = run_scope;
    sources[i].device = &scopes[i];
  }
  return bench_compare(options, title, sources, 3);
}
#endif

/* --- the device --- */

/* Without shared virtual memory there is a contest less, and a line that says so. */
static bool begin(cl_device_id id, const char *name, pair_device *device)
{
  cl_int code = CL_SUCCESS;
  device->context = clCreateContext(NULL, 1, &id, NULL, NULL, &code);
  for (size_t i = 0; code == CL_SUCCESS && i < 2; i++)
    device->queues[i] = clCreateCommandQueueWithProperties(device->context, id, NULL, &code);
  if (code != CL_SUCCESS)
    return bench_failed("no context or queue: OpenCL error %d", code);
  if (clp_cl_deferred_allocator_create(device->context, 0, &device->deferred) != CLP_SUCCESS ||
      clp_cl_immediate_allocator_create(device->queues[0], 0, &device->immediate) != CLP_SUCCESS)
    return bench_failed("no allocator of OpenCL memory: %s", clp_last_error()->message);
  clp_cl_svm_options options = CLP_CL_SVM_OPTIONS_INIT;
  options.queue = device->queues[0];
  if (clp_cl_svm_allocator_create(device->context, &options, &device->svm) != CLP_SUCCESS)
    bench_failed("no shared virtual memory on %s: %s", name, clp_last_error()->message);
  return true;
}

static void end(pair_device *device)
{
  clp_allocator_release(device->deferred);
  clp_allocator_release(device->immediate);
  clp_allocator_release(device->svm);
  for (size_t i = 0; i < 2; i++)
    if (device->queues[i] != NULL)
      clReleaseCommandQueue(device->queues[i]);
  if (device->context != NULL)
    clReleaseContext(device->context);
}

static bool pair_on_device(const bench_options *options, cl_device_id id)
{
  static const bench_event events[] = {
      {"one", &bench_one, true, false, hold_one},
      {"one", &bench_one, true, false, hold_svm},
#ifdef HAVE_OPENCL_HPP
      {"one", &bench_one, true, false, hold_scopes},
#endif
      {"threads", &bench_one, false, true, hold_threads},
      {"across", &bench_across, true, false, pair_hold_fills},
  };
  char name[256] = "OpenCL device";
  pair_device device = {.context = NULL};
  (void)clGetDeviceInfo(id, CL_DEVICE_NAME, sizeof name, name, NULL);
  bool ok = begin(id, name, &device) &&
            bench_hold(events, sizeof events / sizeof *events, options, name, &device);
  end(&device);
  return ok;
}

bool pair_on_opencl(const bench_options *options, size_t *devices)
{
  cl_platform_id platforms[MOST_PLATFORMS];
  cl_uint platform_count = 0;
  *devices = 0;
  if (clGetPlatformIDs(MOST_PLATFORMS, platforms, &platform_count) != CL_SUCCESS)
    return true; /* the loader's way of saying that there is none */
  for (cl_uint p = 0; p < platform_count && p < MOST_PLATFORMS; p++) {
    cl_device_id found[MOST_DEVICES];
    cl_uint count = 0;
    if (clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, MOST_DEVICES, found, &count) != CL_SUCCESS)
      continue;
    for (cl_uint d = 0; d < count && d < MOST_DEVICES; d++) {
      if (options->chose_device && (options->platform != p || options->device != d))
        continue;
      ++*devices;
      if (!pair_on_device(options, found[d]))
        return false;
    }
  }
  return true;
}
