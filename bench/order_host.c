/* SPDX-License-Identifier: MIT */
/* The order of streams alone, without a device: what pools do themselves. The streams are no more
 * than addresses, and nothing is ever asked of them that takes time. */
#include "order.h"

#include "failed.h"

#include <stdlib.h>

/* Host memory on a device with two streams, which have either done all work or are still at it. */
typedef struct stub {
  bool is_idle;
  char streams[2];
} stub;

typedef struct host_bench {
  stub idle, busy;
  order_streams on_idle, on_busy;
} host_bench;

/* --- the device --- */

static clp_status stub_allocate(void *self, size_t bytes, clp_memory *out)
{
  (void)self;
  *out = (clp_memory)malloc(bytes);
  return *out != 0 ? CLP_SUCCESS : clp_set_last_error(CLP_OUT_OF_DEVICE_MEMORY, 0, NULL);
}

static clp_status stub_free(void *self, clp_memory memory, size_t bytes)
{
  (void)self, (void)bytes;
  free((void *)memory);
  return CLP_SUCCESS;
}

static clp_status stub_stream_retain(void *self, clp_stream stream)
{
  (void)self, (void)stream;
  return CLP_SUCCESS;
}

static void stub_stream_release(void *self, clp_stream stream)
{
  (void)self, (void)stream;
}

static clp_status stub_mark_create(void *self, clp_stream stream, void **mark)
{
  (void)self;
  *mark = stream;
  return CLP_SUCCESS;
}

static void stub_mark_destroy(void *self, void *mark)
{
  (void)self, (void)mark;
}

static clp_status stub_mark_is_done(void *self, void *mark, bool *done)
{
  const stub *device = self;
  (void)mark;
  *done = device->is_idle;
  return CLP_SUCCESS;
}

static clp_status stub_stream_wait(void *self, clp_stream stream, void *mark)
{
  (void)self, (void)stream, (void)mark;
  return CLP_SUCCESS;
}

static clp_status stub_host_wait(void *self, void *mark)
{
  (void)self, (void)mark;
  return CLP_SUCCESS;
}

static bool make_allocator(stub *device, order_streams *on)
{
  clp_allocator_ops ops = CLP_ALLOCATOR_OPS_INIT;
  ops.name = "stub";
  ops.allocate = stub_allocate;
  ops.free = stub_free;
  ops.memory_kind = CLP_MEMORY_HOST;
  ops.stream_retain = stub_stream_retain;
  ops.stream_release = stub_stream_release;
  ops.mark_create = stub_mark_create;
  ops.mark_destroy = stub_mark_destroy;
  ops.mark_is_done = stub_mark_is_done;
  ops.stream_wait = stub_stream_wait;
  ops.host_wait = stub_host_wait;
  on->streams[0] = &device->streams[0];
  on->streams[1] = &device->streams[1];
  return clp_allocator_create(&ops, device, &on->allocator) == CLP_SUCCESS ||
         bench_failed("no allocator: %s", clp_last_error()->message);
}

/* --- contests --- */

static bool hold_warm(void *device, const bench_options *options, const bench_title *title)
{
  host_bench *bench = device;
  return order_hold_warm(&bench->on_idle, options, title);
}

static bool hold_across(void *device, const bench_options *options, const bench_title *title)
{
  host_bench *bench = device;
  bench_source sources[] = {
      order_unordered(&bench->on_idle),
      order_in_turn("across, when done", &bench->on_idle, ORDER_WHEN_DONE),
      order_in_turn("across, after a wait", &bench->on_busy, ORDER_AFTER_WAITS),
      order_in_turn("across, asked, then waiting", &bench->on_busy, ORDER_EITHER),
  };
  sources[0].run = bench_one.run[BENCH_POOL];
  return order_compare(options, title, sources, sizeof sources / sizeof *sources);
}

bool order_on_host(const bench_options *options)
{
  static const bench_event events[] = {
      {ORDER_WARM, &bench_one, true, false, hold_warm},
      {ORDER_SIZES, &bench_sizes, false, false, hold_warm},
      {ORDER_ACROSS, &order_across, false, false, hold_across},
  };
  host_bench bench = {.idle.is_idle = true};
  bool ok = make_allocator(&bench.idle, &bench.on_idle) &&
            make_allocator(&bench.busy, &bench.on_busy) &&
            bench_hold(events, sizeof events / sizeof *events, options, "host", &bench);
  clp_allocator_release(bench.on_idle.allocator);
  clp_allocator_release(bench.on_busy.allocator);
  return ok;
}
