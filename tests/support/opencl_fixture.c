/* SPDX-License-Identifier: MIT */
/* A device for the tests on OpenCL. */
#include "opencl_fixture.h"

#include "instrumented.h"
#include "opencl/loader.h"
#include "opencl_devices.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { HANG_SECONDS = 300, INSTRUMENTED_FACTOR = 10 };

void clpt_cl_open(clpt_cl *cl, cl_uint most_devices)
{
  cl_int code;
  clpt_ok(clpi_cl_load());
  ck_assert_uint_le(most_devices, CLPT_MOST_DEVICES);
  cl->device_count = clpt_find_devices(most_devices, cl->devices);
  ck_assert_uint_gt(cl->device_count, 0);
  cl->context = clCreateContext(NULL, cl->device_count, cl->devices, NULL, NULL, &code);
  clpt_cl_ok(code);
  cl->queue = clpt_cl_queue(cl, 0);
}

void clpt_cl_close(clpt_cl *cl)
{
  clpt_cl_ok(clFinish(cl->queue));
  clpt_cl_ok(clReleaseCommandQueue(cl->queue));
  clpt_cl_ok(clReleaseContext(cl->context));
}

cl_command_queue clpt_cl_queue_on(const clpt_cl *cl, cl_uint device,
                                  cl_command_queue_properties properties)
{
  cl_queue_properties list[] = {CL_QUEUE_PROPERTIES, properties, 0};
  cl_int code;
  cl_command_queue queue =
      clCreateCommandQueueWithProperties(cl->context, cl->devices[device], list, &code);
  clpt_cl_ok(code);
  return queue;
}

cl_command_queue clpt_cl_queue(const clpt_cl *cl, cl_command_queue_properties properties)
{
  return clpt_cl_queue_on(cl, 0, properties);
}

cl_event clpt_cl_stop(const clpt_cl *cl, cl_command_queue queue)
{
  cl_int code;
  cl_event stop = clCreateUserEvent(cl->context, &code);
  clpt_cl_ok(code);
  clpt_cl_ok(clEnqueueBarrierWithWaitList(queue, 1, &stop, NULL));
  return stop;
}

void clpt_cl_go(cl_event stop)
{
  clpt_cl_ok(clSetUserEventStatus(stop, CL_COMPLETE));
  clpt_cl_ok(clReleaseEvent(stop));
}

cl_ulong clpt_cl_device_ulong(cl_device_id device, cl_device_info what)
{
  cl_ulong value;
  clpt_cl_ok(clGetDeviceInfo(device, what, sizeof(value), &value, NULL));
  return value;
}

static cl_device_svm_capabilities svm_of(cl_device_id device)
{
  cl_device_svm_capabilities capabilities;
  cl_int code = clGetDeviceInfo(device, CL_DEVICE_SVM_CAPABILITIES, sizeof(capabilities),
                                &capabilities, NULL);
  return code ? 0 : capabilities; /* before OpenCL 2.0, the question is unknown */
}

cl_device_svm_capabilities clpt_cl_svm(const clpt_cl *cl)
{
  return svm_of(cl->devices[0]);
}

bool clpt_cl_is_pocl(const clpt_cl *cl)
{
  char name[128] = "";
  cl_platform_id platform;
  clpt_cl_ok(
      clGetDeviceInfo(cl->devices[0], CL_DEVICE_PLATFORM, sizeof(platform), &platform, NULL));
  clpt_cl_ok(clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof(name), name, NULL));
  return strcmp(name, "Portable Computing Language") == 0;
}

cl_kernel clpt_cl_kernel(const clpt_cl *cl, const char *source, const char *name)
{
  cl_int code;
  cl_program program = clCreateProgramWithSource(cl->context, 1, &source, NULL, &code);
  clpt_cl_ok(code);
  clpt_cl_ok(clBuildProgram(program, 0, NULL, "", NULL, NULL));
  cl_kernel kernel = clCreateKernel(program, name, &code);
  clpt_cl_ok(code);
  clpt_cl_ok(clReleaseProgram(program));
  return kernel;
}

cl_int clpt_cl_enqueue(cl_command_queue queue, cl_kernel kernel, size_t items)
{
  size_t local = items % 64 ? 1 : 64; /* groups that every device runs */
  return clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, &local, 0, NULL, NULL);
}

cl_kernel clpt_cl_words_kernel(const clpt_cl *cl)
{
  return clpt_cl_kernel(cl,
                        "kernel void write_words(global uint *words, uint first)"
                        "{ uint i = get_global_id(0); words[i] = first + i; }",
                        "write_words");
}

void clpt_cl_write_words(cl_command_queue queue, cl_kernel kernel, cl_mem mem, cl_uint first,
                         size_t words)
{
  clpt_cl_ok(clSetKernelArg(kernel, 0, sizeof(mem), &mem));
  clpt_cl_ok(clSetKernelArg(kernel, 1, sizeof(first), &first));
  clpt_cl_ok(clpt_cl_enqueue(queue, kernel, words));
}

void clpt_cl_fill(cl_command_queue queue, cl_mem mem, cl_uint word, size_t words)
{
  clpt_cl_ok(
      clEnqueueFillBuffer(queue, mem, &word, sizeof(word), 0, words * sizeof(word), 0, NULL, NULL));
}

/* Both are for free(). */

static cl_uint *read_buffer(cl_command_queue queue, cl_mem mem, size_t words)
{
  cl_uint *found = malloc(words * sizeof(*found));
  ck_assert_ptr_nonnull(found);
  clpt_cl_ok(
      clEnqueueReadBuffer(queue, mem, CL_TRUE, 0, words * sizeof(*found), found, 0, NULL, NULL));
  return found;
}

static cl_uint *read_svm(cl_command_queue queue, const void *pointer, size_t words)
{
  cl_uint *found = malloc(words * sizeof(*found));
  ck_assert_ptr_nonnull(found);
  clpt_cl_ok(
      clEnqueueSVMMemcpy(queue, CL_TRUE, found, pointer, words * sizeof(*found), 0, NULL, NULL));
  return found;
}

static void assert_found(cl_uint *found, cl_uint first, cl_uint step, size_t words)
{
  for (size_t i = 0; i < words; i++)
    ck_assert_uint_eq(found[i], first + step * (cl_uint)i);
  free(found);
}

void clpt_cl_assert_filled(cl_command_queue queue, cl_mem mem, cl_uint word, size_t words)
{
  assert_found(read_buffer(queue, mem, words), word, 0, words);
}

void clpt_cl_assert_svm_filled(cl_command_queue queue, const void *pointer, cl_uint word,
                               size_t words)
{
  assert_found(read_svm(queue, pointer, words), word, 0, words);
}

void clpt_cl_assert_words(cl_command_queue queue, cl_mem mem, cl_uint first, size_t words)
{
  assert_found(read_buffer(queue, mem, words), first, 1, words);
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
