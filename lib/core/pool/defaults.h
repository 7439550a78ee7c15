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

/* The caller's options, or NULL, with the defaults where they say nothing. CLP_INVALID_ARGUMENT as
 * clp_pool_create. */
clp_status clpi_pool_options_read(const clp_pool_options *given, clp_pool_options *options);

/* What the pool is to stand on: the allocator, or an arena on it where the options say nothing and
 * CLPOOL_ARENA is 1, unless the allocator cannot split blocks. `*out` is the caller's, on success.
 * CLP_INVALID_ARGUMENT, CLP_OUT_OF_HOST_MEMORY as clp_pool_create. */
clp_status clpi_pool_place(clp_allocator *allocator, const clp_pool_options *given,
                           clp_allocator **out);

/* The limit that CLPOOL_MEMORY_LIMIT sets; 0: it is not set. `device_bytes` is the device's memory,
 * 0 if unknown; `whose` names the allocator in messages. CLP_INVALID_ARGUMENT: the value cannot be
 * read. CLP_NOT_SUPPORTED: it is a percentage, and the memory is unknown. */
clp_status clpi_limit_from_environment(const char *whose, size_t device_bytes, size_t *limit);

/* A limit as a part of the device's memory. CLP_INVALID_ARGUMENT: `fraction` is not 0 to 1.
 * CLP_NOT_SUPPORTED: the memory is unknown. */
clp_status clpi_limit_from_fraction(const char *whose, size_t device_bytes, double fraction,
                                    size_t *limit);

#endif
