/* SPDX-License-Identifier: MIT */
/* The options of commands that replay a trace. */
#include "trace_arguments.h"

#include "arguments.h"
#include "program.h"
#include "quantities.h"
#include "trace/model_device.h"

#include <clpool/bytes.h>
#include <inttypes.h>

int clpi_read_part_option(const char *option, const char *text, size_t *bytes)
{
  if (clp_bytes_parse(text, 0, bytes) == CLP_NOT_SUPPORTED)
    return CLPI_EXIT_SUCCESS;
  return clpi_read_bytes_option(option, text, 0, bytes);
}

int clpi_read_trace_option(int option, clpi_trace_arguments *arguments)
{
  trace_replay_options *replay = &arguments->replay;
  switch (option) {
  case CLPI_OPTION_ALLOCATOR:
    return clpi_find_allocator(optarg, &arguments->allocator.kind);
  case CLPI_OPTION_ARENA:
    replay->on_arena = true;
    return CLPI_EXIT_SUCCESS;
  case CLPI_OPTION_CAPACITY:
    return clpi_read_bytes_option("--capacity", optarg, 0, &arguments->allocator.capacity);
  case CLPI_OPTION_DEVICE:
    return clpi_choose_device(&arguments->allocator, optarg);
  case CLPI_OPTION_HELP:
    arguments->wants_help = true;
    return CLPI_EXIT_SUCCESS;
  case CLPI_OPTION_JSON:
    arguments->as_json = true;
    return CLPI_EXIT_SUCCESS;
  case CLPI_OPTION_LEADING_BITS:
    return clpi_read_leading_bits_option(optarg, &replay->pool_options.leading_bits_in_bin_id);
  case CLPI_OPTION_LENIENT:
    arguments->is_lenient = true;
    return CLPI_EXIT_SUCCESS;
  case CLPI_OPTION_LIMIT:
    arguments->limit = optarg;
    replay->has_limit = true;
    return clpi_read_part_option("--limit", optarg, &replay->limit_bytes);
  case CLPI_OPTION_NO_POOL:
    replay->pooled = false;
    return CLPI_EXIT_SUCCESS;
  case CLPI_OPTION_PASSES:
    return clpi_read_passes_option(optarg, &replay->passes);
  case CLPI_OPTION_SCALE:
    return clpi_read_scale_option(optarg, &arguments->fits_scale, &replay->scale);
  case CLPI_OPTION_SLACK:
    return clpi_read_slack_option(optarg, &replay->arena_options.slack);
  default:
    return CLPI_EXIT_MISUSE;
  }
}

int clpi_read_parts(clpi_trace_arguments *arguments, const clp_allocator *allocator)
{
  trace_replay_options *replay = &arguments->replay;
  size_t device = trace_device_bytes(allocator);
  int code = CLPI_EXIT_SUCCESS;
  if (arguments->limit)
    code = clpi_read_bytes_option("--limit", arguments->limit, device, &replay->limit_bytes);
  if (!code && arguments->reserve)
    code = clpi_read_bytes_option("--reserve", arguments->reserve, device,
                                  &replay->arena_options.reserve_bytes);
  return code;
}

void clpi_tell_left_out(trace_reader *reader)
{
  const trace_notes *notes = trace_reader_notes(reader);
  uint64_t line = notes->first_left_out, count = notes->left_out;
  if (notes->broken_line)
    clpi_complain("remark: %s: line %" PRIu64 ", the last one, has no end and is left out",
                  trace_name(reader), notes->broken_line);
  if (count > 0)
    clpi_complain("remark: %s: %" PRIu64 " free%s of what was allocated before it begins %s left "
                  "out, the first in line %" PRIu64,
                  trace_name(reader), count, count > 1 ? "s" : "", count > 1 ? "are" : "is", line);
}

int clpi_nothing_to(const char *command, const trace_reader *reader)
{
  clpi_complain("%s: no allocation is recorded there, so there is nothing to %s",
                trace_name(reader), command);
  return CLPI_EXIT_FAILED;
}

int clpi_open_trace(const clpi_trace_arguments *arguments, const char *rereads,
                    trace_reader **reader)
{
  clp_status status = trace_open(arguments->trace, reader);
  if (status)
    return clpi_failed(status);
  trace_reader_notes(*reader)->is_lenient = arguments->is_lenient;
  if (!rereads && arguments->fits_scale)
    rereads = "--scale=auto";
  if (!rereads && arguments->replay.passes > 1)
    rereads = "--passes";
  if (rereads && !trace_can_rewind(*reader))
    return clpi_misuse("%s: cannot be read twice, as %s needs", trace_name(*reader), rereads);
  return CLPI_EXIT_SUCCESS;
}
