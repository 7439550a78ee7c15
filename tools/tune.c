/* SPDX-License-Identifier: MIT */
/* clpool tune: which leading_bits_in_bin_id and which arena, if any, suit a recorded program. */
#include "trace/tune.h"
#include "allocators.h"
#include "cost_source.h"
#include "program.h"
#include "progress.h"
#include "replay_setup.h"
#include "trace/recommend.h"
#include "trace/tune_again.h"
#include "tune_arguments.h"
#include "tune_plot.h"
#include "tune_report.h"
#include "tune_settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whose costs count where no device was chosen. */
static const char usual_costs[] = "nvidia-h200";

static const char help_text[] =
    "Usage: clpool tune TRACE [OPTION]...\n"
    "Replays a recorded program's allocations with each setting of a pool and of an arena, on\n"
    "a simulated device, and recommends one. TRACE is as for clpool replay.\n"
    "\n"
    "Options:\n"
    "  --objective=WHAT     balanced (the default: the least product of time and memory\n"
    "                       taken from the device), time or memory\n"
    "  --leading-bits=B-C   the settings of leading_bits_in_bin_id to try, 0 to 16; 0-10 by\n"
    "                       default; they matter on an arena only if its blocks are cl_mems\n"
    "  --arena, --no-arena  only with, only without an arena beneath the pool\n"
    "  --no-pool            without pools: the bare allocator, and arenas on it\n"
    "  --slack=F            how much of the highest use an arena may keep beyond it, 0 to 1;\n"
    "                       by default several are tried\n"
    "  --lenient            leave out frees of what was allocated before the trace begins\n"
    "  --limit=BYTES        the pool's limit: which settings would run out, and when\n"
    "  --memory=BYTES       of the host that replays may take, half of all by default: where\n"
    "                       that is not enough, they are made a few at a time\n"
    "  --allocator=NAME     whose memory, largest block and costs count: host, simulated (the\n"
    "                       default), cl-deferred, cl-immediate, cl-svm, cuda-async\n"
    "  --device=P.D         the OpenCL device, as clpool info numbers them; by default a\n"
    "                       GPU if there is one\n"
    "  --device=N           the CUDA device; 0 by default\n"
    "  --capacity=BYTES     the memory of the simulated device; without it, no bound\n"
    "  --cost=SOURCE        what times are estimated from: measure (the default where an\n"
    "                       allocator was chosen), a file of clpool bench, or a machine that\n"
    "                       was measured before (nvidia-h200, the default otherwise)\n"
    "  --scale=F            multiply every size by F; auto: by the largest power of two, at\n"
    "                       most 1, with which the pool needs at most a quarter of the\n"
    "                       device\n"
    "  --passes=N           replay the trace N times in the same pool; times are the last's\n"
    "  --threads=N          how many replay; as many as there are cores by default\n"
    "  --plot=FILE          draw footprint and hit rate: FILE ends in .svg, .png or .pdf\n"
    "  --json               print one JSON object\n"
    "  --help               print this help\n"
    "BYTES may be 512M, 1.5G or 4GiB, and the limit a part of the device's memory, 40%.\n"
    "\n"
    "Examples:\n"
    "  clpool tune trace.csv.gz\n"
    "  clpool tune trace.csv.gz --objective=memory --plot=tune.svg\n"
    "  clpool tune trace.csv.gz --allocator=cl-immediate --device=1.0 --limit=4G\n"
    "  clpool tune trace.csv.gz --cost=my-gpu.csv\n";

typedef struct tune_setup {
  clpi_tune_arguments arguments;
  trace_reader *reader;
  clp_allocator *allocator; /* that was chosen; nothing is allocated from it but to measure */
  char *device_name;
  clpi_tune_plot *plot;
  trace_costs *costs;
  const trace_cost_table *table; /* of them, for the allocator */
  char cost_words[256];          /* where they are from */
  trace_tuned_trace asked;
  clpi_tune_settings settings;
} tune_setup;

static const char *find_note(const clpi_tune_arguments *arguments)
{
  if (!clpi_has_pool_beneath(arguments->common.allocator.kind))
    return NULL;
  return "No arena was tried: the driver's own pool takes less memory without one.";
}

static int report(tune_setup *setup, const trace_tune_options *options)
{
  const clpi_tune_arguments *arguments = &setup->arguments;
  const clpi_tune_settings *settings = &setup->settings;
  size_t candidates = clpi_tune_candidates(arguments, settings);
  bool as_good[CLPI_MOST_SETTINGS] = {false};
  clpi_tune_report report = {
      .trace = arguments->common.trace,
      .asked = setup->asked,
      .capacity = arguments->common.allocator.capacity,
      .allocator = clp_allocator_name(setup->allocator),
      .device_name = setup->device_name,
      .costs = setup->cost_words,
      .objective = arguments->objective,
      .options = options,
      .outcomes = settings->outcomes,
      .candidates = candidates,
      .count = settings->count,
      .runnable = trace_has(setup->reader, TRACE_CONTEXT) ? clpi_tune_runnable(settings) : 0,
      .best = trace_recommend(arguments->objective, settings->outcomes, candidates, as_good),
      .as_good = as_good,
      .note = find_note(arguments),
  };
  if (arguments->common.as_json)
    clpi_tune_report_json(&report);
  else
    clpi_tune_report_print(&report);
  clpi_tune_plot *plot = setup->plot;
  setup->plot = NULL;
  return plot ? clpi_tune_plot_finish(plot, &report) : CLPI_EXIT_SUCCESS;
}

static clp_status tune(tune_setup *setup, trace_tune_options *options)
{
  clp_status status = CLP_SUCCESS;
  if (setup->arguments.common.fits_scale)
    status =
        clpi_replay_find_scale(setup->reader, setup->allocator, &setup->arguments.common.replay);
  if (status)
    return status;
  clpi_progress bar = clpi_progress_begin("trying settings");
  options->replay = clpi_replay_with_bar(&setup->arguments.common.replay, &bar);
  status = trace_tune(setup->reader, options, setup->settings.outcomes, setup->settings.count,
                      &setup->asked);
  options->replay.on_progress = NULL;
  if (!status)
    status = trace_tune_again(setup->reader, options, setup->arguments.objective,
                              setup->settings.outcomes,
                              clpi_tune_candidates(&setup->arguments, &setup->settings));
  clpi_progress_end(&bar);
  return status;
}

static int tune_and_report(tune_setup *setup)
{
  const clpi_tune_arguments *arguments = &setup->arguments;
  trace_tune_options options = {
      .model = setup->allocator,
      .costs = setup->table,
      .threads = arguments->threads,
  };
  clpi_tune_list_settings(arguments, !trace_tune_estimate_has_parts(setup->table),
                          &setup->settings);
  clp_status status = tune(setup, &options);
  if (status)
    return clpi_simulation_failed(status);
  clpi_tell_left_out(setup->reader);
  if (setup->asked.allocations > 0)
    return report(setup, &options);
  return clpi_nothing_to("tune", setup->reader);
}

/* What a simulated device would cost is that of buffers that exist, or else what there is. */
static const trace_cost_table *find_table(const tune_setup *setup)
{
  clpi_allocator_kind kind = setup->arguments.common.allocator.kind;
  if (kind != CLPI_ALLOCATOR_SIMULATED)
    return trace_costs_find(setup->costs, clpi_allocator_names[kind]);
  const trace_cost_table *table =
      trace_costs_find(setup->costs, clpi_allocator_names[CLPI_ALLOCATOR_CL_IMMEDIATE]);
  return table || setup->costs->count == 0 ? table : &setup->costs->tables[0];
}

static int open_costs(tune_setup *setup)
{
  const clpi_tune_arguments *arguments = &setup->arguments;
  bool is_simulated = arguments->common.allocator.kind == CLPI_ALLOCATOR_SIMULATED;
  const char *source = arguments->cost ? arguments->cost : is_simulated ? usual_costs : "measure";
  setup->costs = calloc(1, sizeof(*setup->costs));
  if (!setup->costs) {
    clpi_complain("no host memory for costs");
    return CLPI_EXIT_FAILED;
  }
  int code = clpi_costs_open(source, &arguments->common.allocator, setup->costs);
  if (code)
    return code;
  setup->table = find_table(setup);
  if (setup->table && setup->table->curves[TRACE_COST_ALLOCATE].count == 0)
    clpi_complain("warning: %s does not say what it costs to allocate: times are the host's alone",
                  source);
  if (!setup->table)
    return clpi_misuse("%s: there are no costs of %s in it", source,
                       clpi_allocator_names[arguments->common.allocator.kind]);
  snprintf(setup->cost_words, sizeof(setup->cost_words), "%s, %s%s%s%s", setup->table->allocator,
           strcmp(source, "measure") == 0 ? "measured now" : source,
           setup->costs->device[0] ? " (" : "", setup->costs->device,
           setup->costs->device[0] ? ")" : "");
  return CLPI_EXIT_SUCCESS;
}

static int open_and_tune(tune_setup *setup)
{
  const clpi_tune_arguments *arguments = &setup->arguments;
  int code = clpi_open_trace(&arguments->common, NULL, &setup->reader);
  if (code)
    return code;
  if (arguments->plot)
    code = clpi_tune_plot_begin(arguments->plot, arguments->common.trace, &setup->plot);
  if (!code)
    code =
        clpi_allocator_open(&arguments->common.allocator, &setup->allocator, &setup->device_name);
  if (!code)
    code = clpi_read_parts(&setup->arguments.common, setup->allocator);
  if (!code)
    code = open_costs(setup);
  return code ? code : tune_and_report(setup);
}

static int run(int argc, char **argv)
{
  tune_setup setup = {0};
  int code = clpi_tune_arguments_read(argc, argv, &setup.arguments);
  if (code)
    return code;
  if (setup.arguments.common.wants_help) {
    fputs(help_text, stdout);
    return CLPI_EXIT_SUCCESS;
  }
  clpi_show_remarks();
  code = open_and_tune(&setup);
  clpi_tune_plot_discard(setup.plot);
  trace_close(setup.reader);
  clp_allocator_release(setup.allocator);
  free(setup.costs);
  free(setup.device_name);
  return code;
}

const clpi_command clpi_tune_command = {
    .name = "tune",
    .summary = "recommend a pool's settings for a recorded program",
    .help = help_text,
    .run = run,
};
