/* SPDX-License-Identifier: MIT */
/* The levers, and their values. */
#include "levers.h"

#include "arena/growth.h"

#include <stdio.h>

#define KIB 0x1p10
#define MIB 0x1p20

/* A value: the default of clp_arena_options. */
#define BY_DEFAULT (-1)

static void name_bytes(study_setting *setting, double bytes)
{
  static const char *const units[] = {"B", "KiB", "MiB", "GiB"};
  size_t unit = 0;
  for (; bytes >= KIB && unit + 1 < sizeof units / sizeof *units; unit++)
    bytes /= KIB;
  snprintf(setting->value, sizeof setting->value, "%.0f %s", bytes, units[unit]);
}

static void name_number(study_setting *setting, double number)
{
  snprintf(setting->value, sizeof setting->value, "%g", number);
}

static void name(study_setting *setting, const char *words)
{
  snprintf(setting->value, sizeof setting->value, "%s", words);
}

static void apply_slack(study_setting *setting, double slack)
{
  double *used = &setting->replay.arena_options.slack;
  *used = slack < 0 ? *used : slack;
  name_number(setting, *used);
}

static void apply_min_segment(study_setting *setting, double bytes)
{
  size_t *used = &setting->replay.arena_options.min_segment_bytes;
  *used = bytes < 0 ? *used : (size_t)bytes;
  name_bytes(setting, (double)*used);
}

static void apply_max_segment(study_setting *setting, double bytes)
{
  setting->replay.arena_options.max_segment_bytes = (size_t)bytes;
  name_bytes(setting, bytes);
  if (bytes <= 0)
    name(setting, "slack x 1.5 GiB");
}

static void apply_alignment(study_setting *setting, double bytes)
{
  setting->alignment = (size_t)bytes;
  name_bytes(setting, bytes);
}

static void apply_leading_bits(study_setting *setting, double bits)
{
  setting->replay.pool_options.leading_bits_in_bin_id = (unsigned)bits;
  name_number(setting, bits);
}

static void apply_share(study_setting *setting, double share)
{
  setting->rules.share = share;
  name_number(setting, share);
  if (share < 0)
    name(setting, "the slack");
}

/* The slack decides what goes back; else segments are as large as by default. */
static void apply_kept(study_setting *setting, double slack)
{
  const clp_arena_options *options = &setting->replay.arena_options;
  if (slack >= 0) {
    setting->rules.share = options->slack;
    setting->rules.most_share_bytes = (size_t)(options->slack * CLPI_MAX_SEGMENT_PER_SLACK);
  }
  apply_slack(setting, slack);
}

static void apply_waste(study_setting *setting, double waste)
{
  setting->rules.waste = waste;
  snprintf(setting->value, sizeof setting->value, "%g slacks", waste);
  if (waste < 0)
    name(setting, "1 to 9 slacks");
}

static void apply_fit(study_setting *setting, double fit)
{
  static const char *const names[] = {[STUDY_FIRST] = "first fit", [STUDY_BEST] = "best fit"};
  setting->rules.fit = (study_fit)fit;
  name(setting, names[setting->rules.fit]);
}

static void apply_returns(study_setting *setting, double which)
{
  static const char *const names[] = {[STUDY_LARGEST] = "largest", [STUDY_OLDEST] = "oldest"};
  setting->rules.returns = (study_returns)which;
  name(setting, names[setting->rules.returns]);
}

static void apply_budget(study_setting *setting, double has_budget)
{
  setting->rules.has_budget = has_budget > 0;
  name(setting, setting->rules.has_budget ? "counted" : "not counted");
}

static void apply_plans(study_setting *setting, double plans)
{
  setting->rules.plans = plans > 0;
  name(setting, setting->rules.plans ? "planned" : "not planned");
}

/* Below 0: one thread alone gives work. */
static void apply_behind(study_setting *setting, double behind)
{
  setting->is_late = behind >= 0;
  setting->behind = behind >= 0 ? (uint64_t)behind : 0;
  name_number(setting, behind);
  if (behind < 0)
    name(setting, "one thread");
}

enum { BINS_ON_ARENA, ARENA_ALONE, BINS_ALONE, COARSE_BINS_ALONE };

static void apply_parts(study_setting *setting, double parts)
{
  static const char *const names[] = {[BINS_ON_ARENA] = "bins on an arena",
                                      [ARENA_ALONE] = "an arena, no pool",
                                      [BINS_ALONE] = "6 bits, no arena",
                                      [COARSE_BINS_ALONE] = "4 bits, no arena"};
  int which = (int)parts;
  setting->replay.pooled = which != ARENA_ALONE;
  setting->replay.on_arena = which == BINS_ON_ARENA || which == ARENA_ALONE;
  if (which == COARSE_BINS_ALONE)
    setting->replay.pool_options.leading_bits_in_bin_id = 4;
  name(setting, names[which]);
}

const study_lever study_slack = {
    "slack",
    "what is kept beyond the highest use, and what a segment is, as a part of that",
    apply_slack,
    {0, 0.001, 0.002, 0.004, 0.008, BY_DEFAULT, 0.022, 0.03, 0.045, 0.06, 0.1, 0.15, 0.25, 0.4, 0.7,
     1},
    16,
    BY_DEFAULT};

const study_lever study_levers[] = {
    {"parts",
     "bins and arena, or one of them",
     apply_parts,
     {BINS_ON_ARENA, ARENA_ALONE, BINS_ALONE, COARSE_BINS_ALONE},
     4,
     BINS_ON_ARENA},
    {"behind",
     "operations that the device is behind, where several threads give it work and parts are "
     "exclusive",
     apply_behind,
     {-1, 0, 16, 64, 256, 1024, 4096},
     7,
     -1},
    {"leading bits",
     "of the bins; with 16, next to nothing is rounded",
     apply_leading_bits,
     {0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 16},
     11,
     6},
    {"smallest segment",
     "min_segment_bytes",
     apply_min_segment,
     {0, 64 * KIB, BY_DEFAULT, MIB, 2 * MIB, 16 * MIB, 64 * MIB},
     7,
     BY_DEFAULT},
    {"largest segment",
     "max_segment_bytes",
     apply_max_segment,
     {2 * MIB, 8 * MIB, 16 * MIB, 0, 64 * MIB, 256 * MIB, 0x1p40},
     7,
     0},
    {"alignment",
     "of the device; blocks are multiples of it",
     apply_alignment,
     {256, 512, 4 * KIB, 64 * KIB, 2 * MIB},
     5,
     256},
    {"share",
     "of the highest use that a segment is, at least 256 KiB and as large as it may come",
     apply_share,
     {0, 0.002, 0.01, -1, 0.05, 0.1, 0.25},
     7,
     -1},
    {"kept",
     "segments without blocks go back beyond that slack; they are as large as by default",
     apply_kept,
     {0, 0.01, BY_DEFAULT, 0.1, 0.3, 1},
     6,
     BY_DEFAULT},
    {"carve bound",
     "how much larger than a request a segment without blocks may be that is cut for it",
     apply_waste,
     {0, 0.5, 1, -1, 4, 32, 1000},
     7,
     -1},
    {"fit",
     "which free range is cut, of those that are large enough",
     apply_fit,
     {STUDY_FIRST, STUDY_BEST},
     2,
     STUDY_FIRST},
    {"goes back first",
     "of segments without blocks",
     apply_returns,
     {STUDY_LARGEST, STUDY_OLDEST},
     2,
     STUDY_LARGEST},
    {"calls",
     "whether they are counted, and no more made than bins would",
     apply_budget,
     {1, 0},
     2,
     1},
    {"what comes again", "whether it is planned as a whole", apply_plans, {1, 0}, 2, 1},
};
const size_t study_lever_count = sizeof study_levers / sizeof *study_levers;

study_setting study_set(const study_lever *lever, size_t value)
{
  study_setting setting = study_default_setting();
  lever->apply(&setting, lever->values[value]);
  setting.is_default = lever->values[value] == lever->by_default;
  return setting;
}
