/* SPDX-License-Identifier: MIT */
/** @file
 * clpool/pool.h - the pool: keeps released blocks of device memory and hands them out again.
 *
 * Semantics: pyopencl.tools.MemoryPool. Blocks live in bins (clpool/bin.h); a released block goes
 * back to its bin, where the next allocation of that bin finds it, newest first. A pool on an arena
 * whose memory is an address holds nothing: see clp_pool_create.
 *
 * Threads. A pool stores its held blocks in up to 64 shards. A shard has a lock of its own, and a
 * thread uses one shard, so threads seldom wait for each other; from the 65th on they share. Where
 * the thread's shard has no block of the bin, the pool takes blocks from other shards before it
 * asks the device. Threads that used the same bin took at most 1.10 times the memory that they used
 * at once, and one block more for each thread. When a thread ends, the next new thread goes on
 * with its shard. Every function here reaches all held blocks, those of sleeping threads too.
 *
 * Waiting. A shard's lock is held for some tens of instructions. It is held for longer to look at
 * all shards, as clp_pool_get_stats does, and any call now and then. A pool that holds nothing has
 * one lock, its arena's. A lock is never held while the device or the program is called. A thread
 * that waits for it pauses at first, then yields its processor, then sleeps for 50 us at a time. So
 * the thread that has the lock can go on, even if its real-time priority is lower. It does not
 * inherit the waiting thread's priority, nor does one that has the pool's other locks, which are
 * mutexes. A thread with deadlines uses clp_pool_try_allocate and clp_buffer_try_release, which
 * never wait.
 *
 * Forks. The child of a fork makes pools of its own, because the parent's other threads may have
 * been inside any call at the fork. Of the parent's pools, allocators and buffers the child may
 *
 * - release buffers, which does nothing,
 * - count references, with which nothing ends: their host memory stays taken until the child ends,
 * - ask for properties, such as clp_buffer_memory and clp_pool_get_limit.
 *
 * Anything else returns CLP_NOT_SUPPORTED and does not touch a device. Allocators and pools that
 * the child makes work if their backend survives a fork: host memory and simulated memory do. A
 * child that was forked inside a callback of the library must not return from it, but exec or
 * _exit. vfork and posix_spawn are safe.
 */
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

/** Keeps blocks and hands them out. Counts references. */
typedef struct clp_pool clp_pool;

/** A block of a pool while it is the caller's; see clpool/buffer.h. */
typedef struct clp_buffer clp_buffer;

/** When a block released on one stream may be handed to another. */
enum {
  CLP_REUSE_OPPORTUNISTIC = 1u << 0,        /**< when the work on the first has completed */
  CLP_REUSE_INTERNAL_DEPENDENCIES = 1u << 1 /**< after making the other wait for the first */
};

/** Called when the device is out of memory, or the pool's limit leaves no room, and nothing is left
 * that the pool itself could free. `bytes` is the size of the block that is wanted. It frees what
 * the caller can spare, such as buffers of this pool, and returns whether it freed something: then
 * the pool tries again, and calls again if that fails. It may free another library's memory, in
 * pieces; but if it has said 64 times in a row that it freed something, and the thread gave
 * allocators of clpool no more back than it took from them, the request fails.
 *
 * Called on the thread that allocates, under no lock of the library. It may use any pool: inside a
 * pool's callback, that pool calls no callback, and a request to it fails with the status that it
 * would have had. */
typedef bool (*clp_out_of_memory_callback)(clp_pool *pool, size_t bytes, void *user_data);

/** @name Not set
 * The values of fields of clp_pool_options that are not set, and what the pool then uses. @{ */
#define CLP_DEFAULT_BITS        0x7fffffffu /**< CLPOOL_LEADING_BITS, else 4 */
#define CLP_DEFAULT_REUSE_FLAGS 0x7fffffffu /**< both flags */
#define CLP_DEFAULT_HOLD_BYTES  SIZE_MAX    /**< CLPOOL_HOLD, else no bound */
#define CLP_DEFAULT_ARENA       0x7fffffffu /**< CLPOOL_ARENA, else no arena */
/** @} */

/** How a pool behaves. Begin with CLP_POOL_OPTIONS_INIT, which sets no field, and change what you
 * like. A field that you set wins, 0 included. For a field that you do not set, the pool takes the
 * environment's variable (clpool/clpool.h), or if there is none, the default. If a field that you
 * set overrides a variable, the log says so, once for each variable.
 *
 * If you fill the struct with zeros instead, `initialized` is 0, and fields of 0 are not set. */
typedef struct clp_pool_options {
  size_t struct_size;              /**< sizeof(clp_pool_options) */
  unsigned initialized;            /**< set by CLP_POOL_OPTIONS_INIT: a field of 0 is set */
  unsigned leading_bits_in_bin_id; /**< 0 to CLP_MAX_LEADING_BITS: more mean less padding and fewer
                                      hits */
  unsigned reuse_flags; /**< CLP_REUSE_... flags. 0: what was released on another stream is left
                           alone */
  clp_out_of_memory_callback on_out_of_memory; /**< NULL: none */
  void *user_data;                             /**< passed to on_out_of_memory */
  const char
      *name; /**< for messages, traces (clpool/trace.h) and clp_pool_name; copied. NULL: none */
  /** The pool gives held bytes beyond it back to the device, the least recently used first.
   * SIZE_MAX - 1: no bound. The bound is approximate: the pool looks when it asks the device, and
   * at least at every 64th release of a thread, so that each thread may leave up to 64 blocks held
   * beyond it, of any size. For a pool that never holds a block, call clp_pool_stop_holding. */
  size_t hold_bytes;
  unsigned arena; /**< 1: the pool stands on an arena of its own over the allocator; 0: it does
                     not */
} clp_pool_options;

/** Sets no field. */
#define CLP_POOL_OPTIONS_INIT                                                                      \
  {                                                                                                \
    sizeof(clp_pool_options), 1u, CLP_DEFAULT_BITS, CLP_DEFAULT_REUSE_FLAGS, NULL, NULL, NULL,     \
        CLP_DEFAULT_HOLD_BYTES, CLP_DEFAULT_ARENA                                                  \
  }

/** Makes an empty pool over `allocator`, which it retains. NULL options mean CLP_POOL_OPTIONS_INIT.
 * CLPOOL_ARENA=1 makes no arena over an allocator that cannot split blocks, such as an arena.
 * The environment's CLPOOL_MEMORY_LIMIT sets the limit to begin with: a size, "512M" or "40%" of
 * the device's memory, as clp_bytes_parse reads it (clpool/bytes.h): units are capital letters, and
 * "0" means no limit. CLPOOL_HOLD is such a size, too, but there "0" means to hold nothing. Any
 * other text, even an empty one, is an error. Set-user-ID programs ignore the variables.
 *
 * A pool on an arena whose memory is an address holds nothing (clpool/arena.h, doc/arena.md):
 *
 * - It carves the requested size, rounded up to the alignment; leading bits do not matter.
 * - A release gives the block to the arena at once. held_blocks and held_bytes are 0.
 * - "The device" is what takes real memory. An allocation that a segment serves is a hit. A miss
 *   made the arena take a segment. device_allocations, device_frees and the alloc and device_free
 *   hooks are about segments that the arena takes or gives back in this pool's calls.
 * - clp_pool_free_held, trims, hold_bytes and clp_pool_stop_holding give back the arena's segments
 *   without blocks.
 *
 * A pool works on a deferred allocator, too, but memory may then turn out to be missing only where
 * it is used: the log callback gets a warning (clpool/log.h), as PyOpenCL warns.
 *
 * On success `*out` is an object with one reference, the caller's; on failure it is NULL. Any
 * thread.
 * CLP_INVALID_ARGUMENT: NULL allocator or out, leading_bits_in_bin_id above CLP_MAX_LEADING_BITS,
 *   unknown reuse flags, `initialized` or `arena` neither 0 nor 1, a struct_size too small or with
 *   unknown fields set, a variable of the environment that cannot be read.
 * CLP_NOT_SUPPORTED: CLPOOL_MEMORY_LIMIT or CLPOOL_HOLD is a percentage, and the device's memory is
 *   unknown; `arena` is 1, and the allocator cannot split blocks; or the allocator was made before
 *   a fork, by a parent of this process.
 * CLP_OUT_OF_HOST_MEMORY. */
clp_status clp_pool_create(clp_allocator *allocator, const clp_pool_options *options,
                           clp_pool **out);

/** Adds a reference. Returns its argument. NULL is allowed. Any thread. */
clp_pool *clp_pool_retain(clp_pool *pool);

/** Drops a reference. With the last one the pool stops holding, as by clp_pool_stop_holding; active
 * buffers stay valid, and the release of the last of them ends the pool. If the device does not
 * take a block back then, the log callback is told, and there is no last error. NULL is a no-op.
 * Any thread. */
void clp_pool_release(clp_pool *pool);

/** Takes a buffer of at least `bytes` from the pool: a held block of the same bin if there is one,
 * without a call to the device; otherwise new memory. All use of it is on the allocator's home
 * stream, in order or not, or the caller synchronizes, as in PyOpenCL.
 *
 * When the device is out of memory, the pool takes these steps, one after another, while the
 * request still fails:
 *
 * - It frees its own held blocks, the largest first and one at a time.
 * - It asks once more for the requested size, rounded up to the alignment, if that is less than the
 *   size of the bin. Such a block is never held: it goes back to the device at its release.
 * - It frees held blocks of other pools on the same allocator.
 * - It waits for pending frees: for its own allocator's; and 20 ms at most for those of other SVM
 *   allocators of the context, whose queues may wait for what the caller does later.
 * - It lets the allocator return unused memory that it keeps.
 * - It calls on_out_of_memory, again for as long as that returns true.
 *
 * It waits for blocks that other threads are giving back at that moment. A block that the device
 * does not take back stays held, and ends its step. "Limit" below says what a limit does.
 *
 * Zero bytes succeed with memory 0 and do not touch the device. On success `*out` is the caller's,
 * until clp_buffer_release. On failure it is NULL, and the pool's figures and blocks are as before,
 * except for held blocks that were freed on the way. Any thread.
 * CLP_INVALID_ARGUMENT: NULL pool or out, more bytes than the largest block the device allows.
 * CLP_LIMIT_EXCEEDED: the pool's limit leaves no room for the requested size, with nothing held,
 *   and on_out_of_memory did not help; or that size, rounded up, is larger than the limit.
 * CLP_OUT_OF_DEVICE_MEMORY: no step helped.
 * CLP_BUSY: the allocator's own `free` asks, and would have to wait for itself.
 * CLP_OUT_OF_HOST_MEMORY.
 * CLP_BACKEND_ERROR or another status of the allocator, passed on at once. */
clp_status clp_pool_allocate(clp_pool *pool, size_t bytes, clp_buffer **out);

/** As clp_pool_allocate, if the calling thread's shard holds a fitting block, the usual case once a
 * program is warm. Tries the shard's lock, but never waits for it, and calls neither the device nor
 * a hook nor another callback. So a caller that has a lock of its own, such as the Python
 * interpreter's, needs to let go of it only if this returns false.
 *
 * False: nothing was done, and `*out` is NULL. clp_pool_allocate serves the request, or says what
 * is wrong with it: the last error is as it was. Causes of false, among others:
 *
 * - Another thread has the shard's lock, or another shard has the block.
 * - The thread or the pool has hooks, which clp_pool_allocate shows the allocation to.
 * - `bytes` is zero.
 *
 * A pool that holds nothing (clp_pool_create) has no shards: it succeeds if a segment of the arena
 * serves the request at once, and fails if another thread has the arena's lock.
 *
 * Any thread. */
bool clp_pool_try_allocate(clp_pool *pool, size_t bytes, clp_buffer **out);

/** @name Stream order
 * CUDA's stream-ordered semantics (cudaMallocAsync, cudaFreeAsync), on every allocator that can
 * order streams. A stream is a cl_command_queue or a CUstream of the allocator's context. The pool
 * keeps a queue alive as long as a block may need it, and a few dozen for longer; a CUstream is to
 * be forgotten before it is destroyed (clp_pool_forget_stream).
 *
 * A buffer allocated on a stream may be used by work given to that stream from then on. Released on
 * a stream, its block is handed to the same stream at once. Another stream gets it only when the
 * work given to the first one up to the release is done (CLP_REUSE_OPPORTUNISTIC), or after the
 * pool made the other wait for that work (CLP_REUSE_INTERNAL_DEPENDENCIES); otherwise the pool
 * takes new memory.
 *
 * The host never waits to hand a block on. It waits only in these cases:
 *
 * - in clp_buffer_unbind;
 * - in clp_buffer_bind, and for new memory that the home stream has work on, if the stream is a
 *   PoCL queue out of order, which cannot be made to wait;
 * - where memory goes back to the device, if the allocator can free memory neither behind pending
 *   work nor on a stream: in clp_pool_free_held and its like, at a limit, and in the release of a
 *   block that is not held;
 * - on an arena whose parts are exclusive, for some milliseconds (clp_arena_options.one_thread);
 * - when memory has run out, as clp_pool_allocate says.
 *
 * A release costs no call to the backend, because a stream is marked only when another one needs
 * its block. The mark, which is what the pool then asks about or waits for, covers all that the
 * stream was given up to that moment. So that work must not itself depend on the host waiting for
 * the other stream first.
 *
 * clp_pool_allocate and clp_buffer_release mix with these: where the allocator has a home stream,
 * they do what these do with that. Where it has none, a block released without a stream may serve
 * every stream at once: the caller must have synchronized with all work that uses it, and with what
 * the stream that it was allocated on had been made to wait for. So a buffer that was never used is
 * best released on that stream. A block released on a stream then serves clp_pool_allocate only
 * when the work there is done, since nothing could be made to wait for it.
 *
 * Statuses of all, in clpool/buffer.h too, besides what they name. Any thread.
 * CLP_NOT_SUPPORTED: the allocator cannot order streams.
 * CLP_INVALID_ARGUMENT: a NULL argument, a stream that is none of the allocator's (for OpenCL:
 *   NULL, or a queue of another context).
 * CLP_OUT_OF_HOST_MEMORY. @{ */

/** As clp_pool_allocate, for use on `stream`. */
clp_status clp_pool_allocate_on(clp_pool *pool, size_t bytes, clp_stream stream, clp_buffer **out);

/** As clp_pool_try_allocate, for use on `stream`: a block that was released on the same stream, if
 * that is in order and one of the last four that the thread's shard, or the arena, was used with.
 */
bool clp_pool_try_allocate_on(clp_pool *pool, size_t bytes, clp_stream stream, clp_buffer **out);

/** Forgets a stream that its user gives up: on success, neither the pool nor its allocator calls
 * the backend with it from then on, and if the handle comes again, it is a new stream. A CUstream
 * needs this before cuStreamDestroy, in each pool that it was given to, since its handle may come
 * back as another stream. A cl_command_queue is retained and needs it only to be let go of at once.
 * Memory that the stream's work may still use stays as safe as before: if there is any, the stream
 * is marked once more. Its work need not be done, and is not waited for.
 *
 * Active buffers that were allocated on the stream are then released on another one, or without
 * one, and their order is up to the caller. No other thread may be inside a call with the stream. A
 * stream that the pool does not know is a no-op.
 * CLP_INVALID_ARGUMENT: also the allocator's home stream, which is needed as long as it lives.
 * CLP_BUSY: an active buffer is bound to the stream, or clp_buffer_record_use noted it: release or
 *   unbind that first. Or the call comes from a callback of the library, inside a call with the
 *   stream.
 * CLP_BACKEND_ERROR or another status of the allocator: the stream could not be marked.
 * On failure the stream is known as before; call again. */
clp_status clp_pool_forget_stream(clp_pool *pool, clp_stream stream);

/** Marks a stream now, behind all that it was given. Blocks released there before this call are
 * then known to be done as soon as that is; without it, the stream is marked only when another one
 * needs a block, and what it was given since the release must be done, too. It changes no order and
 * waits for nothing. Its price is a marker or an event of the backend, so call it once in some
 * releases, where the host runs ahead of several streams and the pool has CLP_REUSE_OPPORTUNISTIC
 * alone.
 * CLP_BACKEND_ERROR or another status of the allocator: the stream could not be marked. */
clp_status clp_pool_mark_stream(clp_pool *pool, clp_stream stream);

/** @} */

/** The bin of a size, with the pool's own leading_bits_in_bin_id (pyopencl's bin_number). 0 for
 * NULL. Any thread. */
size_t clp_pool_bin_number(const clp_pool *pool, size_t size);

/** The size in bytes of a bin's blocks: clp_bin_size with the pool's own leading_bits_in_bin_id
 * (pyopencl's alloc_size), but never more than the largest block that the device allows
 * (CL_DEVICE_MAX_MEM_ALLOC_SIZE). A block that was refused at this size may be smaller
 * (clp_pool_allocate), and a block of a pool that holds nothing is (clp_pool_create). 0 for NULL.
 * Any thread. */
size_t clp_pool_alloc_size(const clp_pool *pool, size_t bin);

/** The name that the options gave, borrowed: as long as the pool. NULL where there is none, and for
 * NULL. Any thread. */
const char *clp_pool_name(const clp_pool *pool);

/** The allocator beneath, borrowed; the arena, where the pool has one of its own. NULL for NULL.
 * Any thread. */
clp_allocator *clp_pool_allocator(const clp_pool *pool);

/** @name Giving back
 * Each gives held blocks back to the device; active ones are never touched. Any thread.
 * On an arena, segments without blocks then go back as well, but not clp_arena_reserve's bytes.
 * CLP_INVALID_ARGUMENT: NULL pool. CLP_BACKEND_ERROR or another status of the allocator: the device
 * did not take a block back; that block is held as before. @{ */

/** Frees every held block (pyopencl's free_held). A failure does not keep it from trying the rest.
 */
clp_status clp_pool_free_held(clp_pool *pool);

/** Frees every held block and holds no more, ever: from now on a release gives the block back to
 * the device at once (pyopencl's stop_holding), and on an arena the segments without blocks. */
clp_status clp_pool_stop_holding(clp_pool *pool);

/** Frees held blocks, least recently used first, until the pool manages at most `bytes` or holds
 * nothing (cudaMemPoolTrimTo). Pooling goes on as before. The order of use is exact for the blocks
 * that one thread released, and approximate between those of several threads. */
clp_status clp_pool_trim_to(clp_pool *pool, size_t bytes);

/** Frees what was unused at an earlier call, made at least so many milliseconds ago, and has not
 * been used since: held blocks, and an arena's segments without blocks. The first call frees
 * nothing. Call it regularly, for instance once a frame or once a minute. The pool remembers up to
 * 16 calls, and none that follows the last remembered one within an eighth of `milliseconds`. */
clp_status clp_pool_trim_idle(clp_pool *pool, uint64_t milliseconds);

/** Frees every held block of every pool of the process, and has allocators give back what they
 * keep, for other libraries that need the memory (in the spirit of CuPy's free_all_blocks). Memory
 * that a stream may still use goes back when its work is done. Allowed in callbacks. In the child
 * of a fork, it leaves a parent's pools out. If another thread releases a pool meanwhile, that pool
 * may end inside this call. A failure does not keep it from trying the rest; it returns the last
 * failure. */
clp_status clp_free_all_held(void);

/** @} */

/** @name Limit
 * Bounds managed bytes: what is active and what is held, as allocated. When a block of the bin's
 * size would pass the limit, the pool takes these steps, one after another, while the request still
 * fails: it frees its held blocks, the largest first; asks for the requested size, rounded up to
 * the alignment; and calls on_out_of_memory, as for a device out of memory. So a limit of 1 GiB
 * serves 1 GiB. A block of the requested size goes back to the device at its release and is never
 * held. If the requested size alone, rounded up, is larger than the limit, the pool frees nothing
 * and calls nothing.
 *
 * A limit below what is managed refuses further memory and takes none away. On an arena it also
 * bounds what the arena has taken for all of its pools when this one makes it grow, and what the
 * others hold is freed as well. Any thread. @{ */

/** Sets the limit in bytes; 0 for none. CLP_INVALID_ARGUMENT: NULL pool. */
clp_status clp_pool_set_limit(clp_pool *pool, size_t bytes);

/** Sets the limit as a part of the device's memory, 0 to 1; 0 for none (CuPy's set_limit).
 * CLP_INVALID_ARGUMENT: NULL pool, negative, NaN, above 1.
 * CLP_NOT_SUPPORTED: the allocator does not know the device's memory. */
clp_status clp_pool_set_limit_fraction(clp_pool *pool, double fraction);

/** The limit in bytes; 0 for none, and for NULL. */
size_t clp_pool_get_limit(const clp_pool *pool);

/** @} */

/** @name Statistics
 * All figures are of one moment, even while other threads use the pool, and all but
 * peak_active_bytes are exact. A call locks all shards, so other threads' calls wait for some
 * microseconds. With very many sizes they wait some nanoseconds for each bin in each shard; in
 * clp_pool_get_bin_stats also for each buffer that the pool ever had at once. clp_pool_get_bins
 * locks no shard.
 *
 * peak_active_bytes is exact if one thread uses the pool, or several of which each ends before the
 * next one begins. Where several threads use it, the pool looks at what all of them have: before a
 * thread's own bytes fall from a new height, at a thread's first release after 64 allocations for
 * each thread, and at misses. A peak that one of these meets is reported within 7 %; it may be a
 * little too high, because the sum is read without locks, but not above peak_managed_bytes. A
 * shorter one may be missed.
 *
 * "Active" is what users have, "held" what waits in bins, "managed" both. Failed allocations are
 * not counted. An allocation of zero bytes is a hit, of no bin, and an active block, and manages
 * nothing. Any thread. @{ */

/** A pool's figures. */
typedef struct clp_pool_stats {
  size_t struct_size;               /**< sizeof(clp_pool_stats), set by the caller */
  size_t held_blocks;               /**< pyopencl's held_blocks */
  size_t active_blocks;             /**< pyopencl's active_blocks; zero-byte buffers count */
  size_t managed_bytes;             /**< active and held, as allocated; CuPy's total_bytes */
  size_t active_bytes;              /**< as requested; CuPy's used_bytes are rounded up */
  size_t held_bytes;                /**< as allocated; CuPy's free_bytes */
  size_t peak_managed_bytes;        /**< the most since creation or clp_pool_reset_peaks */
  size_t peak_active_bytes;         /**< likewise */
  uint64_t allocations;             /**< that succeeded: hits plus misses */
  uint64_t hits;                    /**< served without the device */
  uint64_t misses;                  /**< served with memory new from the device */
  uint64_t device_allocations;      /**< blocks taken from the device; on an arena segments */
  uint64_t device_frees;            /**< likewise given back */
  uint64_t out_of_memory_reactions; /**< requests that met a device out of memory */
} clp_pool_stats;

/** What a clp_pool_stats begins as: its size, and zeros. */
#define CLP_POOL_STATS_INIT                                                                        \
  {                                                                                                \
    sizeof(clp_pool_stats), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0                                  \
  }

/** Fills `*stats`, as far as its struct_size goes; what this version does not know is set to zero.
 * CLP_INVALID_ARGUMENT: NULL pool or stats, a struct_size that does not reach past the first field
 *   after it, or is above 4096, which no version has. */
clp_status clp_pool_get_stats(const clp_pool *pool, clp_pool_stats *stats);

/** Sets both peaks to what is managed and active now. CLP_INVALID_ARGUMENT: NULL pool. */
clp_status clp_pool_reset_peaks(clp_pool *pool);

/** The figures of one bin. */
typedef struct clp_bin_stats {
  size_t struct_size;   /**< sizeof(clp_bin_stats), set by the caller */
  size_t bin;           /**< its number */
  size_t block_bytes;   /**< size of its blocks, but for those that were refused at it */
  size_t held_blocks;   /**< blocks waiting in it */
  size_t held_bytes;    /**< their bytes, as allocated */
  size_t active_blocks; /**< blocks that users have */
  size_t padding_bytes; /**< allocated but not requested, in its active blocks */
  uint64_t hits;        /**< allocations served without the device */
  uint64_t misses;      /**< allocations that took new memory from the device */
} clp_bin_stats;

/** What a clp_bin_stats begins as: its size, and zeros. */
#define CLP_BIN_STATS_INIT                                                                         \
  {                                                                                                \
    sizeof(clp_bin_stats), 0, 0, 0, 0, 0, 0, 0, 0                                                  \
  }

/** The numbers of the bins that ever had a block, ascending: the first `capacity` of them go to
 * `bins`, which may be NULL if capacity is 0, and the number of all of them to `*count`.
 * CLP_INVALID_ARGUMENT: NULL pool or count, NULL bins with a capacity. */
clp_status clp_pool_get_bins(const clp_pool *pool, size_t *bins, size_t capacity, size_t *count);

/** Fills `*stats` for one bin, as far as its struct_size goes. A bin that was never used is all
 * zero except for its number and block size. CLP_INVALID_ARGUMENT: NULL pool or stats, a
 * struct_size too small, a bin that is no size's. */
clp_status clp_pool_get_bin_stats(const clp_pool *pool, size_t bin, clp_bin_stats *stats);

/** @} */

#ifdef __cplusplus
}
#endif

#endif
