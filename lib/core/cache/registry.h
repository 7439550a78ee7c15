/* SPDX-License-Identifier: MIT */
/* The pools that live, and the threads that must tell them when they end. */
#ifndef CLPOOL_CORE_CACHE_REGISTRY_H
#define CLPOOL_CORE_CACHE_REGISTRY_H

#include "core/pool/pool.h"

/* Enters a pool, which gets its id and its lookup slot; takes it out. Not under a pool's lock. */
void clpi_registry_add(clp_pool *pool);
void clpi_registry_remove(clp_pool *pool);

/* Makes sure that the calling thread's end takes its caches and hooks along. False: it cannot be,
 * so the thread must not have any. */
bool clpi_registry_watch_thread(void);

#endif
