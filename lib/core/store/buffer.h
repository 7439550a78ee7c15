/* SPDX-License-Identifier: MIT */
/* A block of device memory and its handle, which are one object for the block's whole life. */
#ifndef CLPOOL_CORE_STORE_BUFFER_H
#define CLPOOL_CORE_STORE_BUFFER_H

#include "core/streams/use.h"

#include <clpool/buffer.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdint.h>

struct clpi_bin;

/* Uses on streams that differ. There is always room for one more, its release. */
typedef struct clpi_several {
  size_t count, capacity;
  clpi_use uses[];
} clpi_several;

/* That of an active buffer changes by its owner's release alone; that of a held one is guarded by
 * what keeps the block, a cache or the pool's lock. */
typedef enum clpi_buffer_state {
  CLPI_BUFFER_SPARE = 0, /* a handle without a block, kept so that a second release is told */
  CLPI_BUFFER_ACTIVE,    /* the user's */
  CLPI_BUFFER_SHARED, /* likewise, and bound to a stream or used by others than it goes back on */
  CLPI_BUFFER_HELD,   /* in its bin */
  CLPI_BUFFER_LEAVING /* on its way to the device, or being settled; in no list */
} clpi_buffer_state;

/* Two cache lines, and alone on them: processors fetch them in pairs, and blocks of different
 * threads must not slow each other down. The warm path touches the first alone. */
struct clp_buffer {
  alignas(128) clp_pool *pool;     /* for the handle's whole life */
  clp_memory memory;               /* 0: a buffer of zero bytes */
  size_t size;                     /* as asked for */
  struct clpi_bin *bin;            /* NULL: a buffer of zero bytes */
  uint64_t age;                    /* the tick of its last release; larger is younger */
  uint32_t index;                  /* the bin's; 0: a buffer of zero bytes */
  _Atomic clpi_buffer_state state; /* relaxed: a second release only has to be told */
  clpi_use use;                    /* of a held block, its last; no stream: see `several` */
  alignas(64) struct clp_buffer *newer, *older; /* neighbours in the store; `older` also chains */
  clpi_stream *bound;    /* the stream that an active buffer is bound to; NULL: none */
  clpi_several *several; /* uses on several streams; NULL or with none in it: only `use` counts */
};

static inline clpi_buffer_state clpi_state_of(const clp_buffer *buffer)
{
  return atomic_load_explicit(&buffer->state, memory_order_relaxed);
}

static inline void clpi_set_state(clp_buffer *buffer, clpi_buffer_state state)
{
  atomic_store_explicit(&buffer->state, state, memory_order_relaxed);
}

/* What tells it apart from the other active buffers; 0 for NULL. */
static inline uint64_t clpi_buffer_id(const clp_buffer *buffer)
{
  return (uint64_t)(uintptr_t)buffer;
}

/* Whether it is the user's. */
static inline bool clpi_buffer_is_active(const clp_buffer *buffer)
{
  return clpi_state_of(buffer) == CLPI_BUFFER_ACTIVE || clpi_state_of(buffer) == CLPI_BUFFER_SHARED;
}

#endif
