/* SPDX-License-Identifier: MIT */
/** @file
 * clpool/clpool.h - includes the headers of clpool that need no backend.
 *
 * Most programs need five steps: make an allocator, make a pool over it, allocate a buffer, release
 * the buffer, release the pool and the allocator. With host memory, which needs no device:
 *
 *     #include <clpool/clpool.h>
 *
 *     int main(void)
 *     {
 *       clp_allocator *allocator;
 *       clp_pool *pool;
 *       clp_buffer *buffer;
 *       if (clp_host_allocator_create(0, &allocator))
 *         return 1;
 *       if (clp_pool_create(allocator, NULL, &pool))
 *         return 1;
 *       if (clp_pool_allocate(pool, 1000000, &buffer))
 *         return 1;
 *       void *memory = (void *)clp_buffer_memory(buffer);
 *       (void)memory;
 *       clp_buffer_release(buffer);
 *       clp_pool_release(pool);
 *       clp_allocator_release(allocator);
 *       return 0;
 *     }
 *
 * The next buffer of about this size gets the same memory at once. For OpenCL include
 * clpool/opencl.h and make the allocator with clp_cl_immediate_allocator_create(queue, 0, &a). For
 * CUDA include clpool/cuda.h and call clp_cuda_async_allocator_create(NULL, &a).
 *
 * | header         | contents                                                                  |
 * |----------------|---------------------------------------------------------------------------|
 * | allocator.h    | allocators: of host memory, simulated, and the interface for your own     |
 * | pool.h         | the pool: allocate, give back, limit, statistics, order among streams     |
 * | buffer.h       | one allocation: release, streams, memory, size                            |
 * | bin.h          | which sizes share a bin                                                   |
 * | arena.h        | an allocator that carves blocks from large segments of another one        |
 * | hook.h         | callbacks before and after what pools do                                  |
 * | profile.h      | a report of the lines of a program that take memory                       |
 * | trace.h        | a recording of a program's allocations, for `clpool replay` and `report`  |
 * | bytes.h        | reads sizes such as "512M" and "40%"                                      |
 * | status.h       | the statuses that calls return, and the calling thread's last error       |
 * | log.h          | a callback for the library's messages                                     |
 * | version.h      | the versions of the headers and of the library                            |
 * | opencl.h       | OpenCL's memory; not included here                                        |
 * | cuda.h         | CUDA's stream-ordered memory; not included here                           |
 * | cuda_mempool.h | the memory pools of CUDA's driver; not included here                      |
 * | clpool.hpp     | the C++ interface: owners and exceptions; not included here               |
 *
 * Conventions
 *
 * - Functions that can fail return a clp_status, and clp_last_error() describes the failure.
 *   Results go to out-pointers, which are written only on success; an out-pointer for an object is
 *   set to NULL on failure. The program owns what an out-pointer gives, and borrows what a function
 *   returns.
 * - Objects that count references have create, retain and release: allocators and pools. Objects
 *   with one owner have create and destroy: profiles, built-in hooks, CUDA's memory pools. A buffer
 *   is released to its pool. To retain, release or destroy NULL does nothing.
 * - Any thread may call any function at any time, except in a signal handler.
 * - No function is a cancellation point. If a thread is cancelled inside a call, the call still
 *   runs to its end. Callbacks run with cancellation disabled, and must leave it disabled. A thread
 *   that calls the library must not have asynchronous cancellation enabled.
 * - After a fork, the child must make its own allocators and pools (clpool/pool.h).
 * - Options and results are structs that begin with their size, so that both sides can grow. Begin
 *   with the struct's _INIT macro: `clp_pool_options options = CLP_POOL_OPTIONS_INIT;`, and change
 *   what you like. NULL options mean the defaults. So does a struct that is zero except for its
 *   size. A field that this version of the library does not know must be zero, otherwise the call
 *   returns CLP_INVALID_ARGUMENT.
 * - The library prints nothing, never exits, and installs no signal handlers.
 * - doc/environment.md lists the environment variables that the library reads, such as
 *   CLPOOL_TRACE. The library reads a variable when it makes the object that the variable is for.
 *   Options that the program sets win. Set-user-ID programs ignore all variables. */
#ifndef CLPOOL_CLPOOL_H
#define CLPOOL_CLPOOL_H

#include <clpool/allocator.h>
#include <clpool/arena.h>
#include <clpool/bin.h>
#include <clpool/buffer.h>
#include <clpool/bytes.h>
#include <clpool/hook.h>
#include <clpool/log.h>
#include <clpool/pool.h>
#include <clpool/profile.h>
#include <clpool/status.h>
#include <clpool/trace.h>
#include <clpool/version.h>

#endif
