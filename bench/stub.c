/* SPDX-License-Identifier: MIT */
/* A device that has no memory and does no work. */
#include "stub.h"

#include <stdatomic.h>
#include <time.h>

enum { ALIGNMENT = 256, ADDRESSES_A_THREAD = 1 << 20 };

static void keep_busy(long ns)
{
  struct timespec start, now;
  (void)clock_gettime(CLOCK_MONOTONIC, &start);
  do
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
  while ((now.tv_sec - start.tv_sec) * 1000000000L + now.tv_nsec - start.tv_nsec < ns);
}

/* Takes a range of addresses for the thread now and then: a counter for all would be what threads
 * are timed at. */
static clp_status stub_allocate(void *self, size_t bytes, clp_memory *out)
{
  static atomic_uintptr_t ranges = 1;
  static _Thread_local uintptr_t next;
  const bench_stub *stub = self;
  (void)bytes;
  if (stub->allocate_ns > 0)
    keep_busy(stub->allocate_ns);
  if (next % ADDRESSES_A_THREAD == 0)
    next = atomic_fetch_add(&ranges, 1) * ADDRESSES_A_THREAD;
  *out = next++ * ALIGNMENT;
  return CLP_SUCCESS;
}

static clp_status stub_free(void *self, clp_memory memory, size_t bytes)
{
  (void)self, (void)memory, (void)bytes;
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
  const bench_stub *stub = self;
  (void)mark;
  *done = stub->is_idle;
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

clp_allocator *bench_stub_allocator(bench_stub *stub)
{
  clp_allocator_ops ops = CLP_ALLOCATOR_OPS_INIT;
  clp_allocator *allocator = NULL;
  for (size_t i = 0; i < BENCH_MAX_THREADS; i++)
    stub->streams[i] = &stub->streams[i];
  ops.name = "stub";
  ops.allocate = stub_allocate;
  ops.free = stub_free;
  ops.memory_kind = CLP_MEMORY_SIMULATED;
  ops.stream_retain = stub_stream_retain;
  ops.stream_release = stub_stream_release;
  ops.mark_create = stub_mark_create;
  ops.mark_destroy = stub_mark_destroy;
  ops.mark_is_done = stub_mark_is_done;
  ops.stream_wait = stub_stream_wait;
  ops.host_wait = stub_host_wait;
  if (clp_allocator_create(&ops, stub, &allocator) != CLP_SUCCESS)
    bench_failed("no allocator: %s", clp_last_error()->message);
  return allocator;
}
