/* SPDX-License-Identifier: MIT */
/* Blocks that go from one command queue to the other with work pending on them: ordered by a pool,
 * and as programs do it themselves. One time is: a block is taken, filled on the queue whose turn
 * it is, and released. */
#include "failed.h"
#include "order_opencl.h"

static bool done(const bench_source *source, cl_int code)
{
  return code == CL_SUCCESS || bench_failed("%s: OpenCL error %d", source->name, code);
}

static bool served(const bench_source *source, clp_status status)
{
  return status == CLP_SUCCESS || bench_failed("%s: %s", source->name, clp_last_error()->message);
}

static bool take(const bench_source *source, clp_buffer **out)
{
  return served(source, clp_pool_allocate(source->pool, source->bytes, out));
}

static bool give(const bench_source *source, clp_buffer *buffer)
{
  return served(source, clp_buffer_release(buffer));
}

/* Behind `*after`, too, if that is an event. */
static bool fill(const bench_source *source, cl_command_queue queue, const clp_buffer *buffer,
                 const cl_event *after, cl_event *event)
{
  const cl_uchar value = 1;
  return done(source, clEnqueueFillBuffer(queue, clp_buffer_cl_mem(buffer), &value, sizeof value, 0,
                                          source->bytes, after != NULL, after, event));
}

/* --- without clpool's order --- */

/* The fills alone: each queue has a block that never goes to the other. */
static bool run_apart(void *self, unsigned thread, size_t times)
{
  const bench_source *source = self;
  const order_device *device = source->device;
  clp_buffer *buffers[2] = {NULL, NULL};
  (void)thread;
  bool ok = take(source, &buffers[0]) && take(source, &buffers[1]);
  for (size_t i = 0; ok && i < times; i++)
    ok = fill(source, device->queues[i % 2], buffers[i % 2], NULL, NULL);
  ok = bench_finish(source) && ok;
  clp_buffer_release(buffers[0]);
  clp_buffer_release(buffers[1]);
  return ok;
}

static bool run_finishing(void *self, unsigned thread, size_t times)
{
  const bench_source *source = self;
  const order_device *device = source->device;
  (void)thread;
  for (size_t i = 0; i < times; i++) {
    cl_command_queue queue = device->queues[i % 2];
    clp_buffer *buffer;
    if (!take(source, &buffer) || !fill(source, queue, buffer, NULL, NULL) ||
        !done(source, clFinish(queue)) || !give(source, buffer))
      return false;
  }
  return true;
}

/* `*before` is the last fill of the block, on the other queue; then this one. A queue is sent off
 * before another waits for its event. */
static bool fill_after(const bench_source *source, cl_command_queue queue, const clp_buffer *buffer,
                       cl_event *before)
{
  cl_event event;
  if (!fill(source, queue, buffer, *before != NULL ? before : NULL, &event))
    return false;
  if (*before != NULL)
    clReleaseEvent(*before);
  *before = event;
  return done(source, clFlush(queue));
}

/* There is one block, so one event to keep. */
static bool run_with_events(void *self, unsigned thread, size_t times)
{
  const bench_source *source = self;
  const order_device *device = source->device;
  cl_event before = NULL;
  bool ok = true;
  (void)thread;
  for (size_t i = 0; ok && i < times; i++) {
    clp_buffer *buffer;
    ok = take(source, &buffer) && fill_after(source, device->queues[i % 2], buffer, &before) &&
         give(source, buffer);
  }
  if (before != NULL)
    clReleaseEvent(before);
  return bench_finish(source) && ok;
}

/* --- with it --- */

static bool run_on_streams(void *self, unsigned thread, size_t times)
{
  const bench_source *source = self;
  const order_device *device = source->device;
  (void)thread;
  for (size_t i = 0; i < times; i++) {
    cl_command_queue queue = device->queues[i % 2];
    clp_buffer *buffer;
    if (!served(source, clp_pool_allocate_on(source->pool, source->bytes, queue, &buffer)) ||
        !fill(source, queue, buffer, NULL, NULL) ||
        !served(source, clp_buffer_release_on(buffer, queue)))
      return false;
  }
  return bench_finish(source);
}

/* --- the contest --- */

static bool finish(void *of)
{
  const order_device *device = of;
  for (size_t i = 0; i < 2; i++) {
    cl_int code = clFinish(device->queues[i]);
    if (code != CL_SUCCESS)
      return bench_failed("clFinish: OpenCL error %d", code);
  }
  return true;
}

static bench_source way(const char *name, bench_run *run, order_device *device,
                        unsigned reuse_flags)
{
  return (bench_source){.name = name,
                        .kind = BENCH_POOL,
                        .pool = order_make_pool(device->on_immediate.allocator, reuse_flags),
                        .run = run,
                        .finish = finish,
                        .device = device};
}

bool order_hold_across(void *of, const bench_options *options, const bench_title *title)
{
  order_device *device = of;
  bench_source sources[] = {
      way("a block for each queue", run_apart, device, ORDER_EITHER),
      way("clFinish before reuse", run_finishing, device, ORDER_EITHER),
      way("an event by hand", run_with_events, device, ORDER_EITHER),
      way("on streams", run_on_streams, device, ORDER_EITHER),
      way("on streams, dependencies", run_on_streams, device, ORDER_AFTER_WAITS),
      way("on streams, opportunistic", run_on_streams, device, ORDER_WHEN_DONE),
  };
  sources[0].is_basis = true;
  return order_compare(options, title, sources, sizeof sources / sizeof *sources);
}
