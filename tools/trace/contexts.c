/* SPDX-License-Identifier: MIT */
/* A tree by context, and before it the latest, which is mostly the next one, too. */
#include "trace/contexts.h"

#include "trace/error.h"

#include <search.h>
#include <stdbool.h>
#include <stdlib.h>

typedef struct numbered_context {
  uint64_t context; /* the key */
  uint32_t number;
} numbered_context;

static int compare_contexts(const void *left, const void *right)
{
  const numbered_context *a = left, *b = right;
  return (a->context > b->context) - (a->context < b->context);
}

void trace_contexts_end(trace_contexts *contexts)
{
  tdestroy(contexts->tree, free);
  *contexts = (trace_contexts){0};
}

static clp_status find_or_add(trace_contexts *contexts, uint64_t context)
{
  numbered_context *added = malloc(sizeof(*added));
  if (!added)
    goto no_memory;
  *added = (numbered_context){context, contexts->count};
  numbered_context **node = tsearch(added, &contexts->tree, compare_contexts);
  if (!node)
    goto no_memory;
  contexts->latest = context;
  contexts->number = (*node)->number;
  if (*node == added)
    contexts->count++;
  else
    free(added);
  return CLP_SUCCESS;

no_memory:
  free(added);
  return trace_error(CLP_OUT_OF_HOST_MEMORY, 0, "no host memory to follow more than %u contexts",
                     contexts->count);
}

clp_status trace_contexts_number(trace_contexts *contexts, uint64_t context, uint32_t *number)
{
  bool is_latest = contexts->count > 0 && contexts->latest == context;
  clp_status status = is_latest ? CLP_SUCCESS : find_or_add(contexts, context);
  *number = contexts->number;
  return status;
}
