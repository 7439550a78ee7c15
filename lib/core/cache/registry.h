/* SPDX-License-Identifier: MIT */
/* Threads' numbers, and the list of each one's caches, which it gives up when it ends. */
#ifndef CLPOOL_CORE_CACHE_REGISTRY_H
#define CLPOOL_CORE_CACHE_REGISTRY_H

#include "core/cache/warm_path.h"

/* Gives the calling thread a number, unless it has one, and watches for its end. False: that cannot
 * be arranged, so it must not have a cache. */
bool clpi_thread_join(void);

/* While the calling thread has hooks, none of its calls is warm. */
void clpi_thread_watch(bool is_watched);

/* Notes that the cache is the calling thread's. Under its stock's lock. */
void clpi_thread_add_cache(clpi_cache *cache);

/* Takes a cache off the list of the calling thread, which ends. The stock does not end until the
 * visit ends. NULL: there is none left, and the thread has no number any more. */
clpi_cache *clpi_thread_begin_visit(void);
void clpi_thread_end_visit(clpi_stock *stock);

/* Once, before the first stock. */
void clpi_registry_set_up(void);

/* A stock ends; waits for visits. Not under its lock. */
void clpi_registry_leave(clpi_stock *stock);

#endif
