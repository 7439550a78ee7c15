/* SPDX-License-Identifier: MIT */
/** @file
 * clpool/hook.h - hooks: callbacks that the library calls before and after what pools do.
 *
 * Semantics: cupy.cuda.MemoryHook, with the same order and arguments. Two callbacks are new, around
 * returning memory to the device. A postprocess always follows its preprocess, even on failure. The
 * pairs are:
 *
 * - malloc: around taking a block from the pool, such as in clp_pool_allocate.
 * - alloc: inside malloc, around each call to the device for new memory. A hit has none, nor does a
 *   request that a limit refuses. If the device is out of memory, each further attempt has one.
 * - free: around returning a block to the pool, on the thread that releases it.
 * - device_free: around each call that returns memory to the device. It may be inside a malloc that
 *   makes room or a free of a block that is not held, in calls such as clp_pool_free_held, or at
 *   the pool's end.
 *
 * "The device" is what takes real memory. On an arena (clpool/arena.h), alloc and device_free are
 * about segments. If the arena takes or returns a segment in a call of a pool, that pool's hooks
 * see it. Hooks do not see a reserve.
 *
 * Hooks do not see an allocation or release whose arguments are refused: NULL, more bytes than the
 * device's largest block, a stream that does not belong to the allocator, a second release.
 *
 * Hooks cost nothing in calls of threads and pools that have none. */
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

/** The data that a callback gets. Fields that do not apply are 0. */
typedef struct clp_hook_event {
  clp_pool *pool;     /**< borrowed; NULL for a clp_cuda_async_pool (clpool/cuda.h) */
  int device_id;      /**< clp_allocator_ops.device_id */
  clp_stream stream;  /**< the stream that the call was given or the buffer is bound to; otherwise,
                           and in device_free, the allocator's home stream */
  size_t size;        /**< bytes as requested; in malloc and free */
  size_t mem_size;    /**< bytes as rounded: the bin's size, or if that was refused or the pool
                           holds nothing, the requested size, rounded up to the alignment; in alloc
                           and device_free on an arena the segment's; 0 for zero bytes */
  clp_memory memory;  /**< 0 before there is any, for zero bytes, and on failure, also in
                           device_free's postprocess if the device did not take it back */
  uint64_t buffer_id; /**< identifies an active buffer; in malloc's postprocess and free. 0 on
                           failure, but not for zero bytes */
} clp_hook_event;

/** One of a hook's callbacks. `event` is borrowed, and valid during the call. */
typedef void (*clp_hook_callback)(const clp_hook_event *event, void *user_data);

/** A set of callbacks with a name. It is the program's, which must keep it and its name alive and
 * unchanged while it is registered. Any callback may be NULL.
 *
 * The library calls a callback on the thread that made the call, without any lock of the library. A
 * callback may use any pool. No hook sees what it does there, and a failure there does
 * not change the last error of the outer call. Hooks do see what an on_out_of_memory does. A
 * callback
 *
 * - must return. If it ends its thread instead, other threads continue, but no postprocess follows,
 *   and the pool may never end.
 * - must not push, pop, add or remove hooks (CLP_BUSY).
 * - must not drop the last reference to the pool that it is called for.
 * - must not wait for a lock that another thread holds while it calls a pool: that thread may be
 *   waiting for the block whose device_free the callback sees.
 *
 * After a fork, the child has the hooks of its thread and of pools, with the same user_data. */
typedef struct clp_hook {
  size_t struct_size; /**< sizeof(clp_hook) */
  const char *name;   /**< identifies the hook among those of a thread or a pool; not NULL */
  void *user_data;    /**< passed to each callback */
  clp_hook_callback malloc_preprocess;       /**< before a block is taken from the pool */
  clp_hook_callback malloc_postprocess;      /**< after that */
  clp_hook_callback alloc_preprocess;        /**< before the device is asked for memory */
  clp_hook_callback alloc_postprocess;       /**< after that */
  clp_hook_callback free_preprocess;         /**< before a block is returned to the pool */
  clp_hook_callback free_postprocess;        /**< after that */
  clp_hook_callback device_free_preprocess;  /**< before memory is returned to the device */
  clp_hook_callback device_free_postprocess; /**< after that */
} clp_hook;

/** The initial value of a clp_hook: its size, and zeros. */
#define CLP_HOOK_INIT                                                                              \
  {                                                                                                \
    sizeof(clp_hook), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL                   \
  }

/** Registers a hook for what the calling thread does with all pools, until clp_hook_pop or the
 * thread's end (CuPy's `with hook:`). It also sees asynchronous pools of CUDA (clpool/cuda.h). A
 * thread may register any number of hooks, and several threads may register the same one.
 *
 * Callbacks run in the order of registration, postprocesses too, whether they are registered for a
 * thread or a pool. A hook that is registered for both runs twice. Any thread.
 * CLP_INVALID_ARGUMENT: NULL hook or name, a struct_size too small or with unknown fields set.
 * CLP_BUSY: the thread has a hook of that name, or the call comes from inside a callback or an
 *   on_out_of_memory.
 * CLP_OUT_OF_HOST_MEMORY. */
clp_status clp_hook_push(const clp_hook *hook);

/** Ends a registration of the calling thread. The order does not matter. Any thread.
 * CLP_INVALID_ARGUMENT: NULL hook.
 * CLP_NOT_FOUND: the hook is not registered for this thread.
 * CLP_BUSY: the call comes from inside a callback or an on_out_of_memory. */
clp_status clp_hook_pop(const clp_hook *hook);

/** Registers a hook for what all threads do with one pool, until clp_pool_remove_hook or the pool's
 * end. Any thread. Statuses as of clp_hook_push; CLP_BUSY: the pool has a hook of that name. */
clp_status clp_pool_add_hook(clp_pool *pool, const clp_hook *hook);

/** Ends a registration for a pool. It waits for other threads that are between a preprocess and its
 * postprocess. After it has returned, no callback of the hook runs for the pool. Any thread.
 * CLP_INVALID_ARGUMENT: NULL pool or hook.
 * CLP_NOT_FOUND: the hook is not registered for this pool.
 * CLP_BUSY: as of clp_hook_pop. */
clp_status clp_pool_remove_hook(clp_pool *pool, const clp_hook *hook);

/** Makes a hook that writes one JSON object and a line feed to `file` at each postprocess. The keys
 * are those of cupy.cuda.memory_hooks.DebugPrintHook:
 *
 *   {"hook":"alloc","device_id":0,"mem_size":511,"mem_ptr":140390912}
 *   {"hook":"malloc","device_id":0,"size":500,"mem_size":511,"mem_ptr":140390912,"pmem_id":"0x5f"}
 *   {"hook":"free","device_id":0,"mem_size":511,"mem_ptr":140390912,"pmem_id":"0x5f"}
 *   {"hook":"device_free","device_id":0,"mem_size":511,"mem_ptr":140390912}
 *
 * pmem_id is the event's buffer_id. The hook flushes the file after each line. Several threads may
 * use it at once, and their lines do not mix. Its name is "debug_print"; to register several such
 * hooks, give them different names.
 *
 * `file` stays the caller's. `*out` is the caller's until clp_debug_print_hook_destroy; NULL on
 * failure. Any thread.
 * CLP_INVALID_ARGUMENT: NULL file or out.
 * CLP_OUT_OF_HOST_MEMORY. */
clp_status clp_debug_print_hook_create(FILE *file, clp_hook **out);

/** Ends the hook, which must not be registered anywhere any more. NULL is a no-op. Any thread. */
void clp_debug_print_hook_destroy(clp_hook *hook);

#ifdef __cplusplus
}
#endif

#endif
