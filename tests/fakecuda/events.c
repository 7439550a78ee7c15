/* SPDX-License-Identifier: MIT */
/* Events, and which commands come before which: by what the program said and heard, not by when
 * they ran. */
#include "fake.h"

#include <stdlib.h>

struct CUevent_st {
  CUcontext ctx;
  bool alive;
  fake_point point; /* what it was recorded after last; no stream: it never was */
  fake_clock clock; /* what was known there */
  CUevent next;
};

static CUevent events; /* all since the reset: the next use of one that is no more is noticed */

fake_clock fake_observed;

/* --- order --- */

void fake_clock_join(fake_clock *clock, const fake_clock *other)
{
  for (size_t i = 0; i < FAKE_MOST_STREAMS; i++)
    if (clock->of[i] < other->of[i])
      clock->of[i] = other->of[i];
}

bool fake_clock_has(const fake_clock *clock, fake_point point)
{
  return !point.stream || clock->of[point.stream - fake_streams] >= point.position;
}

bool fake_is_done_locked(fake_point point)
{
  return !point.stream || point.stream->done >= point.position;
}

void fake_synchronized_locked(const fake_clock *clock)
{
  fake_clock_join(&fake_observed, clock);
  fake_mempools_settle_locked();
}

/* --- events --- */

static CUresult check_locked(const struct CUevent_st *event)
{
  if (event && event->alive)
    return CLPI_CUDA_SUCCESS;
  return fake_violation_locked(CLPI_CUDA_INVALID_HANDLE, "an event that is none, or is no more");
}

void fake_events_end_of_locked(const struct CUctx_st *ctx)
{
  for (CUevent event = events; event; event = event->next)
    if (event->alive && event->ctx == ctx) {
      (void)fake_violation_locked(0, "an event is left when its context ends");
      event->alive = false;
    }
}

void fake_events_reset_locked(void)
{
  while (events) {
    CUevent event = events;
    if (event->alive)
      (void)fake_violation_locked(0, "an event was not destroyed");
    events = event->next;
    free(event);
  }
}

CUresult cuEventCreate(CUevent *out, unsigned flags)
{
  FAKE_ENTER(cuEventCreate);
  CUcontext ctx;
  FAKE_TRY(fake_current_locked(&ctx));
  if (flags & ~(unsigned)CLPI_CUDA_EVENT_DISABLE_TIMING)
    return CLPI_CUDA_INVALID_VALUE; /* no test needs another */
  *out = fake_new(sizeof(**out));
  **out = (struct CUevent_st){.ctx = ctx, .alive = true, .next = events};
  events = *out;
  return CLPI_CUDA_SUCCESS;
}

CUresult cuEventDestroy(CUevent event)
{
  FAKE_ENTER(cuEventDestroy);
  FAKE_TRY(check_locked(event));
  event->alive = false;
  return CLPI_CUDA_SUCCESS;
}

CUresult cuEventRecord(CUevent event, CUstream stream)
{
  FAKE_ENTER(cuEventRecord);
  FAKE_TRY(fake_uncaptured_locked(&stream));
  FAKE_TRY(check_locked(event));
  if (event->ctx != stream->ctx)
    return fake_violation_locked(CLPI_CUDA_INVALID_HANDLE,
                                 "an event is recorded on a stream of another context");
  fake_begin_locked(stream);
  event->point = (fake_point){stream, fake_give_locked(stream, &(fake_command){.bytes = 0})};
  event->clock = stream->clock;
  if (fakecuda_planted == FAKECUDA_EVENTS_MISS_THE_LAST_WORK)
    event->clock.of[stream - fake_streams] = event->point.position -=
        event->point.position > 2 ? 2 : 0;
  return CLPI_CUDA_SUCCESS;
}

CUresult cuEventQuery(CUevent event)
{
  FAKE_ENTER(cuEventQuery);
  FAKE_TRY(check_locked(event));
  if (!fake_is_done_locked(event->point) && fakecuda_planted != FAKECUDA_EVENTS_ARE_DONE_AT_ONCE)
    return CLPI_CUDA_NOT_READY;
  fake_clock_join(&fake_observed, &event->clock);
  return CLPI_CUDA_SUCCESS;
}

CUresult cuEventSynchronize(CUevent event)
{
  FAKE_ENTER(cuEventSynchronize);
  FAKE_TRY(check_locked(event));
  fake_clock clock = event->clock; /* it may be recorded anew meanwhile */
  fake_reach_locked(event->point);
  fake_synchronized_locked(&clock);
  return CLPI_CUDA_SUCCESS;
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags)
{
  FAKE_ENTER(cuStreamWaitEvent);
  FAKE_TRY(fake_uncaptured_locked(&stream));
  FAKE_TRY(check_locked(event));
  if (flags)
    return CLPI_CUDA_INVALID_VALUE;
  if (fakecuda_planted == FAKECUDA_STREAMS_DO_NOT_WAIT)
    return CLPI_CUDA_SUCCESS;
  fake_begin_locked(stream);
  fake_wait_for_locked(stream, event->point, &event->clock);
  return CLPI_CUDA_SUCCESS;
}
