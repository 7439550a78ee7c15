/* SPDX-License-Identifier: MIT */
/* What a pool is like: as its options say, and where they say nothing, as the environment or else
 * the library does. */
#ifndef CLPOOL_CORE_POOL_DEFAULTS_H
#define CLPOOL_CORE_POOL_DEFAULTS_H

#include <clpool/arena.h>
#include <clpool/pool.h>

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
