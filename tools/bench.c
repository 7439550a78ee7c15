/* SPDX-License-Identifier: MIT */
/* clpool bench: what a device's memory costs, as tables and as the file that clpool tune reads. */
#include "bench_arguments.h"
#include "bench_report.h"
#include "measure.h"
#include "output_file.h"
#include "program.h"
#include "trace/costs.h"

#include <clpool/version.h>
#include <stdlib.h>

static const char help_text[] =
    "Usage: clpool bench [OPTION]...\n"
    "Measures what memory costs on this machine: taking it from the device and giving it\n"
    "back, writing to it for the first time and again, by size; parts of buffers, and the\n"
    "pairs of allocation and release that a pool and an arena make of that. Figures are\n"
    "medians, the least of three rounds. An allocator takes about two seconds and at most\n"
    "128 MiB.\n"
    "\n"
    "Options:\n"
    "  --allocator=NAME     what to measure, as often as you like: host, cl-deferred,\n"
    "                       cl-immediate, cl-svm, cuda-async; host and what the OpenCL\n"
    "                       device has by default\n"
    "  --device=P.D         the OpenCL device, as clpool info numbers them; by default a\n"
    "                       GPU if there is one\n"
    "  --device=N           the CUDA device; 0 by default. Both may be given\n"
    "  -o, --output=FILE    write the cost file that clpool tune --cost=FILE reads\n"
    "  --json               print one JSON object\n"
    "  --help               print this help\n"
    "FILE \"-\" is standard output. The file appears when it is complete.\n"
    "\n"
    "Examples:\n"
    "  clpool bench\n"
    "  clpool bench --device=1.0 -o my-gpu.csv\n"
    "  clpool bench --allocator=cuda-async --allocator=cl-immediate --device=1.0 --device=0\n";

/* The host, and what the OpenCL device has; where there is none, and none was asked for, the host
 * alone. */
static int choose_usual(const clpi_bench_arguments *arguments, bool wanted[CLPI_ALLOCATOR_KINDS])
{
  clpi_platforms platforms;
  int code = clpi_platforms_read(&platforms);
  if (code)
    return code;
  const clpi_device *device = clpi_find_device(&platforms, arguments->device);
  bool tries_device = device || arguments->device.is_given;
  wanted[CLPI_ALLOCATOR_HOST] = true;
  wanted[CLPI_ALLOCATOR_CL_DEFERRED] = tries_device;
  wanted[CLPI_ALLOCATOR_CL_IMMEDIATE] = tries_device;
  wanted[CLPI_ALLOCATOR_CL_SVM] = device && device->svm_count > 0;
  if (!tries_device)
    clpi_complain("remark: %s, so the host alone is measured",
                  clpi_has_opencl ? "there is no OpenCL device"
                                  : "this clpool was built without OpenCL");
  if (device && device->svm_count == 0)
    clpi_complain("remark: %s has no shared virtual memory, so cl-svm is left out",
                  device->name ? device->name : "the device");
  clpi_platforms_free(&platforms);
  return CLPI_EXIT_SUCCESS;
}

static int measure_all(const clpi_bench_arguments *arguments, trace_costs *costs)
{
  bool usual[CLPI_ALLOCATOR_KINDS] = {false};
  const bool *wanted = arguments->names_allocators ? arguments->wanted : usual;
  int code = arguments->names_allocators ? CLPI_EXIT_SUCCESS : choose_usual(arguments, usual);
  for (clpi_allocator_kind kind = 0; kind < CLPI_ALLOCATOR_KINDS && !code; kind++)
    if (wanted[kind])
      code = clpi_measure_costs(&(clpi_allocator_choice){.kind = kind,
                                                         .device = arguments->device,
                                                         .ordinal = arguments->ordinal},
                                costs);
  return code;
}

static int measure_and_report(const clpi_bench_arguments *arguments, clpi_output_file **file,
                              trace_costs *costs)
{
  int code = measure_all(arguments, costs);
  if (code)
    return code;
  bool has_stdout = *file && clpi_output_file_is_stdout(arguments->output);
  if (*file) {
    fprintf(clpi_output_file_stream(*file), "# measured by clpool bench %s\n", clp_version());
    trace_costs_write(costs, clpi_output_file_stream(*file));
    code = clpi_output_file_finish(*file);
    *file = NULL;
  }
  if (code || has_stdout)
    return code;
  if (arguments->as_json)
    clpi_bench_print_json(costs);
  else
    clpi_bench_print(costs);
  return CLPI_EXIT_SUCCESS;
}

static int run(int argc, char **argv)
{
  clpi_bench_arguments arguments;
  clpi_output_file *file = NULL;
  int code = clpi_bench_arguments_read(argc, argv, &arguments);
  if (code)
    return code;
  if (arguments.wants_help) {
    fputs(help_text, stdout);
    return CLPI_EXIT_SUCCESS;
  }
  trace_costs *costs = calloc(1, sizeof(*costs));
  if (!costs) {
    clpi_complain("no host memory for costs");
    return CLPI_EXIT_FAILED;
  }
  if (arguments.output)
    code = clpi_output_file_create(arguments.output, &file);
  if (!code)
    code = measure_and_report(&arguments, &file, costs);
  clpi_output_file_discard(file);
  free(costs);
  return code;
}

const clpi_command clpi_bench_command = {
    .name = "bench",
    .summary = "measure what memory costs on this machine, for clpool tune",
    .help = help_text,
    .run = run,
};
