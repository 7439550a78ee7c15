/* SPDX-License-Identifier: MIT */
/* Which ten settings clpool tune should try: how near a few come to the best of many.
 *
 *   bench/tune_study COSTS ALLOCATOR TRACE...
 *
 * Of all settings that are tried on a trace, some are the front: no other one takes as little
 * memory in as little time. The distance of a set of settings from a point of the front is that of
 * its nearest setting: the larger one of the ratios of memory and of time. The table has the mean
 * over the front, as the geometric mean of all traces and for the worst one, with the times of the
 * first pass and with those of the second; and how much more memory the setting takes that is
 * recommended of the set than that of all. */
#include "trace/tune.h"

#include <clpool/status.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ALL = 128, MOST_SET = 16, PASSES = 2, MOST_NS = 500 };

static const unsigned arena_bits[] = {0, 1, 2, 4, 6, 8, 10};
static const double slacks[] = {0,   0.004, 0.008, 0.016, 0.03, 0.06, 0.1, 0.15,
                                0.2, 0.28,  0.35,  0.5,   0.7,  0.85, 1};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* A trace, and what all settings come to. */
typedef struct program {
  trace_tune_outcome outcomes[MOST_ALL];
  double ns[PASSES][MOST_ALL]; /* an operation, at least a little */
  bool is_front[PASSES][MOST_ALL];
} program;

static trace_tune_setting all[MOST_ALL];
static size_t all_count;
static program *programs;
static size_t program_count;

/* Some of all settings, by index. */
typedef struct set {
  const char *name;
  size_t count, of[MOST_SET];
} set;

static void fail(void)
{
  fprintf(stderr, "tune_study: %s\n", clp_last_error()->message);
  exit(EXIT_FAILURE);
}

/* --- outcomes --- */

static void list_all(bool has_parts)
{
  for (unsigned bits = 0; bits <= 10; bits++)
    all[all_count++] = (trace_tune_setting){.leading_bits = bits};
  for (size_t i = 0; i < COUNT(slacks); i++)
    for (size_t j = 0; j < (has_parts ? COUNT(arena_bits) : 1); j++)
      all[all_count++] = (trace_tune_setting){.leading_bits = has_parts ? arena_bits[j] : 4,
                                              .on_arena = true,
                                              .slack = slacks[i],
                                              .any_bits = !has_parts};
}

static void find_front(program *of, int pass)
{
  trace_tune_outcome timed[MOST_ALL];
  memcpy(timed, of->outcomes, sizeof(timed));
  for (size_t i = 0; i < all_count; i++) {
    double ns = pass ? timed[i].result.ns_per_operation : timed[i].first_ns;
    timed[i].result.ns_per_operation = of->ns[pass][i] = fmax(ns, 0.1);
  }
  for (size_t i = 0; i < all_count; i++)
    of->is_front[pass][i] = !trace_tune_is_beaten(timed, all_count, i);
}

static void try_all(program *of, const char *path, const trace_tune_options *options)
{
  trace_batch_source source = {.scale = 1.0, .is_kept = true};
  if (trace_open(-1, path, &source.reader) || trace_batch_read_all(&source))
    fail();
  for (size_t i = 0; i < all_count; i++) {
    of->outcomes[i].setting = all[i];
    if (trace_tune_add(&of->outcomes[i], &source, path, options))
      fail();
  }
  trace_batch_source_end(&source);
  trace_close(source.reader);
  for (int pass = 0; pass < PASSES; pass++)
    find_front(of, pass);
}

/* --- distances --- */

static double distance(const program *of, int pass, size_t point, size_t setting)
{
  const double memory = (double)of->outcomes[setting].result.peak_device_bytes /
                        (double)of->outcomes[point].result.peak_device_bytes;
  return log(fmax(1.0, fmax(memory, of->ns[pass][setting] / of->ns[pass][point])));
}

static double mean_distance(const program *of, int pass, const set *some)
{
  double sum = 0.0;
  size_t points = 0;
  for (size_t i = 0; i < all_count; i++) {
    double least = HUGE_VAL;
    if (!of->is_front[pass][i])
      continue;
    for (size_t j = 0; j < some->count; j++)
      least = fmin(least, distance(of, pass, i, some->of[j]));
    sum += least;
    points++;
  }
  return sum / (double)points;
}

/* The logarithm of the mean over traces; `*worst` is that of the worst one. */
static double distance_of(const set *some, int pass, double *worst)
{
  double sum = 0.0;
  *worst = 0.0;
  for (size_t i = 0; i < program_count; i++) {
    double mean = mean_distance(&programs[i], pass, some);
    *worst = fmax(*worst, mean);
    sum += mean;
  }
  return sum / (double)program_count;
}

static double recommended_bytes(const program *of, const set *some)
{
  trace_tune_outcome outcomes[MOST_SET];
  for (size_t i = 0; i < some->count; i++)
    outcomes[i] = of->outcomes[some->of[i]];
  return (double)trace_tune_recommend(outcomes, some->count, MOST_NS)->result.peak_device_bytes;
}

static void print(const set *some)
{
  double worst, sum = 0.0, most = 0.0;
  printf("%-28s %3zu", some->name, some->count);
  for (int pass = 0; pass < PASSES; pass++) {
    double mean = exp(distance_of(some, pass, &worst));
    printf("  %6.3f %6.2f", mean, exp(worst));
  }
  for (size_t i = 0; i < program_count; i++) {
    const program *of = &programs[i];
    const trace_tune_outcome *best = trace_tune_recommend(of->outcomes, all_count, MOST_NS);
    double more = recommended_bytes(of, some) / (double)best->result.peak_device_bytes;
    most = fmax(most, more);
    sum += log(more);
  }
  printf("  %6.3f %6.2f\n", exp(sum / (double)program_count), most);
}

/* --- sets --- */

static void add(set *to, unsigned bits, double slack)
{
  for (size_t i = 0; i < all_count; i++) {
    const bool is_same_arena =
        slack < 0 ? !all[i].on_arena : all[i].on_arena && fabs(all[i].slack - slack) < 1e-9;
    if (is_same_arena && (all[i].any_bits || all[i].leading_bits == bits))
      to->of[to->count++] = i;
  }
}

static double both_passes(const set *some)
{
  double worst;
  return distance_of(some, 0, &worst) + distance_of(some, 1, &worst);
}

/* Exchanges one setting at a time, as long as that comes nearer. */
static void improve(set *some)
{
  double least = both_passes(some), before;
  do {
    before = least;
    set best = *some;
    for (size_t i = 0; i < some->count; i++)
      for (size_t j = 0; j < all_count; j++) {
        set other = *some;
        other.of[i] = j;
        double found = both_passes(&other);
        if (found < least) {
          least = found;
          best = other;
        }
      }
    *some = best;
  } while (least < before);
}

static void print_settings(const set *some)
{
  for (size_t i = 0; i < some->count; i++) {
    const trace_tune_setting *it = &all[some->of[i]];
    printf("  %u bits", it->leading_bits);
    printf(it->on_arena ? ", slack %g\n" : "\n", it->slack);
  }
}

static void print_all(void)
{
  set bins = {.name = "0 to 8 bits, one arena"}, eight = {.name = "4 without, 6 of 8 bits"},
      four = {.name = "4 without, 6 of 4 bits"}, tune = {.name = "clpool tune's"};
  static const double six[] = {0, 0.016, 0.06, 0.15, 0.35, 0.85};
  for (unsigned b = 0; b <= 8; b++)
    add(&bins, b, -1);
  add(&bins, 8, 0.016);
  for (unsigned b = 0; b <= 4; b += b < 2 ? 1 : 2) {
    add(&eight, b, -1);
    add(&four, b, -1);
  }
  for (size_t i = 0; i < COUNT(six); i++) {
    add(&eight, 8, six[i]);
    add(&four, 4, six[i]);
  }
  for (size_t i = 0; i < TRACE_TUNE_SETTINGS; i++)
    add(&tune, trace_tune_settings[i].leading_bits,
        trace_tune_settings[i].on_arena ? trace_tune_settings[i].slack : -1);
  print(&bins);
  print(&eight);
  print(&four);
  print(&tune);
  improve(&tune);
  tune.name = "the nearest found";
  print(&tune);
  print_settings(&tune);
}

int main(int argc, char **argv)
{
  static trace_costs costs;
  if (argc < 4) {
    fputs("usage: tune_study COSTS ALLOCATOR TRACE...\n", stderr);
    return EXIT_FAILURE;
  }
  if (trace_costs_read(argv[1], &costs))
    fail();
  const trace_tune_options options = {.costs = trace_costs_find(&costs, argv[2])};
  program_count = (size_t)argc - 3;
  programs = calloc(program_count, sizeof(*programs));
  if (!options.costs || !programs) {
    fprintf(stderr, "tune_study: there are no costs of %s, or there is no memory\n", argv[2]);
    return EXIT_FAILURE;
  }
  list_all(trace_tune_has_parts(options.costs));
  for (size_t i = 0; i < program_count; i++)
    try_all(&programs[i], argv[i + 3], &options);
  printf("%zu traces, %zu settings\n%-28s %3s  %13s  %13s  %13s\n%-28s %3s", program_count,
         all_count, "set", "", "first pass", "second pass", "recommended", "", "");
  for (int i = 0; i <= PASSES; i++)
    printf("  %6s %6s", "mean", "worst");
  puts("");
  print_all();
  return EXIT_SUCCESS;
}
