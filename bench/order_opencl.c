/* SPDX-License-Identifier: MIT */
/* The order of command queues, on OpenCL devices. */
#include "order_opencl.h"

#include "devices.h"
#include "failed.h"

#include <stdio.h>

static bool hold_warm(void *of, const bench_options *options, const bench_title *title)
{
  order_device *device = of;
  return order_hold_warm(&device->on_immediate, options, title);
}

static bool hold_warm_svm(void *of, const bench_options *options, const bench_title *title)
{
  order_device *device = of;
  return order_hold_warm(&device->on_svm, options, title);
}

/* As a program does without a pool. */
static bool run_bare_svm(void *self, unsigned thread, size_t times)
{
  const bench_source *source = self;
  const order_device *device = source->device;
  (void)thread;
  for (size_t i = 0; i < times; i++) {
    void *pointer = clSVMAlloc(device->context, CL_MEM_READ_WRITE, source->bytes, 0);
    if (pointer == NULL)
      return bench_failed("clSVMAlloc of %zu bytes failed", source->bytes);
    clSVMFree(device->context, pointer);
  }
  return true;
}

static bool hold_svm(void *of, const bench_options *options, const bench_title *title)
{
  order_device *device = of;
  bench_source sources[] = {
      {.name = "clSVMAlloc, clSVMFree", .run = run_bare_svm, .is_basis = true, .device = device},
      order_unordered(&device->on_svm),
      order_on_stream(&device->on_svm),
  };
  sources[1].name = "pool on cl-svm";
  sources[1].is_basis = false;
  sources[2].name = "pool on cl-svm, on a stream";
  return order_compare(options, title, sources, sizeof sources / sizeof *sources);
}

/* --- the device --- */

static bool make_queues(cl_device_id id, order_device *device)
{
  cl_int code = CL_SUCCESS;
  device->context = clCreateContext(NULL, 1, &id, NULL, NULL, &code);
  for (size_t i = 0; code == CL_SUCCESS && i < 2; i++) {
    device->queues[i] = clCreateCommandQueueWithProperties(device->context, id, NULL, &code);
    device->on_immediate.streams[i] = device->on_svm.streams[i] = device->queues[i];
  }
  return code == CL_SUCCESS || bench_failed("no context or queue: OpenCL error %d", code);
}

/* Without shared virtual memory there are contests less, and a line that says so. */
static bool make_allocators(order_device *device, const char *name)
{
  clp_cl_svm_options svm = CLP_CL_SVM_OPTIONS_INIT;
  svm.queue = device->queues[0];
  clp_status status = clp_cl_svm_allocator_create(device->context, &svm, &device->on_svm.allocator);
  if (status == CLP_NOT_SUPPORTED)
    bench_failed("no contests over shared virtual memory on %s: %s", name,
                 clp_last_error()->message);
  else if (status != CLP_SUCCESS)
    return bench_failed("no allocator of SVM: %s", clp_last_error()->message);
  return clp_cl_immediate_allocator_create(device->queues[0], 0, &device->on_immediate.allocator) ==
             CLP_SUCCESS ||
         bench_failed("no allocator of OpenCL memory: %s", clp_last_error()->message);
}

static void end_device(order_device *device)
{
  clp_allocator_release(device->on_immediate.allocator);
  clp_allocator_release(device->on_svm.allocator);
  for (size_t i = 0; i < 2; i++)
    if (device->queues[i] != NULL)
      clReleaseCommandQueue(device->queues[i]);
  if (device->context != NULL)
    clReleaseContext(device->context);
}

static bool hold_with(const char *allocator, const bench_event *events, size_t count,
                      const bench_options *options, const char *name, order_device *device)
{
  char both[300];
  (void)snprintf(both, sizeof both, "%s, %s", name, allocator);
  return bench_hold(events, count, options, both, device);
}

static bool order_on_device(const bench_options *options, cl_device_id id, const char *name)
{
  static const bench_event of_buffers[] = {
      {ORDER_WARM, &bench_one, true, false, hold_warm},
      {ORDER_ACROSS, &order_across, true, false, order_hold_across},
  };
  static const bench_event of_svm[] = {
      {ORDER_WARM, &bench_one, true, false, hold_warm_svm},
      {ORDER_SVM, &bench_one, true, false, hold_svm},
  };
  order_device device = {.context = NULL};
  bool ok = make_queues(id, &device) && make_allocators(&device, name) &&
            hold_with("cl-immediate", of_buffers, sizeof of_buffers / sizeof *of_buffers, options,
                      name, &device);
  if (ok && device.on_svm.allocator != NULL)
    ok = hold_with("cl-svm", of_svm, sizeof of_svm / sizeof *of_svm, options, name, &device);
  end_device(&device);
  return ok;
}

bool order_on_opencl(const bench_options *options, size_t *devices)
{
  return bench_on_devices(options, order_on_device, devices);
}
