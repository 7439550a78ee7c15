/* SPDX-License-Identifier: MIT */
#include "trace/contexts.h"

#include "trace/error.h"

void trace_contexts_end(trace_contexts *contexts)
{
  for (trace_kind kind = 0; kind < TRACE_KINDS; kind++)
    clpi_map_end(&contexts->numbers[kind]);
  *contexts = (trace_contexts){0};
}

clp_status trace_contexts_number(trace_contexts *contexts, const trace_event *event,
                                 uint32_t *number)
{
  clpi_map *numbers = &contexts->numbers[event->kind];
  uint64_t *number_of_0 = &contexts->number_of_0[event->kind], context = event->context;
  const uint64_t *found = context ? clpi_map_find(numbers, context) : number_of_0;
  if (found && *found) {
    *number = (uint32_t)(*found - 1);
    return CLP_SUCCESS;
  }
  if (context && !clpi_map_reserve(numbers))
    return trace_error(CLP_OUT_OF_HOST_MEMORY, 0, "no host memory to follow more than %u contexts",
                       contexts->count);
  *number = contexts->count++;
  if (context)
    clpi_map_put(numbers, context, contexts->count);
  else
    *number_of_0 = contexts->count;
  return CLP_SUCCESS;
}
