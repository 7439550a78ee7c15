/* SPDX-License-Identifier: MIT */
/* A recorded program on an arena of real memory: each allocation is filled with a pattern of its
 * own, and must have it still when it is freed.
 *
 * CLPT_TRACE names another trace, CLPT_SCALE another factor for its sizes (1: as recorded), for
 * larger devices. Prints what was taken from the device. */
#include "support/opencl_fixture.h"
#include "support/order_memory.h"
#include "support/suite.h"
#include "support/traces.h"
#include "trace/replay.h"

#include <clpool/opencl.h>
#include <stdio.h>
#include <stdlib.h>

static const char source[] =
    "kernel void check(global const uint *words, uint word, global uint *wrong)"
    "{ if (words[get_global_id(0)] != word) atomic_inc(wrong); }";

typedef struct contents {
  clpt_cl cl;
  clpt_order_kind kind;
  cl_kernel check;
  cl_mem wrong;
} contents;

static clp_status told(cl_int code, const char *call)
{
  return code ? clp_set_last_error(CLP_BACKEND_ERROR, code, call) : CLP_SUCCESS;
}

/* Whole words: what is left of a size that is none is not looked at. */
static clp_status fill(clp_memory memory, size_t bytes, uint32_t word, void *user_data)
{
  const contents *it = user_data;
  size_t whole = bytes / sizeof(word) * sizeof(word);
  if (!whole)
    return CLP_SUCCESS;
  if (it->kind == CLPT_SVM)
    return told(clEnqueueSVMMemFill(it->cl.queue, (void *)memory, &word, sizeof(word), whole, 0,
                                    NULL, NULL),
                "clEnqueueSVMMemFill");
  return told(clEnqueueFillBuffer(it->cl.queue, (cl_mem)memory, &word, sizeof(word), 0, whole, 0,
                                  NULL, NULL),
              "clEnqueueFillBuffer");
}

static clp_status check(clp_memory memory, size_t bytes, uint32_t word, void *user_data)
{
  const contents *it = user_data;
  const size_t words = bytes / sizeof(word);
  cl_mem mem = (cl_mem)memory;
  if (!words)
    return CLP_SUCCESS;
  cl_int code = it->kind == CLPT_SVM ? clSetKernelArgSVMPointer(it->check, 0, (void *)memory)
                                     : clSetKernelArg(it->check, 0, sizeof(mem), &mem);
  if (!code)
    code = clSetKernelArg(it->check, 1, sizeof(word), &word);
  if (!code)
    code = clpt_cl_enqueue(it->cl.queue, it->check, words);
  return told(code, "looking at what is there");
}

static void start(contents *it)
{
  const cl_uint none = 0;
  cl_int code;
  it->check = clpt_cl_kernel(&it->cl, source, "check");
  it->wrong = clCreateBuffer(it->cl.context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof(none),
                             (void *)&none, &code);
  clpt_cl_ok(code);
  clpt_cl_ok(clSetKernelArg(it->check, 2, sizeof(it->wrong), &it->wrong));
}

static cl_uint end(contents *it)
{
  cl_uint wrong = 0;
  clpt_cl_ok(clEnqueueReadBuffer(it->cl.queue, it->wrong, CL_TRUE, 0, sizeof(wrong), &wrong, 0,
                                 NULL, NULL));
  clpt_cl_ok(clReleaseMemObject(it->wrong));
  clpt_cl_ok(clReleaseKernel(it->check));
  return wrong;
}

static clp_allocator *new_allocator(const contents *it)
{
  clp_cl_svm_options options = CLP_CL_SVM_OPTIONS_INIT;
  clp_allocator *allocator = NULL;
  options.queue = it->cl.queue;
  if (it->kind == CLPT_SVM)
    clpt_ok(clp_cl_svm_allocator_create(it->cl.context, &options, &allocator));
  else
    clpt_ok(clp_cl_immediate_allocator_create(it->cl.queue, 0, &allocator));
  return allocator;
}

static trace_reader *open_trace(void)
{
  const char *named = getenv("CLPT_TRACE");
  trace_reader *reader = NULL;
  if (named == NULL)
    return clpt_resnet_trace();
  clpt_ok(trace_open(named, &reader));
  return reader;
}

static void replay(contents *it, trace_replay_result *result)
{
  const trace_replay_contents looks = {fill, check, it};
  const char *scale = getenv("CLPT_SCALE");
  trace_replay_options options = TRACE_REPLAY_OPTIONS_INIT;
  clp_allocator *allocator = new_allocator(it);
  trace_reader *reader = open_trace();

  options.on_arena = true;
  options.passes = 5;
  options.pool_options.leading_bits_in_bin_id = 6;
  options.scale = scale ? atof(scale) : 1.0 / 4096;
  options.contents = &looks;
  clpt_ok(trace_replay(reader, allocator, &options, result));
  trace_close(reader);
  clp_allocator_release(allocator);
}

START_TEST(each_allocation_keeps_its_pattern)
{
  contents it = {.kind = (clpt_order_kind)_i};
  trace_replay_result result = {0};

  clpt_cl_open(&it.cl, 1);
  if (clpt_order_has(&it.cl, it.kind)) {
    start(&it);
    replay(&it, &result);
    ck_assert_uint_eq(end(&it), 0);
    ck_assert_uint_eq(result.failures, 0);
    printf("%s: footprint %.3f, %llu blocks from the device, %zu bytes at most\n",
           it.kind == CLPT_SVM ? "SVM" : "buffers", result.footprint,
           (unsigned long long)result.device_allocations, result.peak_device_bytes);
  }
  clpt_cl_close(&it.cl);
}
END_TEST

CLPT_MAIN("cl_arena_replay", clpt_cl_run)
{
  TCase *tests = clpt_case(suite, "replay");

  tcase_add_loop_test(tests, each_allocation_keeps_its_pattern, 0, CLPT_ORDER_KINDS);
}
