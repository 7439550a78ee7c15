/* SPDX-License-Identifier: MIT */
/* From the value of --cost to costs. */
#include "cost_source.h"

#include "program.h"

#include <string.h>
#include <unistd.h>

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
    return clpi_misuse("--cost: expected nvidia-h200, pocl-cpu, or a clpool bench file, found "
                       "\"%s\"",
                       source);
  clp_status status = trace_costs_read(source, costs);
  return status ? clpi_failed(status) : CLPI_EXIT_SUCCESS;
}
