/* SPDX-License-Identifier: MIT */
/* Making sure that memory exists: lib/opencl/commit.c. */
#include "opencl/commit.h"
#include "support/opencl_fixture.h"
#include "support/suite.h"
#include "support/wrap_opencl.h"

enum { BYTES = 4096 };

static clpt_cl cl;
static cl_mem mem;

static void setup(void)
{
  cl_int code;
  clpt_cl_open(&cl, 1);
  mem = clCreateBuffer(cl.context, CL_MEM_READ_WRITE, BYTES, NULL, &code);
  clpt_cl_ok(code);
  clpt_cl_reset();
}

static void teardown(void)
{
  clpt_cl_reset();
  clpt_cl_ok(clReleaseMemObject(mem));
  clpt_cl_close(&cl);
}

static void pretend_version(const char *version)
{
  clpt_cl_pretend(cl.devices[0], CL_DEVICE_VERSION, version, strlen(version) + 1);
}

static void pretend(const char *version, cl_uint vendor)
{
  pretend_version(version);
  clpt_cl_pretend_vendor(vendor);
}

static void assert_calls(unsigned long migrations, unsigned long writes)
{
  ck_assert_uint_eq(clpt_cl_calls(CLPT_clEnqueueMigrateMemObjects), migrations);
  ck_assert_uint_eq(clpt_cl_calls(CLPT_clEnqueueWriteBuffer), writes);
  ck_assert_uint_eq(clpt_cl_calls(CLPT_clEnqueueBarrier), 0);
  ck_assert_uint_eq(clpt_cl_calls(CLPT_clEnqueueBarrierWithWaitList), 0);
  ck_assert_uint_eq(clpt_cl_calls(CLPT_clFinish), 0);
}

START_TEST(test_migrates_from_1_2)
{
  static const char *const texts[] = {"OpenCL 1.2 x", "OpenCL 2.1 x", "OpenCL 3.0 x"};
  clpi_cl_commit commit;

  pretend(texts[_i], CLPT_ANOTHER_VENDOR);
  clpt_ok(clpi_cl_commit_init(&commit, cl.queue));
  ck_assert_ptr_eq(commit.queue, cl.queue);
  clpt_ok(clpi_cl_commit_memory(&commit, mem, BYTES));
  assert_calls(1, 0);
}
END_TEST

/* Whose driver does not survive migrations beside other threads' calls. */
START_TEST(test_fills_on_nvidia_from_1_2)
{
  clpi_cl_commit commit;

  pretend("OpenCL 3.0 x", CLPT_NVIDIA);
  clpt_ok(clpi_cl_commit_init(&commit, cl.queue));
  clpt_ok(clpi_cl_commit_memory(&commit, mem, 1));
  assert_calls(0, 0);
  ck_assert_uint_eq(clpt_cl_calls(CLPT_clEnqueueFillBuffer), 1);
}
END_TEST

START_TEST(test_writes_before_1_2)
{
  static const char *const texts[] = {"OpenCL 1.0 x", "OpenCL 1.1 x"};
  clpi_cl_commit commit;

  pretend_version(texts[_i]);
  clpt_ok(clpi_cl_commit_init(&commit, cl.queue));
  clpt_ok(clpi_cl_commit_memory(&commit, mem, BYTES));
  assert_calls(0, 1);
}
END_TEST

/* A driver refuses a write past the end of a buffer. */
START_TEST(test_writes_no_more_than_there_is)
{
  clpi_cl_commit commit;
  cl_int code;

  pretend_version("OpenCL 1.1 x");
  clpt_ok(clpi_cl_commit_init(&commit, cl.queue));
  cl_mem small = clCreateBuffer(cl.context, CL_MEM_READ_WRITE, (size_t)_i, NULL, &code);
  clpt_cl_ok(code);
  clpt_ok(clpi_cl_commit_memory(&commit, small, (size_t)_i));
  clpt_cl_ok(clFinish(cl.queue));
  clpt_cl_ok(clReleaseMemObject(small));
}
END_TEST

/* The queue stands still until the test says go; a call that waited for it would hang. */
START_TEST(test_does_not_wait)
{
  static const char *const texts[] = {"OpenCL 1.1 x", "OpenCL 1.2 x"};
  clpi_cl_commit commit;
  cl_int code;

  pretend_version(texts[_i]);
  clpt_ok(clpi_cl_commit_init(&commit, cl.queue));
  cl_event go = clCreateUserEvent(cl.context, &code);
  clpt_cl_ok(code);
  clpt_cl_ok(clEnqueueMarkerWithWaitList(cl.queue, 1, &go, NULL));
  clpt_ok(clpi_cl_commit_memory(&commit, mem, BYTES));
  clpt_cl_ok(clSetUserEventStatus(go, CL_COMPLETE));
  clpt_cl_ok(clFinish(cl.queue));
  clpt_cl_ok(clReleaseEvent(go));
}
END_TEST

/* Each way fails with each code, and says which call it was. */
START_TEST(test_failures)
{
  static const struct {
    const char *version;
    cl_uint vendor;
    clpt_cl_call call;
    const char *name;
  } ways[] = {
      {"OpenCL 1.2 x", CLPT_ANOTHER_VENDOR, CLPT_clEnqueueMigrateMemObjects,
       "clEnqueueMigrateMemObjects for 4096"},
      {"OpenCL 1.2 x", CLPT_NVIDIA, CLPT_clEnqueueFillBuffer, "clEnqueueFillBuffer for 4096"},
      {"OpenCL 1.1 x", CLPT_NVIDIA, CLPT_clEnqueueWriteBuffer, "clEnqueueWriteBuffer for 4096"},
  };
  static const struct {
    cl_int code;
    clp_status status;
    const char *name;
  } codes[] = {
      {-4, CLP_OUT_OF_DEVICE_MEMORY, "CL_MEM_OBJECT_ALLOCATION_FAILURE (-4)"},
      {-5, CLP_OUT_OF_DEVICE_MEMORY, "CL_OUT_OF_RESOURCES (-5)"},
      {-6, CLP_OUT_OF_DEVICE_MEMORY, "CL_OUT_OF_HOST_MEMORY (-6)"},
      {-36, CLP_BACKEND_ERROR, "CL_INVALID_COMMAND_QUEUE (-36)"},
  };
  clpi_cl_commit commit;

  pretend(ways[_i].version, ways[_i].vendor);
  clpt_ok(clpi_cl_commit_init(&commit, cl.queue));
  for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
    clpt_cl_fail(ways[_i].call, 0, codes[i].code);
    clpt_fails(codes[i].status, clpi_cl_commit_memory(&commit, mem, BYTES));
    ck_assert_int_eq(clp_last_error()->native_code, codes[i].code);
    clpt_message_has(ways[_i].name);
    clpt_message_has(codes[i].name);
  }
}
END_TEST

/* An out-of-order queue gets a barrier, by the call that the device has, and its failure counts. */
START_TEST(test_out_of_order)
{
  static const struct {
    const char *version;
    clpt_cl_call call;
    const char *name;
  } ways[] = {
      {"OpenCL 1.2 x", CLPT_clEnqueueBarrierWithWaitList, "clEnqueueBarrierWithWaitList for 4096"},
      {"OpenCL 1.1 x", CLPT_clEnqueueBarrier, "clEnqueueBarrier for 4096"},
  };
  clpi_cl_commit commit;
  cl_command_queue queue = clpt_cl_queue(&cl, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);

  pretend_version(ways[_i].version);
  clpt_ok(clpi_cl_commit_init(&commit, queue));
  clpt_ok(clpi_cl_commit_memory(&commit, mem, BYTES));
  ck_assert_uint_eq(
      clpt_cl_calls(CLPT_clEnqueueBarrier) + clpt_cl_calls(CLPT_clEnqueueBarrierWithWaitList), 1);
  ck_assert_uint_eq(clpt_cl_calls(ways[_i].call), 1);

  clpt_cl_fail(ways[_i].call, 0, CL_OUT_OF_RESOURCES);
  clpt_fails(CLP_OUT_OF_DEVICE_MEMORY, clpi_cl_commit_memory(&commit, mem, BYTES));
  clpt_message_has(ways[_i].name);
  clpt_cl_ok(clFinish(queue));
  clpt_cl_ok(clReleaseCommandQueue(queue));
}
END_TEST

START_TEST(test_init_reports_each_failure)
{
  unsigned long nth = 0;

  for (;; nth++) {
    clpi_cl_commit commit;
    clpt_cl_reset();
    clpt_cl_fail_any(nth, CL_OUT_OF_RESOURCES);
    clp_status status = clpi_cl_commit_init(&commit, cl.queue);
    if (!clpt_cl_failed())
      break;
    ck_assert_int_eq(status, CLP_BACKEND_ERROR);
    clpt_message_has("CL_OUT_OF_RESOURCES (-5)");
  }
  /* The queue's properties and device; three sizes, the vendor, the type, and the length and text
   * of the version and the driver's version. */
  ck_assert_uint_eq(nth, 11);
}
END_TEST

CLPT_MAIN("cl_commit", clpt_cl_run)
{
  TCase *tests = clpt_case(suite, "commit");

  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_loop_test(tests, test_migrates_from_1_2, 0, 3);
  tcase_add_test(tests, test_fills_on_nvidia_from_1_2);
  tcase_add_loop_test(tests, test_writes_before_1_2, 0, 2);
  tcase_add_loop_test(tests, test_writes_no_more_than_there_is, 1, 7);
  tcase_add_loop_test(tests, test_does_not_wait, 0, 2);
  tcase_add_loop_test(tests, test_failures, 0, 3);
  tcase_add_loop_test(tests, test_out_of_order, 0, 2);
  tcase_add_test(tests, test_init_reports_each_failure);
}
