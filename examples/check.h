/* SPDX-License-Identifier: MIT */
/* Every call's result is looked at; the first failure ends the example with what clpool says. */
#ifndef EXAMPLE_CHECK_H
#define EXAMPLE_CHECK_H

#include <clpool/status.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(call) check((call), #call)

static inline void check(clp_status status, const char *call)
{
  if (status == CLP_SUCCESS)
    return;
  fprintf(stderr, "%s: %s: %s\n", call, clp_status_name(status), clp_last_error()->message);
  exit(EXIT_FAILURE);
}

/* Ends the example unless it has as many arguments as `usage` names; with success if it is asked
 * for
 * --help. */
static inline void check_arguments(int argc, char **argv, int wanted, const char *usage)
{
  int is_asked = argc == 2 && strcmp(argv[1], "--help") == 0;
  if (argc == wanted + 1 && !is_asked)
    return;
  fprintf(is_asked ? stdout : stderr, "usage: %s\n", usage);
  exit(is_asked ? EXIT_SUCCESS : 2);
}

/* Host memory, for free(). */
static inline void *check_malloc(size_t bytes)
{
  void *memory = malloc(bytes);
  if (!memory)
    check(clp_set_last_error(CLP_OUT_OF_HOST_MEMORY, 0, NULL), "malloc");
  return memory;
}

#endif
