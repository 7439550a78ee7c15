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

#include "account.h"
#include "kind.h"
#include "opencl/queue_order.h"

#include <clpool/pool.h>

struct clpi_queue;

typedef struct clpi_context {
  clpi_cl_queue_order order; /* first, for the pool's allocator, whose `self` is the context */
  size_t max_block_bytes;
  cl_mem_flags more_flags; /* of blocks, besides the program's; it must not see them */
  clp_pool *pool;          /* of all kinds */
  clpi_kinds kinds;
  clpi_account account;
  struct clpi_context *next; /* guarded by the lock of all contexts, and so is the next */
  bool has_stopped;          /* clpi_contexts_stop has seen to it, or is about to */
  atomic_size_t references;  /* the program's, and of its queues; 0: it is closed */
  atomic_size_t users;       /* blocks, and one for the references */
  /* The queue that alone has had work; NULL: none has; CLPI_SEVERAL_QUEUES. */
  _Atomic(struct clpi_queue *) sole;
  /* Ticks with the queues' work from when there are several; apart from what all threads read. */
  alignas(64) atomic_uint_fast64_t clock;
  pthread_mutex_t lock;      /* guards what follows, and changes of what is above */
  struct clpi_queue *queues; /* all, by `next` */
  cl_event mark;             /* of the queue that was alone; NULL: none, or it is done */
} clpi_context;

#define CLPI_SEVERAL_QUEUES ((struct clpi_queue *)1)

/* The program made a context. Any thread, as all of these. */
void clpi_context_add(cl_context handle);

/* NULL: it has no pool. */
clpi_context *clpi_context_find(cl_context handle);

/* Queues keep their context, as they do for the driver: the program may ask one for it. */
void clpi_context_retain(clpi_context *context);

/* Before the driver's reference goes. With the last one the context is closed: the pool stops
 * holding. The caller sweeps after that (life.h). */
void clpi_context_release(clpi_context *context);

/* A closed context without users ends with the next sweep: whoever drops one sweeps after that,
 * once it holds no lock and is out of the pool. */
static inline void clpi_context_add_user(clpi_context *context)
{
  atomic_fetch_add_explicit(&context->users, 1, memory_order_relaxed);
}

static inline void clpi_context_drop_user(clpi_context *context)
{
  atomic_fetch_sub(&context->users, 1);
}

/* The kind of such buffers, whose blocks are of a bin's size, or of this one. NULL: they are not
 * pooled. */
clpi_kind *clpi_context_buffer_kind(clpi_context *context, cl_mem_flags flags, size_t bytes,
                                    bool is_rounded);

/* Gives held blocks back, those that were released first, until there is no excess. */
void clpi_context_trim(clpi_context *context);

/* Gives back the held block that was released first. False: nothing is held. */
bool clpi_context_free_oldest(clpi_context *context);

/* Gives all held memory of all contexts back to the driver, or waits for a thread that does. */
void clpi_contexts_trim(void);

/* Takes a closed context that has no users off the list, and frees what queues have ended in; NULL:
 * there is none. For life.c, as the next. */
clpi_context *clpi_context_take_unused(void);
void clpi_context_free(clpi_context *context);

/* From now on no context is added, and what is there counts as stopped. False: so it was before. */
bool clpi_contexts_begin_stop(void);
bool clpi_contexts_have_stopped(void);

/* An open context that is to stop, of which the caller becomes a user; NULL: there is none. */
clpi_context *clpi_context_take_unstopped(void);

/* What all contexts have done: sums, of contexts that are no more, too. */
typedef struct clpi_totals {
  size_t served[2], fresh[2]; /* buffers and images; fresh: of new memory */
  size_t peak_live_bytes, peak_taken_bytes, held_bytes;
} clpi_totals;

clpi_totals clpi_contexts_total(void);

#endif
