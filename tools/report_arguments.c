/* SPDX-License-Identifier: MIT */
/* Reading the arguments of clpool report, and refusing those that cannot go together. */
#include "report_arguments.h"

#include "arguments.h"
#include "output_file.h"
#include "program.h"

#include <getopt.h>
#include <string.h>

enum {
  OPTION_OUTPUT = 'o',
  OPTION_CAPACITY = 256,
  OPTION_FORMAT,
  OPTION_HELP,
  OPTION_JSON,
  OPTION_LEADING_BITS,
  OPTION_LIMIT,
  OPTION_PERFETTO,
  OPTION_SCALE,
  OPTION_TRACE_DEVICE
};

static const struct option options[] = {
    {"capacity", required_argument, NULL, OPTION_CAPACITY},
    {"format", required_argument, NULL, OPTION_FORMAT},
    {"help", no_argument, NULL, OPTION_HELP},
    {"json", no_argument, NULL, OPTION_JSON},
    {"leading-bits", required_argument, NULL, OPTION_LEADING_BITS},
    {"limit", required_argument, NULL, OPTION_LIMIT},
    {"output", required_argument, NULL, OPTION_OUTPUT},
    {"perfetto", required_argument, NULL, OPTION_PERFETTO},
    {"scale", required_argument, NULL, OPTION_SCALE},
    {"trace-device", required_argument, NULL, OPTION_TRACE_DEVICE},
    {0},
};

static int read_option(int option, clpi_report_arguments *arguments)
{
  clpi_replay_options *replay = &arguments->replay;
  switch (option) {
  case OPTION_CAPACITY:
    return clpi_read_bytes_option("--capacity", optarg, &arguments->capacity);
  case OPTION_FORMAT:
    return clpi_read_format_option(optarg, &arguments->format);
  case OPTION_HELP:
    arguments->wants_help = true;
    return CLPI_EXIT_SUCCESS;
  case OPTION_JSON:
    arguments->as_json = true;
    return CLPI_EXIT_SUCCESS;
  case OPTION_LEADING_BITS:
    return clpi_read_leading_bits_option(optarg, &replay->pool_options.leading_bits_in_bin_id);
  case OPTION_LIMIT:
    replay->has_limit = true;
    return clpi_read_bytes_option("--limit", optarg, &replay->limit_bytes);
  case OPTION_OUTPUT:
    arguments->page = optarg;
    return CLPI_EXIT_SUCCESS;
  case OPTION_PERFETTO:
    arguments->perfetto = optarg;
    return CLPI_EXIT_SUCCESS;
  case OPTION_SCALE:
    return clpi_read_scale_option(optarg, &arguments->fits_scale, &replay->scale);
  case OPTION_TRACE_DEVICE:
    arguments->trace_device = optarg;
    return CLPI_EXIT_SUCCESS;
  default: /* getopt_long complained */
    return CLPI_EXIT_MISUSE;
  }
}

static bool is_stdout(const char *path)
{
  return path && clpi_output_file_is_stdout(path);
}

/* Each output needs a place of its own. */
static int check_outputs(const clpi_report_arguments *arguments)
{
  const char *page = arguments->page, *perfetto = arguments->perfetto;
  if (!page && !perfetto && !arguments->as_json)
    return clpi_misuse("where does the report go? Name -o FILE.html, --perfetto=FILE or --json");
  if (is_stdout(page) + is_stdout(perfetto) + arguments->as_json > 1)
    return clpi_misuse("only one of -o -, --perfetto=- and --json can have standard output");
  if (page && perfetto && clpi_output_file_is_same(page, perfetto))
    return clpi_misuse("-o and --perfetto name the same file, \"%s\"", page);
  return CLPI_EXIT_SUCCESS;
}

int clpi_report_arguments_read(int argc, char **argv, clpi_report_arguments *arguments)
{
  *arguments = (clpi_report_arguments){.replay = CLPI_REPLAY_OPTIONS_INIT};
  int option;
  while ((option = getopt_long(argc, argv, "o:", options, NULL)) != -1) {
    int failed = read_option(option, arguments);
    if (failed || arguments->wants_help)
      return failed;
  }
  int failed = clpi_read_trace_argument("report", argc, argv, &arguments->trace);
  return failed ? failed : check_outputs(arguments);
}
