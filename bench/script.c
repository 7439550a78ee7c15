/* SPDX-License-Identifier: MIT */
/* Programs as lists of allocations and releases. */
#include "script.h"

#include <stdbool.h>
#include <stdint.h>

static const size_t KIB = 1 << 10, MIB = 1 << 20;

enum { THREADS = 8 };

/* Xorshift: the same numbers wherever it runs. From 0 to `below` - 1. */
static size_t draw(uint64_t *seed, size_t below)
{
  *seed ^= *seed << 13;
  *seed ^= *seed >> 7;
  *seed ^= *seed << 17;
  return (size_t)(*seed >> 20) % below;
}

static void begin(bench_script *script, unsigned threads)
{
  script->threads = threads;
  script->count = script->in_use = script->peak_in_use = 0;
}

/* Returns the step's number, by which the block is released. */
static size_t allocate(bench_script *script, unsigned thread, size_t bytes)
{
  script->in_use += bytes;
  if (script->in_use > script->peak_in_use)
    script->peak_in_use = script->in_use;
  script->steps[script->count] = (bench_step){.thread = thread, .bytes = bytes};
  return script->count++;
}

static void release(bench_script *script, unsigned thread, size_t of)
{
  script->in_use -= script->steps[of].bytes;
  script->steps[script->count++] = (bench_step){.thread = thread, .of = of};
}

void bench_script_turns(bench_script *script)
{
  enum { TURNS = 4 * THREADS };
  begin(script, THREADS);
  for (unsigned turn = 0; turn < TURNS; turn++) {
    uint64_t seed = 1; /* the same sizes each time */
    size_t first = script->count;
    while (script->in_use < 1024 * MIB)
      allocate(script, turn % THREADS, (16 + draw(&seed, 17)) * 4 * KIB << draw(&seed, 10));
    for (size_t of = first, end = script->count; of < end; of++)
      release(script, turn % THREADS, of);
  }
}

enum { BURST_BLOCKS = 24 };

/* What a worker has to do. */
typedef struct worker {
  size_t allocations;          /* still to be made */
  size_t blocks[BURST_BLOCKS]; /* steps that made what it has */
  size_t count;
} worker;

/* One step of a burst. False: that was the last. */
static bool work(bench_script *script, uint64_t *seed, worker *workers, unsigned number)
{
  worker *self = &workers[number];
  if (self->allocations > 0) {
    self->blocks[self->count++] = allocate(script, number, MIB << draw(seed, 6));
    self->allocations--;
    return true;
  }
  release(script, number, self->blocks[--self->count]);
  return self->count > 0;
}

/* A worker that has nothing to do begins a burst. */
static unsigned begin_burst(uint64_t *seed, worker *workers)
{
  unsigned number;
  do
    number = (unsigned)draw(seed, THREADS);
  while (workers[number].allocations > 0 || workers[number].count > 0);
  workers[number].allocations = 1 + draw(seed, BURST_BLOCKS);
  return number;
}

void bench_script_burst(bench_script *script)
{
  enum { BUSY = 3, BURSTS = 1000 };
  worker workers[THREADS] = {{.count = 0}};
  unsigned busy[BUSY], count = 0;
  uint64_t seed = 1;
  begin(script, THREADS);
  for (unsigned bursts = 0; bursts < BURSTS || count > 0;) {
    while (count < BUSY && bursts < BURSTS) {
      busy[count++] = begin_burst(&seed, workers);
      bursts++;
    }
    size_t i = draw(&seed, count);
    if (!work(script, &seed, workers, busy[i]))
      busy[i] = busy[--count];
  }
}

void bench_script_pipe(bench_script *script, size_t bytes, size_t queue)
{
  enum { BLOCKS = 4096 };
  size_t ring[BLOCKS], put = 0, taken = 0;
  uint64_t seed = 1;
  begin(script, 2);
  while (taken < BLOCKS) {
    for (size_t more = 1 + draw(&seed, queue); more > 0 && put < BLOCKS && put - taken < queue;
         more--)
      ring[put++] = allocate(script, 0, bytes);
    for (size_t more = 1 + draw(&seed, queue); more > 0 && taken < put; more--)
      release(script, 1, ring[taken++]);
  }
}

void bench_script_barrier(bench_script *script)
{
  enum { ROUNDS = 16, BLOCKS = 32 * THREADS };
  uint64_t seed = 1;
  begin(script, THREADS);
  for (unsigned round = 0; round < ROUNDS; round++) {
    size_t first = script->count;
    for (unsigned i = 0; i < BLOCKS; i++)
      allocate(script, i % THREADS, (1 + draw(&seed, 16)) * MIB);
    for (unsigned i = 0; i < BLOCKS; i++)
      release(script, i % THREADS, first + i);
  }
}
