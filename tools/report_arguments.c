/* SPDX-License-Identifier: MIT */
/* Reading the arguments of clpool report, and refusing those that cannot go together. */
#include "report_arguments.h"

#include "arguments.h"
#include "output_file.h"
#include "program.h"

#include <string.h>

enum { OPTION_OUTPUT = 'o', OPTION_PERFETTO = CLPI_OPTION_OWN, OPTION_VERSUS };

static const struct option options[] = {
    {"arena", no_argument, NULL, CLPI_OPTION_ARENA},
    {"capacity", required_argument, NULL, CLPI_OPTION_CAPACITY},
    {"help", no_argument, NULL, CLPI_OPTION_HELP},
    {"json", no_argument, NULL, CLPI_OPTION_JSON},
    {"leading-bits", required_argument, NULL, CLPI_OPTION_LEADING_BITS},
    {"lenient", no_argument, NULL, CLPI_OPTION_LENIENT},
    {"limit", required_argument, NULL, CLPI_OPTION_LIMIT},
    {"output", required_argument, NULL, OPTION_OUTPUT},
    {"perfetto", required_argument, NULL, OPTION_PERFETTO},
    {"scale", required_argument, NULL, CLPI_OPTION_SCALE},
    {"slack", required_argument, NULL, CLPI_OPTION_SLACK},
    {"versus", no_argument, NULL, OPTION_VERSUS},
    {0},
};

static clpi_report_setting *newest_setting(clpi_report_arguments *arguments)
{
  return &arguments->settings[arguments->setting_count - 1];
}

static void begin_setting(clpi_report_arguments *arguments)
{
  const clp_pool_options pool = TRACE_POOL_OPTIONS_INIT;
  const clp_arena_options arena = TRACE_ARENA_OPTIONS_INIT;
  arguments->setting_count++;
  *newest_setting(arguments) =
      (clpi_report_setting){.leading_bits = pool.leading_bits_in_bin_id, .slack = arena.slack};
}

static int begin_second_setting(clpi_report_arguments *arguments)
{
  if (arguments->setting_count == CLPI_MOST_REPORTS)
    return clpi_misuse("--versus begins the second setting, and there is no third");
  begin_setting(arguments);
  return CLPI_EXIT_SUCCESS;
}

static int check_settings(const clpi_report_arguments *arguments)
{
  for (size_t i = 0; i < arguments->setting_count; i++)
    if (arguments->settings[i].has_slack && !arguments->settings[i].on_arena)
      return clpi_misuse("--slack is of the arena: it needs --arena");
  return CLPI_EXIT_SUCCESS;
}

static int read_option(int option, clpi_report_arguments *arguments)
{
  clpi_report_setting *setting = newest_setting(arguments);
  switch (option) {
  case CLPI_OPTION_ARENA:
    setting->on_arena = true;
    return CLPI_EXIT_SUCCESS;
  case CLPI_OPTION_LEADING_BITS:
    return clpi_read_leading_bits_option(optarg, &setting->leading_bits);
  case CLPI_OPTION_SLACK:
    setting->has_slack = true;
    return clpi_read_slack_option(optarg, &setting->slack);
  case OPTION_VERSUS:
    return begin_second_setting(arguments);
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
  if (perfetto && arguments->setting_count > 1)
    return clpi_misuse("--perfetto shows one setting: it cannot go with --versus");
  return CLPI_EXIT_SUCCESS;
}

int clpi_report_arguments_read(int argc, char **argv, clpi_report_arguments *arguments)
{
  *arguments = (clpi_report_arguments){.common = CLPI_TRACE_ARGUMENTS_INIT};
  begin_setting(arguments);
  int option;
  while ((option = clpi_next_option(argc, argv, ":o:", options)) != -1) {
    int failed = read_option(option, arguments);
    if (failed || arguments->common.wants_help)
      return failed;
  }
  int failed = clpi_read_trace_argument("report", argc, argv, &arguments->common.trace);
  if (!failed)
    failed = check_settings(arguments);
  return failed ? failed : check_outputs(arguments);
}
