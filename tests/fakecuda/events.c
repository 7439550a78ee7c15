/* SPDX-License-Identifier: MIT */
/* Events. A destroyed one is kept for a while, so that its next use is noticed. */
#include "fake.h"

#include <stdlib.h>

enum { MOST_KEPT = 4096 };

struct CUevent_st {
  CUcontext ctx;
  bool alive;
  fake_point point;  /* what it was recorded after last; no stream: it never was */
  fake_clock *clock; /* what was known there; NULL likewise */
  CUevent next, *link;
};

static CUevent events;          /* those that are alive */
static CUevent kept[MOST_KEPT]; /* those that were, the oldest at `oldest` */
static size_t oldest;

static CUresult check_locked(const struct CUevent_st *event)
{
  if (event != NULL && event->alive)
    return CLPI_CUDA_SUCCESS;
  return fake_violation_locked(CLPI_CUDA_INVALID_HANDLE, "an event that is none, or is no more");
}

static void end_locked(CUevent event)
{
  event->alive = false;
  *event->link = event->next;
  if (event->next != NULL)
    event->next->link = event->link;
  free(event->clock);
  event->clock = NULL;
  free(kept[oldest]);
  kept[oldest] = event;
  oldest = (oldest + 1) % MOST_KEPT;
}

void fake_events_end_of_locked(const struct CUctx_st *ctx)
{
  CUevent next;

  for (CUevent event = events; event != NULL; event = next) {
    next = event->next;
    if (event->ctx == ctx)
      end_locked(event);
  }
}

void fake_events_check_locked(void)
{
  size_t count = 0;

  for (CUevent event = events; event != NULL; event = event->next)
    count++;
  if (count > 0)
    (void)fake_violation_locked(0, "%zu events were not destroyed", count);
}

void fake_events_reset_locked(void)
{
  while (events != NULL)
    end_locked(events);
  for (size_t i = 0; i < MOST_KEPT; i++) {
    free(kept[i]);
    kept[i] = NULL;
  }
}

CUresult cuEventCreate(CUevent *out, unsigned flags)
{
  CUresult code = fake_enter(FAKE_cuEventCreate);
  CUcontext ctx = code == CLPI_CUDA_SUCCESS ? fake_current_locked("cuEventCreate") : NULL;

  if (code == CLPI_CUDA_SUCCESS && ctx == NULL)
    code = CLPI_CUDA_INVALID_CONTEXT;
  if (code == CLPI_CUDA_SUCCESS && (flags & ~(unsigned)CLPI_CUDA_EVENT_DISABLE_TIMING) != 0)
    code = CLPI_CUDA_INVALID_VALUE; /* no test needs another */
  if (code == CLPI_CUDA_SUCCESS) {
    CUevent event = fake_new(sizeof(*event));

    *event = (struct CUevent_st){.ctx = ctx, .alive = true, .next = events, .link = &events};
    if (events != NULL)
      events->link = &event->next;
    events = event;
    *out = event;
  }
  return fake_leave(code);
}

CUresult cuEventDestroy(CUevent event)
{
  CUresult code = fake_enter(FAKE_cuEventDestroy);

  if (code == CLPI_CUDA_SUCCESS)
    code = check_locked(event);
  if (code == CLPI_CUDA_SUCCESS)
    end_locked(event);
  return fake_leave(code);
}

CUresult cuEventRecord(CUevent event, CUstream handle)
{
  CUresult code = fake_enter(FAKE_cuEventRecord);
  CUstream stream = code == CLPI_CUDA_SUCCESS ? fake_uncaptured_locked(handle, &code) : NULL;

  if (code == CLPI_CUDA_SUCCESS)
    code = check_locked(event);
  if (code == CLPI_CUDA_SUCCESS && event->ctx != stream->ctx)
    code = fake_violation_locked(CLPI_CUDA_INVALID_HANDLE,
                                 "an event is recorded on a stream of another context");
  if (code == CLPI_CUDA_SUCCESS) {
    fake_begin_locked(stream);
    if (event->clock == NULL)
      event->clock = fake_new(sizeof(*event->clock));
    event->point =
        (fake_point){stream, fake_give_locked(stream, &(fake_command){.run_locked = NULL})};
    *event->clock = stream->clock;
  }
  return fake_leave(code);
}

CUresult cuEventQuery(CUevent event)
{
  CUresult code = fake_enter(FAKE_cuEventQuery);

  if (code == CLPI_CUDA_SUCCESS)
    code = check_locked(event);
  if (code == CLPI_CUDA_SUCCESS && !fake_is_done_locked(event->point))
    code = CLPI_CUDA_NOT_READY;
  if (code == CLPI_CUDA_SUCCESS && event->clock != NULL)
    fake_observe_locked(event->clock);
  return fake_leave(code);
}

CUresult cuEventSynchronize(CUevent event)
{
  CUresult code = fake_enter(FAKE_cuEventSynchronize);

  if (code == CLPI_CUDA_SUCCESS)
    code = check_locked(event);
  if (code == CLPI_CUDA_SUCCESS && event->clock != NULL) {
    fake_clock clock = *event->clock; /* it may be recorded anew meanwhile */

    fake_reach_locked(event->point);
    fake_synchronized_locked(&clock);
  }
  return fake_leave(code);
}

CUresult cuStreamWaitEvent(CUstream handle, CUevent event, unsigned flags)
{
  CUresult code = fake_enter(FAKE_cuStreamWaitEvent);
  CUstream stream = code == CLPI_CUDA_SUCCESS ? fake_uncaptured_locked(handle, &code) : NULL;

  if (code == CLPI_CUDA_SUCCESS)
    code = check_locked(event);
  if (code == CLPI_CUDA_SUCCESS && flags != 0)
    code = CLPI_CUDA_INVALID_VALUE;
  if (code == CLPI_CUDA_SUCCESS && event->clock != NULL) {
    fake_begin_locked(stream);
    fake_wait_for_locked(stream, event->point, event->clock);
  }
  return fake_leave(code);
}
