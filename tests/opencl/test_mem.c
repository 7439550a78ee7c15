/* SPDX-License-Identifier: MIT */
/* The memory of a buffer as a cl_mem or an SVM pointer: lib/opencl/buffer_allocator.c,
 * svm_allocator.c. */
#include "core/allocator/allocator.h"
#include "support/failing_allocator.h"
#include "support/opencl_fixture.h"
#include "support/pools.h"
#include "support/suite.h"

#include <clpool/opencl.h>

enum { BYTES = 1000 };

START_TEST(test_of_an_opencl_pool)
{
  clpt_cl cl;
  clp_allocator *allocator;
  size_t size;

  clpt_cl_open(&cl, 1);
  clpt_ok(clp_cl_immediate_allocator_create(cl.queue, 0, &allocator));
  clp_pool *pool = clpt_pool(allocator);
  clp_buffer *buffer = clpt_allocate(pool, BYTES);
  cl_mem mem = clp_buffer_cl_mem(buffer);
  ck_assert_ptr_eq(mem, (cl_mem)clp_buffer_memory(buffer));
  clpt_cl_ok(clGetMemObjectInfo(mem, CL_MEM_SIZE, sizeof(size), &size, NULL));
  ck_assert_uint_eq(size, clp_buffer_capacity(buffer));

  clp_buffer *empty = clpt_allocate(pool, 0);
  ck_assert_ptr_null(clp_buffer_cl_mem(empty));

  clpt_ok(clp_buffer_release(empty));
  clpt_ok(clp_buffer_release(buffer));
  clp_pool_release(pool);
  clp_allocator_release(allocator);
  clpt_cl_close(&cl);
}
END_TEST

START_TEST(test_of_a_pool_of_shared_virtual_memory)
{
  clpt_cl cl;
  clp_allocator *allocator;

  clpt_cl_open(&cl, 1);
  if (clpt_cl_svm(&cl)) {
    clpt_ok(clp_cl_svm_allocator_create(cl.context, NULL, &allocator));
    clp_pool *pool = clpt_pool(allocator);
    clp_buffer *buffer = clpt_allocate(pool, BYTES);
    ck_assert_ptr_eq(clp_buffer_svm_pointer(buffer), (void *)clp_buffer_memory(buffer));
    clp_buffer *empty = clpt_allocate(pool, 0);
    ck_assert_ptr_null(clp_buffer_svm_pointer(empty));
    clpt_ok(clp_buffer_release(empty));
    clpt_ok(clp_buffer_release(buffer));
    clp_pool_release(pool);
    clp_allocator_release(allocator);
  }
  clpt_cl_close(&cl);
}
END_TEST

/* What each accessor gives; of its own kind, and what does not say, at the allocator's word. */
static void assert_given(const clp_buffer *buffer, const void *given, clp_memory_kind taken)
{
  clp_allocator *allocator = clp_pool_allocator(clp_buffer_pool(buffer));
  clp_memory_kind kind = allocator->ops.memory_kind;
  if (kind == CLP_MEMORY_UNSTATED || kind == taken) {
    ck_assert_ptr_eq(given, (void *)clp_buffer_memory(buffer));
    ck_assert_int_eq(clp_last_error()->status, CLP_SUCCESS);
  } else {
    ck_assert_ptr_null(given);
    ck_assert_int_eq(clp_last_error()->status, CLP_INVALID_ARGUMENT);
    clpt_message_has(clp_allocator_name(allocator));
  }
}

START_TEST(test_of_each_kind)
{
  static clpt_device device;

  clpt_device_init(&device);
  device.ops.memory_kind = (clp_memory_kind)_i;
  clp_allocator *allocator = clpt_device_allocator(&device);
  clp_pool *pool = clpt_pool(allocator);
  clp_buffer *buffer = clpt_allocate(pool, BYTES);
  clp_set_last_error(CLP_SUCCESS, 0, "");
  assert_given(buffer, clp_buffer_cl_mem(buffer), CLP_MEMORY_CL_MEM);
  clp_set_last_error(CLP_SUCCESS, 0, "");
  assert_given(buffer, clp_buffer_svm_pointer(buffer), CLP_MEMORY_CL_SVM);
  clpt_ok(clp_buffer_release(buffer));
  clp_pool_release(pool);
  clp_allocator_release(allocator);
  clpt_device_assert_ended(&device);
}
END_TEST

CLPT_MAIN("cl_mem", clpt_cl_run)
{
  TCase *tests = clpt_case(suite, "cl_mem");

  tcase_add_test(tests, test_of_an_opencl_pool);
  tcase_add_test(tests, test_of_a_pool_of_shared_virtual_memory);
  tcase_add_loop_test(tests, test_of_each_kind, CLP_MEMORY_UNSTATED, CLP_MEMORY_CUDA + 1);
}
