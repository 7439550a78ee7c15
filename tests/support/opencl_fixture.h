/* SPDX-License-Identifier: MIT */
/* What the tests on OpenCL share: a device with a context and queues, assertions on a cl_int, and
 * pools of either kind of OpenCL memory, used in the same way. */
#ifndef CLPT_OPENCL_FIXTURE_H
#define CLPT_OPENCL_FIXTURE_H

#include "suite.h"

#include <CL/cl.h>
#include <clpool/buffer.h>
#include <clpool/pool.h>
#include <stdbool.h>

enum { CLPT_SKIPPED = 77, CLPT_MOST_DEVICES = 8 };

/** The OpenCL call succeeds; else its code is shown. */
#define clpt_cl_ok(call)                                                                           \
  do {                                                                                             \
    cl_int clpt_code_ = (call);                                                                    \
    ck_assert_msg(clpt_code_ == CL_SUCCESS, "%s gave %d", #call, clpt_code_);                      \
  } while (0)

/** A context of some devices of one platform, and queues on the first device. */
typedef struct clpt_cl {
  cl_device_id devices[CLPT_MOST_DEVICES];
  cl_uint device_count;
  cl_context context;
  cl_command_queue queue, other, out_of_order;
} clpt_cl;

/** Opens the first `most_devices` devices; the library has loaded OpenCL then. */
void clpt_cl_open(clpt_cl *cl, cl_uint most_devices);
void clpt_cl_finish(const clpt_cl *cl); /* its queues; after clpt_cl_go_all */
void clpt_cl_close(clpt_cl *cl);
cl_command_queue clpt_cl_queue(const clpt_cl *cl, cl_command_queue_properties properties);

/** A user event that holds up all further work of the queue (NULL: of none), in order or not. */
cl_event clpt_cl_stop(const clpt_cl *cl, cl_command_queue queue);

/** Ends one of those, or all that there are: drivers wait for them for ever. */
void clpt_cl_go(cl_event stop);
void clpt_cl_go_all(void);

#define CLPT_POCL_PLATFORM   "Portable Computing Language"
#define CLPT_NVIDIA_PLATFORM "NVIDIA CUDA"
bool clpt_cl_is(const clpt_cl *cl, const char *platform);

typedef enum clpt_cl_kind { CLPT_BUFFERS, CLPT_SVM, CLPT_CL_KINDS } clpt_cl_kind;
bool clpt_cl_has(const clpt_cl *cl, clpt_cl_kind kind);

/** An allocator of such memory, with the home stream `home` (NULL: none). */
clp_allocator *clpt_cl_allocator(const clpt_cl *cl, clpt_cl_kind kind, cl_command_queue home);

/** A pool on one, or on an arena on one, of segments for some blocks. */
clp_pool *clpt_cl_pool(const clpt_cl *cl, clpt_cl_kind kind, unsigned reuse_flags,
                       cl_command_queue home, bool on_arena);

/** Fills memory with a word, after an event (NULL: none); reads it, from an offset on, at once or
 * later. Returns OpenCL's code. */
cl_int clpt_cl_fill(cl_command_queue queue, clpt_cl_kind kind, clp_memory memory, cl_uint word,
                    size_t bytes, const cl_event *after);
cl_int clpt_cl_read(cl_command_queue queue, clpt_cl_kind kind, clp_memory memory, size_t offset,
                    size_t bytes, cl_bool at_once, void *to);

/** Asserts that memory is filled so; waits for the queue, which may be out of order. */
void clpt_cl_assert_filled(cl_command_queue queue, clpt_cl_kind kind, clp_memory memory,
                           cl_uint word, size_t bytes);

/** The same for all of a buffer; to fill it waits for nothing. */
void clpt_cl_fill_buffer(cl_command_queue queue, clp_buffer *buffer, cl_uint word);
void clpt_cl_assert_buffer(cl_command_queue queue, clp_buffer *buffer, cl_uint word);

/** As clpt_run, in one process, for drivers do not survive a fork; skipped without a device. */
int clpt_cl_run(Suite *suite);

#endif
