/* SPDX-License-Identifier: MIT */
/* Questions to OpenCL devices: lib/opencl/device.c. */
#include "opencl/device.h"
#include "support/opencl_fixture.h"
#include "support/suite.h"
#include "support/wrap_opencl.h"

#include <limits.h>
#include <stdint.h>
#include <sys/param.h> /* MIN, MAX */

enum { DEVICES = 2 };

static clpt_cl cl;

static void setup(void)
{
  clpt_cl_open(&cl, DEVICES);
  clpt_cl_reset();
}

static void teardown(void)
{
  clpt_cl_reset();
  clpt_cl_close(&cl);
}

static cl_uint alignment_bits(cl_device_id device)
{
  cl_uint bits;
  clpt_cl_ok(clGetDeviceInfo(device, CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof(bits), &bits, NULL));
  return bits;
}

START_TEST(test_bounds_are_what_devices_say)
{
  clpi_cl_bounds bounds;
  cl_ulong block = CL_ULONG_MAX, memory = CL_ULONG_MAX;
  cl_uint bits = 0;

  for (cl_uint i = 0; i < cl.device_count; i++) {
    block = MIN(block, clpt_cl_device_ulong(cl.devices[i], CL_DEVICE_MAX_MEM_ALLOC_SIZE));
    memory = MIN(memory, clpt_cl_device_ulong(cl.devices[i], CL_DEVICE_GLOBAL_MEM_SIZE));
    bits = MAX(bits, alignment_bits(cl.devices[i]));
  }
  clpt_ok(clpi_cl_context_bounds(cl.context, &bounds));
  ck_assert_uint_eq(bounds.max_block_bytes, block);
  ck_assert_uint_eq(bounds.device_bytes, memory);
  ck_assert_uint_eq(bounds.alignment, bits / 8);
  ck_assert_uint_ge(bounds.version, 100);
}
END_TEST

/* The least memory and version and the greatest alignment count, whichever device has them. */
START_TEST(test_bounds_suit_every_device)
{
  const cl_ulong blocks[DEVICES] = {1000, 3000};
  const cl_ulong memory[DEVICES] = {9000, 5000};
  const cl_uint bits[DEVICES] = {512, 4096};
  static const char *const texts[DEVICES] = {"OpenCL 1.1 x", "OpenCL 3.0 x"};
  static const unsigned numbers[DEVICES] = {110, 300};
  clpi_cl_bounds bounds;
  clpi_cl_bounds expected = {SIZE_MAX, SIZE_MAX, 0, UINT_MAX, false, false, false};

  for (cl_uint i = 0; i < cl.device_count; i++) {
    size_t k = (i + (cl_uint)_i) % DEVICES;
    clpt_cl_pretend(cl.devices[i], CL_DEVICE_MAX_MEM_ALLOC_SIZE, &blocks[k], sizeof(blocks[k]));
    clpt_cl_pretend(cl.devices[i], CL_DEVICE_GLOBAL_MEM_SIZE, &memory[k], sizeof(memory[k]));
    clpt_cl_pretend(cl.devices[i], CL_DEVICE_MEM_BASE_ADDR_ALIGN, &bits[k], sizeof(bits[k]));
    clpt_cl_pretend(cl.devices[i], CL_DEVICE_VERSION, texts[k], strlen(texts[k]) + 1);
    expected.version = MIN(expected.version, numbers[k]);
    expected.max_block_bytes = MIN(expected.max_block_bytes, blocks[k]);
    expected.device_bytes = MIN(expected.device_bytes, memory[k]);
    expected.alignment = MAX(expected.alignment, bits[k] / 8);
  }
  clpt_ok(clpi_cl_context_bounds(cl.context, &bounds));
  ck_assert_uint_eq(bounds.max_block_bytes, expected.max_block_bytes);
  ck_assert_uint_eq(bounds.device_bytes, expected.device_bytes);
  ck_assert_uint_eq(bounds.alignment, expected.alignment);
  ck_assert_uint_eq(bounds.version, expected.version);
}
END_TEST

START_TEST(test_bounds_tell_nvidia)
{
  static const cl_uint vendors[] = {CLPT_NVIDIA, CLPT_ANOTHER_VENDOR};
  clpi_cl_bounds bounds;

  for (size_t i = 0; i < 2; i++) {
    clpt_cl_reset();
    clpt_cl_pretend_vendor(vendors[i]);
    clpt_ok(clpi_cl_context_bounds(cl.context, &bounds));
    ck_assert(bounds.has_nvidia == (vendors[i] == CLPT_NVIDIA));
  }
}
END_TEST

START_TEST(test_bounds_tell_pocl)
{
  static const struct {
    char version[64];
    bool is_pocl;
  } devices[] = {{"OpenCL 3.0 PoCL HSTR: pthread-x86_64", true},
                 {"OpenCL 1.2 pocl HSTR: pthread-x86_64", true},
                 {"OpenCL 3.0 CUDA", false}};
  clpi_cl_bounds bounds;

  for (size_t i = 0; i < 3; i++) {
    clpt_cl_pretend(NULL, CL_DEVICE_VERSION, devices[i].version, sizeof(devices[i].version));
    clpt_ok(clpi_cl_context_bounds(cl.context, &bounds));
    ck_assert(bounds.has_pocl == devices[i].is_pocl);
  }
}
END_TEST

START_TEST(test_bounds_never_pass_size_max)
{
  cl_ulong all = CL_ULONG_MAX;
  clpi_cl_bounds bounds;

  clpt_cl_pretend(NULL, CL_DEVICE_MAX_MEM_ALLOC_SIZE, &all, sizeof(all));
  clpt_cl_pretend(NULL, CL_DEVICE_GLOBAL_MEM_SIZE, &all, sizeof(all));
  clpt_ok(clpi_cl_context_bounds(cl.context, &bounds));
  ck_assert_uint_eq(bounds.max_block_bytes, SIZE_MAX);
  ck_assert_uint_eq(bounds.device_bytes, SIZE_MAX);
}
END_TEST

/* Fails each call in turn, until none is left to fail. */
START_TEST(test_bounds_report_each_failure)
{
  static const clpi_cl_bounds untouched = {1, 2, 3, 4, true, true, true};
  static const char version[] = "OpenCL 3.0 CUDA";
  unsigned long nth = 0;

  for (;; nth++) {
    clpi_cl_bounds bounds;
    memcpy(&bounds, &untouched, sizeof(bounds)); /* and what lies between the fields */
    clpt_cl_reset();
    clpt_cl_pretend(NULL, CL_DEVICE_VERSION, version, sizeof(version));
    clpt_cl_fail_any(nth, CL_OUT_OF_RESOURCES);
    clp_status status = clpi_cl_context_bounds(cl.context, &bounds);
    if (!clpt_cl_failed())
      break;
    ck_assert_int_eq(status, CLP_BACKEND_ERROR);
    ck_assert_int_eq(clp_last_error()->native_code, CL_OUT_OF_RESOURCES);
    clpt_message_has("CL_OUT_OF_RESOURCES (-5)");
    ck_assert_int_eq(memcmp(&bounds, &untouched, sizeof(bounds)), 0);
  }
  ck_assert_uint_eq(nth, 2 + 7 * cl.device_count);
}
END_TEST

static unsigned version_of(cl_context context)
{
  clpi_cl_bounds bounds;
  clpt_ok(clpi_cl_context_bounds(context, &bounds));
  return bounds.version;
}

START_TEST(test_svm_is_what_devices_say)
{
  clpi_cl_svm_bounds bounds;
  cl_device_svm_capabilities capabilities = ~(cl_device_svm_capabilities)0;

  unsigned version = version_of(cl.context);
  for (cl_uint i = 0; i < cl.device_count; i++)
    capabilities &=
        version < 200 ? 0 : clpt_cl_device_ulong(cl.devices[i], CL_DEVICE_SVM_CAPABILITIES);
  clpt_ok(clpi_cl_context_svm(cl.context, version, &bounds));
  ck_assert_uint_eq(bounds.capabilities, capabilities);
  ck_assert_uint_ge(bounds.max_alignment, 16); /* of a double4, or of an int16 and more */
}
END_TEST

/* What all devices have, whichever has less. */
START_TEST(test_svm_suits_every_device)
{
  const cl_device_svm_capabilities has[DEVICES] = {
      CL_DEVICE_SVM_COARSE_GRAIN_BUFFER | CL_DEVICE_SVM_FINE_GRAIN_BUFFER,
      CL_DEVICE_SVM_COARSE_GRAIN_BUFFER | CL_DEVICE_SVM_ATOMICS};
  const cl_uint alignments[DEVICES] = {64, 128};
  clpi_cl_svm_bounds bounds;
  clpi_cl_svm_bounds expected = {200, ~(cl_device_svm_capabilities)0, SIZE_MAX};

  for (cl_uint i = 0; i < cl.device_count; i++) {
    size_t k = (i + (cl_uint)_i) % DEVICES;
    clpt_cl_pretend(cl.devices[i], CL_DEVICE_SVM_CAPABILITIES, &has[k], sizeof(has[k]));
    clpt_cl_pretend(cl.devices[i], CL_DEVICE_MIN_DATA_TYPE_ALIGN_SIZE, &alignments[k],
                    sizeof(alignments[k]));
    expected.capabilities &= has[k];
    expected.max_alignment = MIN(expected.max_alignment, alignments[k]);
  }
  clpt_ok(clpi_cl_context_svm(cl.context, 200, &bounds));
  ck_assert_uint_eq(bounds.capabilities, expected.capabilities);
  ck_assert_uint_eq(bounds.max_alignment, expected.max_alignment);
}
END_TEST

/* Before OpenCL 2.0 a device is not asked: the question is unknown. */
START_TEST(test_no_svm_before_2_0)
{
  static const char version[] = "OpenCL 1.2 x";
  const cl_device_svm_capabilities has = CL_DEVICE_SVM_COARSE_GRAIN_BUFFER;
  clpi_cl_svm_bounds bounds;

  clpt_cl_pretend(NULL, CL_DEVICE_SVM_CAPABILITIES, &has, sizeof(has));
  clpt_cl_pretend(cl.devices[0], CL_DEVICE_VERSION, version, sizeof(version));
  clpt_ok(clpi_cl_context_svm(cl.context, version_of(cl.context), &bounds));
  ck_assert_uint_eq(bounds.capabilities, 0);
}
END_TEST

START_TEST(test_svm_reports_each_failure)
{
  const clpi_cl_svm_bounds untouched = {1, 2, 3};
  unsigned long nth = 0;

  for (;; nth++) {
    clpi_cl_svm_bounds bounds = untouched;
    clpt_cl_reset();
    clpt_cl_fail_any(nth, CL_OUT_OF_RESOURCES);
    clp_status status = clpi_cl_context_svm(cl.context, 200, &bounds);
    if (!clpt_cl_failed())
      break;
    ck_assert_int_eq(status, CLP_BACKEND_ERROR);
    ck_assert_int_eq(clp_last_error()->native_code, CL_OUT_OF_RESOURCES);
    ck_assert_uint_eq(bounds.capabilities, untouched.capabilities);
    ck_assert_uint_eq(bounds.max_alignment, untouched.max_alignment);
  }
  ck_assert_uint_eq(nth, 2 + 2 * cl.device_count);
}
END_TEST

typedef struct stated_version {
  const char *text;
  unsigned version; /* 0: cannot be read */
} stated_version;

static const stated_version versions[] = {
    {"OpenCL 1.0 ", 100},     {"OpenCL 1.1 Mesa 22", 110},
    {"OpenCL 1.2 pocl", 120}, {"OpenCL 2.0 ", 200},
    {"OpenCL 3.0 CUDA", 300}, {"OpenCL C 1.2 ", 0},
    {"OpenCL 2", 0},          {"", 0},
};
enum { VERSION_COUNT = sizeof(versions) / sizeof(versions[0]) };

START_TEST(test_version)
{
  const stated_version *stated = &versions[_i];
  clpi_cl_bounds bounds = {.version = 77};

  clpt_cl_pretend(cl.devices[0], CL_DEVICE_VERSION, stated->text, strlen(stated->text) + 1);
  if (stated->version) {
    clpt_ok(clpi_cl_device_bounds(cl.devices[0], &bounds));
    ck_assert_uint_eq(bounds.version, stated->version);
  } else {
    clpt_fails(CLP_BACKEND_ERROR, clpi_cl_device_bounds(cl.devices[0], &bounds));
    clpt_message_has(stated->text);
    ck_assert_uint_eq(bounds.version, 77);
  }
}
END_TEST

START_TEST(test_version_of_this_device)
{
  unsigned version = version_of(cl.context);

  ck_assert_uint_ge(version, 100);
  ck_assert_uint_eq(version % 10, 0);
}
END_TEST

START_TEST(test_device_reports_each_failure)
{
  clpi_cl_bounds bounds = {.version = 77};

  clpt_cl_fail(CLPT_clGetDeviceInfo, (unsigned long)_i, CL_OUT_OF_HOST_MEMORY);
  clpt_fails(CLP_OUT_OF_HOST_MEMORY, clpi_cl_device_bounds(cl.devices[0], &bounds));
  clpt_message_has("clGetDeviceInfo failed with CL_OUT_OF_HOST_MEMORY (-6)");
  ck_assert_uint_eq(bounds.version, 77);
}
END_TEST

START_TEST(test_aborts_without_memory)
{
  static const struct {
    const char *version, *driver;
    cl_device_type type;
    bool aborts;
  } devices[] = {
      {"OpenCL 1.2 pocl HSTR: pthread-x86_64", "1.6", CL_DEVICE_TYPE_CPU, false},
      {"OpenCL 2.0 pocl HSTR: pthread-x86_64", "1.8", CL_DEVICE_TYPE_CPU, true},
      {"OpenCL 3.0 PoCL HSTR: pthread-x86_64", "3.0-rc2", CL_DEVICE_TYPE_CPU, true},
      {"OpenCL 3.0 PoCL HSTR: pthread-x86_64", "3.1+debian", CL_DEVICE_TYPE_CPU, true},
      {"OpenCL 3.0 PoCL HSTR: cpu-x86_64", "7.1", CL_DEVICE_TYPE_CPU | CL_DEVICE_TYPE_DEFAULT,
       true},
      {"OpenCL 3.0 PoCL HSTR: CUDA-sm_80", "7.1", CL_DEVICE_TYPE_GPU, false},
      {"OpenCL 3.0 PoCL", "unknown", CL_DEVICE_TYPE_CPU, false},
      {"OpenCL 3.0 (Build 0)", "2024.17", CL_DEVICE_TYPE_CPU, false},
  };

  for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++) {
    const char *version = devices[i].version, *driver = devices[i].driver;
    clpi_cl_bounds bounds;
    clpt_cl_reset();
    clpt_cl_pretend(NULL, CL_DEVICE_VERSION, version, strlen(version) + 1);
    clpt_cl_pretend(NULL, CL_DRIVER_VERSION, driver, strlen(driver) + 1);
    clpt_cl_pretend(NULL, CL_DEVICE_TYPE, &devices[i].type, sizeof(devices[i].type));
    clpt_ok(clpi_cl_device_bounds(cl.devices[0], &bounds));
    ck_assert_msg(bounds.may_abort == devices[i].aborts, "%s, driver %s", version, driver);
  }
}
END_TEST

CLPT_MAIN("cl_device", clpt_cl_run)
{
  /* Where PoCL is the driver, two devices; a variable of the user's goes first. */
  setenv("POCL_DEVICES", "pthread basic", 0);
  TCase *tests = clpt_case(suite, "device");

  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_test(tests, test_bounds_are_what_devices_say);
  tcase_add_loop_test(tests, test_bounds_suit_every_device, 0, DEVICES);
  tcase_add_test(tests, test_bounds_tell_nvidia);
  tcase_add_test(tests, test_bounds_tell_pocl);
  tcase_add_test(tests, test_bounds_never_pass_size_max);
  tcase_add_test(tests, test_bounds_report_each_failure);
  tcase_add_test(tests, test_svm_is_what_devices_say);
  tcase_add_loop_test(tests, test_svm_suits_every_device, 0, DEVICES);
  tcase_add_test(tests, test_no_svm_before_2_0);
  tcase_add_test(tests, test_svm_reports_each_failure);
  tcase_add_loop_test(tests, test_version, 0, VERSION_COUNT);
  tcase_add_test(tests, test_version_of_this_device);
  tcase_add_test(tests, test_aborts_without_memory);
  tcase_add_loop_test(tests, test_device_reports_each_failure, 0, 7);
}
