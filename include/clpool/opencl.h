/* SPDX-License-Identifier: MIT */
/** @file
 * clpool/opencl.h - allocators of OpenCL memory: cl_mem buffers and shared virtual memory. Also the
 * calls that give a buffer's memory to OpenCL.
 *
 * This is the only C header of clpool that includes CL/cl.h. The program sets
 * CL_TARGET_OPENCL_VERSION.
 *
 * The library is not linked with OpenCL. At the first call that needs OpenCL, it takes OpenCL's
 * functions from the first of these:
 *
 * - the library that the environment's CLPOOL_OPENCL_LIBRARY names, if it is set;
 * - the OpenCL loader that the program is linked with or has loaded;
 * - libOpenCL.so.1.
 *
 * If there is none, each call that needs OpenCL returns CLP_NOT_SUPPORTED, and the last error says
 * why.
 *
 * The streams of these allocators (clpool/pool.h, "Stream order") are the command queues of their
 * context, on any of its devices, in order or out of order. An out-of-order queue is ordered by
 * barriers over all its earlier work. Work that ends with an error counts as done once all earlier
 * work of its queue has ended. By OpenCL's rule for events, commands that wait for it may then fail
 * as well. */
#ifndef CLPOOL_OPENCL_H
#define CLPOOL_OPENCL_H

#include <CL/cl.h>
#include <clpool/allocator.h>
#include <clpool/buffer.h>
#include <clpool/pool.h>
#include <clpool/status.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Makes an allocator of buffers from clCreateBuffer in `context`, which it retains. 0 `mem_flags`
 * mean CL_MEM_READ_WRITE. Name "cl-deferred". Semantics: pyopencl.tools.DeferredAllocator.
 *
 * The driver decides when it takes the memory, so the program may run out of memory at the first
 * use of a buffer. PoCL's CPU devices then abort the process, unless `mem_flags` has
 * CL_MEM_ALLOC_HOST_PTR. An allocation is out of device memory if OpenCL returns
 * CL_MEM_OBJECT_ALLOCATION_FAILURE, CL_OUT_OF_RESOURCES or CL_OUT_OF_HOST_MEMORY. If the context
 * has several devices, all of them must allow a block.
 *
 * On success `*out` is an object with one reference, the caller's; on failure it is NULL. Any
 * thread.
 * CLP_INVALID_ARGUMENT: NULL context or out; flags that exclude each other, are not for buffers, or
 *   bring their own memory (CL_MEM_USE_HOST_PTR, CL_MEM_COPY_HOST_PTR).
 * CLP_NOT_SUPPORTED: there is no OpenCL.
 * CLP_BACKEND_ERROR: OpenCL does not describe the context's devices.
 * CLP_OUT_OF_HOST_MEMORY. */
clp_status clp_cl_deferred_allocator_create(cl_context context, cl_mem_flags mem_flags,
                                            clp_allocator **out);

/** Makes an allocator of buffers whose memory the driver takes at once, in the context and on the
 * device of `queue`. It retains the queue, which is the home stream. Name "cl-immediate".
 * Semantics: pyopencl.tools.ImmediateAllocator; otherwise as clp_cl_deferred_allocator_create.
 *
 * If the device is out of memory, an allocation fails, so that a pool can react. To make the driver
 * take the memory, each allocation enqueues a command on the queue:
 *
 * - clEnqueueMigrateMemObjects with undefined content, from OpenCL 1.2 on;
 * - on NVIDIA's devices a fill of one byte, because NVIDIA's driver crashes if other threads give
 *   work to queues during a migration;
 * - before OpenCL 1.2 a small write.
 *
 * The command may still be pending when the allocation returns, and the content is undefined. If
 * another queue uses the buffer first, it must wait for that command. clp_pool_allocate_on makes it
 * wait.
 *
 * On PoCL's CPU devices (PoCL 1.8 and newer) such a command aborts the process if memory has run
 * out. So the allocator adds CL_MEM_ALLOC_HOST_PTR to the flags (CL_MEM_FLAGS of its buffers shows
 * it), and clCreateBuffer fails instead. Such a buffer is like memory from malloc: a limit of the
 * address space (RLIMIT_AS) makes the allocation fail. But pages are taken at first use, and under
 * a cgroup's memory limit the system then kills the process.
 * CLP_INVALID_ARGUMENT: NULL queue or out; flags as in clp_cl_deferred_allocator_create.
 * CLP_NOT_SUPPORTED: there is no OpenCL.
 * CLP_BACKEND_ERROR: OpenCL does not describe the queue or its device.
 * CLP_OUT_OF_HOST_MEMORY. */
clp_status clp_cl_immediate_allocator_create(cl_command_queue queue, cl_mem_flags mem_flags,
                                             clp_allocator **out);

/** Which shared virtual memory an allocator takes. The defaults are zeros. */
typedef struct clp_cl_svm_options {
  size_t struct_size; /**< sizeof(clp_cl_svm_options) */
  cl_bitfield flags;  /**< cl_svm_mem_flags: one of CL_MEM_READ_WRITE (also 0), CL_MEM_READ_ONLY and
                         CL_MEM_WRITE_ONLY; optionally CL_MEM_SVM_FINE_GRAIN_BUFFER, and with it
                         CL_MEM_SVM_ATOMICS */
  size_t alignment;   /**< of every block, bytes: a power of two, at most the size of the devices'
                         largest built-in type (128 in the full profile). 0: that size */
  cl_command_queue queue; /**< the home stream; retained. NULL: none */
} clp_cl_svm_options;

/** Sets the defaults. */
#define CLP_CL_SVM_OPTIONS_INIT                                                                    \
  {                                                                                                \
    sizeof(clp_cl_svm_options), 0, 0, NULL                                                         \
  }

/** Makes an allocator of shared virtual memory from clSVMAlloc in `context`. The options choose
 * coarse or fine grain; NULL means CLP_CL_SVM_OPTIONS_INIT. Memory is a pointer. The allocator
 * retains the context and the queue. Name "cl-svm". Semantics: pyopencl.tools.SVMAllocator.
 *
 * How memory goes back to the device:
 *
 * - With a home stream: clEnqueueSVMFree frees it behind all work that the queue was given before.
 * - Without a home stream: clSVMFree frees it at once, as in PyOpenCL. The program must have
 *   synchronized with all work that uses it.
 * - Blocks that were released to a pool on streams: clEnqueueSVMFree frees them on their stream, or
 *   clSVMFree when the work there is done.
 * - If a device is NVIDIA's: the host waits for that work and calls clSVMFree, because the driver
 *   crashes if other threads call it during clEnqueueSVMFree. With a home stream, the host finishes
 *   that queue for each block, no matter which streams used it.
 *
 * A pool that is out of memory waits for pending frees.
 *
 * clSVMAlloc does not report why it fails. The allocator checks every other cause first, and then
 * reports CLP_OUT_OF_DEVICE_MEMORY. If the context has several devices, all of them must support
 * what the options ask for. `*out` is as from clp_cl_deferred_allocator_create. Any thread.
 * CLP_INVALID_ARGUMENT: NULL context or out; flags that exclude each other, are unknown, or are not
 *   for shared virtual memory; CL_MEM_SVM_ATOMICS without CL_MEM_SVM_FINE_GRAIN_BUFFER; an
 *   alignment that is not a power of two or is too large; a queue of another context; a struct_size
 *   too small or with unknown fields set.
 * CLP_NOT_SUPPORTED: there is no OpenCL; a device has OpenCL before 2.0, or no shared virtual
 *   memory of that kind.
 * CLP_BACKEND_ERROR: OpenCL does not describe the context's devices.
 * CLP_OUT_OF_HOST_MEMORY. */
clp_status clp_cl_svm_allocator_create(cl_context context, const clp_cl_svm_options *options,
                                       clp_allocator **out);

/** Returns the buffer's memory as a cl_mem, borrowed: it is valid until the buffer is released, and
 * the program must not release it. Its CL_MEM_SIZE is clp_buffer_capacity. NULL for a buffer of
 * zero bytes and for NULL. NULL and a last error CLP_INVALID_ARGUMENT if the memory is not a
 * cl_mem. Any thread. */
cl_mem clp_buffer_cl_mem(const clp_buffer *buffer);

/** Returns the buffer's memory as a pointer to shared virtual memory, for calls such as
 * clSetKernelArgSVMPointer. It points to clp_buffer_capacity bytes, and is valid until the buffer
 * is released. NULL for a buffer of zero bytes and for NULL. NULL and a last error
 * CLP_INVALID_ARGUMENT if the memory is not shared virtual memory. Any thread. */
void *clp_buffer_svm_pointer(const clp_buffer *buffer);

/** Makes a sub-buffer of bytes [origin, origin + bytes) of a buffer, as clCreateSubBuffer. It also
 * works on an arena, where buffers are sub-buffers themselves, which clCreateSubBuffer refuses. The
 * origin must be aligned to CL_DEVICE_MEM_BASE_ADDR_ALIGN of the context's devices. `flags` are as
 * for clp_pool_create_cl_mem.
 *
 * On success `*out` is the caller's, who must release it before the buffer, because it does not
 * keep the buffer; on failure it is NULL. Any thread. NVIDIA's driver (580) crashes if several
 * threads have work in flight on sub-buffers that overlap, however the work is ordered.
 * CLP_INVALID_ARGUMENT: NULL buffer or out; memory that is not a cl_mem; a region that is empty or
 *   not within clp_buffer_size; an origin that is not aligned; other flags, or flags that conflict
 *   with the allocator's.
 * CLP_NOT_SUPPORTED: there is no OpenCL.
 * CLP_BACKEND_ERROR or another status: as clCreateSubBuffer reports. */
clp_status clp_buffer_create_sub_buffer(const clp_buffer *buffer, cl_mem_flags flags, size_t origin,
                                        size_t bytes, cl_mem *out);

/** Makes a cl_mem of `bytes` from the pool for code that does not use clpool: its last
 * clReleaseMemObject gives the memory back to the pool. CL_MEM_SIZE is `bytes`. It is a sub-buffer
 * of a pool's block, so OpenCL makes no sub-buffers of it. It counts as an active buffer, and keeps
 * the pool and its allocator.
 *
 * The last clReleaseMemObject acts as clp_buffer_release. So either use the cl_mem only on the
 * allocator's home stream; then the release need not wait for work queued there. Or wait for the
 * work that uses it before the release. By OpenCL's rules, the memory returns to the pool only
 * after that work, but drivers differ:
 *
 * - NVIDIA's driver waits for the work. A thread of its own returns the memory, some time after the
 *   release.
 * - PoCL 3.1 returns the memory at the release.
 *
 * `flags` say how kernels and the host may access it, as for clCreateSubBuffer: one flag such as
 * CL_MEM_READ_ONLY, and one such as CL_MEM_HOST_READ_ONLY. 0 means the allocator's.
 *
 * On success `*out` is the caller's; on failure it is NULL. Any thread.
 * CLP_INVALID_ARGUMENT: NULL pool or out; a pool whose memory is not cl_mem; other flags, or flags
 *   that conflict with the allocator's; zero bytes, which OpenCL does not allow.
 * Other statuses: as clp_pool_allocate and clCreateSubBuffer report. */
clp_status clp_pool_create_cl_mem(clp_pool *pool, size_t bytes, cl_mem_flags flags, cl_mem *out);

#ifdef __cplusplus
}
#endif

#endif
