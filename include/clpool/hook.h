/* SPDX-License-Identifier: MIT */
/** @file
 * clpool/hook.h - callbacks around what pools do: to see where memory goes.
 *
 * Semantics: cupy.cuda.MemoryHook, with the same order and arguments, and two callbacks more,
 * around returning memory to the device. Postprocess always follows its preprocess, on failure too:
 *
 *   malloc       around retrieving a block from the pool (clp_pool_allocate and its like)
 *     alloc      inside, around each call to the device for new memory; not on a hit, not where a
 *                limit refuses; once more for each try after the device was out of memory, at last
 *                for the requested size
 *   free         around returning a block to the pool, shown to the thread that releases
 *   device_free  around each call that returns memory to the device, wherever it happens: in a
 *                malloc that makes room, in a free where the pool holds no more, in
 *                clp_pool_free_held and its like, at the pool's end
 *
 * "The device" is what takes real memory. On an arena (clpool/arena.h), alloc and device_free are
 * about segments, with their sizes, shown to the hooks of the pool in whose call the arena takes or
 * returns one. A reserve shows nothing.
 *
 * An allocation or release that is refused for its arguments (NULL, more bytes than the device's
 * largest block, a stream that is none, a second release) shows nothing.
 *
 * Calls of threads and pools without a hook cost nothing for those of others. */
#ifndef CLPOOL_HOOK_H
#define CLPOOL_HOOK_H

#include <clpool/allocator.h>
#include <clpool/pool.h>
#include <clpool/status.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What a callback is shown. Fields that do not apply are 0. */
typedef struct clp_hook_event {
  clp_pool *pool;     /**< borrowed; NULL for a clp_cuda_async_pool (clpool/cuda.h) */
  int device_id;      /**< clp_allocator_ops.device_id */
  clp_stream stream;  /**< the stream that the call was given or the buffer is bound to; otherwise,
                           and in device_free, the allocator's home stream */
  size_t size;        /**< bytes as asked for; in malloc and free */
  size_t mem_size;    /**< bytes as rounded: the bin's size; after a block was refused at it, or in
                           a pool that holds nothing, the requested size, rounded up to the
                           alignment; in alloc and device_free on an arena the segment's; 0 for
                           zero bytes */
  clp_memory memory;  /**< 0 before there is any, for zero bytes, and on failure: in device_free's
                           postprocess where the device did not take it */
  uint64_t buffer_id; /**< tells active buffers apart; in malloc's postprocess and free. 0 on
                           failure, not 0 for zero bytes */
} clp_hook_event;

/** One of a hook's callbacks; `event` is borrowed for the call. */
typedef void (*clp_hook_callback)(const clp_hook_event *event, void *user_data);

/** A hook: the caller's, who keeps it and its name alive and unchanged while it is registered. Any
 * callback may be NULL.
 *
 * A callback runs on the thread whose call it shows, under no lock of the library, and may use any
 * pool: no hooks are called for what it does there, and no failure there becomes the caller's last
 * error. It must return. (If it ends its thread, no other one waits for it, but what the call had
 * begun is not finished: no postprocess follows, and the pool may never end.) It must not push,
 * pop, add or remove hooks (CLP_BUSY), and must not drop the last reference to the pool that it is
 * called for. What an on_out_of_memory does is shown. An allocation in another thread that is about
 * to fail waits for a block whose device_free is being shown, so a callback must not wait for a
 * lock that is held around calls to a pool. After fork the child has the hooks that were registered
 * for its thread and for pools, with the same user_data.
 */
typedef struct clp_hook {
  size_t struct_size; /**< sizeof(clp_hook) */
  const char *name;   /**< identifies the hook among those of a thread or a pool; not NULL */
  void *user_data;    /**< passed to each callback */
  clp_hook_callback malloc_preprocess;       /**< before a block is retrieved from the pool */
  clp_hook_callback malloc_postprocess;      /**< after that */
  clp_hook_callback alloc_preprocess;        /**< before the device is asked for memory */
  clp_hook_callback alloc_postprocess;       /**< after that */
  clp_hook_callback free_preprocess;         /**< before a block is returned to the pool */
  clp_hook_callback free_postprocess;        /**< after that */
  clp_hook_callback device_free_preprocess;  /**< before memory is returned to the device */
  clp_hook_callback device_free_postprocess; /**< after that */
} clp_hook;

/** What a clp_hook begins as: its size, and zeros. */
#define CLP_HOOK_INIT                                                                              \
  {                                                                                                \
    sizeof(clp_hook), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL                   \
  }

/** Registers a hook for all pools as used by the calling thread, asynchronous ones of CUDA
 * (clpool/cuda.h) too, until clp_hook_pop or the thread's end (`with hook:` in CuPy). Any depth.
 * Several threads may register one hook. Callbacks run in order of registration, pre- and
 * postprocesses alike, whether for a thread or for a pool; a hook that is registered for both runs
 * twice. CLP_INVALID_ARGUMENT: NULL hook or name, a struct_size too small or with unknown fields
 * set. CLP_BUSY: a hook of that name is registered for this thread, or the call comes from inside a
 *   callback or an on_out_of_memory.
 * CLP_OUT_OF_HOST_MEMORY. */
clp_status clp_hook_push(const clp_hook *hook);

/** Ends a registration of the calling thread, in any order.
 * CLP_INVALID_ARGUMENT: NULL hook. CLP_NOT_FOUND: it is not registered for this thread. CLP_BUSY:
 * the call comes from inside a callback or an on_out_of_memory. */
clp_status clp_hook_pop(const clp_hook *hook);

/** Registers a hook for one pool as used by all threads, until clp_pool_remove_hook or the pool's
 * end. Any thread. Statuses as clp_hook_push's, with the pool's hooks in place of the thread's. */
clp_status clp_pool_add_hook(clp_pool *pool, const clp_hook *hook);

/** Ends a registration for a pool. When it returns, no callback of the hook is running for the
 * pool, and none will: it waits for other threads that are between a preprocess and its
 * postprocess. Any thread. CLP_INVALID_ARGUMENT: NULL pool or hook. CLP_NOT_FOUND: it is not
 * registered for this pool. CLP_BUSY: as clp_hook_pop. */
clp_status clp_pool_remove_hook(clp_pool *pool, const clp_hook *hook);

/** A hook that writes a JSON object a line to `file`, which stays the caller's, at each
 * postprocess, with the keys of cupy.cuda.memory_hooks.DebugPrintHook:
 *
 *   {"hook":"alloc","device_id":0,"mem_size":511,"mem_ptr":140390912}
 *   {"hook":"malloc","device_id":0,"size":500,"mem_size":511,"mem_ptr":140390912,"pmem_id":"0x5f"}
 *   {"hook":"free","device_id":0,"mem_size":511,"mem_ptr":140390912,"pmem_id":"0x5f"}
 *   {"hook":"device_free","device_id":0,"mem_size":511,"mem_ptr":140390912}
 *
 * pmem_id is the event's buffer_id. Several threads may use it at once; lines stay whole, and each
 * is flushed. Its name is "debug_print"; whoever registers several gives them names of their own.
 * `*out` is the caller's until clp_debug_print_hook_destroy; NULL on failure.
 * CLP_INVALID_ARGUMENT: NULL file or out. CLP_OUT_OF_HOST_MEMORY. */
clp_status clp_debug_print_hook_create(FILE *file, clp_hook **out);

/** Ends the hook, which must not be registered anywhere any more. NULL is a no-op. Any thread. */
void clp_debug_print_hook_destroy(clp_hook *hook);

#ifdef __cplusplus
}
#endif

#endif
