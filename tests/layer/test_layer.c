/* SPDX-License-Identifier: MIT */
/* The layer that records, as a loader sees it, on a driver that does as it is told. */
#include "told_driver.h"

#include <inttypes.h>
#include <signal.h>
#include <sys/resource.h>

static char folder[32];
static pfn_clGetLayerInfo get_info;
static const cl_icd_dispatch *cl;

static void begin(void)
{
  *(void **)&get_info = dlsym(open_layer("record"), "clGetLayerInfo");
  strcpy(folder, "/tmp/clpt-layer-XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(folder));
  ck_assert_int_eq(chdir(folder), 0);
  setenv("CLPOOL_LAYER_TRACE", "trace.csv", 1);
}

static void end(void)
{
  unlink("trace.csv");
  rmdir(folder);
}

static cl_mem make(size_t bytes)
{
  return cl->clCreateBuffer(context, 0, bytes, NULL, NULL);
}

static void refuse(size_t bytes, cl_int code)
{
  driver.refusals = 1;
  driver.refusal_code = code;
  ck_assert_ptr_null(make(bytes));
}

START_TEST(a_loader_that_asks_gets_answers_and_a_second_one_goes_without)
{
  cl_layer_api_version version = 0;
  char name[32];
  size_t size = 0;
  ck_assert_int_eq(get_info(CL_LAYER_API_VERSION, sizeof(version), &version, &size), 0);
  ck_assert(version == CL_LAYER_API_VERSION_100 && size == sizeof(version));
  ck_assert_int_eq(get_info(CL_LAYER_NAME, sizeof(name), name, &size), 0);
  ck_assert_str_eq(name, "clpool record");
  ck_assert_uint_eq(size, strlen(name) + 1);
  ck_assert_int_eq(get_info(CL_LAYER_NAME, 3, name, NULL), CL_INVALID_VALUE);
  ck_assert_int_eq(get_info(0, sizeof(name), name, NULL), CL_INVALID_VALUE);
  ck_assert_int_eq(init_layer(1, &cl), CL_INVALID_VALUE);
  ck_assert_int_eq(init_layer(ALL, &cl), CL_SUCCESS);
  ck_assert_int_eq(init_layer(ALL, &cl), CL_INVALID_OPERATION);
  ck_assert_ptr_null(cl->clFinish);
}
END_TEST

/* Refusals, where memory was short; the only queue of a context, which is its stream; the last
 * reference; a handle that comes back unseen, which was free. */
START_TEST(calls_are_rows)
{
  char found[4096] = "", line[256], action[32];
  uintptr_t stream;
  size_t bytes;
  ck_assert_int_eq(init_layer(ALL, &cl), CL_SUCCESS);
  driver.references = 1;
  refuse(30, CL_OUT_OF_RESOURCES);
  refuse(40, CL_INVALID_VALUE);
  ck_assert_ptr_null(cl->clSVMAlloc(context, 0, 50, 0));
  cl->clCreateCommandQueue(context, device, 0, NULL);
  cl_mem buffer = make(100);
  for (int i = 0; i < 2; i++)
    cl->clCreateCommandQueue(context, device, 0, NULL);
  ck_assert_int_eq(cl->clRetainMemObject(buffer), CL_SUCCESS);
  cl->clReleaseMemObject(buffer);
  ck_assert_ptr_ne(make(200), buffer);
  cl->clReleaseMemObject(buffer);
  for (size_t i = 1; i < 3; i++) {
    driver.mem_count = 0;
    ck_assert_ptr_eq(make(300 * i), buffer);
  }
  usleep(20000); /* rows are written with the clock's tick, and the next one */
  refuse(1, CL_OUT_OF_RESOURCES);
  FILE *file = fopen("trace.csv", "r");
  while (fgets(line, sizeof(line), file))
    if (sscanf(line, "%*d,%*[^,],%31[^,],%*x,%zu,%" SCNxPTR, action, &bytes, &stream) == 3)
      sprintf(found + strlen(found), "%s %zu%s, ", action, bytes, stream ? " of a queue" : "");
  fclose(file);
  ck_assert_str_eq(found, "allocate failure 30, allocate failure 50, allocate 100 of a queue, "
                          "allocate 200, free 100 of a queue, allocate 300, free 300, "
                          "allocate 600, allocate failure 1, ");
}
END_TEST

/* The program goes on, and what was recorded before stays. */
START_TEST(a_full_disk_ends_the_recording_alone)
{
  struct rlimit most = {.rlim_cur = 100000, .rlim_max = RLIM_INFINITY};
  static const char *const files[] = {"trace.csv", "/dev/full", "none/trace.csv"};
  setenv("CLPOOL_LAYER_TRACE", files[_i], 1);
  signal(SIGXFSZ, SIG_IGN);
  ck_assert_int_eq(init_layer(ALL, &cl), _i ? CL_INVALID_OPERATION : CL_SUCCESS);
  if (_i)
    return;
  ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &most), 0);
  for (int i = 0; i < 5000; i++)
    ck_assert_ptr_nonnull(make(100));
  most.rlim_cur = RLIM_INFINITY;
  ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &most), 0);
  FILE *file = fopen("trace.csv", "r");
  fseek(file, 0, SEEK_END);
  ck_assert_int_gt(ftell(file), 50000);
  fclose(file);
}
END_TEST

CLPT_MAIN("layer", clpt_run_apart)
{
  TCase *tests = clpt_case(suite, "record");
  tcase_add_checked_fixture(tests, begin, end);
  tcase_add_test(tests, a_loader_that_asks_gets_answers_and_a_second_one_goes_without);
  tcase_add_test(tests, calls_are_rows);
  tcase_add_loop_test(tests, a_full_disk_ends_the_recording_alone, 0, 3);
}
