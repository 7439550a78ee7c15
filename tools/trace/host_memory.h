/* SPDX-License-Identifier: MIT */
/* What this process takes of the machine's memory: replays say when that is too much, before the
 * system ends them. */
#ifndef CLPOOL_TRACE_HOST_MEMORY_H
#define CLPOOL_TRACE_HOST_MEMORY_H

#include <clpool/status.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of memory that the process has now; 0: unknown. */
size_t trace_host_memory_used(void);

/* Half of what it may have: of the machine's memory, or of its control group's if that is less.
 * 0: unknown. */
size_t trace_host_memory_usual(void);

/* Memory that was freed goes back to the system, as far as the C library can do that. */
void trace_host_memory_trim(void);

/* A bound on what is taken from the beginning on. */
typedef struct trace_host_memory_bound {
  size_t bytes; /* 0: none */
  size_t before;
  size_t (*used)(void);
} trace_host_memory_bound;

/* `used` is called in place of trace_host_memory_used; NULL: is not. */
trace_host_memory_bound trace_host_memory_begin(size_t bytes, size_t (*used)(void));

/* CLP_LIMIT_EXCEEDED where more was taken, at a line of a trace: the bound is not enough for
 * `what`, such as "a replay". Any thread. */
clp_status trace_host_memory_check(const trace_host_memory_bound *bound, const char *trace,
                                   uint64_t line, const char *what);

#endif
