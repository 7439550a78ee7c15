/* SPDX-License-Identifier: MIT */
/* Reading the arguments of clpool report, and refusing those that cannot go together. */
#include "arguments.h"
#include "output_file.h"
#include "program.h"
#include "report.h"

#include <string.h>
#include <strings.h>

enum { OPTION_FILES = CLPI_OPTION_OWN }; /* of them the first is the page */

const char *const clpi_report_options[CLPI_REPORT_FILES] = {"-o", "--perfetto", "--folded"};

static const struct option options[] = {
    {"arena", no_argument, NULL, CLPI_OPTION_ARENA},
    {"capacity", required_argument, NULL, CLPI_OPTION_CAPACITY},
    {"folded", required_argument, NULL, OPTION_FILES + CLPI_REPORT_FOLDED},
    {"help", no_argument, NULL, CLPI_OPTION_HELP},
    {"json", no_argument, NULL, CLPI_OPTION_JSON},
    {"leading-bits", required_argument, NULL, CLPI_OPTION_LEADING_BITS},
    {"lenient", no_argument, NULL, CLPI_OPTION_LENIENT},
    {"limit", required_argument, NULL, CLPI_OPTION_LIMIT},
    {"output", required_argument, NULL, OPTION_FILES},
    {"perfetto", required_argument, NULL, OPTION_FILES + CLPI_REPORT_PERFETTO},
    {"scale", required_argument, NULL, CLPI_OPTION_SCALE},
    {"slack", required_argument, NULL, CLPI_OPTION_SLACK},
    {0},
};

static int read_option(int option, clpi_report_arguments *arguments, bool *has_slack)
{
  if (option == 'o')
    option = OPTION_FILES;
  *has_slack |= option == CLPI_OPTION_SLACK;
  if (option < OPTION_FILES)
    return clpi_read_trace_option(option, &arguments->common);
  arguments->files[option - OPTION_FILES] = optarg;
  return CLPI_EXIT_SUCCESS;
}

static int check_pair(const clpi_report_arguments *arguments, size_t one, size_t other)
{
  const char *path = arguments->files[one], *another = arguments->files[other];
  if (path && another && clpi_output_file_is_same(path, another))
    return clpi_misuse("%s and %s name the same file, \"%s\"", clpi_report_options[one],
                       clpi_report_options[other], path);
  return CLPI_EXIT_SUCCESS;
}

/* Each output needs a place of its own. */
static int check_outputs(const clpi_report_arguments *arguments)
{
  const char *page = arguments->files[CLPI_REPORT_PAGE];
  const char *ending = page ? strrchr(page, '.') : NULL;
  size_t count = arguments->common.as_json, stdouts = count;
  for (size_t i = 0; i < CLPI_REPORT_FILES; i++) {
    count += arguments->files[i] != NULL;
    stdouts += arguments->files[i] && clpi_output_file_is_stdout(arguments->files[i]);
  }
  if (count == 0)
    return clpi_misuse("where does the report go? Name -o FILE.html, --perfetto=FILE, "
                       "--folded=FILE or --json");
  if (stdouts > 1)
    return clpi_misuse("only one output can have standard output");
  if (ending && strcasecmp(ending, ".pdf") == 0)
    return clpi_misuse("-o: the page is HTML, which browsers print as PDF: name FILE.html");
  int code = check_pair(arguments, CLPI_REPORT_PAGE, CLPI_REPORT_PERFETTO);
  if (!code)
    code = check_pair(arguments, CLPI_REPORT_PAGE, CLPI_REPORT_FOLDED);
  return code ? code : check_pair(arguments, CLPI_REPORT_PERFETTO, CLPI_REPORT_FOLDED);
}

int clpi_report_arguments_read(int argc, char **argv, clpi_report_arguments *arguments)
{
  *arguments = (clpi_report_arguments){.common = CLPI_TRACE_ARGUMENTS_INIT};
  bool has_slack = false;
  int option;
  while ((option = clpi_next_option(argc, argv, ":o:", options)) != -1) {
    int failed = read_option(option, arguments, &has_slack);
    if (failed || arguments->common.wants_help)
      return failed;
  }
  int failed = clpi_read_trace_argument("report", argc, argv, &arguments->common.trace);
  if (!failed && has_slack && !arguments->common.replay.on_arena)
    failed = clpi_misuse("--slack is of the arena: it needs --arena");
  return failed ? failed : check_outputs(arguments);
}
