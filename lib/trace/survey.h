/* SPDX-License-Identifier: MIT */
/* A replay looked at from all sides: its figures, their course, the bins at the peak, the largest
 * allocations. */
#ifndef CLPOOL_TRACE_SURVEY_H
#define CLPOOL_TRACE_SURVEY_H

#include "trace/bin_census.h"
#include "trace/largest.h"
#include "trace/replay.h"
#include "trace/timeline.h"

#include <clpool/allocator.h>
#include <clpool/status.h>

/* The pool when a figure was highest for the first time. */
typedef struct clpi_peak {
  clpi_moment when;
  size_t active_bytes, padding_bytes, held_bytes;
} clpi_peak;

static inline size_t clpi_peak_managed_bytes(const clpi_peak *peak)
{
  return peak->active_bytes + peak->padding_bytes + peak->held_bytes;
}

typedef struct clpi_survey {
  clpi_replay_result result; /* its time per operation means nothing */
  clpi_peak active_peak;     /* of active bytes */
  clpi_peak managed_peak;    /* of managed bytes; the census is of this moment */
  clpi_timeline timeline;
  clpi_bin_census bins;
  clpi_largest largest;
} clpi_survey;

/* Who is told the pool's figures after each row as well. NULL: nobody. */
typedef struct clpi_survey_listener {
  void (*on_sample)(const clpi_sample *sample, void *user_data);
  void *user_data;
} clpi_survey_listener;

/* Replays `reader`'s trace from where it stands to its end, through a pool or not as the options
 * tell, whose observer is not used. Host memory is that of a replay and of the bins. What fails is
 * what clpi_replay fails with. In any case, `*survey` is for clpi_survey_end. */
clp_status clpi_survey_take(clpi_survey *survey, clpi_trace_reader *reader,
                            clp_allocator *allocator, const clpi_replay_options *options,
                            const clpi_survey_listener *listener);

void clpi_survey_end(clpi_survey *survey);

#endif
