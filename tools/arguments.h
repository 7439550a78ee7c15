/* SPDX-License-Identifier: MIT */
/* Arguments that several commands have: each of these reads one, and returns an exit code, with a
 * complaint if it is not 0. */
#ifndef CLPOOL_TOOLS_ARGUMENTS_H
#define CLPOOL_TOOLS_ARGUMENTS_H

#include "allocators.h"

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>

/* The next option as getopt_long returns it, '?' after a complaint about a wrong one. `letters`
 * begin with a colon, and long options that are no letter return 256 or more. */
int clpi_next_option(int argc, char **argv, const char *letters, const struct option *options);

int clpi_read_leading_bits_option(const char *text, unsigned *bits);

/* `option` is what complaints call it, such as "--limit"; `device_bytes` is what per cent are of, 0
 * where that is unknown. */
int clpi_read_bytes_option(const char *option, const char *text, size_t device_bytes,
                           size_t *bytes);

int clpi_read_slack_option(const char *text, double *slack);
int clpi_read_passes_option(const char *text, unsigned *passes);

/* "auto" sets `*fits_scale`, a number `*scale`. */
int clpi_read_scale_option(const char *text, bool *fits_scale, double *scale);

/* The one argument that is no option, after getopt_long has seen all. */
int clpi_read_trace_argument(const char *command, int argc, char **argv, const char **trace);

#endif
