/* SPDX-License-Identifier: MIT */
/* clpool run: runs a program under the layer that pools its buffers. */
#include "arguments.h"
#include "layers.h"
#include "program.h"

#include <clpool/bin.h>
#include <clpool/bytes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static const char help_text[] =
    "Usage: clpool run [OPTION]... PROGRAM [ARGUMENT]...\n"
    "Runs an OpenCL program as it is, with its buffers from pools. It ends as the program does.\n"
    "\n"
    "Options:\n"
    "  --leading-bits=B  the pools' leading_bits_in_bin_id, 0 to 16 (default 4): more mean less\n"
    "                    padding and fewer hits; clpool tune recommends one\n"
    "  --limit=SIZE      the most that each context's pooled buffers and images may take, those "
    "that\n"
    "                    are held, too; the program is told when memory is out\n"
    "  --hold=SIZE       the most that each context holds (default: what brings it to the most "
    "that\n"
    "                    the program had at once, and 16 MiB and a quarter more)\n"
    "  --report          tell at the end, on standard error, what was pooled, and why other "
    "buffers\n"
    "                    and images were not\n"
    "  --help            print this help\n"
    "\n"
    "Examples:\n"
    "  clpool run --report ./program --size 512\n";

enum {
  OPTION_HELP = 256,
  OPTION_ARENA,
  OPTION_HOLD,
  OPTION_LEADING_BITS,
  OPTION_LIMIT,
  OPTION_REPORT
};

/* The layer's settings; it says itself what is wrong with one, but then the program runs. */
static int set_leading_bits(const char *text)
{
  char *end;
  unsigned long bits = strtoul(text, &end, 10);
  if (*text < '0' || *text > '9' || *end || bits > CLP_MAX_LEADING_BITS)
    return clpi_misuse("--leading-bits is \"%s\", not 0 to %u (see clpool run --help)", text,
                       CLP_MAX_LEADING_BITS);
  return clpi_layers_set_variable("CLPOOL_LAYER_LEADING_BITS", text);
}

static int set_size(const char *option, const char *variable, const char *text)
{
  size_t bytes;
  if (clp_bytes_parse(text, SIZE_MAX, &bytes))
    return clpi_misuse(
        "%s is \"%s\", not a size such as 512M, 1.5G or 40%% (see clpool run --help)", option,
        text);
  return clpi_layers_set_variable(variable, text);
}

/* Options end at the program: what follows is its own. */
static int read_options(int argc, char **argv, bool *is_help)
{
  static const struct option options[] = {
      {"arena", no_argument, NULL, OPTION_ARENA}, /* tune may recommend one */
      {"hold", required_argument, NULL, OPTION_HOLD},
      {"leading-bits", required_argument, NULL, OPTION_LEADING_BITS},
      {"limit", required_argument, NULL, OPTION_LIMIT},
      {"report", no_argument, NULL, OPTION_REPORT},
      {"help", no_argument, NULL, OPTION_HELP},
      {0}};
  int code = CLPI_EXIT_SUCCESS;
  int option;
  while (!code && (option = clpi_next_option(argc, argv, "+:h", options)) != -1) {
    switch (option) {
    case OPTION_LEADING_BITS:
      code = set_leading_bits(optarg);
      break;
    case OPTION_LIMIT:
      code = set_size("--limit", "CLPOOL_LAYER_LIMIT", optarg);
      break;
    case OPTION_HOLD:
      code = set_size("--hold", "CLPOOL_LAYER_HOLD", optarg);
      break;
    case OPTION_ARENA:
      return clpi_misuse(
          "--arena cannot be, since its blocks are sub-buffers (doc/any-program.md)");
    case OPTION_REPORT:
      code = clpi_layers_set_variable("CLPOOL_LAYER_REPORT", "1");
      break;
    case 'h':
    case OPTION_HELP:
      *is_help = true;
      return CLPI_EXIT_SUCCESS;
    default:
      return CLPI_EXIT_MISUSE;
    }
  }
  if (!code && optind == argc)
    return clpi_misuse("the program is missing (see clpool run --help)");
  return code;
}

static int run_under_layer(char **program)
{
  clpi_child_end end;
  int code = clpi_layers_set("libclpool-layer.so");
  if (!code)
    code = clpi_layers_run(program, "nothing is pooled", &end);
  return code ? code : clpi_child_end_likewise(&end);
}

static int run(int argc, char **argv)
{
  bool is_help = false;
  int code = read_options(argc, argv, &is_help);
  if (is_help)
    fputs(help_text, stdout);
  if (code || is_help)
    return code;
  return CLPI_HAS_LAYER ? run_under_layer(argv + optind)
                        : clpi_misuse("this clpool is built without the layer that pools");
}

const clpi_command clpi_run_command = {
    .name = "run",
    .summary = "run an OpenCL program, which knows nothing of clpool, with buffers from pools",
    .help = help_text,
    .run = run,
};
