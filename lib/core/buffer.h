/* SPDX-License-Identifier: MIT */
/* A block of device memory and its handle, which are one object for the block's whole life. */
#ifndef CLPOOL_CORE_BUFFER_H
#define CLPOOL_CORE_BUFFER_H

#include <clpool/buffer.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdint.h>

struct clpi_bin;

/* That of an active buffer changes by its owner's release alone; that of a held one is guarded by
 * what keeps the block, a cache or the pool's lock. */
typedef enum clpi_buffer_state {
  CLPI_BUFFER_SPARE = 0, /* a handle without a block, kept so that a second release is told */
  CLPI_BUFFER_ACTIVE,    /* the user's */
  CLPI_BUFFER_HELD,      /* in its bin */
  CLPI_BUFFER_LEAVING    /* on its way to the device, in no list */
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
  alignas(64) struct clp_buffer *newer, *older; /* neighbours in the store; `older` also chains */
};

#endif
