/* SPDX-License-Identifier: MIT */
/** @file
 * clpool/pool.h - the pool: keeps released blocks of device memory and hands them out again.
 *
 * Semantics: pyopencl.tools.MemoryPool. Blocks live in bins (clpool/bin.h). A released block goes
 * back to its bin. The next allocation from the bin takes the block that was released last. A pool
 * on an arena whose memory is an address holds nothing: see clp_pool_create.
 *
 * Threads. A pool stores its held blocks in up to 64 shards. Each shard has its own lock, and each
 * thread uses one shard, so threads seldom wait for each other. More than 64 threads share shards.
 * If the thread's shard has no block of the bin, the pool takes blocks from other shards before it
 * asks the device. In measurements, threads that used the same bin took at most 1.10 times their
 * peak use from the device, plus one block for each thread. When a thread ends, the next new thread
 * takes over its shard. Every function here reaches all held blocks, including those of sleeping
 * threads.
 *
 * Waiting:
 *
 * - The pool holds a shard's lock for some tens of instructions. To look at all shards, it holds
 *   their locks longer. clp_pool_get_stats always does this, other calls sometimes.
 * - A pool that holds nothing has one lock, its arena's.
 * - The pool never holds a lock while it calls the device or the program.
 * - A thread that waits for a lock first pauses, then yields its processor, then sleeps for 50 us
 *   at a time. So the thread that holds the lock can continue, even if its real-time priority is
 *   lower.
 * - There is no priority inheritance, neither here nor for the pool's other locks, which are
 *   mutexes.
 * - A thread with deadlines can use clp_pool_try_allocate and clp_buffer_try_release, which never
 *   wait.
 *
 * Forks. The child of a fork must make its own pools, because the parent's other threads may have
 * been inside any call. With the parent's pools, allocators and buffers, the child may only:
 *
 * - release buffers: the call does nothing;
 * - add and drop references: no object ends, so their host memory stays taken until the child ends;
 * - call functions that return properties, such as clp_buffer_memory and clp_pool_get_limit.
 *
 * Any other call returns CLP_NOT_SUPPORTED and does not touch a device. The child's own allocators
 * and pools work if their backend survives a fork: host memory and simulated memory do. If a
 * callback of the library forks, the child must call exec or _exit instead of returning from the
 * callback. vfork and posix_spawn are safe. */
#ifndef CLPOOL_POOL_H
#define CLPOOL_POOL_H

#include <clpool/allocator.h>
#include <clpool/bin.h>
#include <clpool/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Keeps released blocks and hands them out again. Counts references. */
typedef struct clp_pool clp_pool;

/** A block of a pool that the program uses; see clpool/buffer.h. */
typedef struct clp_buffer clp_buffer;

/** Flags: when a block released on one stream may be handed to another. */
enum {
  CLP_REUSE_OPPORTUNISTIC = 1u << 0,        /**< when the first stream's work is done */
  CLP_REUSE_INTERNAL_DEPENDENCIES = 1u << 1 /**< at once: the other stream waits for that work */
};

/** Frees what the program can spare, such as buffers of this pool, and returns whether it freed
 * something. The pool calls it when the device is out of memory or the pool's limit leaves no room,
 * after the pool has freed what it can. `bytes` is the size of the requested block.
 *
 * If it returns true, the pool tries the request again, and if that fails, calls it again. The
 * callback may also free other libraries' memory, in pieces. To end an endless loop, the request
 * fails after 64 calls in a row that returned true without effect: the thread gave no more bytes
 * back to clpool's allocators than it took.
 *
 * The pool calls it on the thread that allocates, without any lock of the library. It may use any
 * pool. Inside it, requests to the same pool do not call it again. */
typedef bool (*clp_out_of_memory_callback)(clp_pool *pool, size_t bytes, void *user_data);

/** @name Not set
 * Values that mean "not set" in clp_pool_options, and what the pool uses instead. @{ */
#define CLP_DEFAULT_BITS        0x7fffffffu /**< CLPOOL_LEADING_BITS, else 4 */
#define CLP_DEFAULT_REUSE_FLAGS 0x7fffffffu /**< both flags */
#define CLP_DEFAULT_HOLD_BYTES  SIZE_MAX    /**< CLPOOL_HOLD, else no bound */
#define CLP_DEFAULT_ARENA       0x7fffffffu /**< CLPOOL_ARENA, else no arena */
/** @} */

/** How a pool behaves. Begin with CLP_POOL_OPTIONS_INIT, which sets no field, and change what you
 * like. A field that you set wins, even if you set it to 0. For a field that you do not set, the
 * pool uses the environment's variable (doc/environment.md), or if there is none, the default. If a
 * field that you set overrides a variable, the log callback gets a message, once for each variable.
 *
 * If you fill the struct with zeros instead, `initialized` is 0, and fields of 0 are not set. */
typedef struct clp_pool_options {
  size_t struct_size;              /**< sizeof(clp_pool_options) */
  unsigned initialized;            /**< set by CLP_POOL_OPTIONS_INIT: a field of 0 is set */
  unsigned leading_bits_in_bin_id; /**< 0 to CLP_MAX_LEADING_BITS: more bits mean less padding and
                                      fewer hits */
  unsigned reuse_flags; /**< CLP_REUSE_... flags. 0: a stream gets no block that was released on
                           another one */
  clp_out_of_memory_callback on_out_of_memory; /**< NULL: none */
  void *user_data;                             /**< passed to on_out_of_memory */
  /** For messages, traces (clpool/trace.h) and clp_pool_name; copied. NULL: none. */
  const char *name;
  /** The most bytes that the pool holds. It gives blocks above this bound back to the device, least
   * recently used first. SIZE_MAX - 1: no bound. The pool checks the bound when it asks the device,
   * and at least at every 64th release of a thread. So each thread may leave up to 64 blocks of any
   * size held above it. For a pool without held blocks, call clp_pool_stop_holding. */
  size_t hold_bytes;
  unsigned arena; /**< 1: the pool makes its own arena over the allocator; 0: no arena */
} clp_pool_options;

/** Sets no field. */
#define CLP_POOL_OPTIONS_INIT                                                                      \
  {                                                                                                \
    sizeof(clp_pool_options), 1u, CLP_DEFAULT_BITS, CLP_DEFAULT_REUSE_FLAGS, NULL, NULL, NULL,     \
        CLP_DEFAULT_HOLD_BYTES, CLP_DEFAULT_ARENA                                                  \
  }

/** Makes an empty pool over `allocator`, which it retains. NULL options mean CLP_POOL_OPTIONS_INIT.
 * CLPOOL_ARENA=1 has no effect if the allocator cannot split blocks, such as an arena. Two
 * environment variables are sizes:
 *
 * - CLPOOL_MEMORY_LIMIT is the initial limit, such as "512M", or "40%" of the device's memory. "0"
 *   means no limit. Units are capital letters (clp_bytes_parse in clpool/bytes.h).
 * - CLPOOL_HOLD is `hold_bytes` if the options do not set it, in the same form. Here "0" means to
 *   hold nothing.
 *
 * Any other text, even an empty one, is an error. Set-user-ID programs ignore the variables.
 *
 * A pool on an arena whose memory is an address holds nothing (clpool/arena.h, doc/arena.md):
 *
 * - It carves the requested size, rounded up to the alignment; leading bits do not matter.
 * - A release gives the block to the arena at once. held_blocks and held_bytes are 0.
 * - "The device" is the allocator below the arena. An allocation is a miss if the arena took a
 *   segment for it, otherwise a hit. device_allocations and device_frees count segments that the
 *   arena takes or gives back in this pool's calls; the hooks alloc and device_free report them.
 * - clp_pool_free_held, trims, hold_bytes and clp_pool_stop_holding give back the arena's segments
 *   without blocks.
 *
 * A pool on a deferred allocator works, but the program may run out of memory only at the first use
 * of a buffer. The log callback gets a warning (clpool/log.h), as PyOpenCL warns.
 *
 * On success `*out` is an object with one reference, the caller's; on failure it is NULL. Any
 * thread.
 * CLP_INVALID_ARGUMENT: NULL allocator or out, leading_bits_in_bin_id above CLP_MAX_LEADING_BITS,
 *   unknown reuse flags, `initialized` or `arena` neither 0 nor 1, a struct_size that is too small,
 *   fields set that this version does not know, an environment variable with an invalid value.
 * CLP_NOT_SUPPORTED: CLPOOL_MEMORY_LIMIT or CLPOOL_HOLD is a percentage, and the device's memory is
 *   unknown; `arena` is 1, and the allocator cannot split blocks; or the allocator was made before
 *   a fork, by a parent of this process.
 * CLP_OUT_OF_HOST_MEMORY. */
clp_status clp_pool_create(clp_allocator *allocator, const clp_pool_options *options,
                           clp_pool **out);

/** Adds a reference. Returns its argument. NULL is allowed. Any thread. */
clp_pool *clp_pool_retain(clp_pool *pool);

/** Drops a reference. When the last one is dropped, the pool stops holding, as after
 * clp_pool_stop_holding. Active buffers stay valid, and the pool ends when the last of them is
 * released. If the device refuses to take a block back at the end, the log callback gets a message,
 * and the last error does not change. NULL is a no-op. Any thread. */
void clp_pool_release(clp_pool *pool);

/** Takes a buffer of at least `bytes` from the pool. If the pool holds a block of the same bin, it
 * hands that out without a call to the device. Otherwise it takes new memory. The buffer is for
 * work on the allocator's home stream, which may be out of order. If other streams use it, the
 * program must synchronize, as in PyOpenCL.
 *
 * When the device is out of memory, the pool takes these steps in order until the request succeeds:
 *
 * - It frees its own held blocks, the largest first and one at a time.
 * - It asks for the requested size, rounded up to the alignment, instead of the bin's size, if that
 *   is smaller. Such a block is never held: it goes back to the device at its release.
 * - It frees held blocks of other pools on the same allocator.
 * - It waits for pending frees of its own allocator. It also waits for those of other SVM
 *   allocators of the context, but 20 ms at most, because their queues may wait for something that
 *   the program does later.
 * - It lets the allocator return unused memory that it keeps.
 * - It calls on_out_of_memory, again for as long as that returns true.
 *
 * It waits for blocks that other threads are giving back at that moment. If the device does not
 * take a block back, the block stays held, and the next step follows. For limits, see "Limit"
 * below.
 *
 * Zero bytes succeed with memory 0 and do not touch the device. On success `*out` is the caller's,
 * until clp_buffer_release. On failure it is NULL, and the pool's figures and blocks are as before,
 * except that held blocks may be freed. Any thread.
 * CLP_INVALID_ARGUMENT: NULL pool or out, more bytes than the largest block the device allows.
 * CLP_LIMIT_EXCEEDED: the pool's limit leaves no room for the requested size, even with nothing
 *   held, and on_out_of_memory did not help; or the requested size, rounded up, is larger than the
 *   limit.
 * CLP_OUT_OF_DEVICE_MEMORY: no step helped.
 * CLP_BUSY: the call comes from inside the allocator's own `free`, and would have to wait for
 *   itself.
 * CLP_OUT_OF_HOST_MEMORY.
 * CLP_BACKEND_ERROR or another status of the allocator, passed on at once. */
clp_status clp_pool_allocate(clp_pool *pool, size_t bytes, clp_buffer **out);

/** Takes a buffer without waiting if the calling thread's shard holds a fitting block; otherwise
 * returns false. Once a program is warm, most calls succeed. The buffer is as from
 * clp_pool_allocate. The call tries the shard's lock, but never waits for it, and calls neither the
 * device nor a hook nor another callback. So a caller with a lock of its own, such as the Python
 * interpreter's, needs to release that lock only if this returns false.
 *
 * If it returns false, it did nothing, `*out` is NULL, and the last error is as before. Then call
 * clp_pool_allocate, which serves the request or returns its error. Causes of false, among others:
 *
 * - Another thread holds the shard's lock, or another shard has the block.
 * - The thread or the pool has hooks, which must see the allocation.
 * - `bytes` is zero.
 *
 * A pool that holds nothing (clp_pool_create) has no shards. The call then succeeds if a segment of
 * the arena serves the request at once. It returns false if another thread holds the arena's lock.
 *
 * Any thread. */
bool clp_pool_try_allocate(clp_pool *pool, size_t bytes, clp_buffer **out);

/** @name Stream order
 * CUDA's stream-ordered semantics (cudaMallocAsync, cudaFreeAsync), on every allocator that can
 * order streams. A stream is a cl_command_queue or a CUstream of the allocator's context. The pool
 * keeps a queue alive as long as a block may need it, and up to a few dozen queues for longer. A
 * CUstream must be forgotten before it is destroyed (clp_pool_forget_stream).
 *
 * Work that the program gives to a stream after an allocation on this stream may use the buffer.
 * After a release on a stream, the same stream may get the block at once. Another stream gets the
 * block only in these cases; otherwise it gets new memory:
 *
 * - The work given to the first stream up to the release is done (CLP_REUSE_OPPORTUNISTIC).
 * - The pool has made the other stream wait for that work (CLP_REUSE_INTERNAL_DEPENDENCIES).
 *
 * The host does not wait when a block passes to another stream. It waits only in these cases:
 *
 * - in clp_buffer_unbind;
 * - if the stream is an out-of-order queue of PoCL, which the pool cannot make wait: in
 *   clp_buffer_bind, and for new memory that the home stream has work on;
 * - when memory goes back to the device, if the allocator can free memory neither behind pending
 *   work nor on a stream. This happens in clp_pool_free_held and similar calls, at a limit, and in
 *   the release of a block that is not held;
 * - on an arena whose parts are exclusive: for some milliseconds (clp_arena_options.one_thread);
 * - when memory has run out, as clp_pool_allocate says.
 *
 * A release makes no call to the backend. The pool marks the first stream only when another stream
 * needs the block. It then asks whether the work before the mark is done, or makes the other stream
 * wait for the mark. The mark covers all work that the first stream was given until then. This work
 * must not wait for later work of the other stream, nor for a host thread that waits for such work.
 *
 * You can mix these calls with clp_pool_allocate and clp_buffer_release, which use the allocator's
 * home stream. If the allocator has no home stream:
 *
 * - A block released without a stream may serve every stream at once. Before the release, the
 *   program must synchronize with all work that uses the block. It must also synchronize with the
 *   work that the pool made the allocation's stream wait for. So it is best to release an unused
 *   buffer on the stream of its allocation.
 * - A block released on a stream serves clp_pool_allocate only when the work there is done, because
 *   there is no stream that could wait for it.
 *
 * Each of these calls, and the stream calls of clpool/buffer.h, may also return the statuses below.
 * Any thread.
 * CLP_NOT_SUPPORTED: the allocator cannot order streams.
 * CLP_INVALID_ARGUMENT: a NULL argument, a stream that does not belong to the allocator (for
 *   OpenCL: NULL, or a queue of another context).
 * CLP_OUT_OF_HOST_MEMORY. @{ */

/** Takes a buffer for use on `stream`; otherwise as clp_pool_allocate. */
clp_status clp_pool_allocate_on(clp_pool *pool, size_t bytes, clp_stream stream, clp_buffer **out);

/** Takes a buffer for use on `stream`; otherwise as clp_pool_try_allocate. It takes only a block
 * that was released on the same stream. The stream must be in order, and one of the last four that
 * the thread's shard, or the arena, was used with. */
bool clp_pool_try_allocate_on(clp_pool *pool, size_t bytes, clp_stream stream, clp_buffer **out);

/** Forgets a stream that the program no longer uses. On success, neither the pool nor its allocator
 * uses the handle again. If the program later passes the same handle, it counts as a new stream.
 *
 * - A CUstream must be forgotten before cuStreamDestroy, in each pool that it was given to, because
 *   a later stream may have the same handle.
 * - A cl_command_queue need not be forgotten, because the pool retains it. This call makes the pool
 *   release it at once.
 *
 * The stream's work need not be done, and the call does not wait for it. If the work may still use
 * memory of the pool, the pool marks the stream once more, so that the order stays as before.
 *
 * If active buffers were allocated on the stream, release them on another stream or without one.
 * The program must then order their last use. No other thread may be inside a call with the stream.
 * A stream that the pool does not know is a no-op. On failure the pool knows the stream as before;
 * call again.
 * CLP_INVALID_ARGUMENT: also the allocator's home stream, which the allocator needs until its end.
 * CLP_BUSY: an active buffer is bound to the stream, or clp_buffer_record_use noted it: release or
 *   unbind that buffer first. Or the call comes from a callback inside a call with the stream.
 * CLP_BACKEND_ERROR or another status of the allocator: the stream could not be marked. */
clp_status clp_pool_forget_stream(clp_pool *pool, clp_stream stream);

/** Marks a stream now, behind all work that it was given. Once that work is done, the pool can
 * reuse the blocks that were released there before the call. Without it, the pool marks the stream
 * only when another stream needs a block, and must then also wait for later work.
 *
 * The call changes no order and waits for nothing. It costs a marker or an event of the backend, so
 * call it only once every few releases. It helps a pool with only CLP_REUSE_OPPORTUNISTIC if the
 * host runs ahead of several streams.
 * CLP_BACKEND_ERROR or another status of the allocator: the stream could not be marked. */
clp_status clp_pool_mark_stream(clp_pool *pool, clp_stream stream);

/** @} */

/** Returns the bin of a size, with the pool's own leading_bits_in_bin_id (pyopencl's bin_number). 0
 * for NULL. Any thread. */
size_t clp_pool_bin_number(const clp_pool *pool, size_t size);

/** Returns the size in bytes of a bin's blocks, with the pool's own leading_bits_in_bin_id
 * (pyopencl's alloc_size). It is clp_bin_size, but never more than the largest block that the
 * device allows (CL_DEVICE_MAX_MEM_ALLOC_SIZE). Blocks that were refused at this size are smaller
 * (clp_pool_allocate), and so are blocks of a pool that holds nothing (clp_pool_create). 0 for
 * NULL. Any thread. */
size_t clp_pool_alloc_size(const clp_pool *pool, size_t bin);

/** Returns the pool's name from its options, or NULL if there is none. Borrowed, valid as long as
 * the pool. NULL for NULL. Any thread. */
const char *clp_pool_name(const clp_pool *pool);

/** Returns the pool's allocator, borrowed. If the pool has an arena of its own, this is the arena.
 * NULL for NULL. Any thread. */
clp_allocator *clp_pool_allocator(const clp_pool *pool);

/** @name Giving back
 * Each of these calls gives held blocks back to the device, and never touches active ones. On an
 * arena, it also gives back segments without blocks, but keeps the bytes of clp_arena_reserve. Any
 * thread.
 * CLP_INVALID_ARGUMENT: NULL pool.
 * CLP_BACKEND_ERROR or another status of the allocator: the device did not take a block back; the
 *   pool holds that block as before. @{ */

/** Frees every held block (pyopencl's free_held). If one fails, it still tries the others. */
clp_status clp_pool_free_held(clp_pool *pool);

/** Frees every held block and holds no more, ever (pyopencl's stop_holding). From now on, a release
 * gives the block back to the device at once, and on an arena also the segments without blocks. */
clp_status clp_pool_stop_holding(clp_pool *pool);

/** Frees held blocks, least recently used first, until the pool manages at most `bytes` or holds
 * nothing (cudaMemPoolTrimTo). Pooling goes on as before. The order of use is exact for the blocks
 * that one thread released, and approximate between those of several threads. */
clp_status clp_pool_trim_to(clp_pool *pool, size_t bytes);

/** Frees what has been unused since an earlier call, made at least `milliseconds` ago: held blocks,
 * and an arena's segments without blocks. The first call frees nothing. Call it regularly, for
 * instance once a frame or once a minute. The pool remembers up to 16 calls, at least an eighth of
 * `milliseconds` apart. */
clp_status clp_pool_trim_idle(clp_pool *pool, uint64_t milliseconds);

/** Frees every held block of every pool of the process, for other libraries that need the memory
 * (similar to CuPy's free_all_blocks). Allocators also give back what they keep. Memory that a
 * stream may still use goes back when the stream's work is done. Allowed in callbacks. In the child
 * of a fork, it does not touch a parent's pools. If another thread releases a pool meanwhile, that
 * pool may end inside this call. If one block fails, the call still tries the others, and returns
 * the last failure. */
clp_status clp_free_all_held(void);

/** @} */

/** @name Limit
 * Bounds managed bytes: active and held ones, as allocated. If a block of the bin's size would
 * exceed the limit, the pool takes these steps in order until the request succeeds:
 *
 * - It frees its held blocks, the largest first.
 * - It asks for the requested size, rounded up to the alignment. So a limit of 1 GiB serves 1 GiB.
 *   Such a block is never held: it goes back to the device at its release.
 * - It calls on_out_of_memory, as for a device out of memory.
 *
 * If the requested size alone, rounded up, is larger than the limit, the pool frees nothing and
 * calls nothing.
 *
 * You may set a limit below what is managed: the pool then takes no further memory, but gives none
 * back. When a pool makes its arena grow, the pool's limit also bounds what the arena has taken for
 * all its pools. Held blocks of the other pools are then freed, too. Any thread. @{ */

/** Sets the limit in bytes; 0 for none.
 * CLP_INVALID_ARGUMENT: NULL pool. */
clp_status clp_pool_set_limit(clp_pool *pool, size_t bytes);

/** Sets the limit as a fraction of the device's memory, 0 to 1; 0 for none (CuPy's set_limit).
 * CLP_INVALID_ARGUMENT: NULL pool, negative, NaN, above 1.
 * CLP_NOT_SUPPORTED: the allocator does not know the device's memory. */
clp_status clp_pool_set_limit_fraction(clp_pool *pool, double fraction);

/** Returns the limit in bytes; 0 for none, and for NULL. */
size_t clp_pool_get_limit(const clp_pool *pool);

/** @} */

/** @name Statistics
 * "Active" is what the program uses, "held" what the pool keeps in bins, "managed" both. Failed
 * allocations are not counted. An allocation of zero bytes counts as a hit and an active block; it
 * belongs to no bin and manages nothing.
 *
 * All figures are of one moment, even while other threads use the pool, and all except
 * peak_active_bytes are exact. Each call locks all shards, so other threads' calls wait:
 *
 * - for a few microseconds;
 * - if there are very many sizes, for a few nanoseconds for each bin in each shard;
 * - in clp_pool_get_bin_stats, also for each buffer that the pool ever had at once.
 *
 * clp_pool_get_bins locks no shard.
 *
 * peak_active_bytes is exact if one thread uses the pool, or several, each of which ends before the
 * next one begins. Otherwise the pool adds up the bytes of all threads at these moments:
 *
 * - before a thread's own bytes fall from a new height,
 * - at a thread's first release after 64 allocations for each thread,
 * - at misses.
 *
 * The pool reports a peak that lasts until such a moment within 7 %. It may miss a shorter peak.
 * The figure may be a little too high, because the pool reads the sum without locks, but not above
 * peak_managed_bytes. Any thread. @{ */

/** A pool's figures. */
typedef struct clp_pool_stats {
  size_t struct_size;               /**< sizeof(clp_pool_stats), set by the caller */
  size_t held_blocks;               /**< pyopencl's held_blocks */
  size_t active_blocks;             /**< pyopencl's active_blocks; zero-byte buffers count */
  size_t managed_bytes;             /**< active and held, as allocated; CuPy's total_bytes */
  size_t active_bytes;              /**< as requested; CuPy's used_bytes are rounded up */
  size_t held_bytes;                /**< as allocated; CuPy's free_bytes */
  size_t peak_managed_bytes;        /**< since creation or clp_pool_reset_peaks */
  size_t peak_active_bytes;         /**< since then, too */
  uint64_t allocations;             /**< that succeeded: hits plus misses */
  uint64_t hits;                    /**< served without the device */
  uint64_t misses;                  /**< served with new memory from the device */
  uint64_t device_allocations;      /**< blocks taken from the device; on an arena segments */
  uint64_t device_frees;            /**< blocks or segments given back to it */
  uint64_t out_of_memory_reactions; /**< requests that found the device out of memory */
} clp_pool_stats;

/** The initial value of a clp_pool_stats: its size, and zeros. */
#define CLP_POOL_STATS_INIT                                                                        \
  {                                                                                                \
    sizeof(clp_pool_stats), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0                                  \
  }

/** Fills `*stats` with the pool's figures, up to its struct_size. Fields that this version does not
 * know become zero.
 * CLP_INVALID_ARGUMENT: NULL pool or stats; a struct_size that leaves out held_blocks, or is above
 *   4096, which no version has. */
clp_status clp_pool_get_stats(const clp_pool *pool, clp_pool_stats *stats);

/** Sets both peaks to what is managed and active now.
 * CLP_INVALID_ARGUMENT: NULL pool. */
clp_status clp_pool_reset_peaks(clp_pool *pool);

/** The figures of one bin. */
typedef struct clp_bin_stats {
  size_t struct_size;   /**< sizeof(clp_bin_stats), set by the caller */
  size_t bin;           /**< its number */
  size_t block_bytes;   /**< size of its blocks; blocks that were refused at it are smaller */
  size_t held_blocks;   /**< blocks that the pool holds in it */
  size_t held_bytes;    /**< their bytes, as allocated */
  size_t active_blocks; /**< blocks that the program uses */
  size_t padding_bytes; /**< allocated but not requested, in its active blocks */
  uint64_t hits;        /**< allocations served without the device */
  uint64_t misses;      /**< allocations that took new memory from the device */
} clp_bin_stats;

/** The initial value of a clp_bin_stats: its size, and zeros. */
#define CLP_BIN_STATS_INIT                                                                         \
  {                                                                                                \
    sizeof(clp_bin_stats), 0, 0, 0, 0, 0, 0, 0, 0                                                  \
  }

/** Lists the bins that ever had a block, by ascending number. It writes the first `capacity`
 * numbers to `bins`, which may be NULL if capacity is 0, and the number of all bins to `*count`.
 * CLP_INVALID_ARGUMENT: NULL pool or count, NULL bins with a capacity. */
clp_status clp_pool_get_bins(const clp_pool *pool, size_t *bins, size_t capacity, size_t *count);

/** Fills `*stats` with the figures of one bin, up to its struct_size. A bin that was never used is
 * all zero except for its number and block size.
 * CLP_INVALID_ARGUMENT: NULL pool or stats, a struct_size too small, a number that is no bin's. */
clp_status clp_pool_get_bin_stats(const clp_pool *pool, size_t bin, clp_bin_stats *stats);

/** @} */

#ifdef __cplusplus
}
#endif

#endif
