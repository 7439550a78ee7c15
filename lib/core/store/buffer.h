/* SPDX-License-Identifier: MIT */
/* The buffer: the object of a block of device memory, the same one as long as the block exists. */
#ifndef CLPOOL_CORE_STORE_BUFFER_H
#define CLPOOL_CORE_STORE_BUFFER_H

#include "core/base/relaxed.h"
#include "core/streams/stream.h"

#include <assert.h>
#include <clpool/buffer.h>
#include <stdalign.h>
#include <stdint.h>

struct clpi_bin;

/* Uses on several streams, at most one for each. There is always room for one more: the release. */
typedef struct clpi_noted_uses {
  size_t count, capacity;
  clpi_use uses[];
} clpi_noted_uses;

/* The state of an active buffer changes only by its owner's calls, that of a held one under the
 * lock of its shard. */
typedef enum clpi_buffer_state {
  CLPI_BUFFER_ACTIVE,  /* the program's */
  CLPI_BUFFER_SHARED,  /* active, but its release takes the slow path: it is bound to a stream, used
                          by several, has no block, or one that is never held */
  CLPI_BUFFER_HELD,    /* in a lane of a shard */
  CLPI_BUFFER_LEAVING, /* going to the device, or being settled; in no lane */
  CLPI_BUFFER_SPARE    /* without a block; kept so that a second release is detected */
} clpi_buffer_state;

/* The value of a buffer's index in states other than ACTIVE. It is the index of no slot, so that
 * the warm path need not ask for the state. */
#define CLPI_NO_INDEX(state) (UINT32_MAX - (state))

/* The links of the newest block of a lane that is not the home lane (store.h). */
typedef struct clpi_lane_links {
  struct clp_buffer *next, *previous; /* the newest blocks of other lanes of the slot */
  struct clp_buffer *oldest;          /* of the lane */
} clpi_lane_links;

/* Each buffer has two cache lines of its own, because processors fetch lines in pairs: buffers of
 * different threads must not share one. The warm path touches only the first line. */
struct clp_buffer {
  alignas(128) struct clp_buffer *newer; /* in its lane; of the newest, anything */
  struct clp_buffer *older;              /* likewise, NULL of the oldest; and in chains */
  clp_pool *pool;                        /* never changes */
  size_t size;                           /* as requested */
  uint64_t age;                          /* the tick of its last release; larger is younger */
  clpi_use use;           /* of a held block: its last use; stream NULL: see `noted` */
  _Atomic uint32_t index; /* the bin's while it is active; else the state (CLPI_NO_INDEX), relaxed:
                             it serves to detect a second release */
  alignas(64) clp_memory memory; /* 0: a buffer of zero bytes */
  size_t bytes;                  /* of the block: its bin's, or fewer (clpi_buffer_is_exact) */
  struct clpi_bin *bin;          /* NULL: a buffer of zero bytes */
  clpi_stream *bound;            /* the stream that an active buffer is bound to; NULL: none */
  clpi_noted_uses *noted;        /* uses on several streams; NULL or empty: only `use` counts */
  clpi_lane_links lane;
};
static_assert(sizeof(clp_buffer) == 128, "there may be very many of them");

static inline clpi_buffer_state clpi_state_of(const clp_buffer *buffer)
{
  uint32_t state = CLPI_NO_INDEX(clpi_relaxed(buffer->index));
  return state <= CLPI_BUFFER_SPARE ? (clpi_buffer_state)state : CLPI_BUFFER_ACTIVE;
}

/* Sets a state other than ACTIVE, which has an index instead. */
static inline void clpi_set_state(clp_buffer *buffer, clpi_buffer_state state)
{
  clpi_set_relaxed(buffer->index, CLPI_NO_INDEX(state));
}

/* Identifies an active buffer in hook events; 0 for NULL. */
static inline uint64_t clpi_buffer_id(const clp_buffer *buffer)
{
  return (uint64_t)(uintptr_t)buffer;
}

/* Whether a block is smaller than its bin's, because there was no memory for a larger one. Such a
 * block is never held, unless the device does not take it back. */
#define clpi_buffer_is_exact(block) ((block)->bytes != (block)->bin->block_bytes)

static inline bool clpi_buffer_is_active(const clp_buffer *buffer)
{
  return clpi_state_of(buffer) <= CLPI_BUFFER_SHARED;
}

/* Returns the recorded uses of a buffer's block. If it is held, they are all work that may still
 * use it; if it is active, those that the owner has recorded so far. */
clpi_uses clpi_uses_of(clp_buffer *block);

/* Settles the uses of a leaving block for a stream, under no lock; see clpi_use_settle. A poll asks
 * about all uses even if one is not done, so that those that are done need no wait later. */
bool clpi_buffer_settle(clp_buffer *block, clpi_streams *streams, clpi_stream *stream,
                        unsigned ways);

/* Records that a stream uses an active buffer. Fails with CLP_OUT_OF_HOST_MEMORY. */
clp_status clpi_buffer_note_use_locked(clp_buffer *buffer, clpi_stream *stream);

/* Records the release of an active buffer on a stream, and extends all recorded uses up to now. */
void clpi_buffer_note_release_locked(clp_buffer *buffer, clpi_stream *stream);

#endif
