/* SPDX-License-Identifier: MIT */
/* Memory for yajl, which does not look whether it got any: one block, large enough for all that it
 * can ask for, so that only getting the block can fail. */
#ifndef CLPOOL_TRACE_JSON_MEMORY_H
#define CLPOOL_TRACE_JSON_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <yajl/yajl_common.h>

typedef struct clpi_json_memory {
  char *block;
  size_t bytes; /* of the block */
  size_t used;  /* of it, from its begin */
  size_t last;  /* where the piece given last begins */
} clpi_json_memory;

/* False: no host memory. */
bool clpi_json_memory_init(clpi_json_memory *memory, size_t bytes);
void clpi_json_memory_end(clpi_json_memory *memory);

/* Takes back all that was given. */
void clpi_json_memory_reset(clpi_json_memory *memory);

/* What yajl calls. */
yajl_alloc_funcs clpi_json_memory_functions(clpi_json_memory *memory);

#endif
