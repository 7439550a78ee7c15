/* SPDX-License-Identifier: MIT */
/* The allocators of cl_mem buffers: lib/opencl/buffer_allocator.c. */
#include "core/allocator/allocator.h"
#include "opencl/device.h"
#include "support/host_failures.h"
#include "support/opencl_fixture.h"
#include "support/opencl_live.h"
#include "support/pools.h"
#include "support/suite.h"
#include "support/wrap_opencl.h"

#include <clpool/opencl.h>

enum { BYTES = 4096 };

/* The two kinds, for tests that are the same for both. */
typedef enum allocator_kind { DEFERRED, IMMEDIATE, KINDS } allocator_kind;

static clpt_cl cl;
static clpt_cl_live before; /* a test */

static void setup(void)
{
  clpt_cl_open(&cl, 1);
  clpt_cl_reset();
  before = clpt_cl_live_now();
}

static void teardown(void)
{
  clpt_cl_assert_live(&before);
  clpt_cl_reset();
  clpt_cl_close(&cl);
}

static clp_status create(int kind, cl_mem_flags flags, clp_allocator **out)
{
  return kind == DEFERRED ? clp_cl_deferred_allocator_create(cl.context, flags, out)
                          : clp_cl_immediate_allocator_create(cl.queue, flags, out);
}

static clp_allocator *created(int kind, cl_mem_flags flags)
{
  clp_allocator *allocator = NULL;
  clpt_ok(create(kind, flags, &allocator));
  ck_assert_ptr_nonnull(allocator);
  return allocator;
}

static cl_uint context_references(void)
{
  cl_uint count;
  clpt_cl_ok(clGetContextInfo(cl.context, CL_CONTEXT_REFERENCE_COUNT, sizeof(count), &count, NULL));
  return count;
}

static cl_uint queue_references(void)
{
  cl_uint count;
  clpt_cl_ok(
      clGetCommandQueueInfo(cl.queue, CL_QUEUE_REFERENCE_COUNT, sizeof(count), &count, NULL));
  return count;
}

/* --- Creating --- */

START_TEST(test_properties)
{
  clp_allocator *allocator = created(_i, 0);
  const clp_allocator_ops *ops = &allocator->ops;
  cl_uint bits;

  ck_assert_str_eq(clp_allocator_name(allocator), _i == DEFERRED ? "cl-deferred" : "cl-immediate");
  ck_assert(clp_allocator_is_deferred(allocator) == (_i == DEFERRED));
  ck_assert_int_eq(ops->memory_kind, CLP_MEMORY_CL_MEM);
  ck_assert_uint_eq(ops->max_block_bytes,
                    clpt_cl_device_ulong(cl.devices[0], CL_DEVICE_MAX_MEM_ALLOC_SIZE));
  ck_assert_uint_eq(ops->device_bytes,
                    clpt_cl_device_ulong(cl.devices[0], CL_DEVICE_GLOBAL_MEM_SIZE));
  clpt_cl_ok(
      clGetDeviceInfo(cl.devices[0], CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof(bits), &bits, NULL));
  ck_assert_uint_eq(ops->alignment, bits / 8);
  ck_assert_ptr_eq(ops->home_stream, _i == DEFERRED ? NULL : cl.queue);
  clp_allocator_release(allocator);
}
END_TEST

START_TEST(test_bad_handle)
{
  clp_allocator *allocator = (clp_allocator *)&cl;

  if (_i == DEFERRED)
    clpt_cl_fail(CLPT_clRetainContext, 0, CL_INVALID_CONTEXT);
  else
    clpt_cl_fail(CLPT_clRetainCommandQueue, 0, CL_INVALID_COMMAND_QUEUE);
  clpt_fails(CLP_INVALID_ARGUMENT, create(_i, 0, &allocator));
  clpt_message_has(_i == DEFERRED
                       ? "clRetainContext failed with CL_INVALID_CONTEXT (-34)"
                       : "clRetainCommandQueue failed with CL_INVALID_COMMAND_QUEUE (-36)");
  ck_assert_ptr_null(allocator);
}
END_TEST

START_TEST(test_retains_for_its_life)
{
  cl_uint contexts = context_references();
  cl_uint queues = queue_references();
  clp_allocator *allocator = created(_i, 0);

  ck_assert_uint_gt(context_references(), contexts);
  ck_assert(queue_references() == queues + (_i == IMMEDIATE));
  clp_allocator_retain(allocator);
  clp_allocator_release(allocator);
  ck_assert_uint_gt(context_references(), contexts);
  clp_allocator_release(allocator);
  ck_assert_uint_eq(context_references(), contexts);
  ck_assert_uint_eq(queue_references(), queues);
}
END_TEST

/* Fails each call of create in turn, with each code, until none is left to fail. */
START_TEST(test_create_survives_each_failure)
{
  static const struct {
    cl_int code;
    clp_status status;
  } failures[] = {
      {CL_OUT_OF_RESOURCES, CLP_BACKEND_ERROR},
      {CL_OUT_OF_HOST_MEMORY, CLP_OUT_OF_HOST_MEMORY},
      {CL_INVALID_VALUE, CLP_BACKEND_ERROR},
      {-9999, CLP_BACKEND_ERROR},
  };

  for (size_t i = 0; i < sizeof(failures) / sizeof(failures[0]); i++) {
    unsigned long nth = 0;
    for (;; nth++) {
      clp_allocator *allocator = (clp_allocator *)&cl;
      clpt_cl_reset();
      clpt_cl_fail_any(nth, failures[i].code);
      clp_status status = create(_i, 0, &allocator);
      if (!clpt_cl_failed()) {
        ck_assert_int_eq(status, CLP_SUCCESS);
        clp_allocator_release(allocator);
        break;
      }
      ck_assert_int_eq(status, failures[i].status);
      ck_assert_int_eq(clp_last_error()->native_code, failures[i].code);
      ck_assert_ptr_null(allocator);
      clpt_cl_assert_live(&before);
    }
    /* The context, its devices twice, nine questions to PoCL: three sizes, the vendor, the type,
     * and each version twice; for the queue itself, its context, properties and device, and the
     * nine. */
    ck_assert_uint_eq(nth, _i == DEFERRED ? 12 : 25);
  }
}
END_TEST

START_TEST(test_create_survives_lack_of_host_memory)
{
  clpt_host_failures each = {0};

  while (!each.is_over) {
    clp_allocator *allocator = (clp_allocator *)&cl;
    clpt_host_fail_next(&each);
    clp_status status = create(_i, 0, &allocator);
    clpt_host_check(&each, status);
    ck_assert(!status == (allocator != NULL));
    clp_allocator_release(allocator);
    clpt_cl_assert_live(&before);
  }
  ck_assert_uint_gt(each.count, 0);
}
END_TEST

/* --- Allocating and freeing --- */

static cl_ulong mem_ulong(clp_memory memory, cl_mem_info what)
{
  cl_ulong value = 0; /* CL_MEM_SIZE is a size_t, CL_MEM_FLAGS a cl_ulong: both fit */
  clpt_cl_ok(clGetMemObjectInfo((cl_mem)memory, what, sizeof(value), &value, NULL));
  return value;
}

/* What the allocator adds to the flags that it was given. */
static cl_mem_flags added_flags(int kind)
{
  clpi_cl_bounds bounds;
  clpt_ok(clpi_cl_device_bounds(cl.devices[0], &bounds));
  return kind == IMMEDIATE && bounds.may_abort ? CL_MEM_ALLOC_HOST_PTR : 0;
}

START_TEST(test_allocate_and_free)
{
  clp_allocator *allocator = created(_i, 0);
  cl_context context;
  clp_memory memory = clpt_memory(allocator, BYTES);

  ck_assert_int_eq(clpt_cl_live_mems(), before.mems + 1);
  ck_assert_uint_eq(clpt_cl_calls(CLPT_clCreateBuffer), 1);
  ck_assert_uint_eq(clpt_cl_calls(CLPT_clEnqueueMigrateMemObjects) +
                        clpt_cl_calls(CLPT_clEnqueueFillBuffer),
                    _i == IMMEDIATE);
  ck_assert_uint_eq(clpt_cl_calls(CLPT_clFinish), 0);
  ck_assert_uint_eq(mem_ulong(memory, CL_MEM_SIZE), BYTES);
  ck_assert_uint_eq(mem_ulong(memory, CL_MEM_FLAGS), CL_MEM_READ_WRITE | added_flags(_i));
  clpt_cl_ok(clGetMemObjectInfo((cl_mem)memory, CL_MEM_CONTEXT, sizeof(context), &context, NULL));
  ck_assert_ptr_eq(context, cl.context);
  clpt_ok(clp_allocator_free(allocator, memory, BYTES));
  ck_assert_int_eq(clpt_cl_live_mems(), before.mems);
  clp_allocator_release(allocator);
}
END_TEST

START_TEST(test_flags_reach_the_buffer)
{
  static const cl_mem_flags taken[] = {CL_MEM_READ_WRITE, CL_MEM_READ_ONLY, CL_MEM_WRITE_ONLY,
                                       CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR,
                                       CL_MEM_READ_WRITE | CL_MEM_HOST_NO_ACCESS};

  for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++) {
    clp_allocator *allocator = created(_i, taken[i]);
    clp_memory memory = clpt_memory(allocator, BYTES);
    ck_assert_uint_eq(mem_ulong(memory, CL_MEM_FLAGS), taken[i] | added_flags(_i));
    clpt_ok(clp_allocator_free(allocator, memory, BYTES));
    clp_allocator_release(allocator);
  }
}
END_TEST

START_TEST(test_flags_stay_where_no_driver_aborts)
{
  clpt_cl_pretend_no_pocl();
  clp_allocator *allocator = created(_i, CL_MEM_READ_ONLY);
  clp_memory memory = clpt_memory(allocator, BYTES);

  ck_assert_uint_eq(clpt_cl_last_mem_flags(), CL_MEM_READ_ONLY);
  clpt_ok(clp_allocator_free(allocator, memory, BYTES));
  clp_allocator_release(allocator);
}
END_TEST

/* What OpenCL does not define is the driver's to judge. */
START_TEST(test_vendor_flags_reach_the_driver)
{
  const cl_mem_flags vendor = CL_MEM_READ_ONLY | (cl_mem_flags)1 << 40;
  clp_allocator *allocator = created(_i, vendor);
  clp_memory memory = 1;

  clpt_cl_fail(CLPT_clCreateBuffer, 0, CL_INVALID_VALUE);
  clpt_fails(CLP_BACKEND_ERROR, clp_allocator_allocate(allocator, BYTES, &memory));
  clpt_message_has("clCreateBuffer for 4096 bytes failed with CL_INVALID_VALUE (-30)");
  ck_assert_uint_eq(clpt_cl_last_mem_flags(), vendor | added_flags(_i));
  ck_assert_uint_eq(memory, 0);
  clp_allocator_release(allocator);
}
END_TEST

START_TEST(test_zero_bytes_touch_no_device)
{
  clp_allocator *allocator = created(_i, 0);
  clp_memory memory = 1;

  clpt_cl_reset();
  clpt_ok(clp_allocator_allocate(allocator, 0, &memory));
  ck_assert_uint_eq(memory, 0);
  clpt_ok(clp_allocator_free(allocator, memory, 0));
  ck_assert_uint_eq(clpt_cl_calls(CLPT_clCreateBuffer), 0);
  ck_assert_uint_eq(clpt_cl_calls(CLPT_clReleaseMemObject), 0);
  clp_allocator_release(allocator);
}
END_TEST

START_TEST(test_more_than_the_device_allows)
{
  clp_allocator *allocator = created(_i, 0);
  size_t most = allocator->ops.max_block_bytes;
  clp_memory memory = 1;

  clpt_fails(CLP_INVALID_ARGUMENT, clp_allocator_allocate(allocator, most + 1, &memory));
  ck_assert_uint_eq(memory, 0);
  ck_assert_uint_eq(clpt_cl_calls(CLPT_clCreateBuffer), 0);
  clp_allocator_release(allocator);
}
END_TEST

/* Beyond what a device says it allows, drivers refuse a size or do not; clpool says the same. */
START_TEST(test_the_driver_judges_a_size)
{
  size_t bytes = 2 * clpt_cl_device_ulong(cl.devices[0], CL_DEVICE_MAX_MEM_ALLOC_SIZE);
  const cl_ulong said = CL_ULONG_MAX;
  clp_memory memory = 1;
  cl_int code;

  cl_mem mem = clCreateBuffer(cl.context, CL_MEM_READ_WRITE, bytes, NULL, &code);
  if (mem)
    clpt_cl_ok(clReleaseMemObject(mem));
  clpt_cl_pretend(NULL, CL_DEVICE_MAX_MEM_ALLOC_SIZE, &said, sizeof(said));
  clp_allocator *allocator = created(DEFERRED, 0);
  clp_status status = clp_allocator_allocate(allocator, bytes, &memory);
  if (code) {
    ck_assert_int_eq(code, CL_INVALID_BUFFER_SIZE);
    ck_assert_int_eq(status, CLP_INVALID_ARGUMENT);
    ck_assert_int_eq(clp_last_error()->native_code, CL_INVALID_BUFFER_SIZE);
    clpt_message_has("CL_INVALID_BUFFER_SIZE (-61)");
    ck_assert_uint_eq(memory, 0);
  } else {
    ck_assert_int_eq(status, CLP_SUCCESS);
    clpt_ok(clp_allocator_free(allocator, memory, bytes));
  }
  clp_allocator_release(allocator);
}
END_TEST

/* Fails each call of allocate in turn, with each code, until none is left to fail. */
START_TEST(test_allocate_survives_each_failure)
{
  static const struct {
    cl_int code;
    clp_status status;
  } failures[] = {
      {CL_MEM_OBJECT_ALLOCATION_FAILURE, CLP_OUT_OF_DEVICE_MEMORY},
      {CL_OUT_OF_RESOURCES, CLP_OUT_OF_DEVICE_MEMORY},
      {CL_OUT_OF_HOST_MEMORY, CLP_OUT_OF_DEVICE_MEMORY},
      {CL_INVALID_BUFFER_SIZE, CLP_INVALID_ARGUMENT},
      {CL_INVALID_CONTEXT, CLP_BACKEND_ERROR},
      {-9999, CLP_BACKEND_ERROR},
  };
  clp_allocator *allocator = created(_i, 0);

  for (size_t i = 0; i < sizeof(failures) / sizeof(failures[0]); i++) {
    unsigned long nth = 0;
    for (;; nth++) {
      clp_memory memory = 1;
      clpt_cl_reset();
      clpt_cl_fail_any(nth, failures[i].code);
      clp_status status = clp_allocator_allocate(allocator, BYTES, &memory);
      if (!clpt_cl_failed()) {
        ck_assert_int_eq(status, CLP_SUCCESS);
        clpt_ok(clp_allocator_free(allocator, memory, BYTES));
        break;
      }
      ck_assert_int_eq(status, failures[i].status);
      ck_assert_int_eq(clp_last_error()->native_code, failures[i].code);
      clpt_message_has("4096 bytes");
      ck_assert_uint_eq(memory, 0);
      ck_assert_int_eq(clpt_cl_live_mems(), before.mems);
    }
    ck_assert_uint_eq(nth, _i == DEFERRED ? 1 : 2);
  }
  clp_allocator_release(allocator);
}
END_TEST

START_TEST(test_neither_a_buffer_nor_an_error)
{
  clp_allocator *allocator = created(_i, 0);
  clp_memory memory = 1;

  clpt_cl_fail(CLPT_clCreateBuffer, 0, CLPT_CL_SILENT);
  clpt_fails(CLP_BACKEND_ERROR, clp_allocator_allocate(allocator, BYTES, &memory));
  clpt_message_has("clCreateBuffer for 4096 bytes");
  ck_assert_int_eq(clp_last_error()->native_code, 0);
  ck_assert_uint_eq(memory, 0);
  clp_allocator_release(allocator);
}
END_TEST

START_TEST(test_immediate_on_1_1_writes)
{
  static const char version[] = "OpenCL 1.1 pretended";
  clpt_cl_pretend(NULL, CL_DEVICE_VERSION, version, sizeof(version));
  clp_allocator *allocator = created(IMMEDIATE, 0);
  clp_memory memory = clpt_memory(allocator, BYTES);

  ck_assert_uint_eq(clpt_cl_calls(CLPT_clEnqueueMigrateMemObjects), 0);
  ck_assert_uint_eq(clpt_cl_calls(CLPT_clEnqueueWriteBuffer), 1);
  clpt_ok(clp_allocator_free(allocator, memory, BYTES));

  clpt_cl_fail(CLPT_clEnqueueWriteBuffer, 0, CL_MEM_OBJECT_ALLOCATION_FAILURE);
  clpt_fails(CLP_OUT_OF_DEVICE_MEMORY, clp_allocator_allocate(allocator, BYTES, &memory));
  ck_assert_uint_eq(memory, 0);
  ck_assert_int_eq(clpt_cl_live_mems(), before.mems);
  clp_allocator_release(allocator);
}
END_TEST

/* What free_is_ordered says: under valgrind, the device finds memory that is there. */
START_TEST(test_free_while_in_use)
{
  clp_allocator *allocator = created(_i, 0);
  clp_memory memory = clpt_memory(allocator, BYTES);
  cl_event stop = clpt_cl_stop(&cl, cl.queue);
  unsigned char found[BYTES];

  clpt_cl_fill(cl.queue, (cl_mem)memory, 0x07070707, BYTES / sizeof(cl_uint));
  clpt_cl_ok(
      clEnqueueReadBuffer(cl.queue, (cl_mem)memory, CL_FALSE, 0, BYTES, found, 0, NULL, NULL));
  ck_assert(allocator->ops.free_is_ordered);
  clpt_cl_reset();
  clpt_ok(clp_allocator_free(allocator, memory, BYTES));
  ck_assert_uint_eq(clpt_cl_calls(CLPT_clFinish), 0);
  clpt_cl_go(stop);
  clpt_cl_ok(clFinish(cl.queue));
  for (size_t i = 0; i < BYTES; i++)
    ck_assert_uint_eq(found[i], 7);
  clp_allocator_release(allocator);
}
END_TEST

START_TEST(test_a_failed_free_leaves_the_memory_to_the_caller)
{
  clp_allocator *allocator = created(_i, 0);
  clp_memory memory = clpt_memory(allocator, BYTES);

  clpt_cl_fail(CLPT_clReleaseMemObject, 0, CL_OUT_OF_RESOURCES);
  clpt_fails(CLP_BACKEND_ERROR, clp_allocator_free(allocator, memory, BYTES));
  clpt_message_has("clReleaseMemObject failed with CL_OUT_OF_RESOURCES (-5)");
  ck_assert_uint_eq(mem_ulong(memory, CL_MEM_SIZE), BYTES);
  clpt_ok(clp_allocator_free(allocator, memory, BYTES));
  clp_allocator_release(allocator);
}
END_TEST

/* --- Draining --- */

START_TEST(test_immediate_drains_its_queue)
{
  clp_allocator *allocator = created(IMMEDIATE, 0);

  clpt_cl_reset();
  clpt_ok(allocator->ops.drain(allocator->self));
  ck_assert_uint_eq(clpt_cl_calls(CLPT_clFinish), 1);
  clpt_cl_fail(CLPT_clFinish, 0, CL_OUT_OF_RESOURCES);
  clpt_fails(CLP_BACKEND_ERROR, allocator->ops.drain(allocator->self));
  clpt_message_has("clFinish failed with CL_OUT_OF_RESOURCES (-5)");
  clp_allocator_release(allocator);
}
END_TEST

START_TEST(test_deferred_has_nothing_to_drain)
{
  clp_allocator *allocator = created(DEFERRED, 0);

  ck_assert_int_eq(allocator->ops.drain(allocator->self), CLP_NOT_SUPPORTED);
  ck_assert_uint_eq(clpt_cl_calls(CLPT_clFinish), 0);
  clp_allocator_release(allocator);
}
END_TEST

CLPT_MAIN("cl_buffer_allocator", clpt_cl_run)
{
  TCase *creating = clpt_case(suite, "creating");
  TCase *allocating = clpt_case(suite, "allocating");
  TCase *draining = clpt_case(suite, "draining");

  tcase_add_checked_fixture(creating, setup, teardown);
  tcase_add_loop_test(creating, test_properties, 0, KINDS);
  tcase_add_loop_test(creating, test_bad_handle, 0, KINDS);
  tcase_add_loop_test(creating, test_retains_for_its_life, 0, KINDS);
  tcase_add_loop_test(creating, test_create_survives_each_failure, 0, KINDS);
  tcase_add_loop_test(creating, test_create_survives_lack_of_host_memory, 0, KINDS);
  tcase_add_checked_fixture(allocating, setup, teardown);
  tcase_add_loop_test(allocating, test_allocate_and_free, 0, KINDS);
  tcase_add_loop_test(allocating, test_flags_reach_the_buffer, 0, KINDS);
  tcase_add_loop_test(allocating, test_flags_stay_where_no_driver_aborts, 0, KINDS);
  tcase_add_loop_test(allocating, test_vendor_flags_reach_the_driver, 0, KINDS);
  tcase_add_loop_test(allocating, test_zero_bytes_touch_no_device, 0, KINDS);
  tcase_add_loop_test(allocating, test_more_than_the_device_allows, 0, KINDS);
  tcase_add_test(allocating, test_the_driver_judges_a_size);
  tcase_add_loop_test(allocating, test_allocate_survives_each_failure, 0, KINDS);
  tcase_add_loop_test(allocating, test_neither_a_buffer_nor_an_error, 0, KINDS);
  tcase_add_test(allocating, test_immediate_on_1_1_writes);
  tcase_add_loop_test(allocating, test_free_while_in_use, 0, KINDS);
  tcase_add_loop_test(allocating, test_a_failed_free_leaves_the_memory_to_the_caller, 0, KINDS);
  tcase_add_checked_fixture(draining, setup, teardown);
  tcase_add_test(draining, test_immediate_drains_its_queue);
  tcase_add_test(draining, test_deferred_has_nothing_to_drain);
}
