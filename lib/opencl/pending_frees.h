/* SPDX-License-Identifier: MIT */
/* The events of frees that command queues have not executed yet, for a thread that needs the memory
 * to wait for. */
#ifndef CLPOOL_OPENCL_PENDING_FREES_H
#define CLPOOL_OPENCL_PENDING_FREES_H

#include <CL/cl.h>
#include <clpool/status.h>
#include <pthread.h>
#include <stddef.h>

typedef struct clpi_cl_pending_frees {
  pthread_mutex_t lock; /* guards the events; never held while waiting */
  cl_event *events;     /* retained; done ones are dropped before the array grows */
  size_t count, capacity;
  pthread_mutex_t waiting; /* held by the thread that waits; taken before `lock` */
} clpi_cl_pending_frees;

void clpi_cl_pending_frees_init(clpi_cl_pending_frees *frees);

/* Releases the events, without waiting. */
void clpi_cl_pending_frees_end(clpi_cl_pending_frees *frees);

/* Adds the event of a free, and takes over the caller's reference. If host memory runs out, the
 * event is released, and nobody will wait for that free. */
void clpi_cl_pending_frees_add(clpi_cl_pending_frees *frees, cl_event event);

/* Waits on the host for every free that was added before. A free that failed counts as done.
 * CLP_BACKEND_ERROR: the first failure of clWaitForEvents; the other events were waited for
 * nevertheless. */
clp_status clpi_cl_pending_frees_wait(clpi_cl_pending_frees *frees);

#endif
