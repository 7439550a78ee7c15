/* SPDX-License-Identifier: MIT */
/* Events in an array. Whenever it is full, events that are done are dropped, which takes about one
 * call of clGetEventInfo for each free. */
#include "opencl/pending_frees.h"

#include "opencl/cl_error.h"
#include "opencl/loader.h"

#include <stdbool.h>
#include <stdlib.h>

enum { FIRST_CAPACITY = 16 };

void clpi_cl_pending_frees_init(clpi_cl_pending_frees *frees)
{
  *frees = (clpi_cl_pending_frees){0};
  pthread_mutex_init(&frees->lock, NULL);
  pthread_mutex_init(&frees->waiting, NULL);
}

static void release_events(cl_event *events, size_t count)
{
  for (size_t i = 0; i < count; i++)
    clpi_cl.clReleaseEvent(events[i]);
  free(events);
}

void clpi_cl_pending_frees_end(clpi_cl_pending_frees *frees)
{
  release_events(frees->events, frees->count);
  pthread_mutex_destroy(&frees->waiting);
  pthread_mutex_destroy(&frees->lock);
}

static bool is_pending(cl_event event)
{
  cl_int progress;
  cl_int code = clpi_cl.clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(progress),
                                       &progress, NULL);
  return !code && progress > CL_COMPLETE;
}

static void drop_done_locked(clpi_cl_pending_frees *frees)
{
  size_t kept = 0;
  for (size_t i = 0; i < frees->count; i++) {
    if (is_pending(frees->events[i]))
      frees->events[kept++] = frees->events[i];
    else
      clpi_cl.clReleaseEvent(frees->events[i]);
  }
  frees->count = kept;
}

/* Makes room for one more event. Grows the array unless dropping leaves half of it free; otherwise
 * it would be full again too soon. False: out of host memory. */
static bool make_room_locked(clpi_cl_pending_frees *frees)
{
  if (frees->count < frees->capacity)
    return true;
  drop_done_locked(frees);
  if (frees->count < frees->capacity / 2)
    return true;
  size_t capacity = frees->capacity ? 2 * frees->capacity : FIRST_CAPACITY;
  cl_event *events = realloc(frees->events, capacity * sizeof(*events));
  if (!events)
    return frees->count < frees->capacity;
  frees->events = events;
  frees->capacity = capacity;
  return true;
}

void clpi_cl_pending_frees_add(clpi_cl_pending_frees *frees, cl_event event)
{
  pthread_mutex_lock(&frees->lock);
  bool has_room = make_room_locked(frees);
  if (has_room)
    frees->events[frees->count++] = event;
  pthread_mutex_unlock(&frees->lock);
  if (!has_room)
    clpi_cl.clReleaseEvent(event);
}

static cl_int wait_for(cl_event event)
{
  cl_int code = clpi_cl.clWaitForEvents(1, &event);
  return code == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST ? CL_SUCCESS : code;
}

clp_status clpi_cl_pending_frees_wait(clpi_cl_pending_frees *frees)
{
  cl_int failure = CL_SUCCESS;
  /* A second thread must not find the list empty and return while the first still waits. */
  pthread_mutex_lock(&frees->waiting);
  pthread_mutex_lock(&frees->lock);
  cl_event *events = frees->events;
  size_t count = frees->count;
  frees->events = NULL;
  frees->count = frees->capacity = 0;
  pthread_mutex_unlock(&frees->lock);
  for (size_t i = 0; i < count; i++) {
    cl_int code = wait_for(events[i]);
    failure = failure ? failure : code;
  }
  release_events(events, count);
  pthread_mutex_unlock(&frees->waiting);
  return failure ? clpi_cl_call_error("clWaitForEvents", failure) : CLP_SUCCESS;
}
