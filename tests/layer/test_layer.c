/* SPDX-License-Identifier: MIT */
/* The layer as a loader sees it, on a driver that does as it is told: handles that come back
 * unseen, refusals, a second loader, a disk that is full. */
#include "support/suite.h"

#include <CL/cl_layer.h>
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static struct {
  char folder[32];
  pfn_clGetLayerInfo get_info;
  pfn_clInitLayer init;
  const cl_icd_dispatch *functions;
} layer;

/* --- the driver --- */

static struct {
  void *next; /* what is made next; NULL: refused */
  cl_int code;
} driver;

static cl_mem CL_API_CALL create_buffer(cl_context context, cl_mem_flags flags, size_t bytes,
                                        void *host, cl_int *code)
{
  (void)context, (void)flags, (void)bytes, (void)host;
  *code = driver.code;
  return driver.next;
}

static void *CL_API_CALL svm_alloc(cl_context context, cl_svm_mem_flags flags, size_t bytes,
                                   cl_uint alignment)
{
  (void)context, (void)flags, (void)bytes, (void)alignment;
  return driver.next;
}

static cl_int CL_API_CALL retain_or_release(cl_mem mem)
{
  return mem ? CL_SUCCESS : CL_INVALID_MEM_OBJECT;
}

static cl_command_queue CL_API_CALL create_queue(cl_context context, cl_device_id device,
                                                 cl_command_queue_properties properties,
                                                 cl_int *code)
{
  (void)context, (void)device, (void)properties, (void)code;
  return driver.next;
}

static const cl_icd_dispatch target = {.clCreateBuffer = create_buffer,
                                       .clCreateCommandQueue = create_queue,
                                       .clRetainMemObject = retain_or_release,
                                       .clReleaseMemObject = retain_or_release,
                                       .clSVMAlloc = svm_alloc};

/* --- the layer --- */

static cl_int init(void)
{
  cl_uint count = 0;
  cl_int code = layer.init(sizeof(target) / sizeof(void *), &target, &count, &layer.functions);
  ck_assert(code || count == sizeof(target) / sizeof(void *));
  return code;
}

static void open_layer(void)
{
  const char *top = getenv("top_builddir");
  char path[4096];
  snprintf(path, sizeof(path), "%s/.libs/libclpool-record.so", top ? top : ".");
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  ck_assert_msg(library != NULL, "%s", dlerror());
  *(void **)&layer.get_info = dlsym(library, "clGetLayerInfo");
  *(void **)&layer.init = dlsym(library, "clInitLayer");
  strcpy(layer.folder, "/tmp/clpt-layer-XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(layer.folder));
  ck_assert_int_eq(chdir(layer.folder), 0);
  setenv("CLPOOL_LAYER_TRACE", "trace.csv", 1);
}

static void end_layer(void)
{
  unlink("trace.csv");
  rmdir(layer.folder);
}

#define CONTEXT ((cl_context)0x70)

static cl_mem make(uintptr_t handle, size_t bytes)
{
  driver.next = (void *)handle;
  driver.code = handle ? CL_SUCCESS : CL_OUT_OF_RESOURCES;
  return layer.functions->clCreateBuffer(CONTEXT, 0, bytes, NULL, NULL);
}

static void make_queue(uintptr_t handle)
{
  driver.next = (void *)handle;
  ck_assert_ptr_eq(layer.functions->clCreateCommandQueue(CONTEXT, NULL, 0, NULL), driver.next);
}

/* The rows of the file are these, "ACTION,POINTER,SIZE" or "ACTION,POINTER,SIZE,STREAM", each with
 * a line end. Rows are written with the clock's tick, so it is waited for. */
static void check_rows(const char *expected, bool with_streams)
{
  char found[4096] = "", line[256];
  usleep(20000);
  make(0, 1); /* writes those before it, too */
  FILE *file = fopen("trace.csv", "r");
  ck_assert_ptr_nonnull(file);
  while (fgets(line, sizeof(line), file)) {
    char action[32], pointer[32], stream[32];
    size_t bytes;
    if (sscanf(line, "%*d,%*[^,],%31[^,],%31[^,],%zu,%31[^,]", action, pointer, &bytes, stream) ==
        4)
      snprintf(found + strlen(found), sizeof(found) - strlen(found), "%s,%s,%zu%s%s\n", action,
               pointer, bytes, with_streams ? "," : "", with_streams ? stream : "");
  }
  fclose(file);
  char *last = strstr(found, "allocate failure,0x0,1");
  ck_assert_ptr_nonnull(last);
  *last = '\0';
  ck_assert_str_eq(found, expected);
}

static void has_rows(const char *expected)
{
  check_rows(expected, false);
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
  unsetenv("CLPOOL_LAYER_TRACE");
  ck_assert_int_eq(init(), CL_INVALID_OPERATION);
  setenv("CLPOOL_LAYER_TRACE", "none/trace.csv", 1);
  ck_assert_int_eq(init(), CL_INVALID_OPERATION);
  setenv("CLPOOL_LAYER_TRACE", "trace.csv", 1);
  FILE *file = fopen("trace.csv", "w");
  fputs("Thread\n", file);
  fclose(file);
  ck_assert_int_eq(init(), CL_INVALID_OPERATION);
  ck_assert_int_eq(truncate("trace.csv", 0), 0);
  ck_assert_int_eq(init(), CL_SUCCESS);
}
END_TEST

START_TEST(a_disk_that_is_full_is_refused)
{
  setenv("CLPOOL_LAYER_TRACE", "/dev/full", 1);
  if (access("/dev/full", W_OK) == 0)
    ck_assert_int_eq(init(), CL_INVALID_OPERATION);
}
END_TEST

START_TEST(a_handle_that_comes_back_unseen_was_free)
{
  ck_assert_int_eq(init(), CL_SUCCESS);
  cl_mem mem = make(0x10, 100);
  make(0x10, 200);
  layer.functions->clReleaseMemObject(mem);
  layer.functions->clReleaseMemObject(mem); /* not known any more */
  ck_assert_int_eq(layer.functions->clReleaseMemObject(NULL), CL_INVALID_MEM_OBJECT);
  has_rows("allocate,0x10,100\nfree,0x10,100\nallocate,0x10,200\nfree,0x10,200\n");
}
END_TEST

START_TEST(a_retained_buffer_is_free_with_its_last_reference)
{
  ck_assert_int_eq(init(), CL_SUCCESS);
  cl_mem mem = make(0x10, 100);
  ck_assert_int_eq(layer.functions->clRetainMemObject(mem), CL_SUCCESS);
  layer.functions->clReleaseMemObject(mem);
  make(0x20, 200);
  layer.functions->clReleaseMemObject(mem);
  has_rows("allocate,0x10,100\nallocate,0x20,200\nfree,0x10,100\n");
}
END_TEST

/* Of several queues, none is the stream of all memory. */
START_TEST(the_only_queue_of_a_context_is_its_stream)
{
  ck_assert_int_eq(init(), CL_SUCCESS);
  make_queue(0x1);
  make(0x10, 100);
  make_queue(0x2);
  make(0x20, 200);
  make_queue(0x3);
  make(0x30, 300);
  check_rows("allocate,0x10,100,0x1\nallocate,0x20,200,0\nallocate,0x30,300,0\n", true);
}
END_TEST

START_TEST(refusals_are_rows_where_memory_was_short)
{
  cl_int code;
  ck_assert_int_eq(init(), CL_SUCCESS);
  make(0, 30);
  driver.code = CL_INVALID_VALUE;
  ck_assert_ptr_null(layer.functions->clCreateBuffer(NULL, 0, 40, NULL, &code));
  ck_assert_int_eq(code, CL_INVALID_VALUE);
  ck_assert_ptr_null(layer.functions->clSVMAlloc(CONTEXT, 0, 50, 0));
  has_rows("allocate failure,0x0,30\nallocate failure,0x0,50\n");
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
  for (uintptr_t i = 1; i < 5000; i++)
    if (make(i, 100) != (void *)i)
      break;
  ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &all), 0);
  ck_assert_ptr_eq(driver.next, (void *)4999);
  struct stat trace;
  ck_assert_int_eq(stat("trace.csv", &trace), 0);
  ck_assert_int_gt(trace.st_size, 50000);
}
END_TEST

CLPT_MAIN("layer", clpt_run_apart)
{
  TCase *tests = clpt_case(suite, "record");
  tcase_add_checked_fixture(tests, open_layer, end_layer);
  tcase_add_test(tests, it_tells_who_it_is);
  tcase_add_test(tests, a_second_loader_goes_without);
  tcase_add_test(tests, a_file_that_cannot_be_had_is_refused);
  tcase_add_test(tests, a_disk_that_is_full_is_refused);
  tcase_add_test(tests, a_handle_that_comes_back_unseen_was_free);
  tcase_add_test(tests, a_retained_buffer_is_free_with_its_last_reference);
  tcase_add_test(tests, the_only_queue_of_a_context_is_its_stream);
  tcase_add_test(tests, refusals_are_rows_where_memory_was_short);
  tcase_add_test(tests, a_full_disk_ends_the_recording_alone);
}
