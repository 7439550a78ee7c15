/* SPDX-License-Identifier: MIT */
/* Where blocks come from, and the patterns in which they are taken and given back.
 *
 * Each pattern is one inline function, of which every kind of source has an instance of its own
 * with its two calls in it: a call through a pointer more would be seen in the figures. */
#include "source.h"

#include "failed.h"
#include "stub.h"

#include <stdlib.h>

enum { SIZES = BENCH_LIVE_BLOCKS, SIZE_STEP = 256 };

#define ALWAYS_INLINE static inline __attribute__((always_inline))

typedef void *take_block(const bench_source *from, size_t bytes); /* NULL: failed, and said why */
typedef bool give_block(const bench_source *to, void *block, size_t bytes);

/* --- kinds --- */

ALWAYS_INLINE void *take_malloc(const bench_source *from, size_t bytes)
{
  void *memory = from->rival.malloc(bytes);
  __asm__ volatile("" : : "r"(memory) : "memory"); /* lest a pair be optimized away */
  if (memory == NULL)
    bench_failed("%s of %zu bytes failed", from->name, bytes);
  return memory;
}

ALWAYS_INLINE bool give_malloc(const bench_source *to, void *memory, size_t bytes)
{
  (void)bytes;
  to->rival.free(memory);
  return true;
}

ALWAYS_INLINE void *take_pooled(const bench_source *from, size_t bytes)
{
  clp_buffer *buffer = NULL;
  if (clp_pool_allocate(from->pool, bytes, &buffer) != CLP_SUCCESS)
    bench_failed("%s: %s", from->name, clp_last_error()->message);
  return buffer;
}

ALWAYS_INLINE bool give_pooled(const bench_source *to, void *buffer, size_t bytes)
{
  (void)bytes;
  return clp_buffer_release(buffer) == CLP_SUCCESS ||
         bench_failed("%s: %s", to->name, clp_last_error()->message);
}

ALWAYS_INLINE void *take_on_stream(const bench_source *from, size_t bytes)
{
  clp_buffer *buffer = NULL;
  if (clp_pool_allocate_on(from->pool, bytes, from->stream, &buffer) != CLP_SUCCESS)
    bench_failed("%s: %s", from->name, clp_last_error()->message);
  return buffer;
}

ALWAYS_INLINE bool give_on_stream(const bench_source *to, void *buffer, size_t bytes)
{
  (void)bytes;
  return clp_buffer_release_on(buffer, to->stream) == CLP_SUCCESS ||
         bench_failed("%s: %s", to->name, clp_last_error()->message);
}

ALWAYS_INLINE bool give_all(const bench_source *to, void *buffer, size_t bytes)
{
  return give_pooled(to, buffer, bytes) &&
         (clp_pool_free_held(to->pool) == CLP_SUCCESS ||
          bench_failed("%s: %s", to->name, clp_last_error()->message));
}

ALWAYS_INLINE void *take_bare(const bench_source *from, size_t bytes)
{
  clp_memory memory = 0;
  if (clp_allocator_allocate(from->allocator, bytes, &memory) != CLP_SUCCESS)
    bench_failed("%s: %s", from->name, clp_last_error()->message);
  return (void *)memory;
}

ALWAYS_INLINE bool give_bare(const bench_source *to, void *memory, size_t bytes)
{
  return clp_allocator_free(to->allocator, (clp_memory)memory, bytes) == CLP_SUCCESS ||
         bench_failed("%s: %s", to->name, clp_last_error()->message);
}

ALWAYS_INLINE void *take_nothing(const bench_source *from, size_t bytes)
{
  (void)bytes;
  return (void *)from; /* any pointer does */
}

ALWAYS_INLINE bool give_nothing(const bench_source *to, void *nothing, size_t bytes)
{
  (void)to, (void)nothing, (void)bytes;
  return true;
}

/* --- patterns --- */

bool bench_finish(const bench_source *source)
{
  return source->finish == NULL || source->finish(source->device);
}

ALWAYS_INLINE bool one(const bench_source *source, size_t times, take_block *take, give_block *give)
{
  size_t bytes = source->bytes;
  for (size_t i = 0; i < times; i++) {
    void *block = take(source, bytes);
    if (block == NULL || !give(source, block, bytes))
      return false;
  }
  return bench_finish(source);
}

ALWAYS_INLINE bool sizes(const bench_source *source, size_t times, take_block *take,
                         give_block *give)
{
  size_t bytes = source->bytes, step = source->step;
  void *blocks[SIZES];
  for (; times >= SIZES; times -= SIZES) {
    for (size_t i = 0; i < SIZES; i++)
      if ((blocks[i] = take(source, bytes + i * step)) == NULL)
        return false;
    for (size_t i = 0; i < SIZES; i++)
      if (!give(source, blocks[i], bytes + i * step))
        return false;
  }
  return bench_finish(source);
}

/* Goes on after a failure, with NULL, since the other side waits for as many. */
ALWAYS_INLINE bool produce(const bench_source *source, bench_ring *ring, size_t times,
                           take_block *take)
{
  bool ok = true;
  for (size_t i = 0; i < times; i++) {
    void *block = ok ? take(source, source->bytes) : NULL;
    ok = block != NULL;
    bench_ring_put(ring, block);
  }
  return ok;
}

ALWAYS_INLINE bool consume(const bench_source *source, bench_ring *ring, size_t times,
                           give_block *give)
{
  bool ok = true;
  for (size_t i = 0; i < times; i++) {
    void *block = bench_ring_take(ring);
    if (block == NULL || !give(source, block, source->bytes))
      ok = false;
  }
  return ok;
}

ALWAYS_INLINE bool handover(const bench_source *source, unsigned thread, size_t times,
                            take_block *take, give_block *give)
{
  bench_ring *ring = &source->ring[thread / 2];
  return thread % 2 == 0 ? produce(source, ring, times, take) : consume(source, ring, times, give);
}

/* `times` turns of both threads together. The last one leaves all as it was. */
ALWAYS_INLINE bool by_turns(const bench_source *source, unsigned thread, size_t times,
                            take_block *take, give_block *give)
{
  static _Alignas(64) atomic_size_t turn;
  bool ok = true;
  for (size_t i = thread; i < times; i += 2) {
    for (unsigned spins = 0; atomic_load_explicit(&turn, memory_order_acquire) != i;)
      bench_spin(&spins);
    void *block = ok ? take(source, source->bytes) : NULL;
    ok = block != NULL && give(source, block, source->bytes);
    atomic_store_explicit(&turn, i + 1 < times ? i + 1 : 0, memory_order_release);
  }
  return ok;
}

/* --- instances --- */

static bool one_malloc(void *self, unsigned thread, size_t times)
{
  (void)thread;
  return one(self, times, take_malloc, give_malloc);
}

static bool one_pooled(void *self, unsigned thread, size_t times)
{
  (void)thread;
  return one(self, times, take_pooled, give_pooled);
}

static bool one_on_stream(void *self, unsigned thread, size_t times)
{
  (void)thread;
  return one(self, times, take_on_stream, give_on_stream);
}

static bool one_free_held(void *self, unsigned thread, size_t times)
{
  (void)thread;
  return one(self, times, take_pooled, give_all);
}

static bool one_bare(void *self, unsigned thread, size_t times)
{
  (void)thread;
  return one(self, times, take_bare, give_bare);
}

static bool sizes_malloc(void *self, unsigned thread, size_t times)
{
  (void)thread;
  return sizes(self, times, take_malloc, give_malloc);
}

static bool sizes_pooled(void *self, unsigned thread, size_t times)
{
  (void)thread;
  return sizes(self, times, take_pooled, give_pooled);
}

static bool sizes_on_stream(void *self, unsigned thread, size_t times)
{
  bench_source on = *(const bench_source *)self;
  on.stream = (char *)on.stream + thread;
  return sizes(&on, times, take_on_stream, give_on_stream);
}

static bool handover_malloc(void *self, unsigned thread, size_t times)
{
  return handover(self, thread, times, take_malloc, give_malloc);
}

static bool handover_pooled(void *self, unsigned thread, size_t times)
{
  return handover(self, thread, times, take_pooled, give_pooled);
}

static bool handover_nothing(void *self, unsigned thread, size_t times)
{
  return handover(self, thread, times, take_nothing, give_nothing);
}

static bool by_turns_malloc(void *self, unsigned thread, size_t times)
{
  return by_turns(self, thread, times, take_malloc, give_malloc);
}

static bool by_turns_pooled(void *self, unsigned thread, size_t times)
{
  return by_turns(self, thread, times, take_pooled, give_pooled);
}

static bool by_turns_nothing(void *self, unsigned thread, size_t times)
{
  return by_turns(self, thread, times, take_nothing, give_nothing);
}

const size_t bench_live_sets[BENCH_LIVE_SETS] = {(size_t)2 << 20, (size_t)200 << 20,
                                                 (size_t)4 << 30};

void bench_set_live(bench_source *source, size_t bytes)
{
  source->bytes = source->step = bytes / (SIZES * (SIZES + 1) / 2);
}

const bench_pattern bench_one = {.run = {[BENCH_MALLOC] = one_malloc,
                                         [BENCH_POOL] = one_pooled,
                                         [BENCH_STREAM] = one_on_stream,
                                         [BENCH_FREE_HELD] = one_free_held,
                                         [BENCH_ALLOCATOR] = one_bare},
                                 .threads = 1,
                                 .live_blocks = 1};

const bench_pattern bench_sizes = {.run = {[BENCH_MALLOC] = sizes_malloc,
                                           [BENCH_POOL] = sizes_pooled,
                                           [BENCH_STREAM] = sizes_on_stream},
                                   .threads = 1,
                                   .live_blocks = SIZES,
                                   .step = SIZE_STEP};

const bench_pattern bench_live = {.run = {[BENCH_MALLOC] = sizes_malloc,
                                          [BENCH_POOL] = sizes_pooled,
                                          [BENCH_STREAM] = sizes_on_stream},
                                  .threads = 1,
                                  .live_blocks = SIZES,
                                  .own_sizes = true};

const bench_pattern bench_handover = {.run = {[BENCH_MALLOC] = handover_malloc,
                                              [BENCH_POOL] = handover_pooled,
                                              [BENCH_NOTHING] = handover_nothing},
                                      .threads = 2,
                                      .live_blocks = 1,
                                      .in_flight = BENCH_RING_BLOCKS + 2};

const bench_pattern bench_by_turns = {.run = {[BENCH_MALLOC] = by_turns_malloc,
                                              [BENCH_POOL] = by_turns_pooled,
                                              [BENCH_NOTHING] = by_turns_nothing},
                                      .threads = 2,
                                      .live_blocks = 1};
