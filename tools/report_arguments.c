/* SPDX-License-Identifier: MIT */
/* Reading the arguments of clpool report, and refusing those that cannot go together. */
#include "report_arguments.h"

#include "arguments.h"
#include "output_file.h"
#include "program.h"

#include <string.h>

enum { OPTION_OUTPUT = 'o', OPTION_PERFETTO = CLPI_OPTION_OWN };

static const struct option options[] = {
    {"capacity", required_argument, NULL, CLPI_OPTION_CAPACITY},
    {"help", no_argument, NULL, CLPI_OPTION_HELP},
    {"json", no_argument, NULL, CLPI_OPTION_JSON},
    {"leading-bits", required_argument, NULL, CLPI_OPTION_LEADING_BITS},
    {"limit", required_argument, NULL, CLPI_OPTION_LIMIT},
    {"memory", required_argument, NULL, CLPI_OPTION_MEMORY},
    {"output", required_argument, NULL, OPTION_OUTPUT},
    {"perfetto", required_argument, NULL, OPTION_PERFETTO},
    {"scale", required_argument, NULL, CLPI_OPTION_SCALE},
    {0},
};

static int read_option(int option, clpi_report_arguments *arguments)
{
  switch (option) {
  case OPTION_OUTPUT:
    arguments->page = optarg;
    return CLPI_EXIT_SUCCESS;
  case OPTION_PERFETTO:
    arguments->perfetto = optarg;
    return CLPI_EXIT_SUCCESS;
  default:
    return clpi_read_trace_option(option, &arguments->common);
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
  if (!page && !perfetto && !arguments->common.as_json)
    return clpi_misuse("where does the report go? Name -o FILE.html, --perfetto=FILE or --json");
  if (is_stdout(page) + is_stdout(perfetto) + arguments->common.as_json > 1)
    return clpi_misuse("only one of -o -, --perfetto=- and --json can have standard output");
  if (page && perfetto && clpi_output_file_is_same(page, perfetto))
    return clpi_misuse("-o and --perfetto name the same file, \"%s\"", page);
  return CLPI_EXIT_SUCCESS;
}

int clpi_report_arguments_read(int argc, char **argv, clpi_report_arguments *arguments)
{
  *arguments = (clpi_report_arguments){.common = CLPI_TRACE_ARGUMENTS_INIT};
  int option;
  while ((option = clpi_next_option(argc, argv, ":o:", options)) != -1) {
    int failed = read_option(option, arguments);
    if (failed || arguments->common.wants_help)
      return failed;
  }
  int failed = clpi_read_trace_argument("report", argc, argv, &arguments->common.trace);
  return failed ? failed : check_outputs(arguments);
}
