/* SPDX-License-Identifier: MIT */
/* Counting what happens to a pool's blocks. All of it is called under the pool's lock. */
#ifndef CLPOOL_CORE_STATS_H
#define CLPOOL_CORE_STATS_H

#include "core/pool.h"

/* A block came into the store, or left it. */
void clpi_count_held_locked(clp_pool *pool, const clp_buffer *block);
void clpi_count_unheld_locked(clp_pool *pool, const clp_buffer *block);

/* A buffer, whose size is set, was handed to the user, or came back. */
void clpi_count_hit_locked(clp_pool *pool, const clp_buffer *buffer);
void clpi_count_miss_locked(clp_pool *pool, const clp_buffer *buffer);
void clpi_count_released_locked(clp_pool *pool, const clp_buffer *buffer);

/* The device took a block back. */
void clpi_count_device_free_locked(clp_pool *pool, size_t bytes);

#endif
