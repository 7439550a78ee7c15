/* SPDX-License-Identifier: MIT */
#include "trace/names.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

void trace_names_end(trace_names *names)
{
  tdestroy(names->tree, free);
  names->tree = NULL;
}

static int compare(const void *one, const void *other)
{
  return strcmp(one, other);
}

const char *trace_names_keep(trace_names *names, const char *text)
{
  char **kept = tfind(text, &names->tree, compare), *name = NULL;
  if (!kept && (name = strdup(text)))
    kept = tsearch(name, &names->tree, compare);
  if (!kept)
    free(name);
  return kept ? *kept : NULL;
}
