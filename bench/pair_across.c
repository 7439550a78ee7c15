/* SPDX-License-Identifier: MIT */
/* Blocks that go from one command queue to the other with work pending on them: ordered by a pool,
 * and as programs do it themselves. One time is: a block is taken, filled on the queue whose turn
 * it is, and released. */
#include "pair_opencl.h"

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
  return pair_done(source,
                   clEnqueueFillBuffer(queue, clp_buffer_cl_mem(buffer), &value, sizeof value, 0,
                                       source->bytes, after != NULL, after, event));
}

/* The fills alone: each queue has a block that never goes to the other. */
static bool run_apart(void *self, unsigned thread, size_t times)
{
  const bench_source *source = self;
  clp_buffer *buffers[2] = {NULL, NULL};
  (void)thread;
  bool ok = take(source, &buffers[0]) && take(source, &buffers[1]);
  for (size_t i = 0; ok && i < times; i++)
    ok = fill(source, source->streams[i % 2], buffers[i % 2], NULL, NULL);
  ok = pair_finish(source) && ok;
  clp_buffer_release(buffers[0]);
  clp_buffer_release(buffers[1]);
  return ok;
}

static bool run_finishing(void *self, unsigned thread, size_t times)
{
  const bench_source *source = self;
  (void)thread;
  for (size_t i = 0; i < times; i++) {
    cl_command_queue queue = source->streams[i % 2];
    clp_buffer *buffer;
    if (!take(source, &buffer) || !fill(source, queue, buffer, NULL, NULL) ||
        !pair_done(source, clFinish(queue)) || !give(source, buffer))
      return false;
  }
  return true;
}

/* There is one block, so one event to keep: its last fill, on the other queue. A queue is flushed
 * before another waits for its event. */
static bool run_with_events(void *self, unsigned thread, size_t times)
{
  const bench_source *source = self;
  cl_event before = NULL, event;
  bool ok = true;
  (void)thread;
  for (size_t i = 0; ok && i < times; i++) {
    cl_command_queue queue = source->streams[i % 2];
    clp_buffer *buffer;
    ok = take(source, &buffer) &&
         fill(source, queue, buffer, before != NULL ? &before : NULL, &event);
    if (!ok)
      break;
    if (before != NULL)
      clReleaseEvent(before);
    before = event;
    ok = pair_done(source, clFlush(queue)) && give(source, buffer);
  }
  if (before != NULL)
    clReleaseEvent(before);
  return pair_finish(source) && ok;
}

static bool run_on_streams(void *self, unsigned thread, size_t times)
{
  const bench_source *source = self;
  (void)thread;
  for (size_t i = 0; i < times; i++) {
    cl_command_queue queue = source->streams[i % 2];
    clp_buffer *buffer;
    if (!served(source, clp_pool_allocate_on(source->pool, source->bytes, queue, &buffer)) ||
        !fill(source, queue, buffer, NULL, NULL) ||
        !served(source, clp_buffer_release_on(buffer, queue)))
      return false;
  }
  return pair_finish(source);
}

bool pair_hold_fills(void *of, const bench_options *options, const bench_title *title)
{
  static const struct {
    const char *name;
    bench_run *run;
    unsigned reuse_flags;
  } ways[] = {
      {"a block for each queue", run_apart, PAIR_EITHER},
      {"clFinish before reuse", run_finishing, PAIR_EITHER},
      {"an event by hand", run_with_events, PAIR_EITHER},
      {"on streams", run_on_streams, PAIR_EITHER},
      {"on streams, dependencies", run_on_streams, PAIR_AFTER_WAITS},
      {"on streams, opportunistic", run_on_streams, PAIR_WHEN_DONE},
  };
  enum { WAYS = sizeof ways / sizeof *ways };
  pair_device *device = of;
  bench_source sources[WAYS];
  for (size_t i = 0; i < WAYS; i++)
    sources[i] = (bench_source){ways[i].name,
                                BENCH_POOL,
                                i == 0,
                                .pool = bench_make_pool(device->immediate, ways[i].reuse_flags),
                                .streams = device->queues,
                                .run = ways[i].run,
                                .device = device};
  return bench_compare(options, title, sources, WAYS);
}
