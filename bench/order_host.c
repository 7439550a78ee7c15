/* SPDX-License-Identifier: MIT */
/* The order of streams alone, without a device: what pools do themselves. The streams are no more
 * than addresses, and nothing is ever asked of them that takes time. */
#include "order.h"

#include "stub.h"

typedef struct host_bench {
  bench_stub idle, busy;
  order_streams on_idle, on_busy;
} host_bench;

static order_streams streams_of(bench_stub *stub)
{
  return (order_streams){bench_stub_allocator(stub), {&stub->streams[0], &stub->streams[1]}};
}

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
  bench.on_idle = streams_of(&bench.idle);
  bench.on_busy = streams_of(&bench.busy);
  bool ok = bench.on_idle.allocator != NULL && bench.on_busy.allocator != NULL &&
            bench_hold(events, sizeof events / sizeof *events, options, "host", &bench);
  clp_allocator_release(bench.on_idle.allocator);
  clp_allocator_release(bench.on_busy.allocator);
  return ok;
}
