/* SPDX-License-Identifier: MIT */
/* The program's contexts: their pools, and the order between the work of their queues. The layer
 * knows only contexts of one device whose driver has OpenCL 1.2; others have no pool.
 *
 * Order. clCreateBuffer names no queue. The layer must not make a queue wait for another one,
 * because that may wait for a user event that the program sets later. So there are two modes:
 *   - While only one in-order queue has had work, the pool allocates and releases on that queue.
 *   - From the first work of another queue, or the first event that the program ends itself: a
 *     buffer's release counts on every queue that had work while the program had the buffer. An
 *     allocation takes only blocks whose work is done.
 * At the change of mode, the layer marks the first queue once, and other queues begin behind that
 * mark: buffers that the program has at that time may have been handed on while the first queue
 * still used them. The mark precedes all that can make the first queue wait for the program. */
#ifndef CLPOOL_LAYER_CONTEXT_H
#define CLPOOL_LAYER_CONTEXT_H

#include "account.h"
#include "kind.h"
#include "opencl/queue_order.h"

#include <clpool/pool.h>

struct clpi_queue;

typedef struct clpi_context {
  clpi_cl_queue_order order; /* first, for the pool's allocator, whose `self` is the context */
  size_t max_block_bytes;
  cl_mem_flags more_flags; /* of blocks, besides the program's; hidden from the program */
  clp_pool *pool;          /* for all kinds */
  clpi_kinds kinds;
  clpi_account account;
  struct clpi_context *next; /* guarded by the lock of all contexts */
  atomic_size_t references;  /* of the program and its queues; 0: it is closed */
  atomic_size_t users;       /* blocks, one for the references, and threads at work on it */
  /* The only queue that has had work; NULL: none has; or CLPI_SEVERAL_QUEUES. */
  _Atomic(struct clpi_queue *) sole;
  /* Ticks with the queues' work once there are several; apart from what all threads read. */
  alignas(64) atomic_uint_fast64_t clock;
  pthread_mutex_t lock;      /* guards the rest, and changes of `sole` */
  struct clpi_queue *queues; /* all, by `next` */
  cl_event mark;             /* of the queue that was the only one; NULL: none, or it is done */
} clpi_context;

#define CLPI_SEVERAL_QUEUES ((struct clpi_queue *)1)

/* Adds a context that the program made. Any thread may call all these functions. */
void clpi_context_add(cl_context handle);

/* Returns the context of a handle. NULL: it has no pool. */
clpi_context *clpi_context_find(cl_context handle);

/* Drops a reference, before the driver's is dropped. Queues have one, as in the driver, because the
 * program may ask a queue for its context. The last one closes the context: the pool stops holding.
 * Under no lock, and outside of the pools. */
void clpi_context_release(clpi_context *context);

/* Drops a user. A closed context without users ends with the next sweep: call clpi_contexts_sweep
 * once the thread holds no lock and is outside the pool. */
extern atomic_bool clpi_contexts_unused; /* some may have no users */
static inline void clpi_context_drop_user(clpi_context *context)
{
  if (atomic_fetch_sub(&context->users, 1) == 1)
    clpi_contexts_unused = true;
}
void clpi_contexts_sweep(void);

/* Gives all held memory of all contexts back to the driver, or waits for a thread that does. */
void clpi_contexts_trim(void);

/* From now on nothing is pooled, since the program may do what the layer cannot see. */
void clpi_contexts_stop(void);
extern atomic_bool clpi_contexts_stopped;

/* Sums over all contexts, including those that have ended. */
clpi_account clpi_contexts_total(void);

#endif
