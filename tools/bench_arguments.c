/* SPDX-License-Identifier: MIT */
/* Reading the arguments of clpool bench, and refusing those that cannot go together. */
#include "bench_arguments.h"

#include "arguments.h"
#include "output_file.h"
#include "program.h"
#include "quantities.h"

#include <stdlib.h>
#include <string.h>

enum {
  OPTION_OUTPUT = 'o',
  OPTION_ALLOCATOR = 256,
  OPTION_DEVICE,
  OPTION_HELP,
  OPTION_JSON,
  OPTION_SIZES,
  OPTION_TIME
};

static const struct option options[] = {
    {"allocator", required_argument, NULL, OPTION_ALLOCATOR},
    {"device", required_argument, NULL, OPTION_DEVICE},
    {"help", no_argument, NULL, OPTION_HELP},
    {"json", no_argument, NULL, OPTION_JSON},
    {"output", required_argument, NULL, OPTION_OUTPUT},
    {"sizes", required_argument, NULL, OPTION_SIZES},
    {"time", required_argument, NULL, OPTION_TIME},
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

static bool is_among(const clpi_measure_options *measure, size_t bytes)
{
  for (size_t i = 0; i < measure->size_count; i++)
    if (measure->sizes[i] == bytes)
      return true;
  return false;
}

static int add_size(const char *text, clpi_measure_options *measure)
{
  size_t bytes = 0;
  int failed = clpi_read_bytes_option("--sizes", text, 0, &bytes);
  if (failed)
    return failed;
  if (bytes == 0 || is_among(measure, bytes))
    return clpi_misuse("--sizes: expected each size once, and none of 0 bytes, found \"%s\"", text);
  if (measure->size_count == TRACE_COST_POINTS)
    return clpi_misuse("--sizes: expected at most %d sizes", TRACE_COST_POINTS);
  measure->sizes[measure->size_count++] = bytes;
  return CLPI_EXIT_SUCCESS;
}

static int compare_sizes(const void *one, const void *other)
{
  size_t a = *(const size_t *)one, b = *(const size_t *)other;
  return (a > b) - (a < b);
}

/* "4K,64K,1M" */
static int read_sizes(const char *text, clpi_measure_options *measure)
{
  char *copy = strdup(text), *rest = copy;
  int failed = CLPI_EXIT_SUCCESS;
  if (!copy) {
    clpi_complain("no host memory for arguments");
    return CLPI_EXIT_FAILED;
  }
  measure->size_count = 0;
  while (rest && !failed)
    failed = add_size(strsep(&rest, ","), measure);
  free(copy);
  qsort(measure->sizes, measure->size_count, sizeof(measure->sizes[0]), compare_sizes);
  return failed;
}

static int read_time(const char *text, double *seconds)
{
  static const double most = 3600.0;
  double value;
  if (!clpi_read_factor(text, &value) || value > most)
    return clpi_misuse("--time: expected seconds, above 0 and at most %.0f, found \"%s\"", most,
                       text);
  *seconds = value;
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
  case OPTION_SIZES:
    return read_sizes(optarg, &arguments->measure);
  case OPTION_TIME:
    return read_time(optarg, &arguments->measure.seconds);
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
  *arguments = (clpi_bench_arguments){.measure = clpi_measure_usual};
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
