/* SPDX-License-Identifier: MIT */
#include "trace/names.h"

#include <stdlib.h>
#include <string.h>

typedef struct trace_name {
  struct trace_name *older; /* kept before it */
  char text[];
} trace_name;

void trace_names_end(trace_names *names)
{
  for (trace_name *name = names->newest, *older; name; name = older) {
    older = name->older;
    free(name);
  }
  clpi_map_end(&names->by_hash);
  *names = (trace_names){0};
}

/* FNV-1a, made odd: 0 is no key of a map. */
static uint64_t hash(const char *text)
{
  uint64_t sum = UINT64_C(0xcbf29ce484222325);
  for (; *text; text++)
    sum = (sum ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
  return sum | 1;
}

const char *trace_names_keep(trace_names *names, const char *text)
{
  uint64_t key = hash(text);
  /* Where another name has the key, the next odd one. */
  for (const uint64_t *kept; (kept = clpi_map_find(&names->by_hash, key)); key += 2) {
    const trace_name *name = (const trace_name *)(uintptr_t)*kept;
    if (strcmp(name->text, text) == 0)
      return name->text;
  }
  size_t bytes = strlen(text) + 1;
  trace_name *name = malloc(sizeof(*name) + bytes);
  if (!name || !clpi_map_reserve(&names->by_hash)) {
    free(name);
    return NULL;
  }
  memcpy(name->text, text, bytes);
  name->older = names->newest;
  names->newest = name;
  clpi_map_put(&names->by_hash, key, (uintptr_t)name);
  return name->text;
}
