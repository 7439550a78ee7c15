/* SPDX-License-Identifier: MIT */
/* clpool replay: a recorded program's allocations, once more, on an allocator of choice. */
#include "trace/replay.h"
#include "allocators.h"
#include "measured.h"
#include "program.h"
#include "progress.h"
#include "replay_arguments.h"
#include "replay_report.h"
#include "replay_setup.h"
#include "trace/reader.h"

#include <stdio.h>
#include <stdlib.h>

static const char help_text[] =
    "Usage: clpool replay TRACE [OPTION]...\n"
    "Replays a recorded program's allocations through a pool and measures them. TRACE is a\n"
    "CSV log as clpool record, CLPOOL_TRACE and RMM write it, with columns Action, Pointer,\n"
    "Size and others; it may be gzipped, and \"-\" is standard input.\n"
    "\n"
    "Options:\n"
    "  --allocator=NAME     where the memory comes from: host, simulated (the default:\n"
    "                       no memory at all), cl-deferred, cl-immediate, cl-svm,\n"
    "                       cuda-async\n"
    "  --device=P.D         the OpenCL device, as clpool info numbers them; by default a\n"
    "                       GPU if there is one\n"
    "  --device=N           the CUDA device; 0 by default\n"
    "  --capacity=BYTES     the memory of the simulated device; without it, no bound\n"
    "  --arena              carve the blocks from big segments of that memory\n"
    "  --slack=F            how much of the highest use the arena may keep beyond it, 0 to 1;\n"
    "                       0.016 by default\n"
    "  --reserve=BYTES      taken by the arena at once, and kept; 0 by default\n"
    "  --several-threads    an arena for programs whose threads all give work to queues:\n"
    "                       one_thread is false, which matters on NVIDIA's OpenCL\n"
    "  --leading-bits=B     leading_bits_in_bin_id of the pool, 0 to 16; 4 by default. With\n"
    "                       --arena they matter for cl-deferred and cl-immediate alone\n"
    "  --lenient            leave out frees of what was allocated before the trace begins\n"
    "  --limit=BYTES        the pool's limit; 0 for none\n"
    "  --no-pool            the bare allocator\n"
    "  --compare            with and without a pool, side by side\n"
    "  --scale=F            multiply every size by F; auto: by the largest power of two, at\n"
    "                       most 1, with which the pool needs at most a quarter of the\n"
    "                       device\n"
    "  --touch              write to all that is allocated, as programs do; timed, too\n"
    "  --passes=N           replay the trace N times in the same pool, and time the last\n"
    "  --json               print one JSON object; with --compare, the two results are its\n"
    "                       members pooled and bare\n"
    "  --help               print this help\n"
    "BYTES may be 512M, 1.5G or 4GiB; the limit and the reserve may be a part of the device's\n"
    "memory, 40%.\n"
    "\n"
    "Examples:\n"
    "  clpool replay trace.csv.gz\n"
    "  clpool replay trace.csv.gz --leading-bits=2 --json\n"
    "  clpool replay trace.csv.gz --arena\n"
    "  clpool replay trace.csv.gz --allocator=cl-immediate --scale=auto --compare\n"
    "  zcat trace.csv.gz | clpool replay - --allocator=host --limit=2G\n";

/* A trace and the allocator it is replayed on. */
typedef struct replay_setup {
  clpi_replay_arguments arguments;
  trace_reader *reader;
  clpi_measured memory;
} replay_setup;

static clp_status touch(clp_memory memory, size_t bytes, uint32_t word, void *user_data)
{
  const clpi_measured *measured = user_data;
  (void)word;
  if (measured->fill(&measured->opened, &memory, 1, bytes))
    return clp_set_last_error(CLP_BACKEND_ERROR, 0, "what is allocated cannot be written to");
  return CLP_SUCCESS;
}

static clp_status replay(const replay_setup *setup, bool pooled, trace_replay_result *result)
{
  clpi_progress bar = clpi_progress_begin(pooled ? "replay with a pool" : "replay without a pool");
  trace_replay_options options = clpi_replay_with_bar(&setup->arguments.common.replay, &bar);
  trace_replay_contents contents = {.fill = touch, .user_data = (void *)&setup->memory};
  options.pooled = pooled;
  options.contents = setup->arguments.touches ? &contents : NULL;
  clp_status status = trace_replay(setup->reader, setup->memory.opened.allocator, &options, result);
  clpi_progress_end(&bar);
  return status;
}

static clp_status compare(const replay_setup *setup, trace_replay_result *pooled,
                          trace_replay_result *bare)
{
  clp_status status = replay(setup, true, pooled);
  if (!status)
    status = trace_rewind(setup->reader);
  if (!status)
    status = replay(setup, false, bare);
  return status;
}

/* `bare` is the second result of --compare. */
static void report(const replay_setup *setup, const trace_replay_result *result,
                   const trace_replay_result *bare)
{
  const clpi_replay_arguments *arguments = &setup->arguments;
  bool pooled = arguments->common.replay.pooled;
  const clpi_allocator_row *allocator = &clpi_allocators[arguments->common.allocator.kind];
  clpi_replay_subject subject = {
      .trace = arguments->common.trace,
      .allocator = allocator->name,
      .device_name = setup->memory.opened.device.name,
      .is_simulated = arguments->common.allocator.kind == CLPI_ALLOCATOR_SIMULATED,
      .leading_bits = arguments->common.replay.pool_options.leading_bits_in_bin_id,
      .scale = arguments->common.replay.scale,
      .on_arena = arguments->common.replay.on_arena,
      .carves = arguments->common.replay.on_arena && allocator->has_addresses,
      .slack = arguments->common.replay.arena_options.slack,
      .reserve_bytes = arguments->common.replay.arena_options.reserve_bytes,
      .passes = arguments->common.replay.passes ? arguments->common.replay.passes : 1,
  };
  if (allocator->backend == CLPI_CUDA &&
      !arguments->compares) /* of two replays the peaks would be one */
    subject.peak_reserved_bytes = clpi_cuda_peak_reserved(setup->memory.opened.device.number);
  if (arguments->compares && arguments->common.as_json)
    clpi_report_comparison_json(&subject, result, bare);
  else if (arguments->compares)
    clpi_report_comparison(&subject, result, bare);
  else if (arguments->common.as_json)
    clpi_report_replay_json(&subject, result, pooled);
  else
    clpi_report_replay(&subject, result, pooled);
}

static int failed(const replay_setup *setup, clp_status status)
{
  bool is_simulated = setup->arguments.common.allocator.kind == CLPI_ALLOCATOR_SIMULATED;
  return is_simulated ? clpi_simulation_failed(status) : clpi_failed(status);
}

static int measure(replay_setup *setup)
{
  const clpi_replay_arguments *arguments = &setup->arguments;
  trace_replay_result result, bare;
  clp_status status = CLP_SUCCESS;
  if (arguments->common.fits_scale)
    status = clpi_replay_find_scale(setup->reader, setup->memory.opened.allocator,
                                    &setup->arguments.common.replay);
  if (!status)
    status = arguments->compares ? compare(setup, &result, &bare)
                                 : replay(setup, arguments->common.replay.pooled, &result);
  if (status)
    return failed(setup, status);
  clpi_tell_left_out(setup->reader);
  if (result.allocations + result.failures == 0)
    return clpi_nothing_to("replay", setup->reader);
  report(setup, &result, &bare);
  if (result.allocations > 0 || result.failures == 0)
    return CLPI_EXIT_SUCCESS;
  clpi_complain("%s: every allocation was refused", trace_name(setup->reader));
  return CLPI_EXIT_FAILED;
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

static int open_and_measure(replay_setup *setup)
{
  const clpi_replay_arguments *arguments = &setup->arguments;
  int code =
      clpi_open_trace(&arguments->common, arguments->compares ? "--compare" : NULL, &setup->reader);
  if (code)
    return code;
  code = clpi_measured_open(&arguments->common.allocator, &setup->memory);
  if (code)
    return code;
  if (arguments->touches && !setup->memory.fill)
    return clpi_misuse("--touch: there is no way to write to memory of %s here",
                       clpi_allocators[arguments->common.allocator.kind].name);
  code = clpi_read_parts(&setup->arguments.common, setup->memory.opened.allocator);
  if (code)
    return code;
  wake(setup->memory.opened.allocator);
  return measure(setup);
}

static int run(int argc, char **argv)
{
  replay_setup setup = {0};
  int code = clpi_replay_arguments_read(argc, argv, &setup.arguments);
  if (code)
    return code;
  if (setup.arguments.common.wants_help) {
    fputs(help_text, stdout);
    return CLPI_EXIT_SUCCESS;
  }
  clpi_show_remarks();
  code = open_and_measure(&setup);
  trace_close(setup.reader);
  clpi_allocator_close(&setup.memory.opened);
  return code;
}

const clpi_command clpi_replay_command = {
    .name = "replay",
    .summary = "replay a recorded program's allocations and measure them",
    .help = help_text,
    .run = run,
};
