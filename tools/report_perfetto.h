/* SPDX-License-Identifier: MIT */
/* The course of a pool as counters in the Trace Event Format, which ui.perfetto.dev and
 * chrome://tracing open. */
#ifndef CLPOOL_TOOLS_REPORT_PERFETTO_H
#define CLPOOL_TOOLS_REPORT_PERFETTO_H

#include "trace/timeline.h"

#include <stdint.h>
#include <stdio.h>

typedef struct clpi_perfetto {
  FILE *file;
  size_t managed_bytes; /* as it was written last */
  uint64_t hits, misses;
} clpi_perfetto;

/* Begins the file; `trace` is what its process is called. */
void clpi_perfetto_begin(clpi_perfetto *perfetto, FILE *file, const char *trace);

/* Adds the counters after a row; written as they come, nothing is kept. */
void clpi_perfetto_add(clpi_perfetto *perfetto, const trace_sample *sample);

void clpi_perfetto_end(clpi_perfetto *perfetto);

#endif
