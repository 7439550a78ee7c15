/* SPDX-License-Identifier: MIT */
/* Pairs as C++ programs on OpenCL make them: a block is made, and ended by its scope. */
#ifndef BENCH_PAIR_SCOPES_H
#define BENCH_PAIR_SCOPES_H

#include <CL/cl.h>
#include <clpool/pool.h>
#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** So many times, of the context or the pool. False: one was refused. */
typedef bool pair_scope(cl_context context, clp_pool *pool, size_t bytes, size_t times);

/** Each is named for the type whose objects it makes. */
pair_scope pair_cl_buffer, pair_clpool_buffer, pair_clpool_cl_buffer;

#ifdef __cplusplus
}
#endif

#endif
