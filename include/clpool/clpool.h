/* SPDX-License-Identifier: MIT */
/** @file
 * clpool/clpool.h - pools of device memory: all that needs no backend.
 *
 * Five calls serve most programs: make an allocator, make a pool over it, allocate, release the
 * buffer, release what was made. On the host's memory, which needs no device:
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
 * The next buffer of about this size gets the same memory, at once. For OpenCL include
 * clpool/opencl.h and make the allocator with clp_cl_immediate_allocator_create(queue, 0, &a); for
 * CUDA include clpool/cuda.h and call clp_cuda_async_allocator_create(NULL, &a).
 *
 * | header         | what it has                                                               |
 * |----------------|---------------------------------------------------------------------------|
 * | allocator.h    | where memory comes from: host, simulated, an interface for your own       |
 * | pool.h         | the pool: allocate, give back, limit, statistics, order among streams     |
 * | buffer.h       | one allocation: release, streams, memory, size                            |
 * | bin.h          | which sizes share a bin                                                   |
 * | arena.h        | an allocator that carves blocks from big segments of another one          |
 * | hook.h         | callbacks around what pools do                                            |
 * | profile.h      | which lines of a program take memory                                      |
 * | trace.h        | a program's allocations, written down for the program clpool              |
 * | bytes.h        | sizes as people write them: "512M", "40%"                                 |
 * | status.h       | what a call came to, and the calling thread's last failure                |
 * | log.h          | where the library's messages go                                           |
 * | version.h      | the version of the headers, and of the library                            |
 * | opencl.h       | OpenCL's memory; not included here                                        |
 * | cuda.h         | CUDA's stream-ordered memory; not included here                           |
 * | cuda_mempool.h | the memory pools of CUDA's driver; not included here                      |
 * | clpool.hpp     | all of it for C++, by owners and exceptions; not included here            |
 *
 * Conventions
 *
 * - Functions that can fail return a clp_status, and clp_last_error() says more. Results go to
 *   out-pointers, written only on success; an object out-pointer is NULL on failure. An out-pointer
 *   hands over ownership, a returned pointer is borrowed.
 * - What counts references has create, retain and release: allocators, pools. What has one owner
 *   has create and destroy: profiles, built-in hooks, CUDA's memory pools. Buffers are released, to
 *   their pool. All of these take NULL, and do nothing then.
 * - Every function may be called from any thread at any time; not from signal handlers.
 * - No function is a cancellation point: a thread that pthread_cancel ends goes on to the end
 *   of the call, and so do the callbacks in it, which are entered with cancellation disabled and
 *   must leave it so. Asynchronous cancellation must be off.
 * - After fork, the child makes allocators and pools of its own; clpool/pool.h says more.
 * - Options and results are structs that begin with their size, so that both sides can grow. Fill
 *   them with the struct's _INIT macro: `clp_pool_options options = CLP_POOL_OPTIONS_INIT;`, then
 *   change what you like. Where only the size is set and the rest is zero, options mean the
 *   defaults as well, and so do NULL options. A field that this version of the library does not
 *   know must be zero, else the struct is refused with CLP_INVALID_ARGUMENT.
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
