/* SPDX-License-Identifier: MIT */
/* A block of device memory and its handle, which are one object for the block's whole life. */
#ifndef CLPOOL_CORE_BUFFER_H
#define CLPOOL_CORE_BUFFER_H

#include "core/list.h"

#include <clpool/buffer.h>

struct clpi_bin;

/* Guarded by the pool's lock; that of an active buffer changes only by its owner's release. */
typedef enum clpi_buffer_state {
  CLPI_BUFFER_SPARE = 0, /* a handle without a block, kept so that a second release is told */
  CLPI_BUFFER_ACTIVE,    /* the user's */
  CLPI_BUFFER_HELD,      /* in its bin */
  CLPI_BUFFER_LEAVING    /* on its way to the device, in no list */
} clpi_buffer_state;

struct clp_buffer {
  clp_pool *pool;       /* for the handle's whole life */
  clp_memory memory;    /* 0: a buffer of zero bytes */
  size_t size;          /* as asked for */
  size_t capacity;      /* as allocated */
  struct clpi_bin *bin; /* NULL: a buffer of zero bytes */
  clpi_buffer_state state;
  struct clp_buffer *newer, *older; /* neighbours in the bin; `older` also chains spare handles */
  clpi_list by_age;                 /* while held: on clpi_block_store.by_age */
};

#endif
