/* SPDX-License-Identifier: MIT */
#include "trace/contexts.h"

#include "trace/error.h"

void trace_contexts_end(trace_contexts *contexts)
{
  clpi_map_end(&contexts->numbers);
  *contexts = (trace_contexts){0};
}

clp_status trace_contexts_number(trace_contexts *contexts, uint64_t context, uint32_t *number)
{
  const uint64_t *found =
      context ? clpi_map_find(&contexts->numbers, context) : &contexts->number_of_0;
  if (found && *found) {
    *number = (uint32_t)(*found - 1);
    return CLP_SUCCESS;
  }
  if (context && !clpi_map_reserve(&contexts->numbers))
    return trace_error(CLP_OUT_OF_HOST_MEMORY, 0, "no host memory to follow more than %u contexts",
                       contexts->count);
  *number = contexts->count++;
  if (context)
    clpi_map_put(&contexts->numbers, context, contexts->count);
  else
    contexts->number_of_0 = contexts->count;
  return CLP_SUCCESS;
}
