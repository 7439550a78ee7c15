/* SPDX-License-Identifier: MIT */
/* Which shard a thread uses. */
#ifndef CLPOOL_CORE_SHARD_THREADS_H
#define CLPOOL_CORE_SHARD_THREADS_H

#include <stdbool.h>
#include <stdint.h>

/* Shards of a pool at most; and the number of a thread that has no shard. */
enum { CLPI_SHARDS = 64, CLPI_NO_SHARD = CLPI_SHARDS };

/* What a thread is to the library. In static TLS, of which dlopen keeps little in reserve, and
 * without a call of __tls_get_addr. */
typedef struct clpi_thread {
  uint32_t number;      /* of its shard in each pool, or CLPI_NO_SHARD */
  uint32_t warm_number; /* the same, but CLPI_NO_SHARD while the thread has hooks, so that none of
                           its calls is warm */
} clpi_thread;

extern _Thread_local clpi_thread clpi_self
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Has threads' ends and forks watched; before the first pool. */
void clpi_threads_watch(void);

/* Gives the calling thread, which has none, a number: the lowest that no living thread has, so
 * that threads that come find the shards of those that went. Where all are taken, threads share. */
void clpi_thread_join(void);

/* The calling thread has hooks, or has none any more. */
void clpi_thread_set_hooked(bool has_hooks);

#endif
