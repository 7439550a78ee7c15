/* SPDX-License-Identifier: MIT */
/* The pool: its parts and its pins. */
#ifndef CLPOOL_CORE_POOL_POOL_H
#define CLPOOL_CORE_POOL_POOL_H

#include "core/hooks/hook.h"

#include <clpool/arena.h>
#include <clpool/buffer.h>
#include <clpool/pool.h>
#include <stdio.h>

/* The latest calls of clp_pool_trim_idle, the oldest first: their time, and shards.tick then. */
typedef struct clpi_idle_looks {
  struct {
    uint64_t milliseconds, tick;
  } all[16];
  size_t count;
} clpi_idle_looks;

struct clp_pool {
  clpi_shards shards; /* shards.lock is the pool's lock, and guards the members from `leaving` on */
  clp_pool_options options;
  char *name;                 /* NULL: none */
  clp_allocator *allocator;   /* retained */
  clpi_list on_all;           /* the process's pools */
  const clp_hook *first_hook; /* CLPOOL_TRACE's, one of `hooks`; NULL: none */
  size_t leaving;             /* the number of leaving blocks (leaving.h) */
  size_t leaving_bytes;       /* their bytes */
  pthread_cond_t left;        /* broadcast when one of them comes to rest */
  clpi_pool_hooks hooks;
  _Atomic size_t limit; /* 0: none; stored under the lock; relaxed */
  uint64_t out_of_memory_reactions;
  size_t most_active_bytes; /* the most of active blocks at a miss, with the missing one (fit.c) */
  uint64_t gave_back_tick;  /* when the pool last gave back all held blocks (fit.c) */
  clpi_idle_looks idle;     /* of clp_pool_trim_idle */
  size_t references;        /* the program's */
  size_t pins; /* operations; without references also active buffers: they keep the pool alive */
  bool ended;  /* no reference and no pin is left, and none may be added any more */
};

/* Whether an ancestor of this process made the pool. Such a pool is never locked or freed. */
static inline bool clpi_pool_is_inherited(const clp_pool *pool)
{
  return clpi_allocator_is_inherited(pool->allocator);
}

/* Checks the pool argument of `function`. CLP_INVALID_ARGUMENT: NULL. CLP_NOT_SUPPORTED: the pool
 * is inherited. */
static inline clp_status clpi_pool_check(const clp_pool *pool, const char *function)
{
  return pool ? clpi_allocator_check(pool->allocator, function)
              : clpi_error(CLP_INVALID_ARGUMENT, 0, "%s: pool is NULL", function);
}

/* Returns the next pool on the allocator, or if that is NULL, of the process: the one after `last`,
 * or the first if `last` is NULL. Pins it, and unpins `last`. NULL: no more. The lock of the pools'
 * list is taken before any pool's lock. Under no lock. */
clp_pool *clpi_pools_next(const clp_allocator *allocator, clp_pool *last);

/* Iterates over these pools, and pins each meanwhile. The body must not leave the loop. */
#define clpi_each_pool(allocator, pool)                                                            \
  for (clp_pool *pool = clpi_pools_next(allocator, NULL); pool;                                    \
       pool = clpi_pools_next(allocator, pool))

/* The number of pools with a name; relaxed. */
extern atomic_size_t clpi_named_pools __attribute__((visibility("hidden")));

/* A pool's name for messages: ` "name"`, cut if it is long, or nothing. */
typedef struct clpi_pool_quoted {
  char text[64];
} clpi_pool_quoted;

static inline clpi_pool_quoted clpi_pool_quote(const clp_pool *pool)
{
  clpi_pool_quoted quoted = {""};
  if (pool->name)
    snprintf(quoted.text, sizeof(quoted.text), " \"%.48s\"", pool->name);
  return quoted;
}

/* Drops a pin and unlocks the pool's lock. The last pin of a pool without references ends it. */
void clpi_pool_unpin_and_unlock(clp_pool *pool);

/* The same for a pool that is not locked. May be a cleanup handler. */
static inline void clpi_pool_unpin(void *argument)
{
  clp_pool *pool = argument;
  pthread_mutex_lock(&pool->shards.lock);
  clpi_pool_unpin_and_unlock(pool);
}

/* Returns the buffer's memory if its allocator's memory is of `kind` or unstated. Otherwise returns
 * 0, with a last error for `function` that names `type`. */
clp_memory clpi_buffer_memory_of(const clp_buffer *buffer, clp_memory_kind kind,
                                 const char *function, const char *type);

/* The pool as the owner of streams, which its blocks and buffers need. */
extern const clpi_streams_owner clpi_pool_owns_streams __attribute__((visibility("hidden")));

/* --- defaults.c --- */

/* The only function of arenas that the core knows; lib/arena defines it. */
typedef clp_status (*clpi_arena_maker)(clp_allocator *upstream, const clp_arena_options *options,
                                       clp_allocator **out);
extern const clpi_arena_maker clpi_default_arena __attribute__((visibility("hidden")));

/* Reads the caller's options, which may be NULL, and sets fields that are not set from the
 * environment or to the defaults. Afterwards hold_bytes of SIZE_MAX is no bound, and `arena` is
 * whether to make one. CLP_INVALID_ARGUMENT and CLP_NOT_SUPPORTED as clp_pool_create. */
clp_status clpi_pool_options_read(const clp_allocator *allocator, const clp_pool_options *given,
                                  clp_pool_options *options);

/* Computes a limit as a fraction of `device_bytes`. `whose` names the allocator in messages.
 * CLP_INVALID_ARGUMENT: `fraction` is not between 0 and 1. CLP_NOT_SUPPORTED: device_bytes is 0,
 * unknown. */
clp_status clpi_limit_from_fraction(const char *whose, size_t device_bytes, double fraction,
                                    size_t *limit);

#endif
