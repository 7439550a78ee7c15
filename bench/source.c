/* SPDX-License-Identifier: MIT */
/* Where blocks come from, and the patterns in which they are allocated and released.
 *
 * Each pattern is one inline function, of which every kind of source has an instance of its own
 * with its two calls in it: a call through a pointer would be seen in the figures. */
#include "source.h"

#include <stdatomic.h>

enum { SIZES = BENCH_LIVE_BLOCKS, SIZE_STEP = 256, RING_BLOCKS = 256 };

#define ALWAYS_INLINE static inline __attribute__((always_inline))

typedef void *take_block(bench_source *from, size_t bytes); /* NULL: failed, and said why */
typedef bool give_block(bench_source *to, void *block, size_t bytes);

clp_pool *bench_make_pool(clp_allocator *allocator, unsigned reuse_flags)
{
  clp_pool_options options = CLP_POOL_OPTIONS_INIT;
  clp_pool *pool = NULL;
  options.reuse_flags = reuse_flags;
  if (clp_pool_create(allocator, &options, &pool) != CLP_SUCCESS)
    bench_failed("no pool: %s", clp_last_error()->message);
  return pool;
}

/* --- kinds --- */

ALWAYS_INLINE bool served(const bench_source *source, clp_status status)
{
  return status == CLP_SUCCESS || bench_failed("%s: %s", source->name, clp_last_error()->message);
}

ALWAYS_INLINE void *take_pool(bench_source *from, size_t bytes)
{
  clp_buffer *buffer = NULL;
  return served(from, clp_pool_allocate(from->pool, bytes, &buffer)) ? buffer : NULL;
}

ALWAYS_INLINE bool give_pool(bench_source *to, void *buffer, size_t bytes)
{
  (void)bytes;
  return served(to, clp_buffer_release(buffer));
}

ALWAYS_INLINE void *take_stream(bench_source *from, size_t bytes)
{
  clp_buffer *buffer = NULL;
  clp_status status = clp_pool_allocate_on(from->pool, bytes, from->stream, &buffer);
  return served(from, status) ? buffer : NULL;
}

ALWAYS_INLINE bool give_stream(bench_source *to, void *buffer, size_t bytes)
{
  (void)bytes;
  return served(to, clp_buffer_release_on(buffer, to->stream));
}

ALWAYS_INLINE void *take_in_turn(bench_source *from, size_t bytes)
{
  from->stream = from->streams[from->taken++ % 2];
  return take_stream(from, bytes);
}

ALWAYS_INLINE bool give_in_turn(bench_source *to, void *buffer, size_t bytes)
{
  to->stream = to->streams[to->given++ % 2];
  return give_stream(to, buffer, bytes);
}

ALWAYS_INLINE void *take_free_held(bench_source *from, size_t bytes)
{
  return take_pool(from, bytes);
}

ALWAYS_INLINE bool give_free_held(bench_source *to, void *buffer, size_t bytes)
{
  return give_pool(to, buffer, bytes) && served(to, clp_pool_free_held(to->pool));
}

ALWAYS_INLINE void *take_malloc(bench_source *from, size_t bytes)
{
  void *memory = from->malloc(bytes);
  __asm__ volatile("" : : "r"(memory) : "memory"); /* lest a pair be optimized away */
  if (memory == NULL)
    bench_failed("%s of %zu bytes failed", from->name, bytes);
  return memory;
}

ALWAYS_INLINE bool give_malloc(bench_source *to, void *memory, size_t bytes)
{
  (void)bytes;
  to->free(memory);
  return true;
}

ALWAYS_INLINE void *take_bare(bench_source *from, size_t bytes)
{
  clp_memory memory = 0;
  return served(from, clp_allocator_allocate(from->allocator, bytes, &memory)) ? (void *)memory
                                                                               : NULL;
}

ALWAYS_INLINE bool give_bare(bench_source *to, void *memory, size_t bytes)
{
  return served(to, clp_allocator_free(to->allocator, (clp_memory)memory, bytes));
}

ALWAYS_INLINE void *take_calls(bench_source *from, size_t bytes)
{
  return from->take(from, bytes);
}

ALWAYS_INLINE bool give_calls(bench_source *to, void *block, size_t bytes)
{
  (void)bytes;
  return to->give(to, block);
}

ALWAYS_INLINE void *take_nothing(bench_source *from, size_t bytes)
{
  (void)bytes;
  return from; /* any pointer does */
}

ALWAYS_INLINE bool give_nothing(bench_source *to, void *nothing, size_t bytes)
{
  (void)to, (void)nothing, (void)bytes;
  return true;
}

/* --- patterns --- */

ALWAYS_INLINE bool one(bench_source *on, unsigned thread, size_t times, take_block *take,
                       give_block *give)
{
  size_t bytes = on->bytes;
  (void)thread;
  for (size_t i = 0; i < times; i++) {
    void *block = take(on, bytes);
    if (block == NULL || !give(on, block, bytes))
      return false;
  }
  return true;
}

ALWAYS_INLINE bool sizes(bench_source *on, unsigned thread, size_t times, take_block *take,
                         give_block *give)
{
  size_t bytes = on->bytes, step = on->step;
  void *blocks[SIZES];
  (void)thread;
  for (; times >= SIZES; times -= SIZES) {
    for (size_t i = 0; i < SIZES; i++)
      if ((blocks[i] = take(on, bytes + i * step)) == NULL)
        return false;
    for (size_t i = 0; i < SIZES; i++)
      if (!give(on, blocks[i], bytes + i * step))
        return false;
  }
  return true;
}

/* A bounded ring: one thread puts blocks in, one other takes them out, one at a time. Each side has
 * a cache line of its own, and in it what it last saw of the other's, so that it looks there only
 * when that does not do. */
typedef struct block_ring {
  _Alignas(64) atomic_size_t put; /* how many ever were put in */
  size_t taken_seen;
  _Alignas(64) atomic_size_t taken; /* how many ever were taken out */
  size_t put_seen;
  _Alignas(64) void *blocks[RING_BLOCKS];
} block_ring;

/* Waits while the ring is full. */
ALWAYS_INLINE void ring_put(block_ring *ring, void *block)
{
  size_t put = atomic_load_explicit(&ring->put, memory_order_relaxed);
  for (unsigned spins = 0; put - ring->taken_seen == RING_BLOCKS;) {
    /* Acquire: pairs with the release in ring_take, which is done with the place. */
    ring->taken_seen = atomic_load_explicit(&ring->taken, memory_order_acquire);
    if (put - ring->taken_seen == RING_BLOCKS)
      bench_spin(&spins);
  }
  ring->blocks[put % RING_BLOCKS] = block;
  /* Release: pairs with the acquire in ring_take, for the place and what the block is. */
  atomic_store_explicit(&ring->put, put + 1, memory_order_release);
}

/* Waits while the ring is empty. */
ALWAYS_INLINE void *ring_take(block_ring *ring)
{
  size_t taken = atomic_load_explicit(&ring->taken, memory_order_relaxed);
  for (unsigned spins = 0; taken == ring->put_seen;) {
    ring->put_seen = atomic_load_explicit(&ring->put, memory_order_acquire);
    if (taken == ring->put_seen)
      bench_spin(&spins);
  }
  void *block = ring->blocks[taken % RING_BLOCKS];
  atomic_store_explicit(&ring->taken, taken + 1, memory_order_release);
  return block;
}

/* Goes on after a failure, with NULL, since the other side waits for as many. */
ALWAYS_INLINE bool handover(bench_source *on, unsigned thread, size_t times, take_block *take,
                            give_block *give)
{
  static block_ring rings[BENCH_MAX_THREADS / 2];
  block_ring *ring = &rings[thread / 2];
  bool ok = true;
  for (size_t i = 0; i < times; i++) {
    if (thread % 2 == 0) {
      void *block = ok ? take(on, on->bytes) : NULL;
      ok = block != NULL;
      ring_put(ring, block);
    } else {
      void *block = ring_take(ring);
      ok = block != NULL && give(on, block, on->bytes) && ok;
    }
  }
  return ok;
}

/* `times` turns of both threads together. The last one leaves all as it was. */
ALWAYS_INLINE bool by_turns(bench_source *on, unsigned thread, size_t times, take_block *take,
                            give_block *give)
{
  static _Alignas(64) atomic_size_t turn;
  bool ok = true;
  for (size_t i = thread; i < times; i += 2) {
    for (unsigned spins = 0; atomic_load_explicit(&turn, memory_order_acquire) != i;)
      bench_spin(&spins);
    void *block = ok ? take(on, on->bytes) : NULL;
    ok = block != NULL && give(on, block, on->bytes);
    atomic_store_explicit(&turn, i + 1 < times ? i + 1 : 0, memory_order_release);
  }
  return ok;
}

/* --- instances --- */

/* Each thread works with a copy of the source: its stream, and no cache line that others write. */
ALWAYS_INLINE bool work(const bench_source *source, unsigned thread, size_t times,
                        bool (*pattern)(bench_source *, unsigned, size_t, take_block *,
                                        give_block *),
                        take_block *take, give_block *give)
{
  bench_source on = *source;
  on.thread = thread;
  if (on.streams != NULL)
    on.stream = on.streams[thread];
  return (on.begin == NULL || on.begin(&on)) && pattern(&on, thread, times, take, give) &&
         (on.finish == NULL || on.finish(&on));
}

#define EACH_KIND(X, pattern)                                                                      \
  X(pattern, BENCH_POOL, pool)                                                                     \
  X(pattern, BENCH_STREAM, stream)                                                                 \
  X(pattern, BENCH_IN_TURN, in_turn)                                                               \
  X(pattern, BENCH_FREE_HELD, free_held)                                                           \
  X(pattern, BENCH_MALLOC, malloc)                                                                 \
  X(pattern, BENCH_BARE, bare)                                                                     \
  X(pattern, BENCH_CALLS, calls)                                                                   \
  X(pattern, BENCH_NOTHING, nothing)
#define INSTANCE(pattern, number, kind)                                                            \
  static bool pattern##_##kind(void *self, unsigned thread, size_t times)                          \
  {                                                                                                \
    return work(self, thread, times, pattern, take_##kind, give_##kind);                           \
  }
#define ENTRY(pattern, number, kind) [number] = pattern##_##kind,

EACH_KIND(INSTANCE, one)
EACH_KIND(INSTANCE, sizes)
EACH_KIND(INSTANCE, handover)
EACH_KIND(INSTANCE, by_turns)

const bench_pattern bench_one = {.run = {EACH_KIND(ENTRY, one)}, .threads = 1, .live_blocks = 1};
const bench_pattern bench_across = {
    .run = {EACH_KIND(ENTRY, one)}, .threads = 1, .live_blocks = 1, .moves = true};
const bench_pattern bench_sizes = {
    .run = {EACH_KIND(ENTRY, sizes)}, .threads = 1, .live_blocks = SIZES, .step = SIZE_STEP};
const bench_pattern bench_live = {
    .run = {EACH_KIND(ENTRY, sizes)}, .threads = 1, .live_blocks = SIZES, .own_sizes = true};
const bench_pattern bench_handover = {
    .run = {EACH_KIND(ENTRY, handover)}, .threads = 2, .live_blocks = 1, .moves = true};
const bench_pattern bench_by_turns = {
    .run = {EACH_KIND(ENTRY, by_turns)}, .threads = 2, .live_blocks = 1};

const size_t bench_live_sets[BENCH_LIVE_SETS] = {(size_t)2 << 20, (size_t)200 << 20,
                                                 (size_t)4 << 30};

void bench_set_live(bench_source *source, size_t bytes)
{
  source->bytes = source->step = bytes / (SIZES * (SIZES + 1) / 2);
}
