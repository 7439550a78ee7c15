/* SPDX-License-Identifier: MIT */
/* What a pair, an allocation and its release, costs: mallocs and drivers against pools. Here on the
 * host: its memory, and simulated devices. */
#include "pair.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- contests --- */

static bench_source of_pool(const char *name, clp_allocator *allocator)
{
  return (bench_source){name, BENCH_POOL, .pool = bench_make_pool(allocator, PAIR_EITHER)};
}

static bench_source of_streams(const char *name, bench_kind kind, clp_allocator *allocator,
                               const bench_stub *stub, unsigned reuse_flags)
{
  return (bench_source){name, kind, .pool = bench_make_pool(allocator, reuse_flags),
                        .streams = stub->streams};
}

/* The mallocs against a pool on host memory. On one thread also what it costs to name a stream, by
 * pools on a simulated device; on two what the pattern itself costs. */
static bool hold_with_mallocs(void *device, const bench_options *options, const bench_title *title)
{
  pair_host *on = device;
  bench_source sources[BENCH_MAX_RIVALS + 4];
  size_t count = on->malloc_count;
  memcpy(sources, on->mallocs, count * sizeof *sources);
  sources[count++] = of_pool("pool on host", on->host);
  if (title->pattern->threads == 2) {
    sources[count++] = (bench_source){.name = "no blocks"};
  } else if (!title->scales) {
    sources[count] = of_pool("pool, unordered", on->on_idle);
    sources[count++].is_basis = true;
    sources[count++] = of_streams("on a stream", BENCH_STREAM, on->on_idle, &on->idle, PAIR_EITHER);
    sources[count++] =
        of_streams("on two streams in turn", BENCH_IN_TURN, on->on_idle, &on->idle, PAIR_NEVER);
  }
  return bench_compare(options, title, sources, count);
}

/* A pool that asks the allocator beneath each time, on a device that takes so long. */
static bool hold_misses_of(clp_allocator *allocator, const char *bare, const bench_options *options,
                           const bench_title *title)
{
  bench_source sources[] = {
      {bare, BENCH_BARE, true, .allocator = allocator},
      of_pool("pool that holds no more", allocator),
      {"pool, free_held each time", BENCH_FREE_HELD,
       .pool = bench_make_pool(allocator, CLP_DEFAULT_REUSE_FLAGS)},
  };
  if (sources[1].pool != NULL)
    (void)clp_pool_stop_holding(sources[1].pool);
  return bench_compare(options, title, sources, title->scales ? 2 : 3);
}

static bool hold_misses(void *device, const bench_options *options, const bench_title *title)
{
  const pair_host *on = device;
  return hold_misses_of(on->host, "host, bare", options, title);
}

/* On a driver that is as slow as those of GPUs are, and on one that takes no time. */
static bool hold_slow_misses(void *device, const bench_options *options, const bench_title *title)
{
  static bench_stub slow = {.allocate_ns = 20000};
  const pair_host *on = device;
  bench_title with = *title;
  with.device = "simulated";
  clp_allocator *allocator = bench_stub_allocator(&slow);
  bool ok = allocator != NULL &&
            hold_misses_of(allocator, "driver of 20 us, bare", options, &with) &&
            hold_misses_of(on->on_idle, "driver of 0 us, bare", options, &with);
  clp_allocator_release(allocator);
  return ok;
}

/* Megabytes and gigabytes live on each thread; mallocs have their best case. The pools' memory is
 * simulated: no host has so much. */
static bool hold_scale(void *device, const bench_options *options, const bench_title *title)
{
  enum { MALLOC_STEP = 16 };
  static const char *const names[BENCH_LIVE_SETS] = {"pool, 2 MiB", "pool, 200 MiB", "pool, 4 GiB"};
  pair_host *on = device;
  bench_source sources[BENCH_MAX_RIVALS + BENCH_LIVE_SETS + 1];
  size_t count = 0;
  bench_title with = *title;
  with.device = "64 live blocks of 64 sizes on each thread";
  for (; count < on->malloc_count; count++) {
    sources[count] = on->mallocs[count];
    sources[count].bytes = sources[count].step = MALLOC_STEP;
  }
  for (size_t i = 0; i < BENCH_LIVE_SETS; i++) {
    sources[count] = of_pool(names[i], on->on_idle);
    sources[count].is_basis = i == 0;
    bench_set_live(&sources[count++], bench_live_sets[i]);
  }
  sources[count] =
      of_streams("2 MiB, a stream a thread", BENCH_STREAM, on->on_idle, &on->idle, PAIR_EITHER);
  bench_set_live(&sources[count++], bench_live_sets[0]);
  return bench_compare(options, &with, sources, count);
}

/* Blocks that go from one stream to the other: what pools do themselves. */
static bool hold_across(void *device, const bench_options *options, const bench_title *title)
{
  const pair_host *on = device;
  const bench_stub *idle = &on->idle, *busy = &on->busy;
  bench_source sources[] = {
      of_pool("unordered", on->on_idle),
      of_streams("across, when done", BENCH_IN_TURN, on->on_idle, idle, PAIR_WHEN_DONE),
      of_streams("across, after a wait", BENCH_IN_TURN, on->on_busy, busy, PAIR_AFTER_WAITS),
      of_streams("across, asked, then waiting", BENCH_IN_TURN, on->on_busy, busy, PAIR_EITHER),
  };
  sources[0].is_basis = true;
  return bench_compare(options, title, sources, sizeof sources / sizeof *sources);
}

/* --- the run --- */

static bool on_host(const bench_options *options, pair_host *on)
{
  static const bench_event events[] = {
      {"one", &bench_one, true, false, hold_with_mallocs},
      {"sizes", &bench_sizes, false, false, hold_with_mallocs},
      {"threads", &bench_sizes, false, true, hold_with_mallocs},
      {"handover", &bench_handover, false, true, hold_with_mallocs},
      {"turns", &bench_by_turns, false, false, hold_with_mallocs},
      {"miss", &bench_one, true, false, hold_misses},
      {"miss", &bench_one, false, true, hold_slow_misses},
      {"across", &bench_across, false, false, hold_across},
      {"hooks", &bench_one, true, false, pair_hold_hooks},
      {"scale", &bench_live, false, true, hold_scale},
  };
  on->idle.is_idle = true;
  on->on_idle = bench_stub_allocator(&on->idle);
  on->on_busy = bench_stub_allocator(&on->busy);
  bool ok = clp_host_allocator_create(0, &on->host) == CLP_SUCCESS ||
            bench_failed("no allocator: %s", clp_last_error()->message);
  ok = ok && on->on_idle != NULL && on->on_busy != NULL &&
       bench_hold(events, sizeof events / sizeof *events, options, "host", on);
  clp_allocator_release(on->host);
  clp_allocator_release(on->on_idle);
  clp_allocator_release(on->on_busy);
  return ok;
}

int main(int argc, char **argv)
{
  static const bench_program program = {
      .purpose = "Times pairs, one allocation and its release, of each kind of memory here.",
      .contests = "one,sizes,threads,handover,turns,miss,across,hooks",
      .by_name = "scale",
      .has_devices = true};
  static pair_host host;
  bench_options options;
  size_t devices = 0;
  int status;
  if (!bench_read_options(argc, argv, &program, &options, &status))
    return status;
  host.malloc_count = bench_find_rivals(argv, host.mallocs);
  if (!options.json)
    printf("clpool %s: medians of %u rounds\n", clp_version(), options.effort.rounds);
  if (!on_host(&options, &host) || !pair_on_opencl(&options, &devices))
    return EXIT_FAILURE;
  if (devices == 0 && options.chose_device)
    bench_failed("there is no OpenCL device %u.%u here", options.platform, options.device);
  else if (devices == 0)
    bench_failed("no OpenCL device here, host memory only");
  return devices == 0 && options.chose_device ? EXIT_FAILURE : EXIT_SUCCESS;
}
