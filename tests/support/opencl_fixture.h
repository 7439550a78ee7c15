/* SPDX-License-Identifier: MIT */
/* What the tests on OpenCL share: a device with a context and a queue, assertions on a cl_int, and
 * small kernels. */
#ifndef CLPT_OPENCL_FIXTURE_H
#define CLPT_OPENCL_FIXTURE_H

#include "suite.h"

#include <CL/cl.h>
#include <stdbool.h>

enum { CLPT_SKIPPED = 77, CLPT_MOST_DEVICES = 8 };

/** The OpenCL call succeeds; else its code is shown. */
#define clpt_cl_ok(call)                                                                           \
  do {                                                                                             \
    cl_int clpt_code_ = (call);                                                                    \
    ck_assert_msg(clpt_code_ == CL_SUCCESS, "%s gave %d", #call, clpt_code_);                      \
  } while (0)

/** A context of some devices of the first platform that has one, and a queue on the first. */
typedef struct clpt_cl {
  cl_device_id devices[CLPT_MOST_DEVICES];
  cl_uint device_count;
  cl_context context;
  cl_command_queue queue;
} clpt_cl;

/** Opens the first `most_devices` devices, with an in-order queue. Everything is the caller's. The
 * library has loaded OpenCL then, so its parts may be called. */
void clpt_cl_open(clpt_cl *cl, cl_uint most_devices);
void clpt_cl_close(clpt_cl *cl);

/** A queue on the context's first device, or on the device with that number. */
cl_command_queue clpt_cl_queue(const clpt_cl *cl, cl_command_queue_properties properties);
cl_command_queue clpt_cl_queue_on(const clpt_cl *cl, cl_uint device,
                                  cl_command_queue_properties properties);

/** Holds all work up that the queue is given from now on, in order or not, until the event is
 * ended: by clpt_cl_go, which releases it. */
cl_event clpt_cl_stop(const clpt_cl *cl, cl_command_queue queue);
void clpt_cl_go(cl_event stop);

/** What a device says, for questions answered with a number. */
cl_ulong clpt_cl_device_ulong(cl_device_id device, cl_device_info what);

/** What the first device can do with shared virtual memory; 0: nothing. */
cl_device_svm_capabilities clpt_cl_svm(const clpt_cl *cl);

/** Whether the driver is PoCL, whose answers to what OpenCL leaves open are known. */
bool clpt_cl_is_pocl(const clpt_cl *cl);

/** Fills the first `words` words of `mem` with `word`. Waits for nothing: the queue orders it. */
void clpt_cl_fill(cl_command_queue queue, cl_mem mem, cl_uint word, size_t words);

/** Asserts that they are; waits for the queue. */
void clpt_cl_assert_filled(cl_command_queue queue, cl_mem mem, cl_uint word, size_t words);
void clpt_cl_assert_svm_filled(cl_command_queue queue, const void *pointer, cl_uint word,
                               size_t words);

/** A kernel from source; the caller's. */
cl_kernel clpt_cl_kernel(const clpt_cl *cl, const char *source, const char *name);

/** Runs a kernel of one dimension on `items` items. The local size is given: without it, PoCL
 * chooses one by the number of items, and compiles the kernel again for each local size. Waits for
 * nothing; returns what clEnqueueNDRangeKernel does. */
cl_int clpt_cl_enqueue(cl_command_queue queue, cl_kernel kernel, size_t items);

/** A kernel that numbers 32-bit words, for clpt_cl_write_words. The caller's. */
cl_kernel clpt_cl_words_kernel(const clpt_cl *cl);

/** Fills the first `words` words of `mem` with `first`, `first` + 1, ... by the kernel, which one
 * thread uses at a time. Waits for nothing: the queue orders it. */
void clpt_cl_write_words(cl_command_queue queue, cl_kernel kernel, cl_mem mem, cl_uint first,
                         size_t words);

/** Asserts that they are there; waits for the queue. */
void clpt_cl_assert_words(cl_command_queue queue, cl_mem mem, cl_uint first, size_t words);

/** As clpt_run, in one process, for drivers do not survive a fork; 77, with a line that says so,
 * where there is no OpenCL device. */
int clpt_cl_run(Suite *suite);

#endif
