/* SPDX-License-Identifier: MIT */
/* Pools of shared virtual memory: what PyOpenCL's tests do with it, reuse, running out, and where
 * blocks are freed. */
#include "support/one_block.h"
#include "support/opencl_fixture.h"
#include "support/pools.h"
#include "support/suite.h"
#include "support/wrap_opencl.h"

#include <clpool/arena.h>
#include <clpool/opencl.h>

/* PyOpenCL's test_coarse_grain_svm and test_fine_grain_svm. */
enum { FLOATS = 3000, FLOATS_BYTES = FLOATS * sizeof(cl_float), ALIGNMENT = 64 };

static clpt_cl cl;
static long live_events, live_svm; /* at the start of a test */

/* Devices that free on queues; test_cl_svm_allocator has the others. */
static void setup(void)
{
  clpt_cl_open(&cl, 1);
  clpt_cl_reset();
  clpt_cl_pretend_vendor(CLPT_ANOTHER_VENDOR);
  live_events = clpt_cl_live_events();
  live_svm = clpt_cl_live_svm();
}

static void teardown(void)
{
  ck_assert_int_eq(clpt_cl_live_events(), live_events);
  ck_assert_int_eq(clpt_cl_live_svm(), live_svm);
  clpt_cl_reset();
  clpt_cl_close(&cl);
}

static clp_pool *new_pool(cl_svm_mem_flags flags, cl_command_queue queue)
{
  clp_cl_svm_options options = CLP_CL_SVM_OPTIONS_INIT;
  clp_allocator *allocator = NULL;
  options.flags = flags;
  options.alignment = ALIGNMENT;
  options.queue = queue;
  clpt_ok(clp_cl_svm_allocator_create(cl.context, &options, &allocator));
  clp_pool *pool = clpt_pool(allocator);
  clp_allocator_release(allocator);
  return pool;
}

START_TEST(test_a_limit_in_one_block)
{
  bool is_arena = _i % 2;
  clp_pool *pool = new_pool(0, _i / 2 ? cl.queue : NULL);
  clp_allocator *allocator = clp_pool_allocator(pool), *arena = NULL;
  if (is_arena)
    clpt_ok(clp_arena_allocator_create(allocator, NULL, &arena));
  for (int i = 0; i < CLPT_ONE_BLOCK_CASES; i++)
    clpt_limit_in_one_block(is_arena ? arena : allocator, i, 100001);
  clp_allocator_release(arena);
  clp_pool_release(pool);
}
END_TEST

/* --- Computing --- */

/* One kernel for all, since drivers take long to compile them. */
static cl_kernel twice_kernel(void)
{
  return clpt_cl_kernel(&cl,
                        "kernel void twice(global float *out, global float *in)"
                        "{ out[get_global_id(0)] = 2 * in[get_global_id(0)]; }",
                        "twice");
}

static void enqueue_twice(cl_kernel kernel, void *out, void *in)
{
  clpt_cl_ok(clSetKernelArgSVMPointer(kernel, 0, out));
  clpt_cl_ok(clSetKernelArgSVMPointer(kernel, 1, in));
  clpt_cl_ok(clpt_cl_enqueue(cl.queue, kernel, FLOATS));
}

static cl_float *map(clp_buffer *buffer, cl_map_flags how)
{
  void *pointer = clp_buffer_svm_pointer(buffer);
  clpt_cl_ok(
      clEnqueueSVMMap(cl.queue, CL_TRUE, how, pointer, clp_buffer_size(buffer), 0, NULL, NULL));
  return pointer;
}

static void unmap(void *pointer)
{
  clpt_cl_ok(clEnqueueSVMUnmap(cl.queue, pointer, 0, NULL, NULL));
}

static void fill(cl_float *floats, cl_float value)
{
  for (int i = 0; i < FLOATS; i++)
    floats[i] = value;
}

static void assert_floats(const cl_float *floats, cl_float value)
{
  for (int i = 0; i < FLOATS; i++)
    ck_assert_msg(floats[i] == value, "float %d is %f, not %f", i, floats[i], value);
}

START_TEST(test_coarse_grain)
{
  const cl_float zero = 0;
  static cl_float copy[FLOATS];
  clp_pool *pool = new_pool(CL_MEM_READ_WRITE, NULL);
  clp_buffer *buffer = clpt_allocate(pool, FLOATS_BYTES);
  void *pointer = clp_buffer_svm_pointer(buffer);
  cl_kernel kernel = twice_kernel();

  ck_assert_uint_eq((uintptr_t)pointer % ALIGNMENT, 0);
  clpt_cl_ok(
      clEnqueueSVMMemFill(cl.queue, pointer, &zero, sizeof(zero), FLOATS_BYTES, 0, NULL, NULL));
  cl_float *floats = map(buffer, CL_MAP_READ | CL_MAP_WRITE);
  assert_floats(floats, 0);
  fill(floats, 17);
  unmap(floats);
  enqueue_twice(kernel, pointer, pointer);
  enqueue_twice(kernel, pointer, pointer);
  floats = map(buffer, CL_MAP_READ);
  assert_floats(floats, 68);
  unmap(floats);
  clpt_cl_ok(clEnqueueSVMMemcpy(cl.queue, CL_TRUE, copy, pointer, FLOATS_BYTES, 0, NULL, NULL));
  assert_floats(copy, 68);
  clpt_cl_ok(clFinish(cl.queue));
  clpt_ok(clp_buffer_release(buffer));
  clpt_cl_ok(clReleaseKernel(kernel));
  clp_pool_release(pool);
}
END_TEST

/* https://github.com/inducer/pyopencl/issues/372 */
START_TEST(test_read_only_input)
{
  clp_pool *in_pool = new_pool(CL_MEM_READ_ONLY, NULL);
  clp_pool *out_pool = new_pool(CL_MEM_READ_WRITE, NULL);
  clp_buffer *in = clpt_allocate(in_pool, FLOATS_BYTES);
  clp_buffer *out = clpt_allocate(out_pool, FLOATS_BYTES);
  cl_kernel kernel = twice_kernel();

  cl_float *floats = map(in, CL_MAP_WRITE);
  fill(floats, 17);
  unmap(floats);
  enqueue_twice(kernel, clp_buffer_svm_pointer(out), clp_buffer_svm_pointer(in));
  floats = map(out, CL_MAP_READ);
  assert_floats(floats, 34);
  unmap(floats);
  clpt_cl_ok(clFinish(cl.queue));
  clpt_ok(clp_buffer_release(in));
  clpt_ok(clp_buffer_release(out));
  clpt_cl_ok(clReleaseKernel(kernel));
  clp_pool_release(in_pool);
  clp_pool_release(out_pool);
}
END_TEST

/* The host uses it as its own memory. */
START_TEST(test_fine_grain)
{
  if (!(clpt_cl_svm(&cl) & CL_DEVICE_SVM_FINE_GRAIN_BUFFER))
    return;
  clp_pool *pool = new_pool(CL_MEM_READ_WRITE | CL_MEM_SVM_FINE_GRAIN_BUFFER, NULL);
  clp_buffer *buffer = clpt_allocate(pool, FLOATS_BYTES);
  cl_float *floats = clp_buffer_svm_pointer(buffer);
  cl_kernel kernel = twice_kernel();

  fill(floats, 17);
  enqueue_twice(kernel, floats, floats);
  clpt_cl_ok(clFinish(cl.queue));
  assert_floats(floats, 34);
  clpt_ok(clp_buffer_release(buffer));
  clpt_cl_ok(clReleaseKernel(kernel));
  clp_pool_release(pool);
}
END_TEST

START_TEST(test_zero_bytes)
{
  clp_pool *pool = new_pool(0, _i ? cl.queue : NULL);
  clp_buffer *buffer = clpt_allocate(pool, 0);

  ck_assert_ptr_null(clp_buffer_svm_pointer(buffer));
  ck_assert_uint_eq(clpt_cl_calls(CLPT_clSVMAlloc), 0);
  clpt_ok(clp_buffer_release(buffer));
  clp_pool_release(pool);
}
END_TEST

/* PyOpenCL's test_arrays_with_svm_allocators: a pool on one queue, buffers bound to another. */
START_TEST(test_buffers_bound_to_queues)
{
  clp_pool *pool = new_pool(0, cl.queue);
  cl_command_queue second = clpt_cl_queue(&cl, 0);
  cl_command_queue queues[] = {cl.queue, second};
  static cl_float copy[FLOATS];

  for (int i = 0; i < 10; i++) {
    const cl_float value = (cl_float)i;
    clp_buffer *buffer = clpt_allocate(pool, FLOATS_BYTES);
    void *pointer = clp_buffer_svm_pointer(buffer);
    if (i % 2)
      clpt_ok(clp_buffer_bind(buffer, second));
    clpt_cl_ok(clEnqueueSVMMemFill(queues[i % 2], pointer, &value, sizeof(value), FLOATS_BYTES, 0,
                                   NULL, NULL));
    clpt_cl_ok(
        clEnqueueSVMMemcpy(queues[i % 2], CL_TRUE, copy, pointer, FLOATS_BYTES, 0, NULL, NULL));
    assert_floats(copy, value);
    clpt_ok(clp_buffer_release(buffer));
  }
  clp_pool_release(pool);
  clpt_cl_ok(clReleaseCommandQueue(second));
}
END_TEST

/* --- Reuse and running out --- */

START_TEST(test_a_hit_is_the_same_pointer)
{
  clp_pool *pool = new_pool(0, _i ? cl.queue : NULL);
  clp_buffer *buffer = clpt_allocate(pool, 1000);
  void *first = clp_buffer_svm_pointer(buffer);

  clpt_ok(clp_buffer_release(buffer));
  clpt_cl_reset();
  for (int i = 0; i < 10; i++) {
    buffer = clpt_allocate(pool, 1000);
    ck_assert_ptr_eq(clp_buffer_svm_pointer(buffer), first);
    clpt_ok(clp_buffer_release(buffer));
  }
  for (int call = 0; call < CLPT_CL_CALL_COUNT; call++)
    ck_assert_uint_eq(clpt_cl_calls((clpt_cl_call)call), 0);
  ck_assert_int_eq(clpt_cl_live_svm(), live_svm + 1);
  clp_pool_release(pool);
}
END_TEST

/* The largest two of three held blocks are freed before the request succeeds. */
START_TEST(test_out_of_memory_frees_held_blocks)
{
  clp_pool *pool = new_pool(0, _i ? cl.queue : NULL);

  clpt_hold(pool, 1 << 10, 1);
  clpt_hold(pool, 1 << 12, 1);
  clpt_hold(pool, 1 << 11, 1);
  clpt_cl_fail_next(CLPT_clSVMAlloc, 2, CLPT_CL_SILENT);
  clp_buffer *buffer = clpt_allocate(pool, 1 << 13);
  clp_pool_stats stats = clpt_stats(pool);
  ck_assert_uint_eq(stats.device_frees, 2);
  ck_assert_uint_eq(stats.held_blocks, 1);
  ck_assert_uint_eq(stats.held_bytes, clp_bin_size(4, clp_bin_number(4, 1 << 10)));
  ck_assert_uint_eq(stats.out_of_memory_reactions, 1);
  ck_assert_int_eq(clpt_cl_live_svm(), live_svm + 2);
  clpt_ok(clp_buffer_release(buffer));
  clp_pool_release(pool);
}
END_TEST

/* Frees that are still in the queue are waited for, and only when nothing else helped. */
START_TEST(test_out_of_memory_waits_for_frees)
{
  clp_pool *pool = new_pool(0, cl.queue);
  clp_buffer *buffer;

  clpt_hold(pool, 1 << 10, 2);
  clpt_cl_reset();
  clpt_cl_fail_next(CLPT_clSVMAlloc, 2, CLPT_CL_SILENT);
  buffer = clpt_allocate(pool, clpt_bin_bytes(1 << 13));
  ck_assert_uint_eq(clpt_cl_calls(CLPT_clEnqueueSVMFree), 2);
  ck_assert_uint_eq(clpt_cl_calls(CLPT_clWaitForEvents), 0);
  clpt_ok(clp_buffer_release(buffer));
  clpt_cl_fail_next(CLPT_clSVMAlloc, 2, CLPT_CL_SILENT);
  buffer = clpt_allocate(pool, clpt_bin_bytes(1 << 14));
  ck_assert_uint_eq(clpt_cl_calls(CLPT_clEnqueueSVMFree), 3);
  ck_assert_uint_ge(clpt_cl_calls(CLPT_clWaitForEvents), 3);
  clpt_ok(clp_buffer_release(buffer));
  clp_pool_release(pool);
}
END_TEST

START_TEST(test_out_of_memory_for_good)
{
  clp_pool *pool = new_pool(0, NULL);
  clp_buffer *active = clpt_allocate(pool, 1 << 10);
  clp_buffer *failed = (clp_buffer *)&cl;
  clp_pool_stats before = clpt_stats(pool);

  clpt_cl_fail_all(CLPT_clSVMAlloc, CLPT_CL_SILENT);
  clpt_fails(CLP_OUT_OF_DEVICE_MEMORY, clp_pool_allocate(pool, 5000, &failed));
  clpt_message_has("5000 bytes");
  clpt_message_has("clSVMAlloc");
  ck_assert_ptr_null(failed);
  clp_pool_stats after = clpt_stats(pool);
  clpt_assert_same_figures(&before, &after);
  clpt_ok(clp_buffer_release(active));
  clp_pool_release(pool);
}
END_TEST

/* --- What a callback frees on another allocator --- */

typedef struct donor {
  clp_pool *pool; /* of another allocator; the queue is its */
  cl_command_queue queue;
  bool ends, is_held_up;
  unsigned calls;
} donor;

static bool donate(clp_pool *pool, size_t bytes, void *user_data)
{
  donor *self = user_data;
  (void)pool, (void)bytes;
  if (self->calls++)
    return false;
  clpt_ok(clp_pool_free_held(self->pool));
  if (!self->is_held_up) {
    clpt_cl_ok(clFinish(self->queue));
    clpt_cl_pretend_progress(CL_RUNNING);
  }
  if (self->ends) {
    clp_pool_release(self->pool);
    self->pool = NULL;
  }
  return true;
}

/* It ends with its pool, or does not. Its queue is done soon, or waits for what the caller does
 * later, which is not waited for. */
START_TEST(test_frees_of_another_allocator_are_waited_for)
{
  cl_command_queue queue = clpt_cl_queue(&cl, 0);
  donor it = {.pool = new_pool(0, queue), .queue = queue, .ends = _i % 2, .is_held_up = _i / 2};
  clp_cl_svm_options svm = CLP_CL_SVM_OPTIONS_INIT;
  clp_pool_options options = CLP_POOL_OPTIONS_INIT;
  clp_allocator *allocator;
  clp_pool *pool;
  clp_buffer *buffer = NULL;

  svm.queue = cl.queue;
  clpt_ok(clp_cl_svm_allocator_create(cl.context, &svm, &allocator));
  options.on_out_of_memory = donate;
  options.user_data = &it;
  clpt_ok(clp_pool_create(allocator, &options, &pool));
  clpt_hold(it.pool, 1 << 12, 1);
  cl_event stop = it.is_held_up ? clpt_cl_stop(&cl, queue) : NULL;
  clpt_cl_reset();
  clpt_cl_pretend_vendor(CLPT_ANOTHER_VENDOR);
  clpt_cl_fail_all(CLPT_clSVMAlloc, CLPT_CL_SILENT);
  clpt_fails(CLP_OUT_OF_DEVICE_MEMORY, clp_pool_allocate(pool, clpt_bin_bytes(1 << 14), &buffer));
  ck_assert_uint_eq(it.calls, 2);
  ck_assert_uint_ge(clpt_cl_calls(CLPT_clGetEventInfo), 2); /* until it was done, or in vain */
  if (stop)
    clpt_cl_go(stop);
  clp_pool_release(it.pool);
  clp_pool_release(pool);
  clp_allocator_release(allocator);
  clpt_cl_ok(clFinish(queue));
  clpt_cl_ok(clReleaseCommandQueue(queue));
}
END_TEST

/* --- Where blocks are freed --- */

/* The block is freed behind the work of the queue that it was released on, which the host does not
 * wait for. */
START_TEST(test_freed_on_the_queue_of_the_release)
{
  const cl_uint pattern = 3;
  clp_pool *pool = new_pool(0, _i ? cl.queue : NULL);
  cl_command_queue queue = clpt_cl_queue(&cl, 0);
  clp_buffer *buffer = NULL;

  clpt_ok(clp_pool_allocate_on(pool, 4096, queue, &buffer));
  cl_event stop = clpt_cl_stop(&cl, queue);
  clpt_cl_ok(clEnqueueSVMMemFill(queue, clp_buffer_svm_pointer(buffer), &pattern, sizeof(pattern),
                                 4096, 0, NULL, NULL));
  clpt_ok(clp_buffer_release_on(buffer, queue));
  clpt_cl_reset();
  clpt_ok(clp_pool_free_held(pool));
  ck_assert_uint_eq(clpt_cl_calls(CLPT_clEnqueueSVMFree), 1);
  ck_assert_ptr_eq(clpt_cl_last_svm_free_queue(), queue);
  ck_assert_uint_eq(clpt_cl_calls(CLPT_clFinish), 0);
  ck_assert_uint_eq(clpt_cl_calls(CLPT_clWaitForEvents), 0);
  clp_pool_release(pool);
  clpt_cl_go(stop);
  clpt_cl_ok(clFinish(queue));
  clpt_cl_ok(clReleaseCommandQueue(queue));
}
END_TEST

START_TEST(test_freed_at_home)
{
  clp_pool *pool = new_pool(0, cl.queue);

  clpt_hold(pool, 4096, 1);
  clpt_ok(clp_pool_free_held(pool));
  ck_assert_uint_eq(clpt_cl_calls(CLPT_clEnqueueSVMFree), 1);
  ck_assert_ptr_eq(clpt_cl_last_svm_free_queue(), cl.queue);
  clp_pool_release(pool);
}
END_TEST

START_TEST(test_freed_at_once_without_a_queue)
{
  clp_pool *pool = new_pool(0, NULL);

  clpt_hold(pool, 4096, 1);
  clpt_ok(clp_pool_free_held(pool));
  ck_assert_uint_eq(clpt_cl_calls(CLPT_clSVMFree), 1);
  ck_assert_uint_eq(clpt_cl_calls(CLPT_clEnqueueSVMFree), 0);
  clp_pool_release(pool);
}
END_TEST

CLPT_MAIN("cl_svm_pool", clpt_cl_run_with_svm)
{
  TCase *computing = clpt_case(suite, "computing");
  TCase *reuse = clpt_case(suite, "reuse");
  TCase *freeing = clpt_case(suite, "freeing");

  tcase_add_checked_fixture(computing, setup, teardown);
  tcase_add_test(computing, test_coarse_grain);
  tcase_add_test(computing, test_read_only_input);
  tcase_add_test(computing, test_fine_grain);
  tcase_add_loop_test(computing, test_zero_bytes, 0, 2);
  tcase_add_test(computing, test_buffers_bound_to_queues);
  tcase_add_checked_fixture(reuse, setup, teardown);
  tcase_add_loop_test(reuse, test_a_hit_is_the_same_pointer, 0, 2);
  tcase_add_loop_test(reuse, test_out_of_memory_frees_held_blocks, 0, 2);
  tcase_add_test(reuse, test_out_of_memory_waits_for_frees);
  tcase_add_test(reuse, test_out_of_memory_for_good);
  tcase_add_loop_test(reuse, test_frees_of_another_allocator_are_waited_for, 0, 4);
  tcase_add_loop_test(reuse, test_a_limit_in_one_block, 0, 4);
  tcase_add_checked_fixture(freeing, setup, teardown);
  tcase_add_loop_test(freeing, test_freed_on_the_queue_of_the_release, 0, 2);
  tcase_add_test(freeing, test_freed_at_home);
  tcase_add_test(freeing, test_freed_at_once_without_a_queue);
}
