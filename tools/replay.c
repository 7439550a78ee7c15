/* SPDX-License-Identifier: MIT */
/* clpool replay: a recorded program's allocations, once more, on an allocator of choice. */
#include "options.h"
#include "progress.h"
#include "replay_report.h"
#include "trace/model_device.h"
#include "trace_input.h"

/* A trace and the allocator it is replayed on. */
typedef struct replay_setup {
  clpi_arguments *arguments;
  trace_reader *reader;
  clpi_opened opened;
} replay_setup;

static clp_status replay(const replay_setup *setup, bool pooled, trace_replay_result *result)
{
  clpi_progress bar = clpi_progress_begin(pooled ? "replay with a pool" : "replay without a pool");
  trace_replay_options options = clpi_replay_with_bar(&setup->arguments->replay, &bar);
  options.pooled = pooled;
  clp_status status = trace_replay(setup->reader, setup->opened.allocator, &options, result);
  clpi_progress_end(&bar);
  return status;
}

static clp_status find_scale(replay_setup *setup)
{
  clpi_progress bar = clpi_progress_begin("fitting the scale");
  trace_replay_options options = clpi_replay_with_bar(&setup->arguments->replay, &bar);
  clp_status status = trace_replay_fit_scale(setup->reader, setup->opened.allocator, &options,
                                             &setup->arguments->replay.scale);
  clpi_progress_end(&bar);
  return status;
}

static clp_status replay_all(replay_setup *setup, clpi_replay_report *report)
{
  const clpi_arguments *arguments = setup->arguments;
  clp_status status = arguments->replay.scale <= 0.0 ? find_scale(setup) : CLP_SUCCESS;
  if (!status)
    status = replay(setup, !arguments->is_bare, &report->results[0]);
  if (!status && arguments->compares)
    status = trace_rewind(setup->reader);
  if (!status && arguments->compares)
    status = replay(setup, false, &report->results[1]);
  return status;
}

static int replay_and_report(replay_setup *setup)
{
  const clpi_arguments *arguments = setup->arguments;
  clpi_replay_report report = {.arguments = arguments,
                               .allocator = clpi_allocators[arguments->choice.kind].name,
                               .device_name = setup->opened.device.name};
  const trace_replay_result *result = &report.results[0];
  clp_status status = replay_all(setup, &report);
  if (status)
    return clpi_failed(status);
  clpi_tell_left_out(setup->reader);
  if (result->allocations + result->failures == 0)
    return clpi_nothing_to("replay", setup->reader);
  /* of two replays the peaks would be one */
  if (arguments->choice.kind == CLPI_ALLOCATOR_CUDA_ASYNC && !arguments->compares)
    report.peak_reserved_bytes = clpi_cuda_peak_reserved(setup->opened.device.number);
  if (arguments->as_json)
    clpi_print_replay_json(&report);
  else
    clpi_print_replay(&report);
  if (result->allocations > 0)
    return CLPI_EXIT_SUCCESS;
  return clpi_complain("%s: every allocation was refused", trace_name(setup->reader));
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

/* --compare, --scale=auto and --passes read the trace several times. */
static int check_rereads(const replay_setup *setup)
{
  const clpi_arguments *arguments = setup->arguments;
  const char *option = arguments->compares              ? "--compare"
                       : arguments->replay.scale <= 0.0 ? "--scale=auto"
                       : arguments->replay.passes > 1   ? "--passes"
                                                        : NULL;
  if (option && !trace_can_rewind(setup->reader))
    return clpi_misuse("%s: cannot be read twice, as %s needs", trace_name(setup->reader), option);
  return CLPI_EXIT_SUCCESS;
}

static int open_and_replay(replay_setup *setup)
{
  clpi_arguments *arguments = setup->arguments;
  int code = clpi_open_trace(arguments->traces[0], arguments->is_lenient, &setup->reader);
  if (!code)
    code = check_rereads(setup);
  if (!code)
    code = clpi_allocator_open(&arguments->choice, &setup->opened);
  if (!code)
    code = clpi_set_limit(arguments, trace_device_bytes(setup->opened.allocator));
  if (code)
    return code;
  wake(setup->opened.allocator);
  return replay_and_report(setup);
}

static int run(clpi_arguments *arguments)
{
  replay_setup setup = {.arguments = arguments};
  clpi_show_remarks();
  int code = open_and_replay(&setup);
  trace_close(setup.reader);
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
        "CSV log as clpool record, CLPOOL_TRACE and RMM write it, with columns Action, Pointer,\n"
        "Size and others; it may be gzipped, and \"-\" is standard input.\n",
    .examples = "  clpool replay trace.csv.gz\n"
                "  clpool replay trace.csv.gz --leading-bits=2 --json\n"
                "  clpool replay trace.csv.gz --arena\n"
                "  clpool replay trace.csv.gz --allocator=cl-immediate --scale=auto --compare\n"
                "  zcat trace.csv.gz | clpool replay - --allocator=host --limit=2G\n",
    .run = run,
};
