/* SPDX-License-Identifier: MIT */
/* Reading the arguments of clpool bench, and refusing those that cannot go together. */
#include "bench_arguments.h"

#include "arguments.h"
#include "output_file.h"
#include "program.h"

#include <string.h>

enum { OPTION_OUTPUT = 'o', OPTION_ALLOCATOR = 256, OPTION_DEVICE, OPTION_HELP, OPTION_JSON };

static const struct option options[] = {
    {"allocator", required_argument, NULL, OPTION_ALLOCATOR},
    {"device", required_argument, NULL, OPTION_DEVICE},
    {"help", no_argument, NULL, OPTION_HELP},
    {"json", no_argument, NULL, OPTION_JSON},
    {"output", required_argument, NULL, OPTION_OUTPUT},
    {0},
};

static int read_allocator(const char *text, clpi_bench_arguments *arguments)
{
  clpi_allocator_kind kind;
  int failed = clpi_find_allocator(text, &kind);
  if (failed)
    return failed;
  if (kind == CLPI_ALLOCATOR_SIMULATED)
    return clpi_misuse("the simulated allocator has no device, so nothing can be measured on it");
  arguments->kinds |= 1U << kind;
  return CLPI_EXIT_SUCCESS;
}

static int read_option(int option, clpi_bench_arguments *arguments)
{
  switch (option) {
  case OPTION_ALLOCATOR:
    return read_allocator(optarg, arguments);
  case OPTION_DEVICE:
    return clpi_choose_device(&arguments->choice, optarg);
  case OPTION_HELP:
    arguments->wants_help = true;
    return CLPI_EXIT_SUCCESS;
  case OPTION_JSON:
    arguments->as_json = true;
    return CLPI_EXIT_SUCCESS;
  case OPTION_OUTPUT:
    arguments->output = optarg;
    return CLPI_EXIT_SUCCESS;
  default: /* clpi_next_option complained */
    return CLPI_EXIT_MISUSE;
  }
}

/* Options that would have no effect are refused: they were not meant so. */
static int check_together(const clpi_bench_arguments *arguments)
{
  int failed = clpi_check_devices(
      &arguments->choice, arguments->kinds ? arguments->kinds : 1U << CLPI_ALLOCATOR_CL_IMMEDIATE);
  if (failed)
    return failed;
  if (arguments->as_json && arguments->output && clpi_output_file_is_stdout(arguments->output))
    return clpi_misuse("only one of -o - and --json can have standard output");
  return CLPI_EXIT_SUCCESS;
}

int clpi_bench_arguments_read(int argc, char **argv, clpi_bench_arguments *arguments)
{
  *arguments = (clpi_bench_arguments){0};
  int option;
  while ((option = clpi_next_option(argc, argv, ":o:", options)) != -1) {
    int failed = read_option(option, arguments);
    if (failed || arguments->wants_help)
      return failed;
  }
  if (optind < argc)
    return clpi_misuse("there is no argument \"%s\" (see clpool bench --help)", argv[optind]);
  return check_together(arguments);
}
