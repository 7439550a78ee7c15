/* SPDX-License-Identifier: MIT */
/* Arguments that several commands have. */
#include "arguments.h"

#include "program.h"
#include "quantities.h"

#include <clpool/bin.h>
#include <clpool/bytes.h>
#include <string.h>

enum { MOST_PASSES = 1000000 };

int clpi_next_option(int argc, char **argv, const char *letters, const struct option *options)
{
  opterr = 0;
  int option = getopt_long(argc, argv, letters, options, NULL);
  const char *program = argv[0], *text = argv[optind - 1];
  bool is_letter = optopt > 0 && optopt < 256;
  if (option == ':')
    (void)clpi_misuse("%s needs a value (see %s --help)", text, program);
  else if (option == '?' && is_letter)
    (void)clpi_misuse("there is no option \"-%c\" (see %s --help)", optopt, program);
  else if (option == '?' && optopt)
    (void)clpi_misuse("there is a value where none belongs, \"%s\" (see %s --help)", text, program);
  else if (option == '?')
    (void)clpi_misuse("there is no option \"%s\" (see %s --help)", text, program);
  return option == ':' ? '?' : option;
}

int clpi_read_leading_bits_option(const char *text, unsigned *bits)
{
  if (clpi_read_unsigned(text, CLP_MAX_LEADING_BITS, bits))
    return CLPI_EXIT_SUCCESS;
  return clpi_misuse("--leading-bits: expected a number from 0 to %u, found \"%s\"",
                     CLP_MAX_LEADING_BITS, text);
}

int clpi_read_bytes_option(const char *option, const char *text, size_t device_bytes, size_t *bytes)
{
  clp_status status = clp_bytes_parse(text, device_bytes, bytes);
  if (!status)
    return CLPI_EXIT_SUCCESS;
  if (status == CLP_NOT_SUPPORTED)
    return clpi_misuse("%s: expected bytes, for the device's memory is unknown here, found \"%s\"",
                       option, text);
  return clpi_misuse("%s: %s", option, clp_last_error()->message);
}

int clpi_read_scale_option(const char *text, bool *fits_scale, double *scale)
{
  *fits_scale = strcmp(text, "auto") == 0;
  if (*fits_scale || clpi_read_factor(text, scale))
    return CLPI_EXIT_SUCCESS;
  return clpi_misuse("--scale: expected auto or a number above 0, found \"%s\"", text);
}

int clpi_read_slack_option(const char *text, double *slack)
{
  if (clpi_read_part(text, slack))
    return CLPI_EXIT_SUCCESS;
  return clpi_misuse("--slack: expected a number from 0 to 1, found \"%s\"", text);
}

int clpi_read_passes_option(const char *text, unsigned *passes)
{
  if (clpi_read_unsigned(text, MOST_PASSES, passes) && *passes > 0)
    return CLPI_EXIT_SUCCESS;
  return clpi_misuse("--passes: expected a number from 1 to %d, found \"%s\"", MOST_PASSES, text);
}

int clpi_read_trace_argument(const char *command, int argc, char **argv, const char **trace)
{
  if (optind == argc)
    return clpi_misuse("the trace is missing (see clpool %s --help)", command);
  if (optind + 1 < argc)
    return clpi_misuse("one trace at a time, but there is \"%s\", too", argv[optind + 1]);
  *trace = argv[optind];
  return CLPI_EXIT_SUCCESS;
}
