/* SPDX-License-Identifier: MIT */
/** @file
 * clpool/allocator.h - allocators, which pools take their memory from: the interface for your own,
 * and two that need no device. Those of OpenCL are in clpool/opencl.h, those of CUDA in
 * clpool/cuda.h.
 *
 * After a fork, the child must make its own allocators. With an allocator of its parent,
 * clp_allocator_free does nothing, the last release ends nothing, and clp_allocator_allocate
 * returns CLP_NOT_SUPPORTED (clpool/pool.h). */
#ifndef CLPOOL_ALLOCATOR_H
#define CLPOOL_ALLOCATOR_H

#include <clpool/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A block of memory, in the backend's form: a cl_mem, an SVM or host pointer, or a CUdeviceptr. 0
 * means no memory. */
typedef uintptr_t clp_memory;

/** A queue of work on a device: a cl_command_queue or a CUstream. NULL means no stream. */
typedef void *clp_stream;

/** The form of a clp_memory. The accessors of a buffer, such as clp_buffer_cl_mem, return only
 * memory of their own kind or of CLP_MEMORY_UNSTATED. */
typedef enum clp_memory_kind {
  CLP_MEMORY_UNSTATED = 0,  /**< not stated: the program must know */
  CLP_MEMORY_HOST = 1,      /**< a pointer of this process */
  CLP_MEMORY_SIMULATED = 2, /**< a number without memory behind it */
  CLP_MEMORY_CL_MEM = 3,    /**< a cl_mem */
  CLP_MEMORY_CL_SVM = 4,    /**< a pointer to shared virtual memory */
  CLP_MEMORY_CUDA = 5       /**< a CUdeviceptr */
} clp_memory_kind;

/** Takes memory from a device and gives it back, beneath a pool. Counts references. A pool retains
 * its allocator. */
typedef struct clp_allocator clp_allocator;

/** A pool's request to an allocator that keeps memory of its own (allocate_within). Later versions
 * may append fields. */
typedef struct clp_memory_request {
  size_t bytes;      /**< never 0 */
  clp_stream stream; /**< the stream that will use the memory; NULL: none, or unknown */
  /** CLP_REUSE_... flags: how the allocator may make memory that other streams used last safe for
   * `stream`. 0: it must not use such memory. */
  unsigned reuse_flags;
  /** How much of the device's memory the allocator may have taken afterwards, in all. 0: it must
   * not take more from the device. */
  size_t most_bytes;
} clp_memory_request;

/** The operations and properties of your own allocator. Begin with CLP_ALLOCATOR_OPS_INIT, set
 * fields, and pass it to clp_allocator_create.
 *
 * `allocate` and `free` are mandatory. Every other field may be zero; its comment says what that
 * means. Of a group, set all fields or none. The library calls the functions without any lock of
 * its own, and from several threads at once. A function that fails returns a status, and should
 * call clp_set_last_error with the cause. */
typedef struct clp_allocator_ops {
  size_t struct_size; /**< sizeof(clp_allocator_ops), set by CLP_ALLOCATOR_OPS_INIT */
  const char *name;   /**< for messages, such as "cl-immediate"; copied. NULL: "unnamed" */

  /** Takes `bytes` (never 0) of memory from the device and stores it in `*out`, which must not be
   * 0. It must return CLP_OUT_OF_DEVICE_MEMORY if the device is out of memory, and only then: a
   * pool then frees memory and calls again. The pool returns every other failure at once. */
  clp_status (*allocate)(void *self, size_t bytes, clp_memory *out);
  /** Gives back memory that `allocate` gave, with the same `bytes`. On failure the memory still
   * belongs to the caller, who may try again. It may use pools. But a request to the pool that
   * calls it fails (CLP_BUSY) if it would have to free memory or wait, because it would wait for
   * itself. The allocator beneath an arena must not allocate from the arena or its pools. */
  clp_status (*free)(void *self, clp_memory memory, size_t bytes);
  /** Ends `self`, after the last reference to the allocator was dropped. NULL: nothing to do. */
  void (*destroy)(void *self);

  bool deferred;               /**< `allocate` may succeed although there is no memory */
  int device_id;               /**< the device's number in events of hooks; you choose it */
  clp_memory_kind memory_kind; /**< 0: unstated */
  size_t alignment;            /**< of every block, bytes, a power of two; 0: 1 */
  size_t max_block_bytes;      /**< the largest block that the device allows; 0: no bound */
  size_t device_bytes;         /**< the device's memory, for limits as a part of it; 0: unknown */
  clp_stream home_stream;      /**< the stream of calls without a stream; borrowed. NULL: none */

  /** Waits on the host until all memory freed so far is back at the device, and so for the work
   * that still uses it. NULL: `free` returns memory at once, except as free_is_ordered and free_on
   * say; each pool waits for those frees itself. */
  clp_status (*drain)(void *self);
  /** Gives all unused memory that the allocator keeps back to the device. A pool calls it when
   * memory runs out. With allocate_within, it also does so in clp_pool_free_held,
   * clp_pool_stop_holding and clp_pool_trim_to. NULL: the allocator keeps none. */
  clp_status (*return_cached)(void *self);

  /** Makes the bytes [offset, offset + bytes) of a block a separate memory, until `unsplit`. A
   * group. NULL: the allocator cannot split blocks. */
  clp_status (*split)(void *self, clp_memory block, size_t offset, size_t bytes, clp_memory *part);
  clp_status (*unsplit)(void *self, clp_memory part, size_t bytes); /**< ends a part */

  /** Allocates as `allocate`, for allocators that keep memory of the device and hand out parts of
   * it, such as the arena. A pool first calls it with most_bytes 0. If this returns
   * CLP_OUT_OF_DEVICE_MEMORY, for which it need not set a last error, the pool gives back all that
   * it holds, and calls again with its limit. CLP_LIMIT_EXCEEDED: most_bytes leaves no room. NULL:
   * the pool calls `allocate`, and keeps to its limit itself. */
  clp_status (*allocate_within)(void *self, const clp_memory_request *request, clp_memory *out);

  /** Keeps a stream alive until stream_release. The first of seven functions that order streams, a
   * group. CLP_INVALID_ARGUMENT: the stream does not belong to the allocator. NULL: the pool's
   * functions that take a stream return CLP_NOT_SUPPORTED. */
  clp_status (*stream_retain)(void *self, clp_stream stream);
  void (*stream_release)(void *self, clp_stream stream); /**< undoes stream_retain */
  /** Makes a mark, behind all work that `stream` has been given until then. Never waits. */
  clp_status (*mark_create)(void *self, clp_stream stream, void **mark);
  void (*mark_destroy)(void *self, void *mark); /**< ends a mark */
  /** Finds out whether all work before a mark is done. Never waits. */
  clp_status (*mark_is_done)(void *self, void *mark, bool *done);
  /** Makes the work that `stream` is given from now on wait for a mark. Never waits on the host.
   * CLP_NOT_SUPPORTED: the stream cannot wait. The pool then takes other memory, or waits on the
   * host if it must. */
  clp_status (*stream_wait)(void *self, clp_stream stream, void *mark);
  clp_status (*host_wait)(void *self, void *mark); /**< waits for the work before it */

  /** Returns whether work on the stream runs in the order in which it was given. If not, the pool
   * makes the stream wait for a mark on itself between two uses of a block. Needs stream order.
   * NULL: every stream is in order. */
  bool (*stream_is_in_order)(void *self, clp_stream stream);
  /** Whether `allocate` gives the home stream work that touches the new memory. Other streams must
   * then wait for it. The work must come before all that the home stream is given later, even if
   * that stream is out of order. Needs stream order and a home stream. */
  bool allocate_uses_home;

  /** Whether the pool may call `free` while streams still use the memory, because the device waits
   * for their work. Needs stream order. Without this and without free_on, the pool waits on the
   * host before it calls `free`. */
  bool free_is_ordered;
  /** Frees as `free`, but after all work that `stream` has been given; the host need not wait.
   * Needs stream order. NULL: the pool calls `free`. */
  clp_status (*free_on)(void *self, clp_memory memory, size_t bytes, clp_stream stream);

  /** Whether a new part of memory (by `split` or allocate_within) must not overlap an earlier part
   * that a stream may still use, even if it is for the same stream. The arena then hands such
   * memory out only when that use is done. Pools hand out their held blocks as before. But before
   * a pool takes more memory than was ever active, because the blocks that it holds are still in
   * use, it waits for the oldest of them. It waits 20 ms at most, and not again until some work is
   * done. */
  bool exclusive_parts;

  /** Forgets a stream that the program no longer uses (clp_pool_forget_stream), for allocators that
   * remember streams, such as the arena. The allocator must not use the handle from then on,
   * because another stream may get it. Needs stream order. NULL: there is nothing to forget. */
  clp_status (*forget_stream)(void *self, clp_stream stream);

  /** Gives a stream of the allocator's own, to which programs give no work; the same one each time.
   * The pool calls free_on with it if a free would otherwise make the host or a program's stream
   * wait. It would if the memory was used on several streams, or on one that was forgotten or is
   * out of order. `*out` is borrowed, and valid as long as the allocator. Needs stream order. NULL:
   * one of the memory's streams waits for the others, or the home stream, or the host. */
  clp_status (*free_stream)(void *self, clp_stream *out);
} clp_allocator_ops;

/** The initial value of a clp_allocator_ops: its size, and zeros. Set at least `allocate` and
 * `free`. */
#define CLP_ALLOCATOR_OPS_INIT                                                                     \
  {                                                                                                \
    sizeof(clp_allocator_ops), NULL, NULL, NULL, NULL, false, 0, CLP_MEMORY_UNSTATED, 0, 0, 0,     \
        NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, false, \
        false, NULL, false, NULL, NULL                                                             \
  }

/** Makes an allocator from your own functions. `ops` is copied. `self` is passed to each function;
 * on success it belongs to the allocator, which ends it with `destroy`.
 *
 * On success `*out` is an object with one reference, the caller's; on failure it is NULL. Any
 * thread.
 * CLP_INVALID_ARGUMENT: NULL ops or out; allocate or free is missing; a group is incomplete; a
 *   field lacks another one that it needs; an unknown memory_kind; an alignment that is not a power
 *   of two; a struct_size too small or with unknown fields set.
 * CLP_OUT_OF_HOST_MEMORY. */
clp_status clp_allocator_create(const clp_allocator_ops *ops, void *self, clp_allocator **out);

/** Adds a reference. Returns its argument. NULL is allowed. Any thread. */
clp_allocator *clp_allocator_retain(clp_allocator *allocator);

/** Drops a reference. With the last one the allocator ends, and releases what it retained. Pools
 * and buffers hold their own references. NULL is a no-op. Any thread. */
void clp_allocator_release(clp_allocator *allocator);

/** Takes `bytes` of memory directly from the device, without a pool. Zero bytes succeed with memory
 * 0 and do not touch the device (pyopencl 2020.2).
 *
 * On success `*out` is the caller's until clp_allocator_free; on failure it is 0. Any thread.
 * CLP_INVALID_ARGUMENT: NULL allocator or out, more bytes than the largest block the device allows.
 * CLP_OUT_OF_DEVICE_MEMORY: the device is out of memory. A deferred allocator may succeed, and the
 *   program then fails when it first uses the memory.
 * CLP_OUT_OF_HOST_MEMORY.
 * CLP_BACKEND_ERROR or another status of the backend; CLP_BACKEND_ERROR also if it reports success
 *   with memory 0. */
clp_status clp_allocator_allocate(clp_allocator *allocator, size_t bytes, clp_memory *out);

/** Gives memory from clp_allocator_allocate back to the device, with the same `bytes`. Memory 0 is
 * a no-op. Any thread. On failure the memory is still the caller's.
 * CLP_INVALID_ARGUMENT: NULL allocator, or the allocator notices that the memory is not its own.
 * CLP_BACKEND_ERROR or another status of the backend. */
clp_status clp_allocator_free(clp_allocator *allocator, clp_memory memory, size_t bytes);

/** Returns the allocator's name, such as "cl-immediate". Borrowed, valid as long as the allocator.
 * "" for NULL. Any thread. */
const char *clp_allocator_name(const clp_allocator *allocator);

/** Returns whether an allocation may succeed although there is no memory, as with clCreateBuffer.
 * False for NULL. Any thread. */
bool clp_allocator_is_deferred(const clp_allocator *allocator);

/** Makes an allocator of host memory; it needs no device. Its memory is a pointer, aligned to at
 * least `alignment` bytes, a power of two; 0 means 64. Name "host". `*out` is as from
 * clp_allocator_create. Any thread.
 * CLP_INVALID_ARGUMENT: NULL out, an alignment that is not a power of two.
 * CLP_OUT_OF_HOST_MEMORY. */
clp_status clp_host_allocator_create(size_t alignment, clp_allocator **out);

/** Makes an allocator of a simulated device, for replays and tests. It hands out made-up addresses
 * without memory, never 0, and repeats none until all devices have handed out 2^63 bytes. It is out
 * of memory if more than `capacity` bytes would be in use; 0 means no bound. A free of more bytes
 * than are in use fails (CLP_INVALID_ARGUMENT). Name "simulated". `*out` is as from
 * clp_allocator_create. Any thread.
 * CLP_INVALID_ARGUMENT: NULL out.
 * CLP_OUT_OF_HOST_MEMORY. */
clp_status clp_simulated_allocator_create(size_t capacity, clp_allocator **out);

#ifdef __cplusplus
}
#endif

#endif
