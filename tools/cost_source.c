/* SPDX-License-Identifier: MIT */
/* From the value of --cost to costs. */
#include "cost_source.h"

#include "program.h"

#include <string.h>
#include <unistd.h>

/* What is no path, a name without a slash, was perhaps meant as another name. */
static int unknown_name(const char *name)
{
  char names[512] = "";
  for (size_t i = 0; clpi_known_machines[i]; i++) {
    size_t length = strlen(names);
    snprintf(names + length, sizeof(names) - length, "%s, ", clpi_known_machines[i]);
  }
  return clpi_misuse("--cost: expected %sor a clpool bench file, found \"%s\"", names, name);
}

int clpi_costs_open(const char *source, trace_costs *costs)
{
  *costs = (trace_costs){0};
  for (const clpi_known_cost *cost = clpi_known_costs; cost->machine; cost++)
    if (strcmp(cost->machine, source) == 0) {
      trace_costs_set_device(costs, cost->device);
      trace_costs_add(costs, cost->allocator, cost->operation, cost->bytes, cost->nanoseconds);
    }
  if (costs->count > 0)
    return CLPI_EXIT_SUCCESS;
  if (!strchr(source, '/') && strcmp(source, "-") != 0 && access(source, F_OK))
    return unknown_name(source);
  clp_status status = trace_costs_read(source, costs);
  return status ? clpi_failed(status) : CLPI_EXIT_SUCCESS;
}
