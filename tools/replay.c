/* SPDX-License-Identifier: MIT */
/* clpool replay: a recorded program's allocations, once more, on an allocator of choice. */
#include "options.h"
#include "progress.h"
#include "replay_report.h"

/* A trace and the allocator it is replayed on. */
typedef struct replay_setup {
  clpi_arguments *arguments;
  trace_batch_source source;
  clpi_opened opened;
} replay_setup;

/* Of a NULL `result`, finds the scale. */
static clp_status replay(replay_setup *setup, const char *label, bool pooled,
                         trace_replay_result *result)
{
  clpi_progress bar = clpi_progress_begin(label);
  trace_replay_options options = setup->arguments->replay;
  options.on_progress = clpi_progress_update;
  options.user_data = &bar;
  options.pooled = pooled;
  clp_status status =
      result ? trace_replay_source(&setup->source, setup->opened.allocator, &options, result)
             : trace_replay_fit_scale(&setup->source, setup->opened.allocator, &options,
                                      &setup->arguments->replay.scale);
  clpi_progress_end(&bar);
  return status;
}

static clp_status replay_all(replay_setup *setup, trace_replay_result results[2])
{
  static const char bare[] = "replay without a pool";
  const clpi_arguments *arguments = setup->arguments;
  clp_status status = CLP_SUCCESS;
  if (arguments->replay.scale <= 0.0)
    status = replay(setup, "fitting the scale", true, NULL);
  if (!status)
    status = replay(setup, arguments->is_bare ? bare : "replay with a pool", !arguments->is_bare,
                    &results[0]);
  if (!status && arguments->compares)
    status = replay(setup, bare, false, &results[1]);
  return status;
}

static int replay_and_report(replay_setup *setup)
{
  const clpi_arguments *arguments = setup->arguments;
  clpi_replay_report report = {.arguments = arguments,
                               .allocator = clpi_allocators[arguments->choice.kind].name,
                               .device_name = setup->opened.device.name};
  const trace_replay_result *result = &report.results[0];
  clp_status status = replay_all(setup, report.results);
  if (status)
    return clpi_failed(status);
  clpi_tell_left_out(setup->source.reader);
  if (result->allocations + result->failures == 0)
    return clpi_nothing_to("replay", setup->source.reader);
  /* of two replays the peaks would be one */
  if (arguments->choice.kind == CLPI_ALLOCATOR_CUDA_ASYNC && !arguments->compares)
    report.peak_reserved_bytes = clpi_cuda_peak_reserved(setup->opened.device.number);
  if (arguments->as_json)
    clpi_print_replay_json(&report);
  else
    clpi_print_replay(&report);
  if (result->allocations > 0)
    return CLPI_EXIT_SUCCESS;
  return clpi_complain("%s: every allocation was refused", setup->source.reader->lines.name);
}

/* Drivers set up much when they are first asked for memory, tens of milliseconds on a GPU: that is
 * no part of what is measured. What fails here fails in the replay, too. */
static void wake(clp_allocator *allocator)
{
  enum { ANY_BYTES = 4096 };
  clp_memory memory;
  if (!clp_allocator_allocate(allocator, ANY_BYTES, &memory))
    (void)clp_allocator_free(allocator, memory, ANY_BYTES);
}

static int run(clpi_arguments *arguments)
{
  replay_setup setup = {.arguments = arguments, .source = {.is_kept = arguments->compares}};
  clpi_show_remarks();
  int code = clpi_open_trace(arguments->traces[0], arguments->is_lenient, &setup.source.reader);
  if (!code)
    code = clpi_allocator_open(&arguments->choice, &setup.opened);
  if (!code)
    code = clpi_set_limit(arguments, trace_device_bytes(setup.opened.allocator));
  if (!code) {
    wake(setup.opened.allocator);
    code = replay_and_report(&setup);
  }
  trace_close(setup.source.reader);
  trace_batch_source_end(&setup.source);
  clpi_allocator_close(&setup.opened);
  return code;
}

const clpi_command clpi_replay_command = {
    .bit = CLPI_REPLAY,
    .name = "replay",
    .operands = CLPI_ONE_TRACE,
    .summary = "replay a recorded program's allocations and measure them",
    .usage = "TRACE [OPTION]...",
    .about =
        "Replays a recorded program's allocations through a pool and measures them. TRACE is a\n"
        "CSV file that clpool record, CLPOOL_TRACE or RMM wrote, possibly gzipped; \"-\" is\n"
        "standard input.\n",
    .examples = "  clpool replay trace.csv.gz\n"
                "  clpool replay trace.csv.gz --leading-bits=2 --json\n"
                "  clpool replay trace.csv.gz --arena\n"
                "  clpool replay trace.csv.gz --allocator=cl-immediate --scale=auto --compare\n"
                "  zcat trace.csv.gz | clpool replay - --allocator=host --limit=2G\n",
    .run = run,
};
