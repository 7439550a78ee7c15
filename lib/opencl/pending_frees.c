/* SPDX-License-Identifier: MIT */
/* Events in an array, the oldest first. Whenever it is full, events that are done are dropped,
 * which takes about one call of clGetEventInfo for each free. */
#include "opencl/pending_frees.h"

#include "core/allocator/allocator.h"
#include "core/base/nap.h"
#include "opencl/cl_error.h"
#include "opencl/loader.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

typedef struct pending_free {
  const void *allocator;
  cl_context context; /* not retained, but the event's */
  cl_event event;     /* retained */
  uint64_t number;    /* in the order in which they were added */
} pending_free;

static struct {
  pthread_mutex_t lock; /* never held while waiting */
  pending_free *all;
  size_t count, capacity;
  uint64_t last;  /* number */
  unsigned forks; /* clpi_forks when it was locked last */
} frees = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Events from before a fork are the parent's, and are not used. */
static void lock_frees(void)
{
  pthread_mutex_lock(&frees.lock);
  if (clpi_is_inherited(frees.forks))
    frees.count = 0;
  frees.forks = clpi_relaxed(clpi_forks);
}

static void unlock_frees(void)
{
  pthread_mutex_unlock(&frees.lock);
}

/* --- adding and dropping --- */

static bool is_pending(cl_event event)
{
  cl_int progress;
  cl_int code = clpi_cl.clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(progress),
                                       &progress, NULL);
  return !code && progress > CL_COMPLETE;
}

/* Drops events that are done, and all of the allocator `ended`, unless that is NULL. */
static void drop_locked(const void *ended)
{
  size_t kept = 0;
  for (size_t i = 0; i < frees.count; i++) {
    pending_free *it = &frees.all[i];
    if ((ended && it->allocator == ended) || !is_pending(it->event))
      clpi_cl.clReleaseEvent(it->event);
    else
      frees.all[kept++] = *it;
  }
  frees.count = kept;
}

/* Makes room for one more event. Grows the array unless dropping leaves half of it free; otherwise
 * it would be full again too soon. False: out of host memory. */
static bool make_room_locked(void)
{
  enum { FIRST_CAPACITY = 16 };
  if (frees.count < frees.capacity)
    return true;
  drop_locked(NULL);
  if (frees.count < frees.capacity / 2)
    return true;
  size_t capacity = frees.capacity ? 2 * frees.capacity : FIRST_CAPACITY;
  pending_free *all = realloc(frees.all, capacity * sizeof(*all));
  if (!all)
    return frees.count < frees.capacity;
  frees.all = all;
  frees.capacity = capacity;
  return true;
}

void clpi_cl_pending_frees_add(const void *allocator, cl_context context, cl_event event)
{
  clpi_forks_hold(&frees.lock);
  lock_frees();
  bool has_room = make_room_locked();
  if (has_room)
    frees.all[frees.count++] = (pending_free){allocator, context, event, ++frees.last};
  unlock_frees();
  if (!has_room)
    clpi_cl.clReleaseEvent(event);
}

/* --- waiting --- */

/* Returns the first free after a number. It is searched for, because others may be dropped between
 * two calls. */
static size_t find_after_locked(uint64_t number)
{
  size_t low = 0, high = frees.count;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (frees.all[middle].number <= number)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* Returns the retained event of the allocator's next free after a number, up to the last. NULL:
 * there is none. */
static cl_event next_event(const void *allocator, uint64_t *number, uint64_t last)
{
  cl_event event = NULL;
  lock_frees();
  for (size_t i = find_after_locked(*number);
       i < frees.count && !event && frees.all[i].number <= last; i++)
    if (frees.all[i].allocator == allocator) {
      *number = frees.all[i].number;
      event = frees.all[i].event;
      clpi_cl.clRetainEvent(event);
    }
  unlock_frees();
  return event;
}

/* Whether frees are pending in the context: the allocator's, or those of others. */
static bool are_pending(const void *allocator, cl_context context, bool of_others)
{
  bool are = false;
  lock_frees();
  drop_locked(NULL);
  for (size_t i = 0; i < frees.count && !are; i++)
    are = frees.all[i].context == context && (frees.all[i].allocator != allocator) == of_others;
  unlock_frees();
  return are;
}

static void wait_briefly(const void *allocator, cl_context context, bool for_others)
{
  for (unsigned naps = 0; are_pending(allocator, context, for_others) && clpi_nap(&naps);)
    ;
}

clp_status clpi_cl_pending_frees_wait(const void *allocator, cl_context context)
{
  cl_int failure = CL_SUCCESS;
  cl_event event;
  lock_frees();
  uint64_t last = frees.last;
  unlock_frees();
  for (uint64_t number = 0; (event = next_event(allocator, &number, last));) {
    cl_int code = clpi_cl.clWaitForEvents(1, &event);
    if (code != CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST && !failure)
      failure = code;
    clpi_cl.clReleaseEvent(event);
  }
  wait_briefly(allocator, context, true);
  return clpi_cl_check("clWaitForEvents", failure);
}

void clpi_cl_pending_frees_leave(const void *allocator, cl_context context)
{
  if (clpi_own_asking)
    wait_briefly(allocator, context, false);
  lock_frees();
  drop_locked(allocator);
  unlock_frees();
}
