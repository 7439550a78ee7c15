/* SPDX-License-Identifier: MIT */
/** @file
 * clpool/allocator.h - where device memory comes from: the interface beneath every pool, and the
 * allocators that need no device. Those of OpenCL are in clpool/opencl.h, those of CUDA
 * in clpool/cuda.h.
 *
 * After fork, the child must make allocators of its own: with its parent's, clp_allocator_free does
 * nothing, the last reference ends nothing, and all else is CLP_NOT_SUPPORTED (clpool/pool.h). */
#ifndef CLPOOL_ALLOCATOR_H
#define CLPOOL_ALLOCATOR_H

#include <clpool/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A piece of memory as its backend understands it: a cl_mem, an SVM or host pointer, a
 * CUdeviceptr. 0 is no memory. */
typedef uintptr_t clp_memory;

/** An order of work on a device: a cl_command_queue, a CUstream; NULL where there is none. */
typedef void *clp_stream;

/** What a clp_memory is. The accessors of a buffer (clp_buffer_cl_mem and its like) refuse memory
 * of another kind than theirs; memory of CLP_MEMORY_UNSTATED they take for their own. */
typedef enum clp_memory_kind {
  CLP_MEMORY_UNSTATED = 0,  /**< not told */
  CLP_MEMORY_HOST = 1,      /**< a pointer of this process */
  CLP_MEMORY_SIMULATED = 2, /**< a number with nothing behind it */
  CLP_MEMORY_CL_MEM = 3,    /**< a cl_mem */
  CLP_MEMORY_CL_SVM = 4,    /**< a pointer to shared virtual memory */
  CLP_MEMORY_CUDA = 5       /**< a CUdeviceptr */
} clp_memory_kind;

/** Where memory comes from. Counts references; a pool retains its allocator. */
typedef struct clp_allocator clp_allocator;

/** What a pool wants of an allocator that keeps memory of its own (allocate_within). Further fields
 * may follow these. */
typedef struct clp_memory_request {
  size_t bytes;      /**< never 0 */
  clp_stream stream; /**< will use the memory; NULL: none, or one that is not known */
  /** CLP_REUSE_... flags: how memory that other streams used last may be made safe for `stream`. 0:
   * not at all, such memory is out of the question. */
  unsigned reuse_flags;
  /** What the allocator may have of the device's memory in all. 0: the request must fit beside the
   * blocks in use, without more memory from the device, or fail. */
  size_t most_bytes;
} clp_memory_request;

/** What an allocator is made of: fill one, beginning with CLP_ALLOCATOR_OPS_INIT, and pass it to
 * clp_allocator_create.
 *
 * `allocate` and `free` are mandatory. Every other field may be zero, which means what its comment
 * says; a group is given whole or not at all. The library calls the functions under no lock of its
 * own, and from several threads at once. A function that fails returns a status and should say more
 * with clp_set_last_error. */
typedef struct clp_allocator_ops {
  size_t struct_size; /**< sizeof(clp_allocator_ops), as CLP_ALLOCATOR_OPS_INIT has it */
  const char *name;   /**< for messages, such as "cl-immediate"; copied. NULL: "unnamed" */

  /** Takes `bytes` (never 0) of memory from the device and stores it in `*out`; it must not be 0.
   * Out of memory is CLP_OUT_OF_DEVICE_MEMORY and nothing else: a pool reacts to that by freeing
   * memory and asking again. Every other status goes to the user at once. */
  clp_status (*allocate)(void *self, size_t bytes, clp_memory *out);
  /** Gives back what `allocate` gave, with the same `bytes`. On failure the memory still belongs to
   * the caller, who may try again. It may use pools. If it allocates from the pool that calls it,
   * and memory would have to be freed or waited for, that is CLP_BUSY: it would wait for itself.
   * What an arena stands on must not allocate from the arena or its pools. */
  clp_status (*free)(void *self, clp_memory memory, size_t bytes);
  /** Ends `self`, when the last reference to the allocator goes. NULL: nothing to do. */
  void (*destroy)(void *self);

  bool deferred;               /**< `allocate` may succeed although there is no memory */
  int device_id;               /**< the device's number in events of hooks; the caller's own */
  clp_memory_kind memory_kind; /**< 0: unstated */
  size_t alignment;            /**< of every block, bytes, a power of two; 0: 1 */
  size_t max_block_bytes;      /**< the largest block the device allows; 0: no bound */
  size_t device_bytes;    /**< the device's memory, of which limits may be a part; 0: unknown */
  clp_stream home_stream; /**< where unordered use of a pool is ordered; borrowed. NULL: none */

  /** Waits on the host until all memory freed so far is back at the device, and so for the work
   * that still uses it. NULL: nothing comes back late, except behind work on streams that were
   * given to pools (free_is_ordered, free_on); for those each pool waits by itself. */
  clp_status (*drain)(void *self);
  /** Gives all memory that the allocator itself keeps back to the device. A pool calls it when
   * memory runs out; with allocate_within also in clp_pool_free_held, clp_pool_stop_holding and
   * clp_pool_trim_to. NULL: the allocator keeps none. */
  clp_status (*return_cached)(void *self);

  /** Split support, a group: makes bytes [offset, offset + bytes) of a block addressable on their
   * own, until `unsplit`. NULL: CLP_NOT_SUPPORTED. */
  clp_status (*split)(void *self, clp_memory block, size_t offset, size_t bytes, clp_memory *part);
  clp_status (*unsplit)(void *self, clp_memory part, size_t bytes); /**< ends a part */

  /** As `allocate`, for allocators that keep memory of the device and hand out parts of it, such as
   * the arena. A pool asks with most_bytes 0 first; if the answer is CLP_OUT_OF_DEVICE_MEMORY
   * (then without a last error), it gives back all that it holds, and asks with its limit;
   * CLP_LIMIT_EXCEEDED: not within most_bytes. NULL: `allocate` is all
   * there is, and a limit is the pool's own affair. */
  clp_status (*allocate_within)(void *self, const clp_memory_request *request, clp_memory *out);

  /** Stream order, a group. A mark stands for all work that `stream` had been given when the mark
   * was made. NULL: CLP_NOT_SUPPORTED, and the pool's functions that take a stream say so. */
  clp_status (*stream_retain)(void *self, clp_stream stream); /**< keeps it alive; a stream that is
                                 none of this allocator's: CLP_INVALID_ARGUMENT */
  void (*stream_release)(void *self, clp_stream stream);      /**< ends that */
  clp_status (*mark_create)(void *self, clp_stream stream, void **mark); /**< never waits */
  void (*mark_destroy)(void *self, void *mark);                          /**< ends a mark */
  clp_status (*mark_is_done)(void *self, void *mark, bool *done);        /**< never waits */
  /** Makes what the stream is given later wait for a mark; the host never waits. If it cannot be
   * made to wait, CLP_NOT_SUPPORTED: the pool takes other memory, or where only a wait will do,
   * waits on the host. */
  clp_status (*stream_wait)(void *self, clp_stream stream, void *mark);
  clp_status (*host_wait)(void *self, void *mark); /**< returns when that work is done */

  /** Whether work on the stream runs in the order in which it was given. Needs stream order. NULL:
   * it does on every stream. Otherwise, the pool makes the stream wait for a mark of its own
   * between two users of a block. */
  bool (*stream_is_in_order)(void *self, clp_stream stream);
  /** Whether `allocate` gives the home stream work that touches the new memory, which users on
   * other streams must then wait for. It comes before all that the home stream is given later, also
   * if that is out of order. Needs stream order and a home stream. */
  bool allocate_uses_home;

  /** Whether `free` may be called while streams still use the memory, since the device waits for
   * their work. Needs stream order. Without this and without free_on, the pool waits on the host
   * before it calls `free`. */
  bool free_is_ordered;
  /** As `free`, after all work that `stream` has been given; the host need not wait. Needs stream
   * order. NULL: `free` is all there is. */
  clp_status (*free_on)(void *self, clp_memory memory, size_t bytes, clp_stream stream);

  /** Whether a part of memory (by `split` or allocate_within) must not overlap an earlier part
   * while a stream may still use that one, even if it is the same stream: then such memory is
   * handed out only when that use is done. Blocks that a pool holds are not affected. But before
   * the pool would take more memory than was ever active because it holds blocks in flight, it
   * waits for the oldest of them, 20 ms at most and not again until some work is done. */
  bool exclusive_parts;

  /** Forgets a stream that its user gives up (clp_pool_forget_stream), for allocators that remember
   * streams, such as the arena: the handle must not be used from then on, since it may come back as
   * another stream. Needs stream order. NULL: there is nothing to forget. */
  clp_status (*forget_stream)(void *self, clp_stream stream);

  /** Gives a stream of the allocator's own, the same one each time, to which its users give no
   * work. Frees are ordered there that would keep the host or a user's stream waiting: behind work
   * of a stream that was forgotten or is out of order, or of several streams. `*out` is borrowed,
   * and lives as long as the allocator. Needs stream order. NULL: one of the memory's streams waits
   * for the others, or else the home stream, or without one the host. */
  clp_status (*free_stream)(void *self, clp_stream *out);
} clp_allocator_ops;

/** What a clp_allocator_ops begins as: its size, and zeros, so `allocate` and `free` are yet to be
 * set. */
#define CLP_ALLOCATOR_OPS_INIT                                                                     \
  {                                                                                                \
    sizeof(clp_allocator_ops), NULL, NULL, NULL, NULL, false, 0, CLP_MEMORY_UNSTATED, 0, 0, 0,     \
        NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, false, \
        false, NULL, false, NULL, NULL                                                             \
  }

/** Makes an allocator of the caller's own. `ops` is copied; `self` is passed to each of its
 * functions and belongs to the allocator from success on (`destroy` ends it).
 *
 * On success `*out` is an object with one reference, the caller's. Any thread.
 * CLP_INVALID_ARGUMENT: NULL ops or out, allocate or free missing, a group given in part, an
 *   unknown memory_kind, an alignment that is no power of two, a struct_size too small or with
 * unknown fields set. CLP_OUT_OF_HOST_MEMORY. */
clp_status clp_allocator_create(const clp_allocator_ops *ops, void *self, clp_allocator **out);

/** Adds a reference. Returns its argument. NULL is allowed. Any thread. */
clp_allocator *clp_allocator_retain(clp_allocator *allocator);

/** Drops a reference; the last one ends the allocator and releases what it retained. Pools and
 * blocks hold references of their own. NULL is a no-op. Any thread. */
void clp_allocator_release(clp_allocator *allocator);

/** Takes `bytes` of memory straight from the device, without a pool. It is the caller's until
 * clp_allocator_free. Zero bytes give memory 0 and touch no device (pyopencl 2020.2).
 *
 * `*out` is 0 on failure. Any thread.
 * CLP_INVALID_ARGUMENT: NULL allocator or out, more than the largest block the device allows.
 * CLP_OUT_OF_DEVICE_MEMORY: there is no memory; with a deferred allocator this may turn out only
 *   later, where the memory is used.
 * CLP_OUT_OF_HOST_MEMORY, CLP_BACKEND_ERROR: as the backend reports; CLP_BACKEND_ERROR also where
 * it reports success with memory 0. */
clp_status clp_allocator_allocate(clp_allocator *allocator, size_t bytes, clp_memory *out);

/** Gives memory back: what clp_allocator_allocate gave, with the same `bytes`. Memory 0 is a no-op.
 * Any thread.
 * CLP_INVALID_ARGUMENT: NULL allocator, or memory that it can tell is not its own.
 * CLP_BACKEND_ERROR: as the backend reports; the memory is still the caller's. */
clp_status clp_allocator_free(clp_allocator *allocator, clp_memory memory, size_t bytes);

/** The name, such as "cl-immediate". Borrowed, lives as long as the allocator. Any thread. "" for
 * NULL. */
const char *clp_allocator_name(const clp_allocator *allocator);

/** Whether an allocation may succeed although there is no memory (as with clCreateBuffer).
 * Any thread. False for NULL. */
bool clp_allocator_is_deferred(const clp_allocator *allocator);

/** Host memory with at least `alignment` bytes of alignment, a power of two; 0 means 64. Needs no
 * device; memory is a pointer. Name "host".
 * CLP_INVALID_ARGUMENT: NULL out, alignment not a power of two. CLP_OUT_OF_HOST_MEMORY. */
clp_status clp_host_allocator_create(size_t alignment, clp_allocator **out);

/** A simulated device, for replays and tests: it hands out made-up addresses with no memory behind
 * them, never 0, none of which comes again within 2^63 bytes, and is out of memory past `capacity`
 * bytes in use; 0 means no bound. Name "simulated". Freeing more than is in use is
 * CLP_INVALID_ARGUMENT.
 * CLP_INVALID_ARGUMENT: NULL out. CLP_OUT_OF_HOST_MEMORY. */
clp_status clp_simulated_allocator_create(size_t capacity, clp_allocator **out);

#ifdef __cplusplus
}
#endif

#endif
