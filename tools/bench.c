/* SPDX-License-Identifier: MIT */
/* clpool bench: what a device's memory costs, as tables and as the file that clpool tune reads. */
#include "bench_report.h"
#include "measure.h"
#include "options.h"
#include "output_file.h"
#include "trace/costs.h"

#include <clpool/version.h>
#include <stdlib.h>

static int measure_wanted(const clpi_arguments *arguments, unsigned wanted, trace_costs *costs)
{
  clpi_allocator_choice choice = arguments->choice;
  int code = CLPI_EXIT_SUCCESS;
  for (choice.kind = 0; choice.kind < CLPI_ALLOCATOR_KINDS && !code; choice.kind++)
    if (wanted >> choice.kind & 1)
      code = clpi_measure_costs(&choice, &clpi_measure_usual, costs);
  return code;
}

/* The host, and what the OpenCL device has; where there is none, and none was asked for, the host
 * alone. */
static int choose_usual(const clpi_arguments *arguments, unsigned *wanted)
{
  clpi_platforms platforms;
  int code = clpi_platforms_read(&platforms);
  if (code)
    return code;
  const clpi_device *device = clpi_find_device(&platforms, arguments->choice.device);
  bool tries_device = device || arguments->choice.device.is_given;
  *wanted = 1U << CLPI_ALLOCATOR_HOST;
  if (tries_device)
    *wanted |= 1U << CLPI_ALLOCATOR_CL_DEFERRED | 1U << CLPI_ALLOCATOR_CL_IMMEDIATE;
  if (device && device->svm_count > 0)
    *wanted |= 1U << CLPI_ALLOCATOR_CL_SVM;
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

static int measure_all(const clpi_arguments *arguments, trace_costs *costs)
{
  unsigned wanted = arguments->allocators;
  int code = wanted ? CLPI_EXIT_SUCCESS : choose_usual(arguments, &wanted);
  return code ? code : measure_wanted(arguments, wanted, costs);
}

static void write_cost_file(FILE *file, const trace_costs *costs)
{
  fprintf(file, "# measured by clpool bench %s\n", clp_version());
  trace_costs_write(costs, file);
}

static int measure_and_report(const clpi_arguments *arguments, clpi_output_file **file,
                              trace_costs *costs)
{
  int code = measure_all(arguments, costs);
  if (code)
    return code;
  if (*file)
    write_cost_file(clpi_output_file_stream(*file), costs);
  bool has_stdout = *file && clpi_output_file_is_stdout(arguments->output);
  code = *file ? clpi_output_file_finish(*file) : CLPI_EXIT_SUCCESS;
  *file = NULL;
  if (code || has_stdout)
    return code;
  if (arguments->as_json)
    clpi_bench_print_json(costs);
  else
    clpi_bench_print(costs);
  return CLPI_EXIT_SUCCESS;
}

static int run(clpi_arguments *arguments)
{
  clpi_output_file *file = NULL;
  if (arguments->allocators >> CLPI_ALLOCATOR_SIMULATED & 1)
    return clpi_misuse("the simulated allocator has no device, so nothing can be measured on it");
  trace_costs *costs = calloc(1, sizeof(*costs));
  if (!costs) {
    clpi_complain("no host memory for costs");
    return CLPI_EXIT_FAILED;
  }
  int code = CLPI_EXIT_SUCCESS;
  if (arguments->output)
    code = clpi_output_file_create(arguments->output, &file);
  if (!code)
    code = measure_and_report(arguments, &file, costs);
  clpi_output_file_discard(file);
  free(costs);
  return code;
}

const clpi_command clpi_bench_command = {
    .bit = CLPI_BENCH,
    .name = "bench",
    .summary = "measure what memory costs on this machine, for clpool tune",
    .usage = "[OPTION]...",
    .about = "Measures what memory costs on this machine, by size: taking it from the device and\n"
             "giving it back, writing to it for the first time and again, parts of buffers, and "
             "the\n"
             "pairs of allocation and release that a pool and an arena make of that. Figures are\n"
             "medians, the least of three rounds. At most an eighth of the device's memory is "
             "taken.\n",
    .examples = "  clpool bench\n"
                "  clpool bench --allocator=cl-immediate --device=1.0 -o my-gpu.csv\n"
                "  clpool bench --allocator=cuda-async --allocator=cl-immediate --device=1.0 "
                "--device=0\n",
    .run = run,
};
