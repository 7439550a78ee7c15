/* SPDX-License-Identifier: MIT */
/* What pools take from the device for programs of several threads, counted: no clock has a say. A
 * program runs twice, on pools that are alike: each thread makes its own calls, in the order of the
 * script; and one thread makes all of them in that order, which is a pool that has one lock and
 * nothing else, for what any thread releases is there for all. */
#include "pair.h"

#include "failed.h"
#include "script.h"
#include "spin.h"

#include <stdatomic.h>
#include <stdio.h>

typedef struct player {
  const bench_script *script;
  clp_pool *pool;
  bool alone;         /* one thread makes all calls */
  atomic_size_t next; /* whose turn it is: the number of a step */
  clp_buffer *buffers[BENCH_SCRIPT_STEPS];
} player;

static bool make_step(player *all, size_t number)
{
  const bench_step *step = &all->script->steps[number];
  clp_status status = step->bytes != 0
                          ? clp_pool_allocate(all->pool, step->bytes, &all->buffers[number])
                          : clp_buffer_release(all->buffers[step->of]);
  return status == CLP_SUCCESS || bench_failed("step %zu: %s", number, clp_last_error()->message);
}

/* Goes on after a failure, since others wait for the steps. */
static bool play(void *self, unsigned thread, size_t times)
{
  player *all = self;
  bool ok = true;
  (void)times;
  for (size_t i = 0; i < all->script->count; i++) {
    if (!all->alone && all->script->steps[i].thread != thread)
      continue;
    for (unsigned spins = 0; atomic_load(&all->next) != i;)
      bench_spin(&spins);
    ok = make_step(all, i) && ok;
    atomic_store(&all->next, i + 1);
  }
  return ok;
}

/* The figures are taken while the threads are still there. */
static bool run(const bench_script *script, clp_allocator *allocator, bool alone,
                clp_pool_stats *stats)
{
  static player all;
  unsigned threads = alone ? 1 : script->threads;
  bench_job job = {play, &all, threads, 1};
  bench_took took;
  bench_crew *crew = bench_crew_create(threads);
  all.script = script;
  all.pool = pair_make_pool(allocator, true);
  all.alone = alone;
  atomic_store(&all.next, 0);
  bool ok = crew != NULL && all.pool != NULL && bench_crew_work(crew, &job, &took) &&
            (clp_pool_get_stats(all.pool, stats) == CLP_SUCCESS ||
             bench_failed("no figures: %s", clp_last_error()->message));
  bench_crew_end(crew);
  clp_pool_release(all.pool);
  return ok;
}

static double over(size_t part, size_t whole)
{
  return (double)part / (double)whole;
}

static void print_row(const char *name, const bench_script *script, const clp_pool_stats *stats,
                      const clp_pool_stats *alone)
{
  printf("  %-28s%10zu%12.3f%10.3f%16.3f%18.4f\n", name, stats->peak_managed_bytes >> 20,
         over(stats->peak_managed_bytes, alone->peak_managed_bytes),
         over(stats->peak_managed_bytes, script->peak_in_use),
         over(stats->held_bytes, script->peak_in_use),
         over(stats->peak_active_bytes, script->peak_in_use));
}

static void print_object(const char *name, const bench_title *title, const bench_script *script,
                         const clp_pool_stats *stats, const clp_pool_stats *alone)
{
  printf("{\"contest\": \"%s\", \"device\": \"%s\", \"calls\": \"%s\", \"threads\": %u, "
         "\"peak_in_use_bytes\": %zu, \"peak_managed_bytes\": %zu, \"held_bytes\": %zu, "
         "\"peak_active_bytes\": %zu, \"ratio_to\": {\"one lock\": %.5f}}\n",
         title->contest, title->device, name, script->threads, script->peak_in_use,
         stats->peak_managed_bytes, stats->held_bytes, stats->peak_active_bytes,
         over(stats->peak_managed_bytes, alone->peak_managed_bytes));
}

static void report(const bench_options *options, const bench_title *title,
                   const bench_script *script, const clp_pool_stats stats[2])
{
  static const char *const names[] = {"one lock", "threads"};
  if (!options->json)
    printf("\n%s: %s, %u threads, at most %zu MiB in use\n  %-28s%10s%12s%10s%16s%18s\n",
           title->contest, title->device, script->threads, script->peak_in_use >> 20, "",
           "peak MiB", "/ one lock", "/ in use", "held / in use", "active / in use");
  for (int i = 0; i < 2; i++)
    if (options->json)
      print_object(names[i], title, script, &stats[i], &stats[0]);
    else
      print_row(names[i], script, &stats[i], &stats[0]);
  (void)fflush(stdout);
}

static bool hold(const pair_host *host, const bench_options *options, bench_title title,
                 const char *device, const bench_script *script)
{
  title.device = device;
  clp_pool_stats stats[2] = {CLP_POOL_STATS_INIT, CLP_POOL_STATS_INIT};
  if (!run(script, host->simulated, true, &stats[0]) ||
      !run(script, host->simulated, false, &stats[1]))
    return false;
  report(options, &title, script, stats);
  return true;
}

static bench_script the_script;

bool pair_hold_turns(void *device, const bench_options *options, const bench_title *title)
{
  bench_script_turns(&the_script);
  return hold(device, options, *title, "simulated", &the_script);
}

bool pair_hold_burst(void *device, const bench_options *options, const bench_title *title)
{
  bench_script_burst(&the_script);
  return hold(device, options, *title, "simulated", &the_script);
}

bool pair_hold_barrier(void *device, const bench_options *options, const bench_title *title)
{
  bench_script_barrier(&the_script);
  return hold(device, options, *title, "simulated", &the_script);
}

bool pair_hold_pipe(void *device, const bench_options *options, const bench_title *title)
{
  static const struct {
    const char *name;
    size_t bytes, queue;
  } pipes[] = {{"a queue of 4 x 1 MiB", (size_t)1 << 20, 4},
               {"a queue of 4 x 64 MiB", (size_t)64 << 20, 4},
               {"a queue of 64 x 64 MiB", (size_t)64 << 20, 64}};
  bool ok = true;
  for (size_t i = 0; ok && i < sizeof pipes / sizeof *pipes; i++) {
    bench_script_pipe(&the_script, pipes[i].bytes, pipes[i].queue);
    ok = hold(device, options, *title, pipes[i].name, &the_script);
  }
  return ok;
}
