/* SPDX-License-Identifier: MIT */
#include "trace/names.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

static int compare_names(const void *left, const void *right)
{
  return strcmp(left, right);
}

void trace_names_end(trace_names *names)
{
  tdestroy(names->tree, free);
  *names = (trace_names){0};
}

const char *trace_names_keep(trace_names *names, const char *name)
{
  char *const *kept = tfind(name, &names->tree, compare_names);
  if (kept)
    return *kept;
  char *copy = strdup(name);
  if (copy && tsearch(copy, &names->tree, compare_names))
    return copy;
  free(copy);
  return NULL;
}
