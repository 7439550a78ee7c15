/* SPDX-License-Identifier: MIT */
/* The made-up programs. Some end with blocks in use, as real ones do. */
#include "programs.h"

#include "program.h"

#include <math.h>
#include <stdbool.h>

/* Random lifetimes, and sizes spread around a median. */
static void churn(study_program *it, const double *with)
{
  double steps = with[0], median = with[1], spread = with[2], live = with[3];
  while (steps-- > 0)
    if ((double)it->kept.count >= live * study_between(it, 0.5, 1.5))
      study_give_any(it, &it->kept);
    else
      study_keep(it, &it->kept, study_spread(it, median, spread));
  study_give_all(it, &it->kept);
}

/* Eight phases of twenty sizes each; one block in seventeen outlives its phase. */
static void phases(study_program *it, const double *with)
{
  enum { PHASES = 8, SIZES = 20, LEAST_LIVE = 40, STAYING = 17 };
  double steps = with[0], base = with[1];
  for (int phase = 0; phase < PHASES; phase++) {
    double sizes[SIZES];
    for (int i = 0; i < SIZES; i++)
      sizes[i] = base * exp2(study_between(it, -6, 3));
    for (int i = 0; i < steps / PHASES; i++)
      if (it->kept.count > LEAST_LIVE && study_unit(it) < 0.55)
        study_give_any(it, &it->kept);
      else
        study_keep(it, &it->kept, sizes[study_below(it, SIZES)]);
    for (size_t i = 0; i < it->kept.count; i++)
      if (i % STAYING > 0)
        study_give(it, it->kept.at[i]);
    it->kept.count = 0;
  }
}

/* One step of inference: each layer has its activations and attention, and its cache grows. */
static void infer_step(study_program *it, study_block *caches, int layers, double cache_bytes,
                       double sequence, double batch)
{
  for (int layer = 0; layer < layers; layer++) {
    study_keep(it, &it->kept, cache_bytes * 2);
    study_take_and_give(it, batch * sequence * sequence * 4);
    study_block grown = study_take(it, cache_bytes);
    study_give(it, caches[layer]);
    caches[layer] = grown;
    if (it->kept.count > 2)
      study_give_oldest(it, &it->kept);
  }
  study_give_all(it, &it->kept);
}

/* Weights that stay, then requests of varied batch and length, whose caches grow in each step. */
static void infer(study_program *it, const double *with)
{
  enum { MOST_LAYERS = 16, STEPS = 6 };
  double requests = with[0], width = with[1];
  int layers = (int)with[2];
  for (int i = 0; i < 3 * layers; i++)
    study_take(it, width * width * 4);
  while (requests-- > 0) {
    study_block caches[MOST_LAYERS];
    double sequence = 16 + study_below(it, 496), batch = 1 << study_below(it, 4);
    for (int layer = 0; layer < layers; layer++)
      caches[layer] = study_take(it, batch * sequence * width * 2);
    for (int step = 1; step <= STEPS; step++)
      infer_step(it, caches, layers, batch * (sequence + step) * width * 2, sequence, batch);
    for (int layer = 0; layer < layers; layer++)
      study_give(it, caches[layer]);
  }
}

/* Array expressions: temporaries of a few sizes that go soon; the problem grows `growth`-fold. */
static void arrays(study_program *it, const double *with)
{
  enum { TEMPORARIES = 12, AT_ONCE = 4 };
  static const double widths[] = {4, 8, 8, 4, 1};
  double expressions = with[0], elements = with[1], growth = with[2];
  for (int i = 0; i < expressions; i++) {
    double now = floor(elements * pow(growth, i / expressions));
    for (int j = 0; j < TEMPORARIES; j++) {
      study_keep(it, &it->kept, now * widths[study_below(it, 5)]);
      if (it->kept.count > AT_ONCE)
        study_give_oldest(it, &it->kept);
    }
    study_give_all(it, &it->kept);
  }
}

enum { MOST_LAYERS = 64 };

/* What a training program is made of. */
typedef struct network {
  int layers;
  double weights[MOST_LAYERS], activations[MOST_LAYERS]; /* bytes */
} network;

/* The way forward keeps activations, the way back lets go of them and makes gradients. */
static void train_step(study_program *it, const network *net, double batch, bool is_first)
{
  study_block kept[MOST_LAYERS];
  for (int layer = 0; layer < net->layers; layer++) {
    double bytes = net->activations[layer] * batch;
    kept[layer] = study_take(it, bytes);
    study_take_and_give(it, bytes * study_between(it, 0.2, 2));
    if (study_unit(it) < 0.5)
      study_keep(it, &it->others, study_between(it, 64, 4096));
  }
  for (int layer = net->layers - 1; layer >= 0; layer--) {
    study_block workspace = study_take(it, net->activations[layer] * batch);
    study_keep(it, &it->kept, net->weights[layer]);
    study_give(it, kept[layer]);
    study_give(it, workspace);
  }
  for (int i = 0; is_first && i < 2 * net->layers; i++) /* what the optimizer keeps of each */
    study_take(it, net->weights[i / 2]);
  study_give_all(it, &it->kept);
  study_give_all(it, &it->others);
}

/* A training loop; `ragged` is how much smaller than the largest a batch may be. */
static void train(study_program *it, const double *with)
{
  double steps = with[0], base = with[2], ragged = with[3];
  network net = {.layers = (int)with[1]};
  for (int layer = 0; layer < net.layers; layer++) {
    net.weights[layer] = base * exp2(study_between(it, -4, 1));
    net.activations[layer] = base * exp2(study_between(it, -3, 2));
    study_take(it, net.weights[layer]);
    study_take(it, study_between(it, 256, 8192));
  }
  for (int step = 0; step < steps; step++)
    train_step(it, &net, study_between(it, 1 - ragged, 1), step == 0);
}

/* A server: texts come and go, and the cache of each grows by chunks, each time as a new block. */
static void serve(study_program *it, const double *with)
{
  enum { MOST_TEXTS = 128 };
  typedef struct text {
    study_block cache;
    double tokens, end; /* no tokens: none is there */
  } text;
  double steps = with[0], token_bytes = with[2], chunk = with[3];
  text texts[MOST_TEXTS] = {0};
  study_take(it, token_bytes * 20000);
  while (steps-- > 0) {
    text *one = &texts[study_below(it, (unsigned)with[1])];
    if (one->tokens > 0 && one->tokens >= one->end) {
      study_give(it, one->cache);
      one->tokens = 0;
      continue;
    }
    bool is_new = one->tokens <= 0;
    if (is_new)
      one->end = 64 + floor(study_spread(it, 256, 1));
    one->tokens = is_new ? 16 + study_below(it, 512) : one->tokens + chunk;
    study_block grown = study_take(it, token_bytes * one->tokens);
    if (!is_new)
      study_give(it, one->cache);
    one->cache = grown;
    study_take_and_give(it, token_bytes * study_between(it, 1, 64));
  }
}

/* Small blocks that stay are born among large ones that do not: they hold on to segments. */
static void pinned(study_program *it, const double *with)
{
  enum { LARGE = 12, SMALL = 2000 };
  double steps = with[0], large = with[1], small = with[2];
  while (steps-- > 0) {
    study_keep(it, &it->kept, large * exp2(study_between(it, -2, 1)));
    if (study_unit(it) < 0.3)
      study_keep(it, &it->others, small * exp2(study_between(it, -3, 1)));
    if (it->kept.count > LARGE)
      study_give_any(it, &it->kept);
    if (it->others.count > SMALL)
      study_give_any(it, &it->others);
  }
  study_give_all(it, &it->kept);
  study_give_all(it, &it->others);
}

/* Transforms whose sizes double and halve again, a few buffers for each. */
static void doubling(study_program *it, const double *with)
{
  double rounds = with[0], from = with[1];
  int octaves = (int)with[2];
  while (rounds-- > 0)
    for (int step = 0; step < 2 * octaves; step++) {
      double bytes = from * exp2(step < octaves ? step : 2 * octaves - step);
      study_block a = study_take(it, bytes), b = study_take(it, bytes + 64),
                  c = study_take(it, bytes / 2);
      study_give(it, a);
      study_block d = study_take(it, bytes * 1.5);
      study_give(it, b);
      study_give(it, c);
      study_give(it, d);
    }
}

/* Video: frames go through stages, first in, first out; now and then they get another size. */
static void pipeline(study_program *it, const double *with)
{
  enum { SHOT = 150, LEVELS = 4, IN_FLIGHT = 24 };
  static const double resolutions[] = {640 * 360, 1280 * 720, 1920 * 1080, 3840 * 2160};
  double pixels = resolutions[1];
  for (int frame = 0; frame < with[0]; frame++) {
    if (frame % SHOT == SHOT - 1)
      pixels = resolutions[study_below(it, 4)];
    study_keep(it, &it->kept, pixels * 1.5);
    study_keep(it, &it->kept, pixels * 4);
    for (int level = 0; level < LEVELS; level++)
      study_keep(it, &it->others, pixels / exp2(2 * level));
    study_give_all(it, &it->others);
    study_keep(it, &it->kept, study_spread(it, pixels / 20, 0.5));
    while (it->kept.count > IN_FLIGHT)
      study_give_oldest(it, &it->kept);
  }
  study_give_all(it, &it->kept);
}

/* Recursion: blocks are taken on the way down and given back on the way up. */
static void recursion(study_program *it, const double *with)
{
  double rounds = with[0], base = with[1], depth = with[2];
  while (rounds-- > 0) {
    double bytes = base * study_between(it, 0.5, 1);
    for (int level = 0; level < depth; level++, bytes *= 0.6) {
      study_keep(it, &it->kept, bytes);
      study_keep(it, &it->kept, bytes / 3);
      study_take_and_give(it, bytes * 0.8);
    }
    study_give_all(it, &it->kept);
  }
}

/* A table that is loaded once, then queries with temporaries of any size. */
static void queries(study_program *it, const double *with)
{
  double columns = with[0], column = with[1], count = with[2];
  while (columns-- > 0)
    study_take(it, study_spread(it, column, 0.7));
  while (count-- > 0) {
    for (unsigned left = 1 + study_below(it, 8); left > 0; left--)
      study_keep(it, &it->kept, column * pow(study_unit(it), 3) * 4);
    while (it->kept.count > 0)
      study_give_any(it, &it->kept);
  }
}

static const struct {
  const char *name;
  void (*run)(study_program *it, const double *with);
  double with[4]; /* as it reads them */
} programs[] = {
    {"churn 200 K", churn, {20000, 200e3, 1.5, 300}},
    {"churn 4 M wide", churn, {20000, 4e6, 2, 100}},
    {"churn 2 K", churn, {20000, 2e3, 1.5, 2000}},
    {"churn 1 M narrow", churn, {20000, 1e6, 0.3, 200}},
    {"churn tiny", churn, {60000, 100, 1.2, 20000}},
    {"churn huge", churn, {3000, 4e8, 0.8, 12}},
    {"phases", phases, {20000, 2e6}},
    {"phases small", phases, {20000, 5e4}},
    {"infer", infer, {40, 1024, 8}},
    {"infer large", infer, {30, 4096, 16}},
    {"arrays", arrays, {800, 1e5, 4}},
    {"arrays fixed", arrays, {800, 3e6, 1}},
    {"arrays growing", arrays, {1500, 1e3, 1e4}},
    {"train", train, {40, 50, 8e6, 0}},
    {"train ragged", train, {40, 50, 8e6, 0.4}},
    {"train small", train, {60, 30, 6e4, 0.2}},
    {"serve", serve, {15000, 48, 2e4, 1}},
    {"serve chunked", serve, {15000, 128, 1e5, 32}},
    {"pinned", pinned, {10000, 2e7, 3e4}},
    {"pinned small", pinned, {10000, 3e5, 2e3}},
    {"doubling", doubling, {60, 4096, 14}},
    {"pipeline", pipeline, {2000}},
    {"recursion", recursion, {200, 6e7, 18}},
    {"queries", queries, {300, 5e6, 1500}},
};

const char *study_program_name(size_t index)
{
  return index < sizeof programs / sizeof *programs ? programs[index].name : NULL;
}

void study_program_write(size_t index, uint64_t seed, FILE *file)
{
  static study_program program; /* too large for a stack */
  program.file = file;
  program.chance = seed * 1000 + index;
  program.blocks = program.kept.count = program.others.count = 0;
  fputs("Thread,Time,Action,Pointer,Size,Stream\n", file);
  programs[index].run(&program, programs[index].with);
}
