/* SPDX-License-Identifier: MIT */
/* Draws random programs. Every draw is a statement of its own, so that all compilers make the same
 * program of a seed. Each program has a configuration of its own, uses only some kinds of calls and
 * a few sizes (swarm testing), and is of one of three shapes: calls in any order; a list of
 * lifetimes that repeats, with deviations; or many blocks of few bins that come and go at once. */
#include "program.h"
#include "support/chance.h"
#include "support/late_device.h"

#include <string.h>

enum { SIZES = 8, LIVES_MAX = 80 };

typedef struct drawing {
  model_program *program;
  clpt_chance chance;
  size_t sizes[SIZES];
  unsigned size_count, stream_count;
  unsigned streamless;              /* of a hundred calls */
  unsigned verbs[MODEL_VERB_COUNT]; /* how often each is drawn */
  unsigned verb_sum;
} drawing;

static unsigned below(drawing *it, unsigned bound)
{
  return (unsigned)clpt_chance_below(&it->chance, bound);
}

/* True `times` out of a hundred. */
static bool percent(drawing *it, unsigned times)
{
  return below(it, 100) < times;
}

/* --- the configuration --- */

static void draw_device(drawing *it, model_config *config)
{
  static const unsigned kinds[] = {MODEL_LATE,  MODEL_LATE, MODEL_LATE,     MODEL_PLAIN,
                                   MODEL_PLAIN, MODEL_HOST, MODEL_SIMULATED};
  config->device = kinds[below(it, 7)];
  bool is_late = config->device == MODEL_LATE;
  bool is_fake = is_late || config->device == MODEL_PLAIN;
  if (config->device != MODEL_HOST && percent(it, 40))
    config->capacity = 256 + below(it, percent(it, 50) ? 16384 : 262144);
  config->max_block_bytes = is_fake && percent(it, 15) ? 2000 + below(it, 100000) : 0;
  config->opaque = is_fake && percent(it, 40);
  config->freeing = is_late ? below(it, CLPT_LATE_FREEINGS) : 0;
  config->marks_are_work = is_late && percent(it, 50);
  config->reuse_addresses = is_late && percent(it, 60);
  config->exclusive_parts = is_late && percent(it, 40);
  config->no_drain = is_late && percent(it, 15);
  config->has_home = is_late && percent(it, 50);
  config->allocate_uses_home = config->has_home && percent(it, 50);
}

static void draw_arena(drawing *it, model_config *config)
{
  static const unsigned slacks[] = {0, 2, 2, 10, 25, 50, 75, 100};
  static const size_t smallest[] = {1, 512, 4096, 4096, 16384, 65536};
  config->arena = percent(it, 50);
  if (!config->arena)
    return;
  config->max_block_bytes -= config->max_block_bytes % 256; /* blocks of an arena are multiples */
  config->slack_percent = slacks[below(it, 8)];
  config->min_segment_bytes = smallest[below(it, 6)];
  config->max_segment_bytes = percent(it, 20) ? config->min_segment_bytes + below(it, 200000) : 0;
  config->one_thread = percent(it, 40);
  config->addresses = config->device <= MODEL_PLAIN && percent(it, 60);
  config->seldom_looks = percent(it, 60);
  config->opaque = config->addresses ? 0 : config->opaque;
  if (!config->one_thread && config->addresses)
    config->exclusive_parts = 0;
}

static void draw_config(drawing *it)
{
  model_config *config = &it->program->config;
  *config = (model_config){0};
  draw_device(it, config);
  draw_arena(it, config);
  config->pools = percent(it, 60) ? 1 + below(it, MODEL_POOLS - 1) : 0;
  config->memory_limit = percent(it, 15) ? 1 + below(it, 60000) : 0;
  config->bits = percent(it, 30) ? 4 : below(it, 5);
  config->no_opportunistic = percent(it, 25);
  config->no_dependencies = percent(it, 35);
  config->tries = percent(it, 50);
  config->watched = percent(it, 40);
  config->ends_early = percent(it, 25);
  config->reserve_bytes = config->arena && percent(it, 25) ? below(it, 200000) : 0;
}

/* --- calls --- */

/* Sizes at the edges of bins, or any. */
static size_t draw_size(drawing *it)
{
  size_t mantissa = 1 + below(it, 32), size = mantissa << below(it, 11);
  if (percent(it, 30))
    return size - 1;
  return percent(it, 30) ? 1 + below(it, 6000) : size;
}

static size_t pick_size(drawing *it)
{
  return percent(it, 3) ? 0 : it->sizes[below(it, it->size_count)];
}

static int pick_stream(drawing *it)
{
  if (it->program->config.device != MODEL_LATE || percent(it, it->streamless))
    return -1;
  return (int)below(it, it->stream_count);
}

static unsigned pick_pool(drawing *it)
{
  return below(it, 1 + (unsigned)it->program->config.pools);
}

static void add(drawing *it, model_call call)
{
  if (it->program->count < MODEL_CALLS_MAX)
    it->program->calls[it->program->count++] = call;
}

static void add_allocate(drawing *it, unsigned slot, unsigned pool, size_t bytes)
{
  int stream = pick_stream(it);
  add(it, (model_call){MODEL_allocate, slot, pool, stream, bytes});
}

static void add_release(drawing *it, unsigned slot)
{
  int stream = pick_stream(it);
  add(it, (model_call){MODEL_release, slot, 0, stream, 0});
}

static const unsigned usual_verbs[MODEL_VERB_COUNT] = {
#define X(name, often) often,
    MODEL_VERBS(X)
#undef X
};

static void draw_verbs(drawing *it)
{
  bool is_late = it->program->config.device == MODEL_LATE;
  it->verb_sum = 0;
  for (unsigned verb = 0; verb < MODEL_VERB_COUNT; verb++) {
    bool is_used = (is_late || !model_needs_streams((model_verb)verb)) &&
                   percent(it, verb == MODEL_fail ? 30 : 65);
    it->verbs[verb] = is_used ? usual_verbs[verb] : 0;
    it->verb_sum += it->verbs[verb];
  }
}

/* One to three of the device's calls; or those that a release may need. */
static size_t draw_failing(drawing *it)
{
  size_t calls = 0;
  if (percent(it, 20))
    return 1u << CLPT_LATE_MARK_CREATE | 1u << CLPT_LATE_HOST_WAIT | 1u << CLPT_LATE_FREE;
  for (unsigned i = 0; i < 3; i++)
    calls |= (size_t)1 << below(it, CLPT_LATE_CALLS);
  return calls;
}

static size_t draw_value(drawing *it, model_verb verb)
{
  static const unsigned bounds[MODEL_VERB_COUNT] = {[MODEL_step] = 16,
                                                    [MODEL_trim] = 40000,
                                                    [MODEL_without_pool] = 40000,
                                                    [MODEL_limit] = 60000,
                                                    [MODEL_spare] = 4};
  if (verb == MODEL_fail)
    return draw_failing(it);
  if (verb == MODEL_fit_limit)
    return pick_size(it);
  if (!bounds[verb] || (verb == MODEL_limit && percent(it, 40)))
    return 0;
  return below(it, bounds[verb]);
}

/* A buffer that so many streams use has the most uses that are noted. */
static void add_read_by_all(drawing *it, unsigned slot)
{
  for (unsigned stream = 0; stream < it->stream_count; stream++)
    add(it, (model_call){MODEL_read, slot, 0, (int)stream, 0});
}

/* A call that is no allocation and no release. */
static void add_other(drawing *it, unsigned slots)
{
  if (!it->verb_sum)
    return;
  unsigned choice = below(it, it->verb_sum), verb = 0;
  while (choice >= it->verbs[verb])
    choice -= it->verbs[verb++];
  bool needs_stream = verb >= MODEL_write && verb <= MODEL_finish;
  int stream = needs_stream ? (int)below(it, it->stream_count) : (int)below(it, 2) - 1;
  unsigned slot = verb == MODEL_fail || verb == MODEL_hook ? below(it, 5) : below(it, slots);
  unsigned pool = pick_pool(it);
  size_t value = draw_value(it, (model_verb)verb);
  if (verb == MODEL_read && percent(it, 15))
    add_read_by_all(it, slot);
  else
    add(it, (model_call){(model_verb)verb, slot, pool, stream, value});
}

/* --- the three shapes --- */

static void draw_any_order(drawing *it)
{
  unsigned count = 40 + below(it, 160), slots = 4 + below(it, 20), others = 20 + below(it, 50);
  while (count--) {
    unsigned slot = below(it, slots);
    if (percent(it, others))
      add_other(it, slots);
    else if (percent(it, 50))
      add_release(it, slot);
    else {
      unsigned pool = pick_pool(it);
      size_t bytes = pick_size(it);
      add_allocate(it, slot, pool, bytes);
    }
  }
}

/* Lifetimes by their begin and end, in passes. The calls of a pass are the same as of the one
 * before, but for deviations: a call is left out, has another size, or something else is done. */
static void draw_repeating(drawing *it)
{
  struct {
    unsigned begin, end, pool;
    int stream;
    size_t bytes;
  } lives[LIVES_MAX];
  unsigned count = 5 + below(it, LIVES_MAX - 5), time = 2 * count, passes = 4 + below(it, 16);
  unsigned deviations = percent(it, 40) ? 0 : 1 + below(it, 10); /* of 1,000 calls */
  for (unsigned i = 0; i < count; i++) {
    unsigned begin = below(it, time), end = begin + 1 + below(it, percent(it, 60) ? 12 : time);
    lives[i].begin = begin;
    lives[i].end = end < time ? end : time;
    lives[i].pool = percent(it, 90) ? 0 : pick_pool(it);
    lives[i].stream = pick_stream(it);
    lives[i].bytes = pick_size(it);
  }
  for (unsigned pass = 0; pass < passes; pass++)
    for (unsigned now = 0; now <= time; now++)
      for (unsigned i = 0; i < count; i++) {
        bool is_usual = pass < 3 || below(it, 1000) >= deviations;
        size_t bytes = is_usual ? lives[i].bytes : pick_size(it);
        if (!is_usual && percent(it, 50))
          add_other(it, count);
        else if (lives[i].end == now)
          add(it, (model_call){MODEL_release, i, 0, lives[i].stream, 0});
        else if (lives[i].begin == now)
          add(it, (model_call){MODEL_allocate, i, lives[i].pool, lives[i].stream, bytes});
      }
}

/* Allocates up to 96 blocks of one size, releases some, and repeats. */
static void draw_many(drawing *it)
{
  unsigned rounds = 2 + below(it, 4), slots = MODEL_SLOTS - below(it, 60);
  for (unsigned round = 0; round < rounds; round++) {
    size_t bytes = pick_size(it);
    unsigned pool = pick_pool(it);
    for (unsigned slot = 0; slot < slots; slot++)
      add_allocate(it, slot, pool, bytes);
    for (unsigned i = below(it, 5); i > 0; i--)
      add_other(it, slots);
    for (unsigned i = below(it, 2) ? 2 * slots : slots / 2; i > 0; i--)
      add_release(it, below(it, slots));
    for (unsigned i = below(it, 8); i > 0; i--)
      add_other(it, slots);
  }
}

void model_draw(model_program *program, unsigned seed)
{
  drawing it = {.program = program, .chance = clpt_chance_seed(seed)};
  (void)clpt_chance_next(&it.chance);
  program->count = 0;
  draw_config(&it);
  it.size_count = 1 + below(&it, SIZES);
  static const unsigned shares[] = {0, 20, 50, 95, 100};
  it.streamless = shares[below(&it, 5)];
  it.stream_count = percent(&it, 25) ? 1 : 2 + below(&it, MODEL_STREAMS - 1);
  for (unsigned i = 0; i < SIZES; i++)
    it.sizes[i] = draw_size(&it);
  draw_verbs(&it);
  unsigned shape = below(&it, 10);
  if (shape < 6)
    draw_any_order(&it);
  else if (shape < 9)
    draw_repeating(&it);
  else
    draw_many(&it);
}
