/* SPDX-License-Identifier: MIT */
/* The allocator of shared virtual memory: lib/opencl/svm_allocator.c. */
#include "core/allocator/allocator.h"
#include "support/host_failures.h"
#include "support/opencl_fixture.h"
#include "support/opencl_live.h"
#include "support/pools.h"
#include "support/suite.h"
#include "support/wrap_opencl.h"

#include <clpool/opencl.h>

enum { BYTES = 4096, MOST_ALIGNMENT = 128 };

static clpt_cl cl;
static cl_device_svm_capabilities capabilities;
static clpt_cl_live before; /* a test */

static void setup(void)
{
  clpt_cl_open(&cl, 1);
  clpt_cl_reset();
  clpt_cl_pretend_vendor(CLPT_ANOTHER_VENDOR);
  capabilities = clpt_cl_svm(&cl);
  before = clpt_cl_live_now();
}

static void teardown(void)
{
  clpt_cl_assert_live(&before);
  clpt_cl_reset();
  clpt_cl_close(&cl);
}

static clp_cl_svm_options options_of(cl_svm_mem_flags flags, size_t alignment,
                                     cl_command_queue queue)
{
  clp_cl_svm_options options = CLP_CL_SVM_OPTIONS_INIT;
  options.flags = flags;
  options.alignment = alignment;
  options.queue = queue;
  return options;
}

static clp_status create(const clp_cl_svm_options *options, clp_allocator **out)
{
  return clp_cl_svm_allocator_create(cl.context, options, out);
}

static clp_allocator *created(cl_svm_mem_flags flags, size_t alignment, cl_command_queue queue)
{
  clp_cl_svm_options options = options_of(flags, alignment, queue);
  clp_allocator *allocator = NULL;
  clpt_ok(create(&options, &allocator));
  ck_assert_ptr_nonnull(allocator);
  return allocator;
}

static void refuses(clp_status status, const clp_cl_svm_options *options, const char *message)
{
  clp_allocator *allocator = (clp_allocator *)&cl;
  clpt_fails(status, create(options, &allocator));
  clpt_message_has(message);
  ck_assert_ptr_null(allocator);
  clpt_cl_assert_live(&before);
}

/* --- Creating --- */

START_TEST(test_properties)
{
  clp_allocator *allocator = NULL;
  clpt_ok(clp_cl_svm_allocator_create(cl.context, NULL, &allocator));
  const clp_allocator_ops *ops = &allocator->ops;

  ck_assert_str_eq(clp_allocator_name(allocator), "cl-svm");
  ck_assert(!clp_allocator_is_deferred(allocator));
  ck_assert_int_eq(ops->memory_kind, CLP_MEMORY_CL_SVM);
  ck_assert_uint_eq(ops->max_block_bytes,
                    clpt_cl_device_ulong(cl.devices[0], CL_DEVICE_MAX_MEM_ALLOC_SIZE));
  ck_assert_uint_eq(ops->device_bytes,
                    clpt_cl_device_ulong(cl.devices[0], CL_DEVICE_GLOBAL_MEM_SIZE));
  ck_assert_uint_eq(ops->alignment, MOST_ALIGNMENT);
  ck_assert_ptr_null(ops->home_stream);
  ck_assert_int_eq(clpt_cl_live_queues(), before.queues);
  clp_allocator_release(allocator);
}
END_TEST

START_TEST(test_every_alignment_there_is)
{
  for (size_t alignment = 1; alignment <= MOST_ALIGNMENT; alignment *= 2) {
    clp_allocator *allocator = created(0, alignment, NULL);
    clp_memory memory = 0;
    ck_assert_uint_eq(allocator->ops.alignment, alignment);
    clpt_ok(clp_allocator_allocate(allocator, 100, &memory));
    ck_assert_uint_eq(memory % alignment, 0);
    clpt_ok(clp_allocator_free(allocator, memory, 100));
    clp_allocator_release(allocator);
  }
}
END_TEST

START_TEST(test_alignments_above_the_largest_type)
{
  const cl_uint largest = 64;
  const clp_cl_svm_options too_large = options_of(0, 2 * MOST_ALIGNMENT, NULL);
  const clp_cl_svm_options large = options_of(0, MOST_ALIGNMENT, NULL);

  refuses(CLP_INVALID_ARGUMENT, &too_large, "256 bytes");
  clpt_cl_pretend(NULL, CL_DEVICE_MIN_DATA_TYPE_ALIGN_SIZE, &largest, sizeof(largest));
  refuses(CLP_INVALID_ARGUMENT, &large, "128 bytes");
  clp_allocator *allocator = created(0, 0, NULL);
  ck_assert_uint_eq(allocator->ops.alignment, largest);
  clp_allocator_release(allocator);
}
END_TEST

START_TEST(test_devices_without_it)
{
  static const struct {
    cl_device_svm_capabilities has;
    cl_svm_mem_flags flags;
    const char *lacks; /* NULL: nothing */
  } devices[] = {
      {0, 0, "coarse-grain"},
      {0, CL_MEM_SVM_FINE_GRAIN_BUFFER, "fine-grain"},
      {CL_DEVICE_SVM_COARSE_GRAIN_BUFFER, 0, NULL},
      {CL_DEVICE_SVM_COARSE_GRAIN_BUFFER, CL_MEM_SVM_FINE_GRAIN_BUFFER, "fine-grain"},
      {CL_DEVICE_SVM_COARSE_GRAIN_BUFFER | CL_DEVICE_SVM_FINE_GRAIN_BUFFER,
       CL_MEM_SVM_FINE_GRAIN_BUFFER, NULL},
      {CL_DEVICE_SVM_COARSE_GRAIN_BUFFER | CL_DEVICE_SVM_FINE_GRAIN_BUFFER,
       CL_MEM_SVM_FINE_GRAIN_BUFFER | CL_MEM_SVM_ATOMICS, "atomics"},
  };

  for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++) {
    const clp_cl_svm_options options = options_of(devices[i].flags, 0, NULL);
    clpt_cl_reset();
    clpt_cl_pretend(NULL, CL_DEVICE_SVM_CAPABILITIES, &devices[i].has, sizeof(devices[i].has));
    if (devices[i].lacks)
      refuses(CLP_NOT_SUPPORTED, &options, devices[i].lacks);
    else
      clp_allocator_release(created(devices[i].flags, 0, NULL));
  }
}
END_TEST

START_TEST(test_not_before_2_0)
{
  static const char version[] = "OpenCL 1.2 pretended";

  clpt_cl_pretend(NULL, CL_DEVICE_VERSION, version, sizeof(version));
  refuses(CLP_NOT_SUPPORTED, NULL, "shared virtual memory");
}
END_TEST

START_TEST(test_retains_for_its_life)
{
  clp_allocator *allocator = created(0, 0, cl.queue);

  ck_assert_int_eq(clpt_cl_live_contexts(), before.contexts + 1);
  ck_assert_int_eq(clpt_cl_live_queues(), before.queues + 1);
  ck_assert_ptr_eq(allocator->ops.home_stream, cl.queue);
  clp_allocator_release(allocator);
  clpt_cl_assert_live(&before);
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
  };
  const clp_cl_svm_options options = options_of(0, 0, cl.queue);

  for (size_t i = 0; i < sizeof(failures) / sizeof(failures[0]); i++) {
    unsigned long nth = 0;
    for (;; nth++) {
      clp_allocator *allocator = (clp_allocator *)&cl;
      clpt_cl_reset();
      clpt_cl_fail_any(nth, failures[i].code);
      clp_status status = create(&options, &allocator);
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
    /* The context, the queue and its context; the devices twice, nine questions to PoCL; the
     * devices twice, capabilities, the largest type. */
    ck_assert_uint_eq(nth, 3 + 11 + 4);
  }
}
END_TEST

START_TEST(test_create_survives_lack_of_host_memory)
{
  const clp_cl_svm_options options = options_of(0, 0, cl.queue);
  clpt_host_failures each = {0};

  while (!each.is_over) {
    clp_allocator *allocator = (clp_allocator *)&cl;
    clpt_host_fail_next(&each);
    clp_status status = create(&options, &allocator);
    clpt_host_check(&each, status);
    ck_assert(!status == (allocator != NULL));
    clp_allocator_release(allocator);
    clpt_cl_assert_live(&before);
  }
  ck_assert_uint_gt(each.count, 0);
}
END_TEST

/* --- Allocating --- */

static const cl_svm_mem_flags kinds[] = {
    0,
    CL_MEM_READ_WRITE,
    CL_MEM_READ_ONLY,
    CL_MEM_WRITE_ONLY,
    CL_MEM_SVM_FINE_GRAIN_BUFFER,
    CL_MEM_READ_WRITE | CL_MEM_SVM_FINE_GRAIN_BUFFER,
    CL_MEM_SVM_FINE_GRAIN_BUFFER | CL_MEM_SVM_ATOMICS,
};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static bool device_has(cl_svm_mem_flags flags)
{
  cl_device_svm_capabilities needed = CL_DEVICE_SVM_COARSE_GRAIN_BUFFER;
  if (flags & CL_MEM_SVM_FINE_GRAIN_BUFFER)
    needed |= CL_DEVICE_SVM_FINE_GRAIN_BUFFER;
  if (flags & CL_MEM_SVM_ATOMICS)
    needed |= CL_DEVICE_SVM_ATOMICS;
  return (capabilities & needed) == needed;
}

START_TEST(test_memory_of_each_kind)
{
  if (!device_has(kinds[_i]))
    return;
  clp_allocator *allocator = created(kinds[_i], 0, NULL);
  clp_memory memory = clpt_memory(allocator, BYTES);

  ck_assert_uint_eq(memory % MOST_ALIGNMENT, 0);
  ck_assert_int_eq(clpt_cl_live_svm(), before.svm + 1);
  ck_assert_uint_eq(clpt_cl_last_svm_flags(), kinds[_i] ? kinds[_i] : CL_MEM_READ_WRITE);
  if (kinds[_i] & CL_MEM_SVM_FINE_GRAIN_BUFFER)
    memset((void *)memory, 1, BYTES); /* the host may, at any time */
  clpt_ok(clp_allocator_free(allocator, memory, BYTES));
  clp_allocator_release(allocator);
}
END_TEST

START_TEST(test_zero_bytes_touch_no_device)
{
  clp_allocator *allocator = created(0, 0, NULL);
  clp_memory memory = 1;

  clpt_ok(clp_allocator_allocate(allocator, 0, &memory));
  ck_assert_uint_eq(memory, 0);
  clpt_ok(clp_allocator_free(allocator, memory, 0));
  ck_assert_uint_eq(clpt_cl_calls(CLPT_clSVMAlloc), 0);
  ck_assert_uint_eq(clpt_cl_calls(CLPT_clSVMFree), 0);
  clp_allocator_release(allocator);
}
END_TEST

START_TEST(test_more_than_the_device_allows)
{
  clp_allocator *allocator = created(0, 0, NULL);
  size_t most = allocator->ops.max_block_bytes;
  clp_memory memory = 1;

  clpt_fails(CLP_INVALID_ARGUMENT, clp_allocator_allocate(allocator, most + 1, &memory));
  ck_assert_uint_eq(memory, 0);
  ck_assert_uint_eq(clpt_cl_calls(CLPT_clSVMAlloc), 0);
  clp_allocator_release(allocator);
}
END_TEST

START_TEST(test_null_is_out_of_memory)
{
  clp_allocator *allocator = created(0, 0, NULL);
  clp_memory memory = 1;

  clpt_cl_fail(CLPT_clSVMAlloc, 0, CLPT_CL_SILENT);
  clpt_fails(CLP_OUT_OF_DEVICE_MEMORY, clp_allocator_allocate(allocator, BYTES, &memory));
  clpt_message_has("clSVMAlloc");
  clpt_message_has("4096 bytes");
  ck_assert_uint_eq(memory, 0);
  ck_assert_int_eq(clp_last_error()->native_code, 0);
  clp_allocator_release(allocator);
}
END_TEST

CLPT_MAIN("cl_svm_allocator", clpt_cl_run_with_svm)
{
  TCase *creating = clpt_case(suite, "creating");
  TCase *allocating = clpt_case(suite, "allocating");

  tcase_add_checked_fixture(creating, setup, teardown);
  tcase_add_test(creating, test_properties);
  tcase_add_test(creating, test_every_alignment_there_is);
  tcase_add_test(creating, test_alignments_above_the_largest_type);
  tcase_add_test(creating, test_devices_without_it);
  tcase_add_test(creating, test_not_before_2_0);
  tcase_add_test(creating, test_retains_for_its_life);
  tcase_add_test(creating, test_create_survives_each_failure);
  tcase_add_test(creating, test_create_survives_lack_of_host_memory);
  tcase_add_checked_fixture(allocating, setup, teardown);
  tcase_add_loop_test(allocating, test_memory_of_each_kind, 0, KINDS);
  tcase_add_test(allocating, test_zero_bytes_touch_no_device);
  tcase_add_test(allocating, test_more_than_the_device_allows);
  tcase_add_test(allocating, test_null_is_out_of_memory);
}
