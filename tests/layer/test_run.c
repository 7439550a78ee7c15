/* SPDX-License-Identifier: MIT */
/* The layer that pools, on a driver that does as it is told: how far its queues are, how much
 * memory it has, what it refuses. Memory comes with the first work that uses it, and is free again
 * once its buffer is released and that work is done. */
#include "support/suite.h"

#include <CL/cl_layer.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

/* --- the driver --- */

#define DEVICE_BYTES ((size_t)1 << 32)

enum { MOST_MEMS = 4096, MOST_EVENTS = 65536, MOST_QUEUES = 4 };

typedef struct queue {
  int references;
  uint64_t given, done; /* commands */
  bool is_stuck;        /* its work waits for the program */
} queue;

typedef struct mem {
  int references;
  size_t bytes;
  queue *user; /* NULL: no memory yet */
  uint64_t position;
} mem;

typedef struct event {
  int references;
  queue *of;
  uint64_t position;
} event;

static struct {
  pthread_mutex_t lock;
  int context_references;
  queue queues[MOST_QUEUES];
  mem mems[MOST_MEMS];
  event events[MOST_EVENTS];
  size_t queue_count, mem_count, event_count;
  size_t capacity; /* bytes; 0: no end of memory */
  unsigned fills;
  cl_int fill_code; /* what fills say, if not CL_SUCCESS */
  void *(*callback)(void *);
} driver = {.lock = PTHREAD_MUTEX_INITIALIZER};

static char device_object;
static const cl_device_id device = (cl_device_id)&device_object;
static const cl_context context = (cl_context)&driver;

static cl_int answer(const void *value, size_t bytes, size_t room, void *to, size_t *bytes_ret)
{
  ck_assert(!to || room >= bytes);
  if (to)
    memcpy(to, value, bytes);
  if (bytes_ret)
    *bytes_ret = bytes;
  return CL_SUCCESS;
}

static cl_int CL_API_CALL get_device_info(cl_device_id of, cl_device_info what, size_t room,
                                          void *to, size_t *bytes)
{
  const cl_uint number = 1024; /* bits of alignment; nobody's vendor */
  const cl_ulong memory = DEVICE_BYTES;
  ck_assert_ptr_eq(of, device);
  if (what == CL_DEVICE_VERSION)
    return answer("OpenCL 1.2 told", sizeof("OpenCL 1.2 told"), room, to, bytes);
  if (what == CL_DEVICE_MAX_MEM_ALLOC_SIZE || what == CL_DEVICE_GLOBAL_MEM_SIZE)
    return answer(&memory, sizeof(memory), room, to, bytes);
  return answer(&number, sizeof(number), room, to, bytes);
}

static cl_context CL_API_CALL create_context(const cl_context_properties *properties, cl_uint count,
                                             const cl_device_id *devices,
                                             void(CL_CALLBACK *notify)(const char *, const void *,
                                                                       size_t, void *),
                                             void *user_data, cl_int *code)
{
  (void)properties, (void)count, (void)devices, (void)notify, (void)user_data, (void)code;
  driver.context_references = 1;
  return context;
}

static cl_int CL_API_CALL get_context_info(cl_context of, cl_context_info what, size_t room,
                                           void *to, size_t *bytes)
{
  (void)of;
  ck_assert_uint_eq(what, CL_CONTEXT_DEVICES);
  return answer(&device, sizeof(cl_device_id), room, to, bytes);
}

static cl_int CL_API_CALL retain_context(cl_context of)
{
  (void)of;
  ck_assert_int_gt(__atomic_fetch_add(&driver.context_references, 1, __ATOMIC_SEQ_CST), 0);
  return CL_SUCCESS;
}

static cl_int CL_API_CALL release_context(cl_context of)
{
  (void)of;
  ck_assert_int_gt(__atomic_fetch_sub(&driver.context_references, 1, __ATOMIC_SEQ_CST), 0);
  return CL_SUCCESS;
}

static cl_command_queue CL_API_CALL create_queue(cl_context of, cl_device_id on,
                                                 cl_command_queue_properties properties,
                                                 cl_int *code)
{
  (void)of, (void)on, (void)properties, (void)code;
  ck_assert_uint_lt(driver.queue_count, MOST_QUEUES);
  driver.queues[driver.queue_count].references = 1;
  return (cl_command_queue)&driver.queues[driver.queue_count++];
}

static cl_int CL_API_CALL get_queue_info(cl_command_queue of, cl_command_queue_info what,
                                         size_t room, void *to, size_t *bytes)
{
  const cl_command_queue_properties in_order = 0;
  (void)of;
  if (what == CL_QUEUE_CONTEXT)
    return answer(&context, sizeof(cl_context), room, to, bytes);
  return answer(&in_order, sizeof(in_order), room, to, bytes);
}

static cl_int CL_API_CALL retain_queue(cl_command_queue handle)
{
  ck_assert_int_gt(__atomic_fetch_add(&((queue *)handle)->references, 1, __ATOMIC_SEQ_CST), 0);
  return CL_SUCCESS;
}

static cl_int CL_API_CALL release_queue(cl_command_queue handle)
{
  ck_assert_int_gt(__atomic_fetch_sub(&((queue *)handle)->references, 1, __ATOMIC_SEQ_CST), 0);
  return CL_SUCCESS;
}

static cl_int CL_API_CALL flush(cl_command_queue handle)
{
  ck_assert_int_gt(((queue *)handle)->references, 0);
  return CL_SUCCESS;
}

static cl_mem CL_API_CALL create_buffer(cl_context of, cl_mem_flags flags, size_t bytes, void *host,
                                        cl_int *code)
{
  (void)of, (void)flags, (void)host;
  pthread_mutex_lock(&driver.lock);
  ck_assert_uint_lt(driver.mem_count, MOST_MEMS);
  mem *made = &driver.mems[driver.mem_count++];
  *made = (mem){.references = 1, .bytes = bytes};
  pthread_mutex_unlock(&driver.lock);
  if (code)
    *code = CL_SUCCESS;
  return (cl_mem)made;
}

/* Of a buffer, and of the driver's memory no more than that. */
static cl_mem CL_API_CALL create_sub_buffer(cl_mem buffer, cl_mem_flags flags,
                                            cl_buffer_create_type type, const void *region,
                                            cl_int *code)
{
  (void)type;
  ck_assert_int_gt(((mem *)buffer)->references, 0);
  return create_buffer(context, flags, ((const cl_buffer_region *)region)->size, NULL, code);
}

static cl_mem CL_API_CALL create_image(cl_context of, cl_mem_flags flags,
                                       const cl_image_format *format, const cl_image_desc *desc,
                                       void *host, cl_int *code)
{
  (void)format;
  ck_assert_int_gt(((mem *)desc->buffer)->references, 0);
  return create_buffer(of, flags, desc->image_width, host, code);
}

static cl_int CL_API_CALL get_image_info(cl_mem image, cl_image_info what, size_t room, void *to,
                                         size_t *bytes)
{
  const size_t one = 1;
  (void)image, (void)what;
  return answer(&one, sizeof(one), room, to, bytes);
}

static cl_int CL_API_CALL retain_mem(cl_mem handle)
{
  ck_assert_int_gt(__atomic_fetch_add(&((mem *)handle)->references, 1, __ATOMIC_SEQ_CST), 0);
  return CL_SUCCESS;
}

static cl_int CL_API_CALL release_mem(cl_mem handle)
{
  ck_assert_int_gt(__atomic_fetch_sub(&((mem *)handle)->references, 1, __ATOMIC_SEQ_CST), 0);
  return CL_SUCCESS;
}

static cl_int CL_API_CALL get_mem_info(cl_mem handle, cl_mem_info what, size_t room, void *to,
                                       size_t *bytes)
{
  (void)what;
  return answer(&((const mem *)handle)->bytes, sizeof(size_t), room, to, bytes);
}

static bool is_in_use(const mem *it)
{
  return it->user && (it->references > 0 || it->position > it->user->done);
}

static size_t bytes_in_use(void)
{
  size_t bytes = 0;
  for (size_t i = 0; i < driver.mem_count; i++)
    bytes += is_in_use(&driver.mems[i]) ? driver.mems[i].bytes : 0;
  return bytes;
}

static cl_int CL_API_CALL fill_buffer(cl_command_queue on, cl_mem handle, const void *pattern,
                                      size_t pattern_bytes, size_t offset, size_t bytes,
                                      cl_uint count, const cl_event *list, cl_event *ended)
{
  queue *user = (queue *)on;
  mem *it = (mem *)handle;
  (void)pattern, (void)pattern_bytes, (void)offset, (void)bytes, (void)count, (void)list;
  (void)ended;
  ck_assert_int_gt(it->references, 0);
  driver.fills++;
  if (driver.fill_code)
    return driver.fill_code;
  if (driver.capacity && !it->user && bytes_in_use() + it->bytes > driver.capacity)
    return CL_MEM_OBJECT_ALLOCATION_FAILURE;
  it->user = user;
  it->position = ++user->given;
  return CL_SUCCESS;
}

static cl_int CL_API_CALL marker(cl_command_queue on, cl_uint count, const cl_event *list,
                                 cl_event *out)
{
  queue *of = (queue *)on;
  (void)count, (void)list;
  ck_assert_uint_lt(driver.event_count, MOST_EVENTS);
  of->given++;
  if (!out)
    return CL_SUCCESS;
  event *made = &driver.events[driver.event_count++];
  *made = (event){.references = 1, .of = of, .position = of->given};
  *out = (cl_event)made;
  return CL_SUCCESS;
}

/* Whoever looks at what is not done gives it time. */
static cl_int CL_API_CALL get_event_info(cl_event handle, cl_event_info what, size_t room, void *to,
                                         size_t *bytes)
{
  const event *it = (const event *)handle;
  ck_assert_uint_eq(what, CL_EVENT_COMMAND_EXECUTION_STATUS);
  ck_assert_int_gt(it->references, 0);
  const cl_int progress = it->of->done >= it->position ? CL_COMPLETE : CL_RUNNING;
  if (progress && !it->of->is_stuck)
    it->of->done++;
  return answer(&progress, sizeof(progress), room, to, bytes);
}

/* A callback of the program's runs on a thread of the driver's, before what is waited for is done.
 */
static cl_int CL_API_CALL wait_for_events(cl_uint count, const cl_event *list)
{
  pthread_t own;
  if (driver.callback) {
    ck_assert_int_eq(pthread_create(&own, NULL, driver.callback, NULL), 0);
    ck_assert_int_eq(pthread_join(own, NULL), 0);
    queue *of = ((const event *)list[0])->of;
    of->done = of->given;
  }
  for (cl_uint i = 0; i < count; i++)
    ck_assert(((const event *)list[i])->of->done >= ((const event *)list[i])->position);
  return CL_SUCCESS;
}

static cl_int CL_API_CALL retain_event(cl_event handle)
{
  ((event *)handle)->references++;
  return CL_SUCCESS;
}

static cl_int CL_API_CALL release_event(cl_event handle)
{
  ck_assert_int_gt(((event *)handle)->references--, 0);
  return CL_SUCCESS;
}

static void *CL_API_CALL get_extension(cl_platform_id platform, const char *name)
{
  (void)platform;
  return strncmp(name, "clTold", 6) == 0 ? (void *)&driver : NULL;
}

static const cl_icd_dispatch target = {
    .clGetDeviceInfo = get_device_info,
    .clCreateContext = create_context,
    .clGetContextInfo = get_context_info,
    .clRetainContext = retain_context,
    .clReleaseContext = release_context,
    .clCreateCommandQueue = create_queue,
    .clGetCommandQueueInfo = get_queue_info,
    .clRetainCommandQueue = retain_queue,
    .clReleaseCommandQueue = release_queue,
    .clFlush = flush,
    .clFinish = flush,
    .clCreateBuffer = create_buffer,
    .clCreateSubBuffer = create_sub_buffer,
    .clCreateImage = create_image,
    .clGetImageInfo = get_image_info,
    .clRetainMemObject = retain_mem,
    .clReleaseMemObject = release_mem,
    .clGetMemObjectInfo = get_mem_info,
    .clEnqueueFillBuffer = fill_buffer,
    .clEnqueueMarkerWithWaitList = marker,
    .clGetEventInfo = get_event_info,
    .clWaitForEvents = wait_for_events,
    .clRetainEvent = retain_event,
    .clReleaseEvent = release_event,
    .clGetExtensionFunctionAddressForPlatform = get_extension,
};

/* --- the program --- */

static const cl_icd_dispatch *cl;
static cl_command_queue queues[2];

static void begin(void)
{
  const char *top = getenv("top_builddir");
  char path[4096];
  cl_uint count;
  snprintf(path, sizeof(path), "%s/.libs/libclpool-layer.so", top ? top : ".");
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  ck_assert_msg(library != NULL, "%s", dlerror());
  pfn_clInitLayer init;
  *(void **)&init = dlsym(library, "clInitLayer");
  ck_assert_int_eq(init(sizeof(target) / sizeof(void *), &target, &count, &cl), CL_SUCCESS);
  ck_assert_ptr_eq(cl->clCreateContext(NULL, 1, &device, NULL, NULL, NULL), context);
  for (int i = 0; i < 2; i++)
    queues[i] = cl->clCreateCommandQueue(context, device, 0, NULL);
}

static cl_mem make(size_t bytes)
{
  cl_int code = -1;
  cl_mem made = cl->clCreateBuffer(context, 0, bytes, NULL, &code);
  ck_assert(made && !code);
  return made;
}

static cl_int fill(cl_command_queue on, cl_mem buffer)
{
  const char zero = 0;
  return cl->clEnqueueFillBuffer(on, buffer, &zero, 1, 0, 1, 0, NULL, NULL);
}

static void release(cl_mem buffer)
{
  ck_assert_int_eq(cl->clReleaseMemObject(buffer), CL_SUCCESS);
}

static void use(cl_command_queue on, size_t bytes)
{
  cl_mem buffer = make(bytes);
  ck_assert_int_eq(fill(on, buffer), CL_SUCCESS);
  release(buffer);
}

/* --- memory that runs out at an enqueue --- */

enum { BLOCK = 1 << 20, LARGE = 2 * BLOCK - 1 }; /* which is all that the device has */

static void fill_the_device(unsigned on)
{
  cl_mem buffers[2];
  driver.capacity = LARGE;
  for (unsigned i = 0; i < 2; i++) {
    buffers[i] = make(BLOCK / 2 + 1);
    ck_assert_int_eq(fill(queues[i % on], buffers[i]), CL_SUCCESS);
  }
  release(buffers[0]);
  release(buffers[1]);
}

START_TEST(held_memory_is_given_back_and_waited_for)
{
  const unsigned on = (unsigned)_i; /* queues */
  begin();
  fill_the_device(on);
  cl_mem large = make(LARGE);
  ck_assert_int_eq(fill(queues[0], large), CL_SUCCESS);
  ck_assert_uint_eq(bytes_in_use(), LARGE);
  release(large);
}
END_TEST

/* The work waits for the program, which is here: it hears of it. */
START_TEST(work_that_waits_for_the_program_is_not_waited_for_long)
{
  begin();
  driver.queues[0].is_stuck = true;
  fill_the_device(2);
  cl_mem large = make(LARGE);
  ck_assert_int_eq(fill(queues[1], large), CL_MEM_OBJECT_ALLOCATION_FAILURE);
  release(large);
}
END_TEST

START_TEST(only_what_may_be_lack_of_memory_is_tried_again_and_once)
{
  static const struct {
    cl_int code;
    unsigned fills;
  } refusals[] = {{CL_INVALID_VALUE, 1},
                  {CL_OUT_OF_RESOURCES, 2},
                  {CL_OUT_OF_HOST_MEMORY, 2},
                  {CL_MEM_OBJECT_ALLOCATION_FAILURE, 2}};
  begin();
  use(queues[0], BLOCK);
  cl_mem buffer = make(10);
  driver.fill_code = refusals[_i].code;
  driver.fills = 0;
  ck_assert_int_eq(fill(queues[0], buffer), refusals[_i].code);
  ck_assert_uint_eq(driver.fills, refusals[_i].fills);
  ck_assert_int_eq(fill(queues[0], buffer), refusals[_i].code); /* nothing is held any more */
  ck_assert_uint_eq(driver.fills, refusals[_i].fills + 1);
  release(buffer);
}
END_TEST

/* --- several queues --- */

/* Queues that are always 16 commands behind the host. */
START_TEST(queues_that_lag_need_few_blocks)
{
  enum { BUFFERS = 2000, LAG = 16, FEW = 80 };
  begin();
  for (int i = 0; i < BUFFERS; i++) {
    use(queues[i % 2], 1000);
    for (int q = 0; q < 2; q++) {
      queue *it = &driver.queues[q];
      it->is_stuck = true; /* goes on here alone */
      it->done = it->given > LAG ? it->given - LAG : 0;
    }
  }
  ck_assert_uint_le(driver.mem_count, FEW);
}
END_TEST

/* --- large buffers --- */

static size_t bytes_of_blocks(void)
{
  size_t bytes = 0;
  for (size_t i = 0; i < driver.mem_count; i++)
    bytes += driver.mems[i].references > 0 ? driver.mems[i].bytes : 0;
  return bytes;
}

START_TEST(large_blocks_are_hardly_larger_than_asked_for)
{
  begin();
  for (size_t bytes = 1 << 20; bytes < (size_t)1 << 26; bytes += bytes / 7 + 1) {
    cl_mem buffer = make(bytes);
    const size_t block = ((const mem *)buffer)->bytes;
    ck_assert_uint_ge(block, bytes);
    ck_assert_uint_lt(block - bytes, bytes / 64 + 1);
    release(buffer);
  }
}
END_TEST

/* Each is larger than the one before, and what is held serves none of them. */
START_TEST(large_blocks_that_serve_nobody_go)
{
  enum { FIRST = 16 << 20, MORE = 400 << 10, BUFFERS = 100, LAST = FIRST + BUFFERS * MORE };
  begin();
  for (size_t i = 0; i < BUFFERS; i++)
    use(queues[0], FIRST + i * MORE);
  ck_assert_uint_gt(driver.mem_count, BUFFERS / 2);
  ck_assert_uint_le(bytes_of_blocks(), LAST + DEVICE_BYTES / 32);
  ck_assert_uint_gt(bytes_of_blocks(), DEVICE_BYTES / 32 - LAST);
}
END_TEST

START_TEST(large_blocks_are_found_again)
{
  begin();
  for (size_t i = 0; i < 100; i++)
    use(queues[0], (i % 3 + 1) << 24);
  ck_assert_uint_eq(driver.mem_count, 3);
}
END_TEST

/* --- ends --- */

static void end_buffers(cl_mem *buffers, size_t count)
{
  for (size_t i = 0; i < count; i++)
    release(buffers[i]);
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

START_TEST(nothing_stays_in_whatever_order_things_end)
{
  enum { BUFFERS = 20 };
  cl_mem buffers[BUFFERS];
  begin();
  for (size_t i = 0; i < BUFFERS; i++) {
    buffers[i] = make(1000 * (i + 1));
    if (_i & 8)
      ck_assert_int_eq(fill(queues[i % 2], buffers[i]), CL_SUCCESS);
  }
  end_buffers(buffers + BUFFERS / 2, BUFFERS / 2);
  if (_i & 1)
    end_context();
  if (_i & 2)
    end_buffers(buffers, BUFFERS / 2);
  if (_i & 4)
    end_queues();
  if (!(_i & 2))
    end_buffers(buffers, BUFFERS / 2);
  if (!(_i & 4))
    end_queues();
  if (!(_i & 1))
    end_context();
  ck_assert_int_eq(driver.context_references, 0);
  for (size_t i = 0; i < driver.queue_count; i++)
    ck_assert_int_eq(driver.queues[i].references, 0);
  for (size_t i = 0; i < driver.mem_count; i++)
    ck_assert_int_eq(driver.mems[i].references, 0);
  for (size_t i = 0; i < driver.event_count; i++)
    ck_assert_int_eq(driver.events[i].references, 0);
}
END_TEST

/* An image over a sub-buffer, of which either goes first. */
START_TEST(parts_have_parts)
{
  const cl_buffer_region region = {0, 1000};
  begin();
  cl_mem whole = make(4096);
  cl_mem part = cl->clCreateSubBuffer(whole, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, NULL);
  const cl_image_desc desc = {
      .image_type = CL_MEM_OBJECT_IMAGE1D_BUFFER, .image_width = 1000, .buffer = part};
  cl_mem image = cl->clCreateImage(context, 0, NULL, &desc, NULL, NULL);
  release(_i ? part : image);
  ck_assert_int_gt(((mem *)part)->references, 0);
  ck_assert_ptr_ne(make(4096), whole);
  release(_i ? image : part);
  ck_assert_int_eq(((mem *)part)->references, 0);
  ck_assert_int_eq(((mem *)image)->references, 0);
  release(whole);
  ck_assert_ptr_eq(make(4096), whole);
}
END_TEST

enum { RELEASERS = 4, BUFFERS_EACH = 50 };

static cl_mem buffers_of_threads[RELEASERS][BUFFERS_EACH];

static void *end_own(void *buffers)
{
  end_buffers(buffers, BUFFERS_EACH);
  return NULL;
}

START_TEST(a_context_ends_while_threads_release_its_buffers)
{
  pthread_t threads[RELEASERS];
  begin();
  for (size_t i = 0; i < (size_t)RELEASERS * BUFFERS_EACH; i++) {
    cl_mem made = make(1000);
    ck_assert_int_eq(fill(queues[0], made), CL_SUCCESS);
    buffers_of_threads[i % RELEASERS][i / RELEASERS] = made;
  }
  for (size_t i = 0; i < RELEASERS; i++)
    ck_assert_int_eq(pthread_create(&threads[i], NULL, end_own, buffers_of_threads[i]), 0);
  end_context();
  end_queues();
  for (size_t i = 0; i < RELEASERS; i++)
    ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
  ck_assert_int_eq(driver.context_references, 0);
  ck_assert_int_eq(driver.queues[0].references, 0);
  ck_assert_uint_eq(bytes_of_blocks(), 0);
}
END_TEST

/* --- a program with pools of its own --- */

typedef void(CL_API_CALL *leave_buffers)(cl_bool leave);

static size_t made_by(size_t count)
{
  size_t before = driver.mem_count;
  for (size_t i = 0; i < count; i++)
    release(make(1000));
  return driver.mem_count - before;
}

static void *make_elsewhere(void *made)
{
  *(size_t *)made = made_by(10);
  return NULL;
}

START_TEST(buffers_of_the_programs_pools_are_left_to_the_driver)
{
  pthread_t other;
  size_t made = 0;
  begin();
  leave_buffers leave =
      (leave_buffers)cl->clGetExtensionFunctionAddressForPlatform(NULL, "clpoolLeaveBuffers");
  ck_assert(leave != NULL);
  leave(CL_TRUE);
  ck_assert_uint_eq(made_by(10), 10);
  ck_assert_int_eq(pthread_create(&other, NULL, make_elsewhere, &made), 0);
  ck_assert_int_eq(pthread_join(other, NULL), 0);
  ck_assert_uint_eq(made, 1);
  leave(CL_FALSE);
  ck_assert_uint_le(made_by(10), 1);
}
END_TEST

START_TEST(an_extension_that_may_give_work_ends_pooling)
{
  static const struct {
    const char *name;
    size_t made;
  } extensions[] = {{"clNobodysEXT", 1}, {"clToldToWork", 10}};
  begin();
  (void)cl->clGetExtensionFunctionAddressForPlatform(NULL, extensions[_i].name);
  ck_assert_uint_eq(made_by(10), extensions[_i].made);
}
END_TEST

static void *end_all(void *unused)
{
  (void)unused;
  end_queues();
  end_context();
  return NULL;
}

START_TEST(a_callback_ends_a_context_that_ends_pooling)
{
  begin();
  use(queues[0], 1000);
  driver.queues[0].is_stuck = true;
  driver.callback = end_all;
  (void)cl->clGetExtensionFunctionAddressForPlatform(NULL, "clToldToWork");
  ck_assert_int_eq(driver.context_references, 0);
  ck_assert_uint_eq(bytes_of_blocks(), 0);
}
END_TEST

CLPT_MAIN("layer that pools", clpt_run_apart)
{
  TCase *tests = clpt_case(suite, "run");
  tcase_add_loop_test(tests, held_memory_is_given_back_and_waited_for, 1, 3);
  tcase_add_test(tests, work_that_waits_for_the_program_is_not_waited_for_long);
  tcase_add_loop_test(tests, only_what_may_be_lack_of_memory_is_tried_again_and_once, 0, 4);
  tcase_add_test(tests, queues_that_lag_need_few_blocks);
  tcase_add_test(tests, large_blocks_are_hardly_larger_than_asked_for);
  tcase_add_test(tests, large_blocks_that_serve_nobody_go);
  tcase_add_test(tests, large_blocks_are_found_again);
  tcase_add_loop_test(tests, nothing_stays_in_whatever_order_things_end, 0, 16);
  tcase_add_loop_test(tests, parts_have_parts, 0, 2);
  tcase_add_loop_test(tests, a_context_ends_while_threads_release_its_buffers, 0, 50);
  tcase_add_test(tests, buffers_of_the_programs_pools_are_left_to_the_driver);
  tcase_add_loop_test(tests, an_extension_that_may_give_work_ends_pooling, 0, 2);
  tcase_add_test(tests, a_callback_ends_a_context_that_ends_pooling);
}
