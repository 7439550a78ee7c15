/* SPDX-License-Identifier: MIT */
#include "opencl_fixture.h"

#include "core/allocator/allocator.h"
#include "instrumented.h"
#include "opencl/loader.h"
#include "opencl_devices.h"

#include <clpool/arena.h>
#include <clpool/opencl.h>
#include <stdio.h>
#include <unistd.h>

enum { HANG_SECONDS = 300, INSTRUMENTED_FACTOR = 10, MOST_STOPS = 32 };

static cl_event stops[MOST_STOPS];
static size_t stop_count;

void clpt_cl_open(clpt_cl *cl, cl_uint most_devices)
{
  cl_int code;
  clpt_ok(clpi_cl_load());
  ck_assert_uint_le(most_devices, CLPT_MOST_DEVICES);
  cl->device_count = clpt_find_devices(most_devices, cl->devices);
  ck_assert_uint_gt(cl->device_count, 0);
  cl->context = clpt_create_context(cl->device_count, cl->devices, &code);
  clpt_cl_ok(code);
  cl->queue = clpt_cl_queue(cl, 0);
  cl->other = clpt_cl_queue(cl, 0);
  cl->out_of_order = clpt_cl_queue(cl, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
}

void clpt_cl_finish(const clpt_cl *cl)
{
  clpt_cl_go_all();
  clpt_cl_ok(clFinish(cl->queue));
  clpt_cl_ok(clFinish(cl->other));
  clpt_cl_ok(clFinish(cl->out_of_order));
}

void clpt_cl_close(clpt_cl *cl)
{
  clpt_cl_finish(cl);
  clpt_cl_ok(clReleaseCommandQueue(cl->queue));
  clpt_cl_ok(clReleaseCommandQueue(cl->other));
  clpt_cl_ok(clReleaseCommandQueue(cl->out_of_order));
  clpt_cl_ok(clReleaseContext(cl->context));
}

cl_command_queue clpt_cl_queue(const clpt_cl *cl, cl_command_queue_properties properties)
{
  cl_queue_properties list[] = {CL_QUEUE_PROPERTIES, properties, 0};
  cl_int code;
  cl_command_queue queue =
      clCreateCommandQueueWithProperties(cl->context, cl->devices[0], list, &code);
  clpt_cl_ok(code);
  return queue;
}

cl_event clpt_cl_stop(const clpt_cl *cl, cl_command_queue queue)
{
  cl_int code;
  ck_assert_uint_lt(stop_count, MOST_STOPS);
  cl_event stop = clCreateUserEvent(cl->context, &code);
  clpt_cl_ok(code);
  stops[stop_count++] = stop;
  if (queue)
    clpt_cl_ok(clEnqueueBarrierWithWaitList(queue, 1, &stop, NULL));
  return stop;
}

void clpt_cl_go(cl_event stop)
{
  for (size_t at = 0; at < stop_count; at++) /* else it was ended with all others */
    if (stops[at] == stop) {
      stops[at] = stops[--stop_count];
      clpt_cl_ok(clSetUserEventStatus(stop, CL_COMPLETE));
      clpt_cl_ok(clReleaseEvent(stop));
    }
}

void clpt_cl_go_all(void)
{
  while (stop_count > 0)
    clpt_cl_go(stops[stop_count - 1]);
}

bool clpt_cl_is(const clpt_cl *cl, const char *platform)
{
  char name[128] = "";
  cl_platform_id of;
  clpt_cl_ok(clGetDeviceInfo(cl->devices[0], CL_DEVICE_PLATFORM, sizeof(of), &of, NULL));
  clpt_cl_ok(clGetPlatformInfo(of, CL_PLATFORM_NAME, sizeof(name), name, NULL));
  return strcmp(name, platform) == 0;
}

bool clpt_cl_has(const clpt_cl *cl, clpt_cl_kind kind)
{
  cl_device_svm_capabilities svm = 0; /* before OpenCL 2.0, the question is unknown */
  (void)clGetDeviceInfo(cl->devices[0], CL_DEVICE_SVM_CAPABILITIES, sizeof(svm), &svm, NULL);
  return kind == CLPT_BUFFERS || svm & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER;
}

clp_allocator *clpt_cl_allocator(const clpt_cl *cl, clpt_cl_kind kind, cl_command_queue home)
{
  clp_cl_svm_options options = CLP_CL_SVM_OPTIONS_INIT;
  clp_allocator *allocator = NULL;
  options.queue = home;
  clpt_ok(kind == CLPT_SVM ? clp_cl_svm_allocator_create(cl->context, &options, &allocator)
          : home           ? clp_cl_immediate_allocator_create(home, 0, &allocator)
                           : clp_cl_deferred_allocator_create(cl->context, 0, &allocator));
  return allocator;
}

clp_pool *clpt_cl_pool(const clpt_cl *cl, clpt_cl_kind kind, unsigned reuse_flags,
                       cl_command_queue home, bool on_arena)
{
  clp_arena_options of_arena = CLP_ARENA_OPTIONS_INIT;
  clp_pool_options options = CLP_POOL_OPTIONS_INIT;
  clp_allocator *allocator = clpt_cl_allocator(cl, kind, home), *arena = NULL;
  clp_pool *pool = NULL;
  of_arena.min_segment_bytes = 32768;
  options.reuse_flags = reuse_flags;
  if (on_arena)
    clpt_ok(clp_arena_allocator_create(allocator, &of_arena, &arena));
  clpt_ok(clp_pool_create(arena ? arena : allocator, &options, &pool));
  clp_allocator_release(arena);
  clp_allocator_release(allocator);
  return pool;
}

cl_int clpt_cl_fill(cl_command_queue queue, clpt_cl_kind kind, clp_memory memory, cl_uint word,
                    size_t bytes, const cl_event *after)
{
  bytes -= bytes % sizeof(word);
  return kind == CLPT_SVM ? clEnqueueSVMMemFill(queue, (void *)memory, &word, sizeof(word), bytes,
                                                after != NULL, after, NULL)
                          : clEnqueueFillBuffer(queue, (cl_mem)memory, &word, sizeof(word), 0,
                                                bytes, after != NULL, after, NULL);
}

cl_int clpt_cl_read(cl_command_queue queue, clpt_cl_kind kind, clp_memory memory, size_t offset,
                    size_t bytes, cl_bool at_once, void *to)
{
  return kind == CLPT_SVM ? clEnqueueSVMMemcpy(queue, at_once, to, (void *)(memory + offset), bytes,
                                               0, NULL, NULL)
                          : clEnqueueReadBuffer(queue, (cl_mem)memory, at_once, offset, bytes, to,
                                                0, NULL, NULL);
}

void clpt_cl_assert_filled(cl_command_queue queue, clpt_cl_kind kind, clp_memory memory,
                           cl_uint word, size_t bytes)
{
  cl_uint *found = malloc(bytes);
  ck_assert_ptr_nonnull(found);
  clpt_cl_ok(clEnqueueBarrierWithWaitList(queue, 0, NULL, NULL));
  clpt_cl_ok(clpt_cl_read(queue, kind, memory, 0, bytes, CL_TRUE, found));
  for (size_t i = 0; i < bytes / sizeof(word); i++)
    ck_assert_uint_eq(found[i], word);
  free(found);
}

static clpt_cl_kind kind_of(const clp_buffer *buffer)
{
  const clp_allocator *allocator = clp_pool_allocator(clp_buffer_pool(buffer));
  return allocator->ops.memory_kind == CLP_MEMORY_CL_SVM ? CLPT_SVM : CLPT_BUFFERS;
}

void clpt_cl_fill_buffer(cl_command_queue queue, clp_buffer *buffer, cl_uint word)
{
  clpt_cl_ok(clpt_cl_fill(queue, kind_of(buffer), clp_buffer_memory(buffer), word,
                          clp_buffer_size(buffer), NULL));
}

void clpt_cl_assert_buffer(cl_command_queue queue, clp_buffer *buffer, cl_uint word)
{
  clpt_cl_assert_filled(queue, kind_of(buffer), clp_buffer_memory(buffer), word,
                        clp_buffer_size(buffer));
}

int clpt_cl_run(Suite *suite)
{
  cl_device_id device;
  if (clpt_find_devices(1, &device) == 0) {
    fputs("skipped: there is no OpenCL device\n", stderr);
    srunner_free(srunner_create(suite));
    return CLPT_SKIPPED;
  }
  setenv("CK_FORK", "no", 1);
  /* Without a fork, Check has no time limit of its own. */
  alarm(HANG_SECONDS * (CLPT_SANITIZED || RUNNING_ON_VALGRIND ? INSTRUMENTED_FACTOR : 1));
  return clpt_run(suite);
}
