/* SPDX-License-Identifier: MIT */
/* The options of commands that replay a trace. */
#include "trace_arguments.h"

#include "arguments.h"
#include "program.h"
#include "quantities.h"

#include <limits.h>

int clpi_read_trace_option(int option, clpi_trace_arguments *arguments)
{
  clpi_replay_options *replay = &arguments->replay;
  switch (option) {
  case CLPI_OPTION_ALLOCATOR:
    return clpi_find_allocator(optarg, &arguments->allocator.kind);
  case CLPI_OPTION_ARENA:
    replay->on_arena = true;
    return CLPI_EXIT_SUCCESS;
  case CLPI_OPTION_CAPACITY:
    return clpi_read_bytes_option("--capacity", optarg, &arguments->allocator.capacity);
  case CLPI_OPTION_DEVICE:
    arguments->device = optarg;
    return CLPI_EXIT_SUCCESS;
  case CLPI_OPTION_FORMAT:
    return clpi_read_format_option(optarg, &arguments->format);
  case CLPI_OPTION_HELP:
    arguments->wants_help = true;
    return CLPI_EXIT_SUCCESS;
  case CLPI_OPTION_JSON:
    arguments->as_json = true;
    return CLPI_EXIT_SUCCESS;
  case CLPI_OPTION_LEADING_BITS:
    return clpi_read_leading_bits_option(optarg, &replay->pool_options.leading_bits_in_bin_id);
  case CLPI_OPTION_LIMIT:
    replay->has_limit = true;
    return clpi_read_bytes_option("--limit", optarg, &replay->limit_bytes);
  case CLPI_OPTION_NO_POOL:
    replay->pooled = false;
    return CLPI_EXIT_SUCCESS;
  case CLPI_OPTION_PASSES:
    return clpi_read_passes_option(optarg, &replay->passes);
  case CLPI_OPTION_SCALE:
    return clpi_read_scale_option(optarg, &arguments->fits_scale, &replay->scale);
  case CLPI_OPTION_SLACK:
    return clpi_read_slack_option(optarg, &replay->arena_options.slack);
  case CLPI_OPTION_TRACE_DEVICE:
    arguments->trace_device = optarg;
    return CLPI_EXIT_SUCCESS;
  default:
    return CLPI_EXIT_MISUSE;
  }
}

static int read_trace_device(const char *text, clpi_trace_format format, unsigned *device)
{
  if (format != CLPI_TRACE_PYTORCH_SNAPSHOT)
    return clpi_misuse("--trace-device needs --format=pytorch-snapshot-json");
  if (clpi_read_unsigned(text, UINT_MAX, device))
    return CLPI_EXIT_SUCCESS;
  return clpi_misuse("--trace-device: expected a device's number, such as 0, found \"%s\"", text);
}

static int open_reader(const clpi_trace_arguments *arguments, clpi_trace_reader **reader)
{
  const char *device = arguments->trace_device;
  unsigned number = 0;
  int code = device ? read_trace_device(device, arguments->format, &number) : CLPI_EXIT_SUCCESS;
  if (code)
    return code;
  clp_status status = clpi_trace_open(arguments->trace, arguments->format, reader);
  if (status == CLP_NOT_SUPPORTED)
    return clpi_misuse("%s", clp_last_error()->message);
  if (!status && device)
    status = clpi_trace_choose_device(*reader, number);
  return status ? clpi_failed(status) : CLPI_EXIT_SUCCESS;
}

int clpi_open_trace(const clpi_trace_arguments *arguments, const char *rereads,
                    clpi_trace_reader **reader)
{
  int code = open_reader(arguments, reader);
  if (code)
    return code;
  if (!rereads && arguments->fits_scale)
    rereads = "--scale=auto";
  if (!rereads && arguments->replay.passes > 1)
    rereads = "--passes";
  if (rereads && !clpi_trace_can_rewind(*reader))
    return clpi_misuse("%s: cannot be read twice, as %s needs", clpi_trace_name(*reader), rereads);
  return CLPI_EXIT_SUCCESS;
}
