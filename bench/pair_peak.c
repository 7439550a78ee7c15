/* SPDX-License-Identifier: MIT */
/* How much memory a pool takes from the device for threads that use the same bin, and how exactly
 * it reports the peak of active bytes. The program counts for itself: a block is in use from after
 * its allocation until before its release, so the true peak is never less than the program's. */
#include "pair.h"

#include "failed.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_THREADS = 16, MOST_BLOCKS = 256, RUNS = 5, ALLOCATIONS_A_ROUND = 1 << 17 };

typedef struct crowd {
  clp_pool *pool;
  size_t bytes; /* of each block */
  size_t most;  /* blocks of a thread */
  atomic_size_t in_use, peak;
} crowd;

/* Of the runs of one crowd. The ratios are to the bytes of the program's own peak. */
typedef struct extremes {
  size_t peak_blocks;
  double least_reported, most_reported, most_managed;
} extremes;

static void count_block(crowd *all)
{
  size_t now = atomic_fetch_add(&all->in_use, 1) + 1, peak = atomic_load(&all->peak);
  while (now > peak && !atomic_compare_exchange_weak(&all->peak, &peak, now))
    ;
}

/* `times` times allocates 1 to `most` blocks, and then releases them. */
static bool work(void *self, unsigned thread, size_t times)
{
  crowd *all = self;
  clp_buffer *blocks[MOST_BLOCKS];
  unsigned seed = thread + 1;
  clp_status status = CLP_SUCCESS;
  for (; status == CLP_SUCCESS && times > 0; times--) {
    size_t count = 0, wanted = 1 + (size_t)rand_r(&seed) % all->most;
    while (count < wanted &&
           (status = clp_pool_allocate(all->pool, all->bytes, &blocks[count])) == CLP_SUCCESS) {
      count_block(all);
      count++;
    }
    while (count > 0) {
      atomic_fetch_sub(&all->in_use, 1);
      clp_buffer_release(blocks[--count]);
    }
  }
  return status == CLP_SUCCESS || bench_failed("peak: %s", clp_last_error()->message);
}

/* On a pool that was not used before. */
static bool run(bench_crew *crew, const bench_job *job, clp_allocator *allocator, size_t bytes,
                extremes *result)
{
  crowd *all = job->self;
  bench_took took;
  clp_pool_stats stats = CLP_POOL_STATS_INIT;
  if ((all->pool = pair_make_pool(allocator, true)) == NULL)
    return false;
  all->bytes = clp_pool_alloc_size(all->pool, clp_pool_bin_number(all->pool, bytes));
  atomic_store(&all->peak, 0);
  bool ok = bench_crew_work(crew, job, &took) &&
            (clp_pool_get_stats(all->pool, &stats) == CLP_SUCCESS ||
             bench_failed("no figures: %s", clp_last_error()->message));
  clp_pool_release(all->pool);

  size_t peak = atomic_load(&all->peak);
  double in_use = (double)(peak * all->bytes);
  double reported = (double)stats.peak_active_bytes / in_use;
  double managed = (double)stats.peak_managed_bytes / in_use;
  if (result->peak_blocks == 0 || reported < result->least_reported)
    result->least_reported = reported;
  if (reported > result->most_reported)
    result->most_reported = reported;
  if (managed > result->most_managed)
    result->most_managed = managed;
  if (peak > result->peak_blocks)
    result->peak_blocks = peak;
  return ok;
}

static void report(const bench_options *options, const char *contest, unsigned threads, size_t most,
                   const extremes *result)
{
  if (options->json)
    printf("{\"contest\": \"%s\", \"device\": \"simulated\", \"threads\": %u, \"max_blocks\": %zu, "
           "\"peak_blocks\": %zu, \"least_reported\": %.5f, \"most_reported\": %.5f, "
           "\"most_managed\": %.5f}\n",
           contest, threads, most, result->peak_blocks, result->least_reported,
           result->most_reported, result->most_managed);
  else
    printf("%9u%17zu%13zu%14.1f to %5.1f%10.3f\n", threads, most, result->peak_blocks,
           100 * result->least_reported, 100 * result->most_reported, result->most_managed);
  (void)fflush(stdout);
}

static bool hold(clp_allocator *allocator, const bench_options *options, const char *contest,
                 unsigned threads, size_t most)
{
  crowd all = {.most = most};
  extremes result = {0};
  size_t allocations = (size_t)ALLOCATIONS_A_ROUND * options->effort.rounds;
  bench_job job = {work, &all, threads, 1 + allocations / threads / most};
  bench_crew *crew = bench_crew_create(threads);
  bool ok = crew != NULL;
  for (int i = 0; ok && i < RUNS; i++)
    ok = run(crew, &job, allocator, options->sizes[0], &result);
  bench_crew_end(crew);
  if (ok)
    report(options, contest, threads, most, &result);
  return ok;
}

bool pair_hold_peak(void *device, const bench_options *options, const bench_title *title)
{
  const pair_host *host = device;
  bool ok = true;
  if (!options->json)
    printf("\n%s: simulated, blocks of one bin\n%9s%17s%13s%22s%10s\n", title->contest, "threads",
           "blocks a thread", "peak blocks", "reported %", "/ in use");
  for (size_t most = 16; most <= MOST_BLOCKS; most *= 16)
    for (unsigned threads = 1; ok && threads <= MOST_THREADS; threads *= 2)
      ok = hold(host->stub, options, title->contest, threads, most);
  return ok;
}
