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

static int measure_kinds(const clpi_bench_arguments *arguments, unsigned kinds, trace_costs *costs)
{
  clpi_allocator_choice choice = arguments->choice;
  int code = CLPI_EXIT_SUCCESS;
  for (choice.kind = 0; choice.kind < CLPI_ALLOCATOR_KINDS && !code; choice.kind++)
    if (kinds >> choice.kind & 1)
      code = clpi_measure_costs(&choice, costs);
  return code;
}

/* The host, and what the OpenCL device has; where there is none, and none was asked for, the host
 * alone. */
static unsigned choose_usual(const clpi_bench_arguments *arguments)
{
  clpi_devices list = {0};
  clpi_list_opencl(&list);
  const char *given = arguments->choice.devices[CLPI_OPENCL];
  const clpi_device *device = clpi_devices_find(&list, CLPI_OPENCL, given);
  unsigned kinds = 1U << CLPI_ALLOCATOR_HOST;
  if (device || given)
    kinds |= 1U << CLPI_ALLOCATOR_CL_DEFERRED | 1U << CLPI_ALLOCATOR_CL_IMMEDIATE;
  else
    clpi_complain("remark: %s, so the host alone is measured", list.missing[CLPI_OPENCL]);
  if (device && device->svm_count > 0)
    kinds |= 1U << CLPI_ALLOCATOR_CL_SVM;
  else if (device)
    clpi_complain("remark: %s has no shared virtual memory, so cl-svm is left out",
                  *device->name ? device->name : "the device");
  return kinds;
}

static int measure_and_report(const clpi_bench_arguments *arguments, clpi_output_file **file,
                              trace_costs *costs)
{
  unsigned kinds = arguments->kinds ? arguments->kinds : choose_usual(arguments);
  int code = measure_kinds(arguments, kinds, costs);
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
