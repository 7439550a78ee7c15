/* SPDX-License-Identifier: MIT */
/* Reading the arguments of clpool tune, and refusing those that cannot go together. */
#include "tune_arguments.h"

#include "allocators.h"
#include "arguments.h"
#include "output_file.h"
#include "program.h"
#include "quantities.h"

#include <string.h>

enum {
  OPTION_ALLOCATOR = 256,
  OPTION_COST,
  OPTION_HELP,
  OPTION_JSON,
  OPTION_LENIENT,
  OPTION_LIMIT,
  OPTION_TIME
};

enum { USUAL_NS = 500, MOST_NS = 1000000000 };

static const struct option options[] = {
    {"allocator", required_argument, NULL, OPTION_ALLOCATOR},
    {"cost", required_argument, NULL, OPTION_COST},
    {"help", no_argument, NULL, OPTION_HELP},
    {"json", no_argument, NULL, OPTION_JSON},
    {"lenient", no_argument, NULL, OPTION_LENIENT},
    {"limit", required_argument, NULL, OPTION_LIMIT},
    {"plot", required_argument, NULL, 'o'},
    {"time", required_argument, NULL, OPTION_TIME},
    {0},
};

static int read_time(const char *text, unsigned *most_ns)
{
  if (clpi_read_unsigned(text, MOST_NS, most_ns))
    return CLPI_EXIT_SUCCESS;
  return clpi_misuse("--time: expected nanoseconds, a number from 0 to %d, found \"%s\"", MOST_NS,
                     text);
}

static int read_plot(const char *text, const char **plot)
{
  const size_t length = strlen(text), ending = strlen(".svg");
  *plot = text;
  if (length > ending && strcmp(text + length - ending, ".svg") == 0)
    return CLPI_EXIT_SUCCESS;
  return clpi_misuse(
      "--plot draws SVG, so name it FILE.svg, not \"%s\" (rsvg-convert makes PNG and "
      "PDF of it)",
      text);
}

static int read_option(int option, clpi_tune_arguments *arguments)
{
  clpi_allocator_kind kind;
  switch (option) {
  case OPTION_ALLOCATOR:
    arguments->allocator = optarg;
    return clpi_find_allocator(optarg, &kind);
  case OPTION_COST:
    arguments->cost = optarg;
    return CLPI_EXIT_SUCCESS;
  case OPTION_HELP:
    arguments->wants_help = true;
    return CLPI_EXIT_SUCCESS;
  case OPTION_JSON:
    arguments->as_json = true;
    return CLPI_EXIT_SUCCESS;
  case OPTION_LENIENT:
    arguments->is_lenient = true;
    return CLPI_EXIT_SUCCESS;
  case OPTION_LIMIT:
    return clpi_read_bytes_option("--limit", optarg, 0, &arguments->limit_bytes);
  case 'o':
    return read_plot(optarg, &arguments->plot);
  case OPTION_TIME:
    return read_time(optarg, &arguments->most_ns);
  default:
    return CLPI_EXIT_MISUSE; /* as clpi_next_option said */
  }
}

static int check_inputs(const clpi_tune_arguments *arguments)
{
  size_t from_stdin = strcmp(arguments->cost, "-") == 0;
  if (arguments->trace_count == 0)
    return clpi_misuse("the trace is missing (see clpool tune --help)");
  for (size_t i = 0; i < arguments->trace_count; i++)
    from_stdin += strcmp(arguments->traces[i], "-") == 0;
  if (from_stdin > 1)
    return clpi_misuse("only one of the traces and --cost can be standard input");
  return CLPI_EXIT_SUCCESS;
}

static int check_plot(const clpi_tune_arguments *arguments)
{
  if (!arguments->plot)
    return CLPI_EXIT_SUCCESS;
  if (clpi_output_file_is_stdout(arguments->plot))
    return clpi_misuse("--plot cannot go to standard output, which has the figures");
  for (size_t i = 0; i < arguments->trace_count; i++)
    if (clpi_output_file_is_same(arguments->plot, arguments->traces[i]))
      return clpi_misuse("--plot names the trace itself, \"%s\"", arguments->plot);
  return CLPI_EXIT_SUCCESS;
}

int clpi_tune_arguments_read(int argc, char **argv, clpi_tune_arguments *arguments)
{
  *arguments = (clpi_tune_arguments){.cost = "nvidia-h200", .most_ns = USUAL_NS};
  int option;
  while ((option = clpi_next_option(argc, argv, ":o:", options)) != -1) {
    int failed = read_option(option, arguments);
    if (failed || arguments->wants_help)
      return failed;
  }
  arguments->traces = argv + optind;
  arguments->trace_count = (size_t)(argc - optind);
  int failed = check_inputs(arguments);
  return failed ? failed : check_plot(arguments);
}
