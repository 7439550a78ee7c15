/* SPDX-License-Identifier: MIT */
/* Frees that command queues still have to do, by their events: so that who needs the memory can
 * wait for them. */
#ifndef CLPOOL_OPENCL_PENDING_FREES_H
#define CLPOOL_OPENCL_PENDING_FREES_H

#include <CL/cl.h>
#include <clpool/status.h>
#include <pthread.h>
#include <stddef.h>

typedef struct clpi_cl_pending_frees {
  pthread_mutex_t lock; /* guards all below; never held while waiting */
  cl_event *events;     /* retained; those that are done are dropped before the array grows */
  size_t count, capacity;
  pthread_mutex_t waiting; /* held by the thread that waits; taken before `lock` */
} clpi_cl_pending_frees;

void clpi_cl_pending_frees_init(clpi_cl_pending_frees *frees);

/* Forgets them all, without waiting. */
void clpi_cl_pending_frees_end(clpi_cl_pending_frees *frees);

/* Adds the event of a free, which becomes the list's. Without host memory it is forgotten: nobody
 * will wait for that free. */
void clpi_cl_pending_frees_add(clpi_cl_pending_frees *frees, cl_event event);

/* Waits on the host for every free that was added before. One that failed does not count.
 * CLP_BACKEND_ERROR: as clWaitForEvents reported first; the others were waited for. */
clp_status clpi_cl_pending_frees_wait(clpi_cl_pending_frees *frees);

#endif
