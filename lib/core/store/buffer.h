/* SPDX-License-Identifier: MIT */
/* The buffer: the object of a block of device memory, the same one for the block's whole life. */
#ifndef CLPOOL_CORE_STORE_BUFFER_H
#define CLPOOL_CORE_STORE_BUFFER_H

#include "core/base/relaxed.h"
#include "core/streams/use.h"

#include <assert.h>
#include <clpool/buffer.h>
#include <stdalign.h>
#include <stdint.h>

struct clpi_bin;
struct clpi_slab;

/* Uses on several streams, at most one for each. There is always room for one more: the release. */
typedef struct clpi_noted_uses {
  size_t count, capacity;
  clpi_use uses[];
} clpi_noted_uses;

/* The state of an active buffer changes only by its owner's calls; that of a held one is guarded by
 * the cache that keeps the block, or else by the pool's lock. */
typedef enum clpi_buffer_state {
  CLPI_BUFFER_ACTIVE,  /* the user's */
  CLPI_BUFFER_SHARED,  /* active, and bound to a stream or used by several: its release takes the
                          slow path */
  CLPI_BUFFER_HELD,    /* kept for reuse, in the store or a cache */
  CLPI_BUFFER_LEAVING, /* going to the device, or being settled; in no list */
  CLPI_BUFFER_SPARE    /* without a block; kept so that a second release is detected */
} clpi_buffer_state;

/* What a buffer has for its bin's index in other states than ACTIVE: of no slot, so that the warm
 * path need not ask for the state. */
#define CLPI_NO_INDEX(state) (UINT32_MAX - (state))

/* Of a block on its bin's list (runs.h). The oldest blocks of the runs are in a circle as well. */
typedef struct clpi_run_links {
  struct clp_buffer *newer, *older; /* in its run, a circle; newer NULL: on no list */
  struct clp_buffer *next;          /* the oldest of the next run, if it is the oldest itself */
} clpi_run_links;

/* Has two cache lines to itself: processors prefetch lines in pairs, and buffers of different
 * threads must not share one. The warm path touches only the second line, as of slots the first, so
 * that the two are never at the same place of two pages, where processors take a load for one of
 * what was just stored. */
struct clp_buffer {
  alignas(128) struct clp_buffer *newer; /* in the bin's list */
  struct clp_buffer *older;              /* likewise, and in chains */
  clpi_stream *bound;     /* the stream that an active buffer is bound to; NULL: none */
  clpi_noted_uses *noted; /* uses on several streams; NULL or empty: only `use` counts */
  struct clpi_slab *slab; /* that it was made in; never changes */
  clpi_run_links run;
  alignas(64) clp_pool *pool; /* never changes */
  clp_memory memory;          /* 0: a buffer of zero bytes */
  size_t size;                /* as asked for */
  struct clpi_bin *bin;       /* NULL: a buffer of zero bytes */
  uint64_t age;               /* the tick of its last release; larger is younger */
  _Atomic uint32_t index;     /* the bin's while it is active, 0 for zero bytes; else the state
                                 (CLPI_NO_INDEX), relaxed: it serves to detect a second release */
  clpi_use use;               /* of a held block: its last use; stream NULL: see `noted` */
};
static_assert(sizeof(clp_buffer) == 128, "there may be very many of them");

static inline clpi_buffer_state clpi_state_of(const clp_buffer *buffer)
{
  uint32_t state = CLPI_NO_INDEX(clpi_relaxed(buffer->index));
  return state <= CLPI_BUFFER_SPARE ? (clpi_buffer_state)state : CLPI_BUFFER_ACTIVE;
}

/* Not to ACTIVE, which is to have an index. */
static inline void clpi_set_state(clp_buffer *buffer, clpi_buffer_state state)
{
  clpi_set_relaxed(buffer->index, CLPI_NO_INDEX(state));
}

/* Identifies an active buffer in hook events; 0 for NULL. */
static inline uint64_t clpi_buffer_id(const clp_buffer *buffer)
{
  return (uint64_t)(uintptr_t)buffer;
}

static inline bool clpi_buffer_is_active(const clp_buffer *buffer)
{
  return clpi_state_of(buffer) <= CLPI_BUFFER_SHARED;
}

#endif
