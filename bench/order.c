/* SPDX-License-Identifier: MIT */
/* What the order of streams costs: pairs on one stream against pairs without, blocks that go from
 * one stream to another, and shared virtual memory with a pool and without. */
#include "order.h"

#include "failed.h"

#include <stdio.h>
#include <stdlib.h>

const bench_pattern order_across = {.threads = 1, .live_blocks = 1, .in_flight = 1};

clp_pool *order_make_pool(clp_allocator *allocator, unsigned reuse_flags)
{
  clp_pool_options options = CLP_POOL_OPTIONS_INIT;
  clp_pool *pool = NULL;
  options.reuse_flags = reuse_flags;
  if (clp_pool_create(allocator, &options, &pool) != CLP_SUCCESS)
    bench_failed("no pool: %s", clp_last_error()->message);
  return pool;
}

static bool take_turns(const bench_source *source, const order_streams *on, size_t times)
{
  for (size_t i = 0; i < times; i++) {
    clp_stream stream = on->streams[i % 2];
    clp_buffer *buffer;
    if (clp_pool_allocate_on(source->pool, source->bytes, stream, &buffer) != CLP_SUCCESS ||
        clp_buffer_release_on(buffer, stream) != CLP_SUCCESS)
      return bench_failed("%s: %s", source->name, clp_last_error()->message);
  }
  return true;
}

static bool run_in_turn(void *self, unsigned thread, size_t times)
{
  const bench_source *source = self;
  (void)thread;
  return take_turns(source, source->device, times);
}

bench_source order_unordered(const order_streams *on)
{
  return (bench_source){.name = "unordered",
                        .kind = BENCH_POOL,
                        .is_basis = true,
                        .pool = order_make_pool(on->allocator, ORDER_EITHER)};
}

bench_source order_on_stream(const order_streams *on)
{
  return (bench_source){.name = "on a stream",
                        .kind = BENCH_STREAM,
                        .pool = order_make_pool(on->allocator, ORDER_EITHER),
                        .stream = on->streams[0]};
}

bench_source order_in_turn(const char *name, order_streams *on, unsigned reuse_flags)
{
  return (bench_source){.name = name,
                        .kind = BENCH_STREAM,
                        .pool = order_make_pool(on->allocator, reuse_flags),
                        .run = run_in_turn,
                        .device = on};
}

static bool lacks_pool(const bench_source *source)
{
  return source->pool == NULL && (source->kind == BENCH_POOL || source->kind == BENCH_STREAM);
}

bool order_compare(const bench_options *options, const bench_title *title, bench_source *sources,
                   size_t count)
{
  bool ok = true;
  for (size_t i = 0; i < count; i++)
    ok = ok && !lacks_pool(&sources[i]);
  ok = ok && bench_compare(options, title, sources, count);
  for (size_t i = 0; i < count; i++)
    clp_pool_release(sources[i].pool);
  return ok;
}

/* Each stream has blocks of its own where they may not go to the other. */
bool order_hold_warm(order_streams *on, const bench_options *options, const bench_title *title)
{
  bench_source sources[] = {
      order_unordered(on),
      order_on_stream(on),
      order_in_turn("on two streams in turn", on, ORDER_NEVER),
  };
  size_t count = sizeof sources / sizeof *sources;
  return order_compare(options, title, sources, title->pattern->step == 0 ? count : count - 1);
}

int main(int argc, char **argv)
{
  static const char *const contests[] = {[ORDER_WARM] = "warm",
                                         [ORDER_SIZES] = "sizes",
                                         [ORDER_ACROSS] = "across",
                                         [ORDER_SVM] = "svm",
                                         [ORDER_CONTESTS] = NULL};
  static const bench_program program = {
      "Times what the order of streams adds to pairs, and what it saves.", contests, true, 0};
  bench_options options;
  size_t devices = 0;
  int status;
  if (!bench_read_options(argc, argv, &program, &options, &status))
    return status;
  if (!options.json)
    printf("clpool %s: medians of %u rounds\n", clp_version(), options.effort.rounds);
  if (!order_on_host(&options) || !order_on_opencl(&options, &devices))
    return EXIT_FAILURE;
  return bench_had_devices(&options, devices) ? EXIT_SUCCESS : EXIT_FAILURE;
}
