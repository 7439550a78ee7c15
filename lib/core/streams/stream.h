/* SPDX-License-Identifier: MIT */
/* The streams that a pool or an arena knows, and their uses of memory. */
#ifndef CLPOOL_CORE_STREAMS_STREAM_H
#define CLPOOL_CORE_STREAMS_STREAM_H

#include "core/base/list.h"

#include <clpool/allocator.h>
#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdint.h>

typedef struct clpi_stream clpi_stream;

/* Work on a stream up to some moment. */
typedef struct clpi_use {
  clpi_stream *stream;
  uint64_t epoch;
} clpi_use;

/* A wait that a stream was given: for another one's uses of epochs lower than `epoch`. */
typedef struct clpi_wait {
  const clpi_stream *on;
  uint64_t epoch;
} clpi_wait;

enum { CLPI_WAITS = 8, CLPI_FEW_STREAMS = 32, CLPI_RECENT_STREAMS = 4 };

struct clpi_stream {
  alignas(64) clp_stream handle; /* kept alive by the allocator's stream_retain */
  /* Whether this is a stream that the allocator knows, with marks and waits. False: it stands for
   * uses without a stream, which the program orders. */
  bool is_ordered;
  bool is_in_order; /* whether its work runs one after another, as given; false: in any order */
  _Atomic uint64_t epoch; /* raised under the lock, loaded by each thread that notes a use */
  /* Guarded by the streams' lock. */
  alignas(64) clpi_list on_streams; /* on clpi_streams.list; the home stream is not */
  clpi_list marks;                  /* of clpi_mark.on_stream, the oldest first */
  unsigned mark_count;
  unsigned pins;     /* operations that note uses of it, or call the allocator with its handle */
  unsigned visitors; /* other operations that look at it without the lock */
  bool is_forgotten; /* by the program: a call with the handle gets another record */
  bool is_stalled;   /* a brief wait for its work timed out, and nothing was done since */
  uint64_t done;     /* all uses of lower epochs are done */
  uint64_t freed; /* the highest epoch of uses whose memory was freed before they are done; or 0 */
  clpi_wait waits[CLPI_WAITS]; /* its latest waits */
  unsigned next_wait;          /* the index of the one to overwrite next */
  /* Set by note_needed_locked. */
  bool is_needed;
  bool is_active;    /* needed by an active buffer, whose uses go on */
  uint64_t last_use; /* the latest use that is needed; below `done`: none is */
};

typedef struct clpi_streams clpi_streams;

/* Keeps memory that streams may still use: a pool, or an arena. */
typedef struct clpi_streams_owner {
  /* Take and release the locks that guard all uses that its memory remembers, including `lock`. */
  void (*lock_all)(clpi_streams *streams);
  void (*unlock_all)(clpi_streams *streams);
  /* Calls clpi_use_note_needed_locked for each of these uses, under these locks. */
  void (*note_needed_locked)(clpi_streams *streams);
} clpi_streams_owner;

/* All streams of an owner. */
struct clpi_streams {
  const clp_allocator *allocator; /* its operations order them */
  const clpi_streams_owner *owner;
  pthread_mutex_t *lock; /* the owner's; guards the rest, except home.handle to home.epoch */
  void (*forget_unneeded)(struct clpi_streams *streams); /* forget.c's; under no lock */
  unsigned ending;         /* threads that are ending streams which are off the list already */
  pthread_cond_t released; /* a forgotten stream has lost its last pin, or `ending` is 0 */
  clpi_stream home;        /* the allocator's home stream, for use without a stream; always there */
  clpi_list list;          /* of clpi_stream.on_streams: the other streams */
  size_t count, many;      /* when count passes many, streams that nothing needs are forgotten */
};

/* Finds or makes the record of a stream, and keeps it at least until it is unpinned. Under no lock.
 * CLP_NOT_SUPPORTED, CLP_INVALID_ARGUMENT: as the allocator's stream_retain says.
 * CLP_OUT_OF_HOST_MEMORY. */
clp_status clpi_stream_pin(clpi_streams *streams, clp_stream handle, clpi_stream **out);
void clpi_stream_unpin(clpi_streams *streams, clpi_stream *stream);
void clpi_stream_unpin_locked(clpi_streams *streams, clpi_stream *stream);

/* Calls `visitor` for each stream, and for the home stream if that is_ordered. Under no lock.
 * Returns how many calls returned true. */
size_t clpi_streams_visit(clpi_streams *streams,
                          bool (*visitor)(clpi_streams *streams, clpi_stream *stream));

/* Whether a use is known to be done, or to come before all that `by` is given from now on; `by` may
 * be NULL. */
bool clpi_use_is_settled_locked(const clpi_use *use, const clpi_stream *by);
bool clpi_uses_are_settled_locked(const clpi_use *uses, size_t count, const clpi_stream *by);

/* The in-order streams of the latest calls, the last one first; or NULL. */
typedef clpi_stream *clpi_recent[CLPI_RECENT_STREAMS];

/* Returns the record of a recent handle. NULL: the handle is not a recent one. */
static inline clpi_stream *clpi_recall(const clpi_recent recent, clp_stream handle)
{
  for (size_t i = 0; i < CLPI_RECENT_STREAMS && recent[i]; i++)
    if (recent[i]->handle == handle)
      return recent[i];
  return NULL;
}

/* Unpins the stream of a call. If it is in order, it is the most recent one. */
void clpi_stream_unpin_recent_locked(clpi_streams *streams, clpi_recent recent,
                                     clpi_stream *stream);

/* --- for forget.c and use.c --- */

/* Notes that `by` waits for the uses of `on` of epochs lower than `epoch`. */
void clpi_stream_note_wait_locked(clpi_stream *by, const clpi_stream *on, uint64_t epoch);

void clpi_stream_init(clpi_stream *stream, clp_stream handle, bool is_ordered, bool is_in_order);

/* Returns the record of a handle. NULL: there is none. */
clpi_stream *clpi_stream_find_locked(clpi_streams *streams, clp_stream handle);

/* Makes an owner's streams. When there are many, those that nothing needs are forgotten. */
void clpi_streams_init(clpi_streams *streams, const clp_allocator *allocator, pthread_mutex_t *lock,
                       const clpi_streams_owner *owner);

/* Releases all streams. */
void clpi_streams_end(clpi_streams *streams);

/* Forgets a stream for the program, if it is known. With `may_wait` it waits for other threads'
 * calls with the stream, but never for its work. Under no lock. On failure nothing has changed.
 * CLP_BUSY: an active buffer needs it; or a call with it is running, and may_wait is false.
 * CLP_OUT_OF_HOST_MEMORY, or the allocator's status: no mark could be made. */
clp_status clpi_stream_forget(clpi_streams *streams, clp_stream handle, bool may_wait);

/* --- uses: use.c, ordered_free.c ---
 *
 * Work on a stream up to some moment, and whether it is done.
 *
 * Driver calls are slow, so noting a use makes none: the use gets the stream's epoch. A mark (an
 * event) is made only when a thread asks about a use. The thread raises the stream's epoch first,
 * so all uses of lower epochs come before the mark. The epoch can be loaded relaxed: a thread gives
 * its work to the stream before it loads the epoch. If the work came after the mark, the driver's
 * lock on the stream has made the new epoch visible to the thread. */

/* Notes that the owner's memory remembers this use (clpi_streams_owner.note_needed_locked). */
static inline void clpi_use_note_needed_locked(const clpi_use *use)
{
  clpi_stream *stream = use->stream;
  stream->is_needed = true;
  if (stream->last_use < use->epoch)
    stream->last_use = use->epoch;
}

static inline clpi_use clpi_use_now(clpi_stream *stream)
{
  return (clpi_use){stream, atomic_load_explicit(&stream->epoch, memory_order_relaxed)};
}

/* Tries to settle a use for `by` (clpi_use_is_settled_locked): by asking the allocator whether it
 * is done (CLPI_POLL), or by making `by` wait for it (CLPI_WAIT, which needs a `by`). The host does
 * not wait. False, with a last error, also when a call to the allocator fails. Under no lock. */
enum { CLPI_POLL = 1, CLPI_WAIT = 2 };
bool clpi_use_settle(clpi_streams *streams, const clpi_use *use, clpi_stream *by, unsigned ways);

/* Waits on the host until the use is done. Under no lock. The allocator's status, or
 * CLP_OUT_OF_HOST_MEMORY. */
clp_status clpi_use_wait(clpi_streams *streams, const clpi_use *use);

/* As CLPI_POLL, but waits on the host for up to 20 ms. If that fails, the stream's work may itself
 * wait for the host. This call then waits for the stream again only after something on it is done.
 */
bool clpi_use_wait_briefly(clpi_streams *streams, const clpi_use *use);

/* Makes `by` wait for the use, or if it cannot, the host. Under no lock. Statuses as above. On
 * success the thread's last error does not change. */
clp_status clpi_use_order(clpi_streams *streams, const clpi_use *use, clpi_stream *by);

/* Notes that memory was freed that comes back when this use is done. The stream's record is kept
 * until then, so that clpi_streams_drain can wait for it. */
void clpi_use_note_freed_locked(const clpi_use *use);

/* Waits on the host for all uses noted as freed. Returns whether it had to wait. Under no lock. */
bool clpi_streams_drain(clpi_streams *streams);

/* Asks the allocator whether all work of the streams is done. Under no lock. */
void clpi_streams_poll(clpi_streams *streams);

/* Makes sure that a use is done or that a mark covers it. Under no lock. The allocator's status, or
 * CLP_OUT_OF_HOST_MEMORY. */
clp_status clpi_use_cover(clpi_streams *streams, const clpi_use *use);

/* Seals a stream that gets no more work and whose uses up to last_use are covered: from now on its
 * latest mark covers them all. Marks that are not needed go to `unneeded`, for clpi_marks_free. */
void clpi_marks_seal_locked(clpi_stream *stream, clpi_list *unneeded);
void clpi_marks_free(clpi_streams *streams, clpi_list *marks); /* under no lock */

/* Frees the marks of a stream that nobody else looks at. */
void clpi_marks_end(clpi_streams *streams, clpi_stream *stream);

/* Uses of one piece of memory. */
typedef struct clpi_uses {
  clpi_use *uses;
  size_t count;
} clpi_uses;

/* Frees memory after all its uses, and keeps the records of their streams until then. The host
 * waits only if the allocator cannot order the free. Under no lock. The allocator's status; on
 * failure the memory is still the caller's. */
clp_status clpi_ordered_free(clpi_streams *streams, clp_allocator *allocator, clp_memory memory,
                             size_t bytes, clpi_uses uses);

#endif
