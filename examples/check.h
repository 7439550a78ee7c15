/* SPDX-License-Identifier: MIT */
/* Every call's result is looked at; the first failure ends the example with what clpool says. */
#ifndef EXAMPLE_CHECK_H
#define EXAMPLE_CHECK_H

#include <clpool/status.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(call) check((call), #call)

static inline void check(clp_status status, const char *call)
{
  if (status == CLP_SUCCESS)
    return;
  fprintf(stderr, "%s: %s: %s\n", call, clp_status_name(status), clp_last_error()->message);
  exit(EXIT_FAILURE);
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
