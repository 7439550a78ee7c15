/* SPDX-License-Identifier: MIT */
/* Reading the arguments of clpool bench, and refusing those that cannot go together. */
#include "bench_arguments.h"

#include "arguments.h"
#include "output_file.h"
#include "program.h"

#include <ctype.h>
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

/* The devices that were given. */
typedef struct given_devices {
  const char *opencl, *cuda; /* NULL: not */
} given_devices;

static int read_allocator(const char *text, clpi_bench_arguments *arguments)
{
  clpi_allocator_kind kind;
  int failed = clpi_find_allocator(text, &kind);
  if (failed)
    return failed;
  if (kind == CLPI_ALLOCATOR_SIMULATED)
    return clpi_misuse("the simulated allocator has no device, so nothing can be measured on it");
  arguments->wanted[kind] = true;
  arguments->names_allocators = true;
  return CLPI_EXIT_SUCCESS;
}

/* One of each kind; a point tells them apart. */
static int read_device(const char *text, clpi_bench_arguments *arguments, given_devices *given)
{
  bool is_opencl = strchr(text, '.') != NULL;
  if (!is_opencl && !isdigit((unsigned char)*text))
    return clpi_misuse("--device: expected a device of OpenCL, such as 0.0, or of CUDA, such as 0, "
                       "found \"%s\"",
                       text);
  const char **one = is_opencl ? &given->opencl : &given->cuda;
  if (*one)
    return clpi_misuse("one %s device at a time, but there is \"%s\", too",
                       is_opencl ? "OpenCL" : "CUDA", text);
  *one = text;
  clpi_allocator_choice choice = {.kind = is_opencl ? CLPI_ALLOCATOR_CL_DEFERRED
                                                    : CLPI_ALLOCATOR_CUDA_ASYNC,
                                  .device = arguments->device,
                                  .ordinal = arguments->ordinal};
  int failed = clpi_read_device_option(text, &choice);
  arguments->device = choice.device;
  arguments->ordinal = choice.ordinal;
  return failed;
}

static int read_option(int option, clpi_bench_arguments *arguments, given_devices *given)
{
  switch (option) {
  case OPTION_ALLOCATOR:
    return read_allocator(optarg, arguments);
  case OPTION_DEVICE:
    return read_device(optarg, arguments, given);
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

static bool wants_opencl(const clpi_bench_arguments *arguments)
{
  bool wants = !arguments->names_allocators;
  for (clpi_allocator_kind kind = 0; kind < CLPI_ALLOCATOR_KINDS; kind++)
    wants = wants || (arguments->wanted[kind] && clpi_is_on_device(kind));
  return wants;
}

/* Options that would have no effect are refused: they were not meant so. */
static int check_together(const clpi_bench_arguments *arguments, const given_devices *given)
{
  if (given->opencl && !clpi_has_opencl)
    return clpi_misuse("--device=%s is OpenCL's, which this clpool was built without",
                       given->opencl);
  if (given->opencl && !wants_opencl(arguments))
    return clpi_misuse("--device=%s is OpenCL's: it needs --allocator=cl-deferred, cl-immediate or "
                       "cl-svm",
                       given->opencl);
  if (given->cuda && !arguments->wanted[CLPI_ALLOCATOR_CUDA_ASYNC])
    return clpi_misuse("--device=%s is CUDA's: it needs --allocator=cuda-async", given->cuda);
  if (arguments->as_json && arguments->output && clpi_output_file_is_stdout(arguments->output))
    return clpi_misuse("only one of -o - and --json can have standard output");
  return CLPI_EXIT_SUCCESS;
}

int clpi_bench_arguments_read(int argc, char **argv, clpi_bench_arguments *arguments)
{
  given_devices given = {0};
  *arguments = (clpi_bench_arguments){0};
  int option;
  while ((option = clpi_next_option(argc, argv, ":o:", options)) != -1) {
    int failed = read_option(option, arguments, &given);
    if (failed || arguments->wants_help)
      return failed;
  }
  if (optind < argc)
    return clpi_misuse("there is no argument \"%s\" (see clpool bench --help)", argv[optind]);
  return check_together(arguments, &given);
}
