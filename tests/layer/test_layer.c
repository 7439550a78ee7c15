/* SPDX-License-Identifier: MIT */
/* The layers, as a loader sees them, on the fake driver. */
#include "fake_driver.h"
#include "support/instrumented.h"

#include <CL/cl_layer.h>
#include <dlfcn.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* The layer's functions. */
static const cl_icd_dispatch *cl;

/* --- the layer that records --- */

static pfn_clInitLayer init;

static void *open_layer(const char *name)
{
  const char *top = getenv("top_builddir");
  char path[4096];
  snprintf(path, sizeof(path), "%s/.libs/libclpool-%s.so", top ? top : ".", name);
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  ck_assert_msg(library != NULL, "%s", dlerror());
  *(void **)&init = dlsym(library, "clInitLayer");
  return library;
}

enum { ALL = sizeof(cl_icd_dispatch) / sizeof(void *) };

static cl_int init_layer(cl_uint function_count, const cl_icd_dispatch **functions)
{
  cl_uint count = 0;
  const cl_int code =
      init(function_count, function_count == ALL ? &fake_functions : NULL, &count, functions);
  ck_assert(code || count == ALL);
  return code;
}

static const cl_image_format floats = {CL_R, CL_FLOAT}, halves = {CL_R, CL_HALF_FLOAT};
static char folder[32];
static pfn_clGetLayerInfo get_info;

static void begin_record(void)
{
  *(void **)&get_info = dlsym(open_layer("record"), "clGetLayerInfo");
  strcpy(folder, "/tmp/clpt-layer-XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(folder));
  ck_assert_int_eq(chdir(folder), 0);
  setenv("CLPOOL_LAYER_TRACE", "trace.csv", 1);
}

static void end_record(void)
{
  unlink("trace.csv");
  unlink("unused");
  rmdir(folder);
}

static cl_mem make(size_t bytes)
{
  cl_int code = -1;
  cl_mem made = cl->clCreateBuffer(context, 0, bytes, NULL, &code);
  ck_assert(made && !code);
  return made;
}

static void release(cl_mem buffer)
{
  ck_assert_int_eq(cl->clReleaseMemObject(buffer), CL_SUCCESS);
}

static void refuse(size_t bytes, cl_int code)
{
  cl_int said;
  driver.refusals = 1;
  driver.refusal_code = code;
  ck_assert_ptr_null(cl->clCreateBuffer(context, 0, bytes, NULL, &said));
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

/* Refusals, where memory was short; the only queue of a context, which is its stream; what has the
 * last reference to a buffer; a handle that comes back unseen, which was free. */
static const char expected[] =
    "allocate failure 30 c1 buffer 0, allocate failure 50 c1 svm 0, allocate 100 c1 buffer 0 q, "
    "allocate 200 c1 buffer 0, free 100 c1 buffer 0 q, allocate 300 c1 buffer 0, free 300 c1 "
    "buffer 0, allocate 600 c1 buffer 0, free 200 c1 buffer 0, allocate 8 c1 buffer 20, free "
    "600 c1 buffer 0, allocate 7 c1 buffer 4, allocate 128 c1 image 1, allocate 9 c1 buffer 0, "
    "free 128 c1 image 1, free 9 c1 buffer 0, allocate 11 c1 svm 1, allocate 12 c1 svm 1, free "
    "11 c1 svm 1 q, allocate 13 c1 svm 1, free 12 c1 svm 1, free 13 c1 svm 1, allocate 15 c1 svm "
    "1, allocate 15 c1 svm 1, free 15 c1 svm 1, allocate 14 c2 buffer 0, allocate failure 1 c2 "
    "buffer 0, ";

static void CL_CALLBACK free_svm(cl_command_queue of, cl_uint count, void *pointers[], void *data)
{
}

START_TEST(calls_are_rows)
{
  char found[4096] = "", line[256], action[32], kind[8];
  const cl_buffer_region half = {2048, 2048};
  const cl_mem_properties some[] = {0x4242, 1, 0};
  cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 16, .image_height = 8};
  uintptr_t stream, number, flags;
  size_t bytes;
  ck_assert_int_eq(init_layer(ALL, &cl), CL_SUCCESS);
  driver.references = 1;
  refuse(30, CL_OUT_OF_RESOURCES);
  refuse(40, CL_INVALID_VALUE);
  driver.refusals = 1;
  ck_assert_ptr_null(cl->clSVMAlloc(context, 0, 50, 0));
  cl_command_queue only = cl->clCreateCommandQueue(context, device, 0, NULL);
  cl_mem buffer = make(100);
  for (int i = 0; i < 2; i++)
    cl->clCreateCommandQueue(context, device, 0, NULL);
  ck_assert_int_eq(cl->clRetainMemObject(buffer), CL_SUCCESS);
  release(buffer);
  ck_assert_ptr_ne(make(200), buffer);
  release(buffer);
  for (size_t i = 1; i < 3; i++) {
    driver.mem_count = 0;
    ck_assert_ptr_eq(make(300 * i), buffer);
  }
  cl_mem part = cl->clCreateSubBuffer(buffer, 0, CL_BUFFER_CREATE_TYPE_REGION, &half, NULL);
  ck_assert_int_eq(cl->clRetainMemObject(part), CL_SUCCESS);
  release(buffer);
  release(part);
  cl->clCreateBuffer(context, CL_MEM_USE_HOST_PTR, 6, found, NULL);
  cl->clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, 8, found, NULL);
  release(part);
  cl->clCreateBufferWithProperties(context, some, CL_MEM_READ_ONLY, 7, NULL, NULL);
  cl_mem image = cl->clCreateImage(context, CL_MEM_READ_WRITE, &floats, &desc, NULL, NULL);
  desc = (cl_image_desc){.image_type = CL_MEM_OBJECT_IMAGE1D_BUFFER, .image_width = 2};
  desc.buffer = make(9);
  cl_mem of_buffer = cl->clCreateImage(context, 0, &floats, &desc, NULL, NULL);
  release(desc.buffer);
  release(image);
  release(of_buffer);
  void *first = cl->clSVMAlloc(context, 1, 11, 0), *late = cl->clSVMAlloc(context, 1, 12, 0);
  cl->clEnqueueSVMFree(only, 1, &first, NULL, NULL, 0, NULL, NULL);
  cl->clEnqueueSVMFree(only, 1, &late, free_svm, NULL, 0, NULL, NULL);
  first = cl->clSVMAlloc(context, 1, 13, 0);
  cl->clSVMFree(context, late);
  cl->clSVMFree(context, first);
  for (cl_uint i = 3; i < 7; i += 2) /* side by side in the table */
    cl->clSVMAlloc(context, 1, 15, i);
  cl->clSVMFree(context, (void *)3);
  cl->clCreateContext(NULL, 1, &device, NULL, NULL, NULL); /* the handle is that of one before */
  make(14);
  cl->clSVMFree(context, (void *)1); /* a number that is no handle, as arguments of kernels are */
  usleep(20000);                     /* rows are written with the clock's tick, and the next one */
  refuse(1, CL_OUT_OF_RESOURCES);
  FILE *file = fopen("trace.csv", "r");
  while (fgets(line, sizeof(line), file))
    if (sscanf(line, "%*d,%*[^,],%31[^,],%*x,%zu,%" SCNxPTR ",%" SCNuPTR ",%7[^,],%" SCNxPTR,
               action, &bytes, &stream, &number, kind, &flags) == 6)
      sprintf(found + strlen(found), "%s %zu c%zu %s %zx%s, ", action, bytes, (size_t)number, kind,
              (size_t)flags, stream ? " q" : "");
  fclose(file);
  ck_assert_str_eq(found, expected);
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
    make(100);
  most.rlim_cur = RLIM_INFINITY;
  ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &most), 0);
  struct stat file;
  ck_assert(!stat("trace.csv", &file) && file.st_size > 50000);
}
END_TEST

/* --- the layer that pools --- */

enum { MIB = 1 << 20, BLOCK = MIB, LARGE = 2 * BLOCK - 1 };

static cl_command_queue queues[2];

static cl_command_queue open_queue(cl_command_queue_properties properties)
{
  return cl->clCreateCommandQueue(context, device, properties, NULL);
}

static void begin(void)
{
  open_layer("layer");
  ck_assert_int_eq(init_layer(ALL, &cl), CL_SUCCESS);
  ck_assert(cl->clCreateContextFromType(NULL, CL_DEVICE_TYPE_ALL, NULL, NULL, NULL) == context);
  for (int i = 0; i < 2; i++)
    queues[i] = open_queue(0);
}

static cl_int fill_behind(cl_command_queue on, cl_mem buffer, cl_uint count, const cl_event *list)
{
  return cl->clEnqueueFillBuffer(on, buffer, "", 1, 0, 1, count, list, NULL);
}

static cl_int fill(cl_command_queue on, cl_mem buffer)
{
  return fill_behind(on, buffer, 0, NULL);
}

static cl_mem filled(cl_command_queue on, size_t bytes)
{
  cl_mem buffer = make(bytes);
  ck_assert_int_eq(fill(on, buffer), CL_SUCCESS);
  return buffer;
}

static int references(cl_mem of)
{
  return ((const fake_mem *)of)->references;
}

static void end_buffers(cl_mem *buffers, size_t count)
{
  for (size_t i = 0; i < count; i++)
    release(buffers[i]);
}

static void use(cl_command_queue on, size_t bytes)
{
  release(filled(on, bytes));
}

/* How many buffers the driver makes for so many of one size, one after the other. */
static size_t made_by(size_t count)
{
  const size_t before = driver.mem_count;
  for (size_t i = 0; i < count; i++)
    release(make(1000));
  return driver.mem_count - before;
}

static void end_queues(void)
{
  for (int i = 0; i < 2; i++)
    ck_assert_int_eq(cl->clReleaseCommandQueue(queues[i]), CL_SUCCESS);
}

static void end_context(void)
{
  ck_assert_int_eq(cl->clReleaseContext(context), CL_SUCCESS);
}

static void nothing_is_left(void)
{
  ck_assert_int_eq(driver.references, 0);
  for (size_t i = 0; i < driver.queue_count; i++)
    ck_assert_int_eq(driver.queues[i].references, 0);
  ck_assert_uint_eq(fake_bytes_of_blocks(), 0);
  for (size_t i = 0; i < driver.event_count; i++)
    ck_assert_int_eq(driver.events[i].references, 0);
}

/* --- memory that runs out at an enqueue --- */

static void fill_the_device(unsigned on)
{
  cl_mem buffers[2];
  driver.capacity = LARGE;
  for (unsigned i = 0; i < 2; i++)
    buffers[i] = filled(queues[i % on], BLOCK / 2 + 1);
  end_buffers(buffers, 2);
}

/* Another thread lacks memory, too, and has pools give back what they hold before this one comes to
 * it; or it takes what was given back, and releases it. */
static void *use_half(void *unused)
{
  return filled(queues[0], BLOCK - 1), unused;
}

static void *use_most(void *unused)
{
  return use(queues[0], BLOCK), unused;
}

static void *use_most_next(void *unused)
{
  driver.beside_fill = use_most;
  return unused;
}

START_TEST(held_memory_is_given_back_and_waited_for)
{
  static const struct {
    unsigned queues;
    size_t bytes, in_use;
    void *(*beside)(void *);
    bool is_stuck; /* the work waits for the program, which is here: it hears of it */
  } rows[] = {{1, LARGE, LARGE, NULL, false},
              {2, LARGE, LARGE, NULL, false},
              {1, BLOCK - 1, 2 * (BLOCK - 1), use_half, false},
              {1, LARGE, LARGE, use_most_next, false},
              {2, LARGE, 0, NULL, true}};
  driver.queues[0].is_stuck = rows[_i].is_stuck;
  fill_the_device(rows[_i].queues);
  driver.beside_lack = rows[_i].beside;
  cl_mem buffer = make(rows[_i].bytes);
  ck_assert_int_eq(fill(queues[rows[_i].is_stuck], buffer),
                   rows[_i].is_stuck ? CL_MEM_OBJECT_ALLOCATION_FAILURE : CL_SUCCESS);
  ck_assert(rows[_i].is_stuck || fake_bytes_in_use() == rows[_i].in_use);
}
END_TEST

static void *hold_and_again(void *unused)
{
  driver.fill_code = CL_SUCCESS;
  use(queues[0], 1000);
  driver.fill_code = CL_OUT_OF_RESOURCES;
  driver.beside_fill = hold_and_again;
  return unused;
}

START_TEST(only_what_may_be_lack_of_memory_is_tried_again_and_once)
{
  static const struct {
    cl_int code;
    unsigned fills;
  } refusals[] = {{CL_INVALID_VALUE, 1},
                  {CL_OUT_OF_RESOURCES, 2},
                  {CL_OUT_OF_HOST_MEMORY, 2},
                  {CL_MEM_OBJECT_ALLOCATION_FAILURE, 2}};
  use(queues[0], BLOCK);
  cl_mem buffer = make(10);
  driver.fill_code = refusals[_i].code;
  driver.fills = 0;
  ck_assert_int_eq(fill(queues[0], buffer), refusals[_i].code);
  ck_assert_uint_eq(driver.fills, refusals[_i].fills);
  ck_assert_int_eq(fill(queues[0], buffer), refusals[_i].code); /* nothing is held any more */
  ck_assert_uint_eq(driver.fills, refusals[_i].fills + 1);
  driver.beside_fill = hold_and_again; /* which does not go on for ever */
  ck_assert_int_eq(fill(queues[0], buffer), CL_OUT_OF_RESOURCES);
}
END_TEST

/* --- several queues --- */

/* Queues that are always 16 commands behind the host. */
START_TEST(queues_that_lag_need_few_blocks)
{
  for (int i = 0; i < 2000; i++) {
    use(queues[i % 2], 1000);
    for (fake_queue *it = driver.queues; it < driver.queues + 2; it++) {
      it->is_stuck = true; /* goes on here alone */
      it->done = it->given > 16 ? it->given - 16 : 0;
    }
  }
  ck_assert_uint_le(driver.mem_count, 80);
}
END_TEST

/* However far the one queue is, the other one is still at work on the buffer. What the only queue
 * was given counts also when there is a user event beside it. */
START_TEST(a_buffer_goes_on_when_all_its_queues_are_done)
{
  driver.queues[0].is_stuck = driver.queues[1].is_stuck = true;
  if (_i < 2)
    for (int i = 0; i < 2; i++)
      use(queues[i], 10);
  cl_mem buffer = filled(queues[0], 1000);
  if (_i < 2)
    ck_assert_int_eq(fill(queues[1], buffer), CL_SUCCESS);
  else
    ck_assert_ptr_nonnull(cl->clCreateUserEvent(context, NULL));
  release(buffer);
  driver.queues[_i != 0].done = (uint64_t)1 << 32;
  ck_assert_ptr_ne(make(1000), buffer);
  driver.queues[_i == 0].done = (uint64_t)1 << 32;
  ck_assert_ptr_eq(make(1000), buffer);
}
END_TEST

/* The work may be given from within a callback of the driver's, which the mark of the first queue
 * may be behind: so the host does not wait. */
START_TEST(a_queue_out_of_order_waits_by_its_events)
{
  cl_event own;
  driver.queues[0].is_stuck = true;
  use(queues[0], 1000);
  cl_command_queue late = open_queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  cl_mem buffer = filled(late, 10);
  ck_assert_uint_eq(driver.waits, 1);
  ck_assert_int_eq(cl->clEnqueueMarkerWithWaitList(late, 0, NULL, &own), CL_SUCCESS);
  ck_assert_int_eq(fill_behind(late, buffer, 1, &own), CL_SUCCESS);
  ck_assert_uint_eq(driver.waits, 2); /* and a wrong list stays wrong */
  ck_assert_int_eq(fill_behind(late, buffer, 0, &own), CL_INVALID_EVENT_WAIT_LIST);
  ck_assert_int_eq(fill_behind(late, buffer, 1, NULL), CL_INVALID_EVENT_WAIT_LIST);
  driver.queues[0].done = driver.queues[0].given;
  ck_assert_int_eq(fill(late, buffer), CL_SUCCESS);
  ck_assert_uint_eq(driver.waits, 0);
}
END_TEST

START_TEST(work_that_has_failed_is_done)
{
  use(queues[0], 10);
  driver.queues[0].has_failed = driver.queues[0].is_stuck = true;
  cl_command_queue late = open_queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  use(late, 10);
  ck_assert_uint_eq(driver.waits, 0);
  cl_mem buffer = filled(queues[1], 1000);
  driver.queues[1].has_failed = driver.queues[1].is_stuck = true;
  end_queues();
  release(buffer);
  ck_assert_uint_eq(made_by(1), 1); /* other work on it may still run */
  ck_assert_int_eq(cl->clReleaseCommandQueue(late), CL_SUCCESS);
  end_context();
  ck_assert_int_eq(driver.queues[1].references, 0);
}
END_TEST

/* What the program's functions wait for may be behind work of another queue. */
START_TEST(work_that_runs_the_programs_functions_is_marked)
{
  void *pointer = cl->clSVMAlloc(context, 0, 10, 0);
  use(queues[0], 1000);
  ck_assert_uint_eq(driver.event_count, 0);
  if (_i == 0)
    cl->clEnqueueNativeKernel(queues[0], NULL, NULL, 0, 0, NULL, NULL, 0, NULL, NULL);
  else if (_i == 1)
    cl->clEnqueueSVMFree(queues[0], 1, &pointer, NULL, NULL, 0, NULL, NULL);
  else
    cl->clSetCommandQueueProperty(queues[0], CL_QUEUE_PROFILING_ENABLE, CL_TRUE, NULL);
  ck_assert_uint_eq(driver.event_count, 1);
}
END_TEST

/* --- what is pooled --- */

static cl_mem make_image(size_t width, size_t height)
{
  const cl_image_desc desc = {
      .image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = width, .image_height = height};
  return cl->clCreateImage(context, 0, &floats, &desc, NULL, NULL);
}

/* Of each type, only what counts for it is compared. */
START_TEST(images_come_again_where_all_is_equal)
{
  static const struct {
    cl_mem_object_type type;
    const char *differ; /* width, height, depth, layers, flags, format */
  } types[] = {{CL_MEM_OBJECT_IMAGE1D, "w---ff"},
               {CL_MEM_OBJECT_IMAGE2D, "wh--ff"},
               {CL_MEM_OBJECT_IMAGE3D, "whd-ff"},
               {CL_MEM_OBJECT_IMAGE1D_ARRAY, "w--lff"},
               {CL_MEM_OBJECT_IMAGE2D_ARRAY, "wh-lff"}};
  for (size_t i = 0; i < 7; i++) { /* the last one is equal */
    cl_image_desc desc = {types[_i].type, 8, 8, 8, 8, 0, 0, 0, 0, {NULL}};
    cl_mem first = cl->clCreateImage(context, 0, &floats, &desc, NULL, NULL);
    release(first);
    size_t *const parts[] = {&desc.image_width, &desc.image_height, &desc.image_depth,
                             &desc.image_array_size};
    *parts[i % 4] += i < 4;
    cl_mem second = cl->clCreateImage(context, i == 4 ? CL_MEM_READ_ONLY : 0,
                                      i == 5 ? &halves : &floats, &desc, NULL, NULL);
    ck_assert_int_eq(second != first, i < 6 && types[_i].differ[i] != '-');
    release(second);
  }
}
END_TEST

static cl_mem make_image_by(int way)
{
  const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE1D, .image_width = 8};
  return way == 0   ? cl->clCreateImageWithProperties(context, NULL, 0, &floats, &desc, NULL, NULL)
         : way == 1 ? cl->clCreateImage2D(context, 0, &floats, 8, 8, 0, NULL, NULL)
                    : cl->clCreateImage3D(context, 0, &floats, 8, 8, 8, 0, 0, NULL, NULL);
}

START_TEST(images_come_again_however_they_are_made)
{
  cl_mem first = make_image_by(_i % 3);
  if (_i > 2) /* pooling has ended */
    (void)cl->clGetExtensionFunctionAddress("clFakeWork");
  release(first);
  ck_assert_int_eq(make_image_by(_i % 3) == first, _i < 3);
}
END_TEST

START_TEST(shared_virtual_memory_is_the_drivers)
{
  use(queues[0], BLOCK);
  driver.refusals = 1; /* then what is held goes back, and the driver is asked again */
  ck_assert_ptr_nonnull(cl->clSVMAlloc(context, 0, BLOCK, 0));
  ck_assert_uint_eq(fake_bytes_of_blocks(), BLOCK);
}
END_TEST

START_TEST(there_is_an_end_of_kinds)
{
  for (size_t width = 1; width < 8200; width++)
    release(make_image(width, 1));
  cl_mem last = make_image(8200, 1);
  release(last);
  ck_assert_int_eq(references(last), 0);
}
END_TEST

START_TEST(other_kinds_are_the_drivers)
{
  const cl_mem_properties some[] = {0x4242, 1, 0};
  const cl_image_desc descs[] = {
      {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 8, .image_row_pitch = 64},
      {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 8, .num_mip_levels = 2},
      {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 8, .num_samples = 2}};
  driver.more_devices = _i == 4; /* of the context */
  begin();
  cl_mem made = _i < 3   ? cl->clCreateImage(context, 0, &floats, &descs[_i], NULL, NULL)
                : _i < 4 ? cl->clCreateBufferWithProperties(context, some, 0, 8, NULL, NULL)
                         : make(8);
  release(made);
  ck_assert_int_eq(references(made), 0);
  end_queues();
}
END_TEST

/* --- bounds --- */

/* The most that all blocks take, in phases of 20 MiB. Objects of one phase have one size, and each
 * phase has another. Buffers have two kinds of flags, and some objects are images. */
static size_t most_in_phases(void)
{
  cl_mem live[256];
  size_t most = 0;
  for (size_t phase = 0; phase < 24; phase++) {
    const size_t count = (20u << (phase % 3)) - 1;
    const size_t bytes = (MIB >> (phase % 3)) - 10000 * phase;
    for (size_t i = 0; i < count; i++) {
      live[i] = i % 3 == 2
                    ? make_image(bytes / 64, 64)
                    : cl->clCreateBuffer(context, i % 3 * CL_MEM_READ_ONLY, bytes, NULL, NULL);
      ck_assert(live[i] != NULL);
      most = fake_bytes_of_blocks() > most ? fake_bytes_of_blocks() : most;
    }
    end_buffers(live, count);
  }
  return most;
}

START_TEST(all_blocks_of_a_context_are_bounded)
{
  const size_t most = most_in_phases();
  ck_assert_uint_gt(most, 30 * MIB);
  ck_assert_uint_le(most, 20 * MIB + 20 * MIB / 4 + 16 * MIB + MIB);
  for (size_t mib = 64; mib < 200; mib++) { /* what is held goes before a larger one is made */
    release(make(mib * MIB));
    ck_assert_uint_le(fake_bytes_of_blocks(), mib * MIB / 4 * 5 + 16 * MIB);
    cl_mem made = make(mib * MIB + 1); /* which is hardly larger */
    ck_assert_uint_lt(((const fake_mem *)made)->bytes, mib * MIB / 64 * 65 + 1);
    ck_assert_uint_le(fake_bytes_of_blocks(), mib * MIB / 4 * 5 + 17 * MIB);
    release(made);
  }
  for (size_t i = 0; i < 20; i++) /* by a part of the device */
    use(queues[0], ((size_t)1 << 30) + i * 20 * MIB);
  ck_assert_uint_le(fake_bytes_of_blocks(),
                    (((size_t)1 << 30) + 20 * 20 * MIB) / 64 * 65 + FAKE_DEVICE_BYTES / 32);
}
END_TEST

START_TEST(a_limit_bounds_all)
{
  ck_assert_int_eq(setenv("CLPOOL_LAYER_LIMIT", "22M", 1), 0);
  begin();
  ck_assert_uint_le(most_in_phases(), 22 * MIB);
  cl_int code = 0;
  driver.refusals = 1000000;
  for (int i = 0; i < 4; i++) { /* what the driver refuses is not taken */
    driver.refusal_code = i % 2 ? CL_INVALID_VALUE : CL_MEM_OBJECT_ALLOCATION_FAILURE;
    ck_assert_ptr_null(cl->clCreateBuffer(context, 0, 7 * MIB, NULL, &code));
    ck_assert_int_eq(code, driver.refusal_code);
  }
  driver.refusals = 0;
  cl_mem first = make(15 * MIB);
  ck_assert_ptr_null(cl->clCreateBuffer(context, 0, 10 * MIB, NULL, &code));
  ck_assert_int_eq(code, CL_MEM_OBJECT_ALLOCATION_FAILURE);
  release(first);
  release(make(22 * MIB)); /* its bin's size is more */
}
END_TEST

START_TEST(what_is_held_has_its_own_bound)
{
  cl_mem live[10];
  ck_assert_int_eq(setenv("CLPOOL_LAYER_HOLD", "3M", 1), 0);
  begin();
  for (size_t i = 0; i < 10; i++)
    live[i] = make(MIB - 1000);
  end_buffers(live, 10);
  ck_assert_uint_le(fake_bytes_of_blocks(), 3 * MIB);
  ck_assert_uint_gt(fake_bytes_of_blocks(), 2 * MIB);
}
END_TEST

/* --- ends --- */

START_TEST(nothing_stays_in_whatever_order_things_end)
{
  cl_mem buffers[20];
  for (size_t i = 0; i < 20; i++)
    buffers[i] = _i & 8 ? filled(queues[i % 2], 1000 * (i + 1)) : make(1000 * (i + 1));
  end_buffers(buffers + 10, 10);
  for (int turn = 0; turn < 2; turn++) {
    if ((_i & 1) != turn)
      end_context();
    if ((_i >> 1 & 1) != turn)
      end_buffers(buffers, 10);
    if ((_i >> 2 & 1) != turn)
      end_queues();
  }
  nothing_is_left();
}
END_TEST

/* A program that keeps the queue alone gets the context from it. */
START_TEST(a_queue_keeps_its_context)
{
  cl_context found = NULL;
  end_context();
  ck_assert(!cl->clGetCommandQueueInfo(queues[0], CL_QUEUE_CONTEXT, sizeof(found), &found, NULL));
  ck_assert(found == context && !cl->clRetainContext(found));
  for (int i = 0; i < 10; i++)
    use(queues[0], 1000);
  ck_assert_uint_eq(driver.mem_count, 1);
  ck_assert_int_eq(cl->clReleaseCommandQueue(open_queue(CL_QUEUE_ON_DEVICE)), CL_SUCCESS);
  end_context();
  end_queues();
  nothing_is_left();
}
END_TEST

START_TEST(a_queue_ends_once_its_work_is_done)
{
  use(queues[0], 10);
  cl_command_queue third = open_queue(0);
  use(third, 1000);
  driver.queues[2].is_stuck = true;
  ck_assert_int_eq(cl->clReleaseCommandQueue(third), CL_SUCCESS);
  use(queues[0], 1000);
  ck_assert_int_gt(driver.queues[2].references, 0);
  driver.queues[2].done = driver.queues[2].given;
  for (int i = 0; i < 3; i++)
    use(queues[0], 1000);
  ck_assert_int_eq(driver.queues[2].references, 0);
  cl_command_queue fourth = open_queue(0);
  cl_mem idle = make(500);
  use(fourth, 1000);
  driver.queues[3].done = driver.queues[3].given + 1;
  ck_assert_int_eq(cl->clReleaseCommandQueue(fourth), CL_SUCCESS);
  release(idle);
  ck_assert_ptr_eq(make(500), idle); /* which had no work */
}
END_TEST

START_TEST(what_is_released_is_refused_and_what_pools_retain_is_unseen)
{
  cl_uint count;
  cl_mem buffer = make(1000);
  ck_assert(!cl->clRetainContext(context) && !cl->clRetainCommandQueue(queues[0]));
  ck_assert(!cl->clGetContextInfo(context, CL_CONTEXT_REFERENCE_COUNT, sizeof(count), &count, 0));
  ck_assert_uint_eq(count, 4); /* a queue has one */
  ck_assert(!cl->clGetCommandQueueInfo(queues[0], CL_QUEUE_REFERENCE_COUNT, 4, &count, NULL));
  ck_assert_uint_eq(count, 2);
  release(buffer);
  ck_assert_int_eq(references(buffer), 1); /* it is held */
  ck_assert_int_eq(cl->clRetainMemObject(buffer), CL_INVALID_MEM_OBJECT);
  ck_assert_int_eq(cl->clReleaseMemObject(buffer), CL_INVALID_MEM_OBJECT);
  ck_assert(cl->clGetMemObjectInfo(buffer, CL_MEM_SIZE, 0, NULL, NULL) == CL_INVALID_MEM_OBJECT);
}
END_TEST

/* An image over a sub-buffer, of which either goes first. A buffer with a mapped part goes back. */
START_TEST(parts_have_parts)
{
  cl_int code;
  const cl_buffer_region region = {0, 1000};
  cl_mem whole = make(4096);
  cl_mem part = cl->clCreateSubBuffer(whole, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, NULL);
  const cl_image_desc desc = {
      .image_type = CL_MEM_OBJECT_IMAGE1D_BUFFER, .image_width = 1000, .buffer = part};
  cl_mem image = cl->clCreateImage(context, 0, NULL, &desc, NULL, NULL);
  cl_uint count;
  ck_assert(!cl->clGetMemObjectInfo(part, CL_MEM_REFERENCE_COUNT, 4, &count, NULL) && count == 1);
  if (_i == 2)
    cl->clEnqueueMapBuffer(queues[0], part, CL_TRUE, CL_MAP_READ, 0, 9, 0, NULL, NULL, &code);
  release(_i ? part : image);
  ck_assert_int_gt(references(part), 0);
  ck_assert_ptr_ne(make(4096), whole);
  release(_i ? image : part);
  ck_assert_int_eq(references(part) + references(image), 0);
  release(whole);
  ck_assert_int_eq(references(whole), _i != 2);
  ck_assert_int_eq(make(4096) == whole, _i != 2);
  const cl_buffer_region beyond = {0, 1010}; /* the driver says whether it may be */
  ck_assert_ptr_nonnull(
      cl->clCreateSubBuffer(make(1000), 0, CL_BUFFER_CREATE_TYPE_REGION, &beyond, 0));
}
END_TEST

static void *end_own(void *buffers)
{
  end_buffers(buffers, 50);
  return NULL;
}

START_TEST(a_context_ends_while_a_thread_releases_its_buffers)
{
  cl_mem buffers[50];
  pthread_t thread;
  for (size_t i = 0; i < 50; i++)
    buffers[i] = filled(queues[0], 1000);
  ck_assert_int_eq(pthread_create(&thread, NULL, end_own, buffers), 0);
  end_context();
  end_queues();
  ck_assert_int_eq(pthread_join(thread, NULL), 0);
  nothing_is_left();
}
END_TEST

static size_t made_elsewhere;

static void *make_some(void *unused)
{
  return made_elsewhere = made_by(10), unused;
}

static void CL_CALLBACK await_another_thread(cl_mem ended, void *unused)
{
  fake_run_beside(&(void *(*)(void *)){make_some});
}

/* As with a lock that the callback takes, and another thread has. */
START_TEST(a_destructor_callback_waits_for_another_thread)
{
  cl_mem buffer = make(1000);
  ck_assert_int_eq(cl->clSetMemObjectDestructorCallback(buffer, await_another_thread, NULL), 0);
  release(buffer);
  ck_assert_int_eq(references(buffer), 0);
}
END_TEST

/* --- a program with pools of its own --- */

START_TEST(buffers_of_the_programs_pools_are_left_to_the_driver)
{
  void(CL_API_CALL * leave)(cl_bool);
  *(void **)&leave = cl->clGetExtensionFunctionAddress("clpoolLeaveBuffers");
  ck_assert_ptr_nonnull((void *)leave);
  fill_the_device(1);
  leave(CL_TRUE);
  driver.looks = 0; /* what they lack is not waited for here */
  ck_assert_int_eq(fill(queues[0], make(LARGE)), CL_MEM_OBJECT_ALLOCATION_FAILURE);
  ck_assert_uint_eq(driver.looks, 0);
  ck_assert_uint_eq(made_by(10), 10);
  fake_run_beside(&(void *(*)(void *)){make_some});
  ck_assert_uint_eq(made_elsewhere, 1);
  leave(CL_FALSE);
  ck_assert_uint_le(made_by(10), 1);
}
END_TEST

START_TEST(an_extension_that_may_give_work_ends_pooling)
{
  static const char *const names[] = {"clNobodysEXT", "clGetFakeEXT", "clFakeWork"};
  if (_i < 3)
    (void)cl->clGetExtensionFunctionAddressForPlatform(NULL, names[_i]);
  else
    (void)cl->clGetExtensionFunctionAddress(names[_i % 3]);
  ck_assert_uint_eq(made_by(10), _i % 3 == 2 ? 10 : 1);
}
END_TEST

static void *end_all(void *unused)
{
  pthread_cancel(pthread_self()); /* the layer's calls come to their ends */
  use(queues[1], 1000);
  end_queues();
  end_context();
  return unused;
}

/* Or there is no reference to the mark, and nothing is waited for. */
START_TEST(a_callback_ends_a_context_that_ends_pooling)
{
  use(queues[0], 1000);
  driver.queues[0].is_stuck = true;
  driver.callback = end_all;
  driver.fails_at = _i ? 4 : 0; /* after the mark, its flush, and a look at it */
  (void)cl->clGetExtensionFunctionAddressForPlatform(NULL, "clFakeWork");
  fake_run_beside(&driver.callback);
  nothing_is_left();
}
END_TEST

/* --- host memory, and calls of the layer's own, that fail in turn --- */

/* Of this thread's allocations, the one that fails; 0: none. */
static _Thread_local unsigned memory_fails_at;

#if !CLPT_SANITIZED
/* The layer's calls come here, since a program's functions are before those of libc. */
#define NEW(name, parameters, arguments, real)                                                     \
  void *real;                                                                                      \
  void *name parameters                                                                            \
  {                                                                                                \
    return memory_fails_at > 0 && --memory_fails_at == 0 ? NULL : __libc_##arguments;              \
  }
NEW(malloc, (size_t bytes), malloc(bytes), __libc_malloc(size_t))
NEW(calloc, (size_t count, size_t bytes), calloc(count, bytes), __libc_calloc(size_t, size_t))
NEW(aligned_alloc, (size_t to, size_t bytes), memalign(to, bytes), __libc_memalign(size_t, size_t))
#endif

enum { TURNS = 30 };

/* The program has all that it asks for, where that allocation or call of the layer fails. */
START_TEST(a_program_goes_on_where_the_layer_lacks_memory_or_a_call_fails)
{
  cl_mem mems[TURNS];
  cl_event own;
  const cl_buffer_region region = {0, 1000};
  open_layer("layer");
  ck_assert_int_eq(init_layer(ALL, &cl), CL_SUCCESS);
  *(_i % 2 ? &memory_fails_at : &driver.fails_at) = (unsigned)_i / 2 + 1;
  ck_assert_ptr_eq(cl->clCreateContext(NULL, 1, &device, NULL, NULL, NULL), context);
  for (int i = 0; i < 2; i++)
    queues[i] = open_queue(0);
  cl_command_queue late = open_queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  const cl_command_queue all[] = {queues[0], queues[1], late};
  for (unsigned i = 0; i < TURNS; i++) {
    mems[i] = i % 3 == 2 ? make_image(64 + i, 64) : make(1000 + 100 * i);
    ck_assert(mems[i] && !fill(all[i % 3], mems[i]));
    cl_mem part = cl->clCreateSubBuffer(mems[i], 0, CL_BUFFER_CREATE_TYPE_REGION, &region, NULL);
    ck_assert_ptr_nonnull(part);
    release(part);
    if (i % 2)
      use(all[i % 3], 10000);
  }
  if (!cl->clEnqueueMarkerWithWaitList(late, 0, NULL, &own))
    ck_assert_int_eq(fill_behind(late, mems[0], 1, &own), CL_SUCCESS);
  driver.fill_code = CL_OUT_OF_RESOURCES; /* then what is held goes back */
  ck_assert_int_eq(fill(queues[0], mems[0]), CL_OUT_OF_RESOURCES);
  end_buffers(mems, TURNS);
  (void)cl->clGetExtensionFunctionAddress("clFakeWork");
  ck_assert_uint_eq(made_by(10), 10);
  ck_assert_int_eq(cl->clReleaseCommandQueue(late), CL_SUCCESS);
  end_queues();
  end_context();
  memory_fails_at = 0;
}
END_TEST

START_TEST(a_program_goes_on_where_the_recording_lacks_memory)
{
  const cl_buffer_region region = {0, 10};
  setenv("CLPOOL_LAYER_UNUSED", "unused", 1);
  fclose(fopen("unused", "w"));
  memory_fails_at = (unsigned)_i + 1;
  const cl_int code = init_layer(ALL, &cl);
  memory_fails_at = code ? 0 : memory_fails_at;
  ck_assert(!code || _i == 1); /* no name of the file */
  if (code)
    return;
  cl->clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
  cl->clCreateCommandQueue(context, device, 0, NULL);
  for (unsigned i = 0; i < TURNS; i++) {
    cl_mem whole = make(1000);
    cl_mem part = cl->clCreateSubBuffer(whole, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, NULL);
    ck_assert_int_eq(cl->clRetainMemObject(whole), CL_SUCCESS);
    end_buffers((cl_mem[]){part, whole, whole}, i % 2 * 3);
  }
  cl->clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
  refuse(30, CL_OUT_OF_RESOURCES);
  memory_fails_at = 0;
}
END_TEST

CLPT_MAIN("layer", clpt_run_apart)
{
  TCase *tests = clpt_case(suite, "record");
  tcase_add_checked_fixture(tests, begin_record, end_record);
  tcase_add_test(tests, a_loader_that_asks_gets_answers_and_a_second_one_goes_without);
  tcase_add_test(tests, calls_are_rows);
  tcase_add_loop_test(tests, a_full_disk_ends_the_recording_alone, 0, 3);
  tcase_add_loop_test(tests, a_program_goes_on_where_the_recording_lacks_memory, 0, 30);
  tests = clpt_case(suite, "run");
  TCase *before = clpt_case(suite, "set before"); /* it begins */
  tcase_add_checked_fixture(tests, begin, NULL);
  tcase_add_loop_test(tests, held_memory_is_given_back_and_waited_for, 0, 5);
  tcase_add_loop_test(tests, only_what_may_be_lack_of_memory_is_tried_again_and_once, 0, 4);
  tcase_add_test(tests, queues_that_lag_need_few_blocks);
  tcase_add_loop_test(tests, a_buffer_goes_on_when_all_its_queues_are_done, 0, 3);
  tcase_add_test(tests, a_queue_out_of_order_waits_by_its_events);
  tcase_add_test(tests, work_that_has_failed_is_done);
  tcase_add_loop_test(tests, images_come_again_where_all_is_equal, 0, 5);
  tcase_add_test(tests, all_blocks_of_a_context_are_bounded);
  tcase_add_loop_test(tests, nothing_stays_in_whatever_order_things_end, 0, 16);
  tcase_add_test(tests, a_queue_keeps_its_context);
  tcase_add_test(tests, a_queue_ends_once_its_work_is_done);
  tcase_add_loop_test(tests, work_that_runs_the_programs_functions_is_marked, 0, 3);
  tcase_add_loop_test(tests, images_come_again_however_they_are_made, 0, 6);
  tcase_add_test(tests, there_is_an_end_of_kinds);
  tcase_add_test(tests, shared_virtual_memory_is_the_drivers);
  tcase_add_test(tests, what_is_released_is_refused_and_what_pools_retain_is_unseen);
  tcase_add_loop_test(tests, parts_have_parts, 0, 3);
  tcase_add_loop_test(tests, a_context_ends_while_a_thread_releases_its_buffers, 0, 50);
  tcase_add_test(tests, a_destructor_callback_waits_for_another_thread);
  tcase_add_test(tests, buffers_of_the_programs_pools_are_left_to_the_driver);
  tcase_add_loop_test(tests, an_extension_that_may_give_work_ends_pooling, 0, 6);
  tcase_add_loop_test(tests, a_callback_ends_a_context_that_ends_pooling, 0, 2);
  tcase_add_loop_test(before, a_program_goes_on_where_the_layer_lacks_memory_or_a_call_fails, 0,
                      (int)clpt_iterations(400));
  tcase_add_loop_test(before, other_kinds_are_the_drivers, 0, 5);
  tcase_add_test(before, a_limit_bounds_all);
  tcase_add_test(before, what_is_held_has_its_own_bound);
}
