/* SPDX-License-Identifier: MIT */
/* Trying the best settings again, where the first time was too short to tell them apart. */
#ifndef CLPOOL_TRACE_TUNE_AGAIN_H
#define CLPOOL_TRACE_TUNE_AGAIN_H

#include "trace/recommend.h"

#include <stddef.h>

/* Tries those of `outcomes` that come near the best by the objective up to four times more, unless
 * the trace is long or cannot be read again. Of each the least time stays; the rest is the same
 * each time. Statuses as of trace_tune. */
clp_status trace_tune_again(trace_reader *reader, const trace_tune_options *options,
                            trace_objective objective, trace_tune_outcome *outcomes, size_t count);

#endif
