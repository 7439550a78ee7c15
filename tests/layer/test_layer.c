/* SPDX-License-Identifier: MIT */
/* The layer that records, as a loader sees it, on a driver that does as it is told: handles that
 * come back unseen, refusals, a second loader, a disk that is full. */
#include "told_driver.h"

#include <inttypes.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

static struct {
  char folder[32];
  pfn_clGetLayerInfo get_info;
  pfn_clInitLayer init;
  const cl_icd_dispatch *functions;
} layer;

static cl_int init(void)
{
  cl_uint count = 0;
  cl_int code = layer.init(sizeof(target) / sizeof(void *), &target, &count, &layer.functions);
  ck_assert(code || count == sizeof(target) / sizeof(void *));
  return code;
}

static void begin(void)
{
  *(void **)&layer.get_info = dlsym(open_layer("record", &layer.init), "clGetLayerInfo");
  strcpy(layer.folder, "/tmp/clpt-layer-XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(layer.folder));
  ck_assert_int_eq(chdir(layer.folder), 0);
  setenv("CLPOOL_LAYER_TRACE", "trace.csv", 1);
}

static void end(void)
{
  unlink("trace.csv");
  rmdir(layer.folder);
}

static cl_mem make(size_t bytes)
{
  return layer.functions->clCreateBuffer(context, 0, bytes, NULL, NULL);
}

static void refuse(size_t bytes, cl_int code)
{
  driver.refusals = 1;
  driver.refusal_code = code;
  ck_assert_ptr_null(make(bytes));
}

static void release(cl_mem buffer)
{
  ck_assert_int_eq(layer.functions->clReleaseMemObject(buffer), CL_SUCCESS);
}

/* The rows of the file are these, "ACTION BUFFER SIZE QUEUE" each: the driver's numbers of them,
 * from 0 on, or - for none. Rows are written with the clock's tick, so it is waited for. */
static void has_rows(const char *expected)
{
  char found[4096] = "", line[256];
  usleep(20000);
  refuse(1, CL_OUT_OF_RESOURCES); /* writes those before it, too */
  FILE *file = fopen("trace.csv", "r");
  ck_assert_ptr_nonnull(file);
  while (fgets(line, sizeof(line), file)) {
    char action[32], number[8] = "-", of[8] = "-";
    uintptr_t memory, stream;
    size_t bytes;
    if (sscanf(line, "%*d,%*[^,],%31[^,],%" SCNxPTR ",%zu,%" SCNxPTR, action, &memory, &bytes,
               &stream) != 4)
      continue;
    if (memory)
      snprintf(number, sizeof(number), "%d", (int)((mem *)memory - driver.mems));
    if (stream)
      snprintf(of, sizeof(of), "%d", (int)((queue *)stream - driver.queues));
    snprintf(found + strlen(found), sizeof(found) - strlen(found), "%s %s %zu %s\n", action, number,
             bytes, of);
  }
  fclose(file);
  char *last = strstr(found, "allocate failure - 1 ");
  ck_assert_ptr_nonnull(last);
  *last = '\0';
  ck_assert_str_eq(found, expected);
}

/* --- tests --- */

START_TEST(it_tells_who_it_is)
{
  cl_layer_api_version version = 0;
  char name[32];
  size_t size = 0;
  ck_assert_int_eq(layer.get_info(CL_LAYER_API_VERSION, sizeof(version), &version, &size), 0);
  ck_assert_uint_eq(version, CL_LAYER_API_VERSION_100);
  ck_assert_uint_eq(size, sizeof(version));
  ck_assert_int_eq(layer.get_info(CL_LAYER_NAME, sizeof(name), name, NULL), 0);
  ck_assert_str_eq(name, "clpool record");
  ck_assert_int_eq(layer.get_info(CL_LAYER_NAME, 0, NULL, &size), 0);
  ck_assert_uint_eq(size, strlen(name) + 1);
  ck_assert_int_eq(layer.get_info(CL_LAYER_NAME, 3, name, NULL), CL_INVALID_VALUE);
  ck_assert_int_eq(layer.get_info(0, sizeof(name), name, NULL), CL_INVALID_VALUE);
}
END_TEST

START_TEST(a_second_loader_goes_without)
{
  cl_uint count;
  ck_assert_int_eq(layer.init(1, NULL, &count, &layer.functions), CL_INVALID_VALUE);
  ck_assert_int_eq(init(), CL_SUCCESS);
  ck_assert_int_eq(init(), CL_INVALID_OPERATION);
  ck_assert_ptr_null(layer.functions->clFinish);
}
END_TEST

START_TEST(a_file_that_cannot_be_had_is_refused)
{
  static const char *const files[] = {"", "none/trace.csv", "trace.csv"};
  FILE *file = fopen("trace.csv", "w");
  fputs("Thread\n", file);
  fclose(file);
  for (size_t i = 0; i < 3; i++) {
    setenv("CLPOOL_LAYER_TRACE", files[i], 1);
    ck_assert_int_eq(init(), CL_INVALID_OPERATION);
  }
  ck_assert_int_eq(truncate("trace.csv", 0), 0);
  setenv("CLPOOL_LAYER_TRACE", _i ? "/dev/full" : "trace.csv", 1);
  ck_assert_int_eq(init(), _i ? CL_INVALID_OPERATION : CL_SUCCESS);
}
END_TEST

START_TEST(a_handle_that_comes_back_unseen_was_free)
{
  ck_assert_int_eq(init(), CL_SUCCESS);
  cl_mem unseen = target.clCreateBuffer(context, 0, 50, NULL, NULL);
  release(unseen);
  driver.mem_count = 0;
  ck_assert_ptr_eq(make(100), unseen);
  driver.mem_count = 0;
  release(make(200));
  has_rows("allocate 0 100 -\nfree 0 100 -\nallocate 0 200 -\nfree 0 200 -\n");
}
END_TEST

/* Of several queues, none is the stream of all memory. */
START_TEST(the_only_queue_of_a_context_is_its_stream)
{
  ck_assert_int_eq(init(), CL_SUCCESS);
  driver.references = 1;
  for (size_t i = 1; i <= 3; i++) {
    ck_assert_ptr_nonnull(layer.functions->clCreateCommandQueue(context, device, 0, NULL));
    make(100 * i);
  }
  has_rows("allocate 0 100 0\nallocate 1 200 -\nallocate 2 300 -\n");
}
END_TEST

START_TEST(refusals_and_last_references_are_rows)
{
  ck_assert_int_eq(init(), CL_SUCCESS);
  refuse(30, CL_OUT_OF_RESOURCES);
  refuse(40, CL_INVALID_VALUE);
  ck_assert_ptr_null(layer.functions->clSVMAlloc(context, 0, 50, 0));
  cl_mem buffer = make(100);
  ck_assert_int_eq(layer.functions->clRetainMemObject(buffer), CL_SUCCESS);
  release(buffer);
  make(200);
  release(buffer);
  has_rows("allocate failure - 30 -\nallocate failure - 50 -\nallocate 0 100 -\n"
           "allocate 1 200 -\nfree 0 100 -\n");
}
END_TEST

/* The program goes on, and what was recorded before stays. */
START_TEST(a_full_disk_ends_the_recording_alone)
{
  const struct rlimit most = {.rlim_cur = 100000, .rlim_max = RLIM_INFINITY};
  const struct rlimit all = {.rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY};
  signal(SIGXFSZ, SIG_IGN);
  ck_assert_int_eq(init(), CL_SUCCESS);
  ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &most), 0);
  for (int i = 0; i < 5000; i++)
    ck_assert_ptr_nonnull(make(100));
  ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &all), 0);
  struct stat trace;
  ck_assert_int_eq(stat("trace.csv", &trace), 0);
  ck_assert_int_gt(trace.st_size, 50000);
}
END_TEST

CLPT_MAIN("layer", clpt_run_apart)
{
  TCase *tests = clpt_case(suite, "record");
  tcase_add_checked_fixture(tests, begin, end);
  tcase_add_test(tests, it_tells_who_it_is);
  tcase_add_test(tests, a_second_loader_goes_without);
  tcase_add_loop_test(tests, a_file_that_cannot_be_had_is_refused, 0, 2);
  tcase_add_test(tests, a_handle_that_comes_back_unseen_was_free);
  tcase_add_test(tests, the_only_queue_of_a_context_is_its_stream);
  tcase_add_test(tests, refusals_and_last_references_are_rows);
  tcase_add_test(tests, a_full_disk_ends_the_recording_alone);
}
