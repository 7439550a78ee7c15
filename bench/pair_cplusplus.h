/* SPDX-License-Identifier: MIT */
/* Pairs as C++ programs on OpenCL make them. */
#ifndef BENCH_PAIR_CPLUSPLUS_H
#define BENCH_PAIR_CPLUSPLUS_H

#include <CL/cl.h>
#include <clpool/pool.h>
#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A cl::Buffer made and ended so many times, as by a scope. False: OpenCL refused one. */
bool pair_of_cl_buffers(cl_context context, size_t bytes, size_t times);

/** A clpool::buffer of the pool, likewise; and a clpool::cl_buffer, which is a cl::Buffer, too. */
bool pair_of_pooled_buffers(clp_pool *pool, size_t bytes, size_t times);
bool pair_of_pooled_cl_buffers(clp_pool *pool, size_t bytes, size_t times);

#ifdef __cplusplus
}
#endif

#endif
