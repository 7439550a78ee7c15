/* SPDX-License-Identifier: MIT */
/* The pool: its parts and its pins. */
#ifndef CLPOOL_CORE_POOL_POOL_H
#define CLPOOL_CORE_POOL_POOL_H

#include "core/hooks/hook.h"

#include <clpool/arena.h>
#include <clpool/buffer.h>
#include <clpool/pool.h>
#include <stdio.h>

/* When the pool was looked at, the oldest first: shards.tick then. */
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
  size_t leaving_bytes;       /* of them */
  pthread_cond_t left;        /* broadcast when one of them comes to rest */
  clpi_pool_hooks hooks;
  _Atomic size_t limit; /* 0: none; stored under the lock; relaxed */
  uint64_t out_of_memory_reactions;
  size_t most_active_bytes; /* of blocks, at a miss, with the one that was missing (fit.c) */
  uint64_t gave_back_tick;  /* when all that was held went back last (fit.c) */
  clpi_idle_looks idle;     /* of clp_pool_trim_idle */
  size_t references;        /* the users' */
  size_t pins; /* keep a pool without references alive: operations, and then active buffers */
  bool ended;  /* no reference and no pin is left, and none may be added any more */
};

/* Whether an ancestor of this process has made the pool, which is then never locked nor freed. */
static inline bool clpi_pool_is_inherited(const clp_pool *pool)
{
  return clpi_allocator_is_inherited(pool->allocator);
}

/* What `function` fails with for its pool. CLP_INVALID_ARGUMENT: NULL. CLP_NOT_SUPPORTED:
 * inherited. */
static inline clp_status clpi_pool_check(const clp_pool *pool, const char *function)
{
  return pool ? clpi_allocator_check(pool->allocator, function)
              : clpi_error(CLP_INVALID_ARGUMENT, 0, "%s: pool is NULL", function);
}

/* Pins and returns the pool after `last`, or the first if that is NULL, of those on the allocator,
 * or if that is NULL, of the process; unpins `last`. NULL: no more. The lock of their list is taken
 * before any of a pool. Under no lock. */
clp_pool *clpi_pools_next(const clp_allocator *allocator, clp_pool *last);

/* Goes through these pools, each pinned meanwhile. The body must not leave the loop. */
#define clpi_each_pool(allocator, pool)                                                            \
  for (clp_pool *pool = clpi_pools_next(allocator, NULL); pool;                                    \
       pool = clpi_pools_next(allocator, pool))

/* How many pools have a name; relaxed. */
extern atomic_size_t clpi_named_pools __attribute__((visibility("hidden")));

/* The pool's name for messages: ` "name"`, cut where it is long, or nothing. */
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

/* The same of a pool that is not locked. May be a cleanup handler. */
static inline void clpi_pool_unpin(void *argument)
{
  clp_pool *pool = argument;
  pthread_mutex_lock(&pool->shards.lock);
  clpi_pool_unpin_and_unlock(pool);
}

/* The buffer's memory, if its allocator's memory is of this kind or of an unstated one. Otherwise 0
 * with an error that says that the memory is no `type`, on behalf of `function`. */
clp_memory clpi_buffer_memory_of(const clp_buffer *buffer, clp_memory_kind kind,
                                 const char *function, const char *type);

/* Each stream that a block or a buffer of the pool needs is so noted. */
extern const clpi_streams_owner clpi_pool_owns_streams __attribute__((visibility("hidden")));

/* --- defaults.c --- */

/* The one function of arenas that the core knows; lib/arena defines it. */
typedef clp_status (*clpi_arena_maker)(clp_allocator *upstream, const clp_arena_options *options,
                                       clp_allocator **out);
extern const clpi_arena_maker clpi_default_arena __attribute__((visibility("hidden")));

/* The caller's options, or NULL, with the environment's or the library's values for what is not
 * set: hold_bytes of SIZE_MAX is no bound, and `arena` says whether to make one.
 * CLP_INVALID_ARGUMENT and CLP_NOT_SUPPORTED as clp_pool_create. */
clp_status clpi_pool_options_read(const clp_allocator *allocator, const clp_pool_options *given,
                                  clp_pool_options *options);

/* A limit as a part of the device's memory, `device_bytes`, 0 if unknown; `whose` names the
 * allocator in messages. CLP_INVALID_ARGUMENT: `fraction` is not 0 to 1. CLP_NOT_SUPPORTED: the
 * memory is unknown. */
clp_status clpi_limit_from_fraction(const char *whose, size_t device_bytes, double fraction,
                                    size_t *limit);

#endif
