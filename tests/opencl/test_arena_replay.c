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
#include "trace/batch.h"
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

/* Whole words: what is left of a size that is none is not looked at. */
static cl_int fill(const contents *it, clp_memory memory, size_t bytes, uint32_t word)
{
  size_t whole = bytes / sizeof(word) * sizeof(word);
  if (!whole)
    return CL_SUCCESS;
  if (it->kind == CLPT_SVM)
    return clEnqueueSVMMemFill(it->cl.queue, (void *)memory, &word, sizeof(word), whole, 0, NULL,
                               NULL);
  return clEnqueueFillBuffer(it->cl.queue, (cl_mem)memory, &word, sizeof(word), 0, whole, 0, NULL,
                             NULL);
}

static cl_int check(const contents *it, clp_memory memory, size_t bytes, uint32_t word)
{
  const size_t words = bytes / sizeof(word);
  cl_mem mem = (cl_mem)memory;
  if (!words)
    return CL_SUCCESS;
  cl_int code = it->kind == CLPT_SVM ? clSetKernelArgSVMPointer(it->check, 0, (void *)memory)
                                     : clSetKernelArg(it->check, 0, sizeof(mem), &mem);
  if (!code)
    code = clSetKernelArg(it->check, 1, sizeof(word), &word);
  if (!code)
    code = clpt_cl_enqueue(it->cl.queue, it->check, words);
  return code;
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
  clpt_ok(trace_open(-1, named, &reader));
  return reader;
}

/* What stands in a slot of the trace. */
typedef struct block {
  clp_buffer *buffer;
  size_t bytes;
  uint32_t word;
} block;

/* The line is another word for each allocation of a pass. */
static void play(const contents *it, clp_pool *pool, const trace_operation *operation, block *at)
{
  if (operation->is_free) {
    clpt_cl_ok(check(it, clp_buffer_memory(at->buffer), at->bytes, at->word));
    clpt_ok(clp_buffer_release(at->buffer));
    at->buffer = NULL;
    return;
  }
  *at = (block){.bytes = operation->bytes, .word = (uint32_t)operation->line};
  clpt_ok(clp_pool_allocate(pool, at->bytes, &at->buffer));
  clpt_cl_ok(fill(it, clp_buffer_memory(at->buffer), at->bytes, at->word));
}

static void play_pass(const contents *it, clp_pool *pool, trace_batch_source *rows)
{
  block *blocks = NULL;
  size_t count = 0;
  do {
    clpt_ok(trace_batch_read(rows, TRACE_BATCH_ROWS));
    blocks = reallocarray(blocks, rows->live.capacity, sizeof(*blocks));
    for (; count < rows->live.capacity; count++)
      blocks[count].buffer = NULL;
    for (size_t i = 0; i < rows->batch->count; i++)
      play(it, pool, &rows->batch->operations[i], &blocks[rows->batch->operations[i].slot]);
  } while (!rows->batch->at_end);
  for (size_t i = 0; i < count; i++)
    if (blocks[i].buffer)
      clpt_ok(clp_buffer_release(blocks[i].buffer));
  free(blocks);
}

static trace_meter replay(const contents *it)
{
  enum { PASSES = 5 };
  const char *scale = getenv("CLPT_SCALE");
  clp_arena_options arena_options = TRACE_ARENA_OPTIONS_INIT;
  clp_pool_options pool_options = TRACE_POOL_OPTIONS_INIT;
  clp_allocator *allocator = new_allocator(it), *metering, *arena;
  clp_pool *pool;
  trace_batch_source rows = {
      .reader = open_trace(), .scale = scale ? atof(scale) : 1.0 / 4096, .is_kept = true};

  pool_options.leading_bits_in_bin_id = 6;
  clpt_ok(trace_metering_allocator_create(allocator, &metering));
  clpt_ok(clp_arena_allocator_create(metering, &arena_options, &arena));
  clpt_ok(clp_pool_create(arena, &pool_options, &pool));
  for (int pass = 0; pass < PASSES; pass++) {
    play_pass(it, pool, &rows);
  }
  trace_close(rows.reader);
  trace_batch_source_end(&rows);
  const trace_meter meter = *trace_meter_of(metering);
  clp_pool_release(pool);
  clp_allocator_release(arena);
  clp_allocator_release(metering);
  clp_allocator_release(allocator);
  return meter;
}

START_TEST(each_allocation_keeps_its_pattern)
{
  contents it = {.kind = (clpt_order_kind)_i};

  clpt_cl_open(&it.cl, 1);
  if (clpt_order_has(&it.cl, it.kind)) {
    start(&it);
    const trace_meter meter = replay(&it);
    ck_assert_uint_eq(end(&it), 0);
    printf("%s: %llu blocks from the device, %zu bytes at most\n",
           it.kind == CLPT_SVM ? "SVM" : "buffers", (unsigned long long)meter.allocations,
           meter.peak_bytes);
  }
  clpt_cl_close(&it.cl);
}
END_TEST

CLPT_MAIN("cl_arena_replay", clpt_cl_run)
{
  TCase *tests = clpt_case(suite, "replay");

  tcase_add_loop_test(tests, each_allocation_keeps_its_pattern, 0, CLPT_ORDER_KINDS);
}
