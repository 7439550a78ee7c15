/* SPDX-License-Identifier: MIT */
/* The program's contexts: their pools, and the order between the work of their queues. Only
 * contexts of one device whose driver knows OpenCL 1.2 are here; what is not here has no pool.
 *
 * Order. clCreateBuffer names no queue, and no queue may be made to wait for another on the
 * program's back, since the other may wait for a user event that the program sets later. So:
 *   - While only one queue, in order, has had work, buffers are allocated and released on it.
 *   - From the first work of another queue, or the first event that the program ends itself, a
 *     buffer's release counts on every queue that had work while the program had it, and an
 *     allocation takes only blocks whose work is done. Where the one begins and the other ends, the
 *     first queue is marked once, and other queues begin behind that mark: buffers that the program
 *     has then may have been handed on while that queue still used them. The mark is older than
 *     all that can make the first queue wait for the program. */
#ifndef CLPOOL_LAYER_CONTEXT_H
#define CLPOOL_LAYER_CONTEXT_H

#include <CL/cl.h>
#include <clpool/pool.h>
#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct clpi_queue;

/* A pool of buffers with the same flags, either small ones or large ones. */
typedef struct clpi_flag_pool {
  cl_mem_flags flags;
  bool is_large;
  clp_pool *pool; /* NULL: there are none such */
  struct clpi_flag_pool *next;
} clpi_flag_pool;

typedef struct clpi_context {
  cl_context handle;
  size_t spare_bytes;              /* a small part of the device's */
  struct clpi_context *next;       /* guarded by the lock of all contexts, and so is the next */
  bool has_stopped;                /* clpi_contexts_stop has seen to it, or is about to */
  atomic_size_t references;        /* the program's, and of its queues; 0: it is closed */
  atomic_size_t users;             /* blocks, and one for the references */
  _Atomic(clpi_flag_pool *) pools; /* grows at its head */
  /* The queue that alone has had work; NULL: none has; CLPI_SEVERAL_QUEUES. */
  _Atomic(struct clpi_queue *) sole;
  /* Ticks with the queues' work from when there are several; on a line of its own, apart from what
   * threads look at with each buffer. */
  alignas(64) atomic_uint_fast64_t clock;
  pthread_mutex_t lock;      /* guards what follows, and changes of what is above */
  struct clpi_queue *queues; /* all, by `next` */
  cl_event mark;             /* of the queue that was alone; NULL: none, or it is done */
} clpi_context;

#define CLPI_SEVERAL_QUEUES ((struct clpi_queue *)1)

/* The program made a context. Any thread, as all of these. */
void clpi_context_add(cl_context handle);

/* NULL: it has no pools. */
clpi_context *clpi_context_find(cl_context handle);

/* Queues keep their context, as they do for the driver: the program may ask one for it. */
void clpi_context_retain(clpi_context *context);

/* Before the driver's reference goes. With the last one the context is closed: the pools stop
 * holding. */
void clpi_context_release(clpi_context *context);

/* A closed context without users ends with the next sweep: whoever drops one sweeps after that,
 * once it holds no lock and is out of the pools. */
void clpi_context_add_user(clpi_context *context);
void clpi_context_drop_user(clpi_context *context);
void clpi_contexts_sweep(void);

/* The pool for such buffers; NULL: there is none. */
clp_pool *clpi_context_pool(clpi_context *context, cl_mem_flags flags, size_t bytes);

/* The pool has made a new block for such a buffer. One of large blocks lets go of those that it has
 * held for longest, until it has no more than the program ever had at once, and spare_bytes. */
void clpi_pool_has_grown(const clpi_context *context, clp_pool *pool, size_t bytes);

/* Gives all held memory of all contexts back to the driver, or waits for a thread that does. */
void clpi_contexts_trim(void);

/* From now on nothing is pooled, since the program may do what the layer cannot see. */
void clpi_contexts_stop(void);
bool clpi_contexts_have_stopped(void);

/* How many buffers the pools have served, and how many of them by new blocks. */
void clpi_contexts_count(size_t *buffers, size_t *blocks);

#endif
