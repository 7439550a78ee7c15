/* SPDX-License-Identifier: MIT */
/* The streams that a pool knows. Those that nothing needs any more are forgotten when there are
 * many. */
#ifndef CLPOOL_CORE_STREAM_H
#define CLPOOL_CORE_STREAM_H

#include "core/list.h"

#include <clpool/allocator.h>
#include <clpool/pool.h>
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
  _Atomic uint64_t epoch;        /* raised under the pool's lock, loaded by whoever notes a use */
  /* Guarded by the pool's lock. */
  alignas(64) clpi_list on_pool; /* on clp_pool.streams; the home stream is not */
  clpi_list marks;               /* of clpi_mark.on_stream, the oldest first */
  unsigned mark_count;
  unsigned pins;               /* operations that look at it without the lock */
  uint64_t done;               /* all uses of lower epochs are done */
  clpi_wait waits[CLPI_WAITS]; /* that it was given last */
  unsigned next_wait;
  bool is_needed;   /* found to be, while streams are forgotten */
  uint64_t visited; /* the last round that came by (clpi_streams_visit) */
};

/* The home stream of a pool, or what stands for it where the allocator has none. */
void clpi_stream_init_home(clpi_stream *home, const clp_allocator *allocator);

/* The pool's record of a stream, made on first use; it stays until it is unpinned. Under no lock.
 * CLP_NOT_SUPPORTED, CLP_INVALID_ARGUMENT: as the allocator's stream_retain says.
 * CLP_OUT_OF_HOST_MEMORY. */
clp_status clpi_stream_pin(clp_pool *pool, clp_stream handle, clpi_stream **out);
void clpi_stream_unpin(clp_pool *pool, clpi_stream *stream);

/* Calls `visitor` for each stream of the pool, the home stream included, if they are ordered. Under
 * no lock. Returns how many calls returned true. */
size_t clpi_streams_visit(clp_pool *pool, bool (*visitor)(clp_pool *pool, clpi_stream *stream));

/* Lets go of all streams, at the end of the pool. */
void clpi_streams_end(clp_pool *pool);

#endif
