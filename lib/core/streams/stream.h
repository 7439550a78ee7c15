/* SPDX-License-Identifier: MIT */
/* The streams that a pool knows, or an arena. */
#ifndef CLPOOL_CORE_STREAMS_STREAM_H
#define CLPOOL_CORE_STREAMS_STREAM_H

#include "core/base/list.h"

#include <clpool/allocator.h>
#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdint.h>

typedef struct clpi_stream clpi_stream;

/* That a stream was made to wait for another one's uses of epochs lower than `epoch`. */
typedef struct clpi_wait {
  const clpi_stream *on;
  uint64_t epoch;
} clpi_wait;

enum { CLPI_WAITS = 8, CLPI_FEW_STREAMS = 32 };

/* What use.h says of epochs and marks is of these. */
struct clpi_stream {
  alignas(64) clp_stream handle; /* kept alive by the allocator's stream_retain */
  bool is_ordered;               /* false: no stream at all, whose users synchronize themselves */
  bool is_in_order;              /* false: its work may run in any order, but for waits */
  _Atomic uint64_t epoch;        /* raised under the lock, loaded by whoever notes a use */
  /* Guarded by the streams' lock. */
  alignas(64) clpi_list on_streams; /* on clpi_streams.list; the home stream is not */
  clpi_list marks;                  /* of clpi_mark.on_stream, the oldest first */
  unsigned mark_count;
  unsigned pins;     /* operations that note uses of it, or call the allocator with its handle */
  unsigned visitors; /* others that look at it without the lock */
  bool is_forgotten; /* given up by its user: no handle leads to it any more */
  uint64_t done;     /* all uses of lower epochs are done */
  uint64_t freed;    /* memory comes back with uses of epochs up to this; 0: it does not */
  clpi_wait waits[CLPI_WAITS]; /* that it was given last */
  unsigned next_wait;
  /* Found by note_needed_locked. */
  bool is_needed;
  bool is_active;    /* by an active buffer, whose uses go on */
  uint64_t last_use; /* the latest that is needed; below `done`: none is */
};

/* All streams of a pool, or of another who keeps memory that streams may still use. */
typedef struct clpi_streams {
  const clp_allocator *allocator; /* whose operations order them */
  pthread_mutex_t *lock;          /* the owner's; guards what follows, but for home's first line */
  /* Tells what needs which streams (clpi_use_note_needed_locked), with the lock. */
  void (*note_needed_locked)(struct clpi_streams *streams);
  unsigned ending;         /* threads that end streams which they have taken off the list */
  pthread_cond_t released; /* a forgotten stream has lost its last pin, or `ending` is 0 */
  clpi_stream home;   /* of unordered use, or what stands for it where the allocator has no such */
  clpi_list list;     /* of clpi_stream.on_streams, the others */
  size_t count, many; /* with more than so many, unneeded ones are forgotten */
} clpi_streams;

void clpi_streams_init(clpi_streams *streams, const clp_allocator *allocator, pthread_mutex_t *lock,
                       void (*note_needed_locked)(clpi_streams *streams));

/* Lets go of all streams. */
void clpi_streams_end(clpi_streams *streams);

/* The record of a stream, made on first use; it stays until it is unpinned. Under no lock.
 * CLP_NOT_SUPPORTED, CLP_INVALID_ARGUMENT: as the allocator's stream_retain says.
 * CLP_OUT_OF_HOST_MEMORY. */
clp_status clpi_stream_pin(clpi_streams *streams, clp_stream handle, clpi_stream **out);
void clpi_stream_unpin(clpi_streams *streams, clpi_stream *stream);

static inline void clpi_stream_unpin_locked(clpi_streams *streams, clpi_stream *stream)
{
  if (--stream->pins == 0 && stream->is_forgotten)
    pthread_cond_broadcast(&streams->released);
}

/* Waits on the host for all uses with which memory came back (clpi_use_note_freed_locked); whether
 * there were any. Under no lock. */
bool clpi_streams_drain(clpi_streams *streams);

/* --- for forget.c --- */

/* The record that a handle leads to; NULL: there is none. */
clpi_stream *clpi_stream_find_locked(clpi_streams *streams, clp_stream handle);

/* Finds out which streams are needed, and up to which use. */
void clpi_streams_note_needed_locked(clpi_streams *streams);

#endif
