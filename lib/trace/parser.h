/* SPDX-License-Identifier: MIT */
/* What reads the rows of one format: the reader has one of these for each. */
#ifndef CLPOOL_TRACE_PARSER_H
#define CLPOOL_TRACE_PARSER_H

#include "trace/event.h"
#include "trace/input.h"

#include <clpool/status.h>
#include <stdbool.h>

typedef struct clpi_trace_parser {
  /* Makes what the others get as `self`. It owns `input` on success. CLP_OUT_OF_HOST_MEMORY;
   * CLP_NOT_SUPPORTED: this build cannot read the format. */
  clp_status (*open)(clpi_input *input, void **self);
  void (*close)(void *self);
  /* As the functions of clpi_trace_reader. */
  clp_status (*next)(void *self, clpi_trace_event *event, bool *found);
  clp_status (*rewind)(void *self);
  clp_status (*choose_device)(void *self, unsigned device);
} clpi_trace_parser;

/* RMM's log. */
extern const clpi_trace_parser clpi_rmm_parser;

/* PyTorch's memory snapshot, as JSON. */
extern const clpi_trace_parser clpi_snapshot_parser;

#endif
