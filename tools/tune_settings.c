/* SPDX-License-Identifier: MIT */
/* Few enough settings that they are tried in seconds, and near enough to each other that the best
 * of them is about as good as any. */
#include "tune_settings.h"

/* Besides the default: one that takes hardly more than is in use, and those with which the device
 * is called less and less. What these take is chance, so that there are some to choose from; the
 * last are tried without a pool alone, where each is but one more. */
static const double other_slacks[CLPI_MOST_ARENAS - 1] = {
    0.0, 0.1, 0.2, 0.35, 0.5, 0.7, 0.85, 1.0, 0.15, 0.28, 0.42, 0.6,
};

static size_t list_arenas(const clpi_tune_arguments *arguments,
                          trace_tune_setting arenas[CLPI_MOST_ARENAS])
{
  size_t count = !arguments->with_arena ? 0 : arguments->has_slack ? 1 : CLPI_MOST_ARENAS;
  double usual = arguments->common.replay.arena_options.slack;
  for (size_t i = 0; i < count; i++)
    arenas[i] = (trace_tune_setting){.on_arena = true, .slack = i ? other_slacks[i - 1] : usual};
  return count;
}

static void add(clpi_tune_settings *settings, trace_tune_setting setting)
{
  settings->outcomes[settings->count++].setting = setting;
}

static void add_carving(clpi_tune_settings *settings, trace_tune_setting setting)
{
  const clp_pool_options defaults = TRACE_POOL_OPTIONS_INIT;
  setting.pooled = setting.carves = true;
  setting.leading_bits = defaults.leading_bits_in_bin_id;
  add(settings, setting);
}

/* With all leading bits, or with the first and what doubling it comes to: the more there are, the
 * less another one changes. */
static void add_pools(const clpi_tune_arguments *arguments, clpi_tune_settings *settings,
                      trace_tune_setting setting, bool doubles)
{
  unsigned bits = arguments->first_bits;
  setting.pooled = true;
  while (bits <= arguments->last_bits) {
    setting.leading_bits = bits;
    add(settings, setting);
    bits = doubles && bits > 0 ? 2 * bits : bits + 1;
  }
}

void clpi_tune_list_settings(const clpi_tune_arguments *arguments, bool carves,
                             clpi_tune_settings *settings)
{
  const trace_tune_setting bare = {0};
  trace_tune_setting arenas[CLPI_MOST_ARENAS];
  size_t arena_count = list_arenas(arguments, arenas);
  bool pooled = arguments->common.replay.pooled;
  if (pooled && arguments->without_arena)
    add_pools(arguments, settings, bare, false);
  for (size_t i = 0; pooled && i < arena_count && i < CLPI_MOST_POOLED_ARENAS; i++)
    if (carves)
      add_carving(settings, arenas[i]);
    else
      add_pools(arguments, settings, arenas[i], i > 0);
  settings->pools = settings->count;
  settings->arenas = pooled && carves ? 0 : arena_count;
  for (size_t i = 0; i < settings->arenas; i++)
    add(settings, arenas[i]);
  if (arguments->without_arena)
    add(settings, bare);
}

size_t clpi_tune_candidates(const clpi_tune_arguments *arguments,
                            const clpi_tune_settings *settings)
{
  bool counts_bare = clpi_has_pool_beneath(arguments->common.allocator.kind);
  if (settings->pools == 0)
    return settings->count;
  if (settings->outcomes[0].result.limit_bytes > 0)
    return settings->pools;
  return counts_bare ? settings->count : settings->pools + settings->arenas;
}

size_t clpi_tune_runnable(const clpi_tune_settings *settings)
{
  size_t count = 0;
  while (count < settings->pools && !settings->outcomes[count].setting.on_arena)
    count++;
  return count;
}
