/* SPDX-License-Identifier: MIT */
#include "told_driver.h"

/* It looks at few of its arguments. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

told_driver driver = {.lock = PTHREAD_MUTEX_INITIALIZER};

static char device_object;
const cl_device_id device = (cl_device_id)&device_object;
const cl_context context = (cl_context)&driver;

static pfn_clInitLayer init;

void *open_layer(const char *name)
{
  const char *top = getenv("top_builddir");
  char path[4096];
  snprintf(path, sizeof(path), "%s/.libs/libclpool-%s.so", top ? top : ".", name);
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  ck_assert_msg(library != NULL, "%s", dlerror());
  *(void **)&init = dlsym(library, "clInitLayer");
  return library;
}

cl_int init_layer(cl_uint function_count, const cl_icd_dispatch **functions)
{
  cl_uint count = 0;
  const cl_int code =
      init(function_count, function_count == ALL ? &target : NULL, &count, functions);
  ck_assert(code || count == ALL);
  return code;
}

/* --- queries --- */

#define INFO(type) type of, cl_uint what, size_t room, void *to, size_t *bytes

static cl_int answer(const void *value, size_t bytes, size_t room, void *to, size_t *bytes_ret)
{
  ck_assert(!to || room >= bytes);
  if (to)
    memcpy(to, value, bytes);
  if (bytes_ret)
    *bytes_ret = bytes;
  return CL_SUCCESS;
}

#define ANSWER(value) answer(&(value), sizeof(value), room, to, bytes)

static cl_int CL_API_CALL get_device_info(INFO(cl_device_id))
{
  const cl_uint number = 1024; /* bits of alignment; nobody's vendor */
  const cl_ulong memory = DEVICE_BYTES;
  ck_assert_ptr_eq(of, device);
  if (what == CL_DEVICE_PLATFORM)
    return ANSWER(device);
  if (what == CL_DEVICE_VERSION)
    return answer("OpenCL 1.2 told", sizeof("OpenCL 1.2 told"), room, to, bytes);
  if (what == CL_DEVICE_MAX_MEM_ALLOC_SIZE || what == CL_DEVICE_GLOBAL_MEM_SIZE)
    return ANSWER(memory);
  return ANSWER(number);
}

static cl_int CL_API_CALL get_context_info(INFO(cl_context))
{
  const cl_uint count = 1 + driver.more_devices;
  return what == CL_CONTEXT_NUM_DEVICES ? ANSWER(count) : ANSWER(device);
}

static cl_int CL_API_CALL get_queue_info(INFO(cl_command_queue))
{
  return what == CL_QUEUE_CONTEXT  ? ANSWER(context)
         : what == CL_QUEUE_DEVICE ? ANSWER(device)
                                   : ANSWER(((queue *)of)->properties);
}

/* Of an image, too. */
static cl_int CL_API_CALL get_mem_info(INFO(cl_mem))
{
  const mem *it = (const mem *)of;
  const size_t one = 1;
  return what == CL_MEM_MAP_COUNT ? ANSWER(it->maps)
         : what == CL_MEM_SIZE    ? ANSWER(it->bytes)
                                  : ANSWER(one);
}

/* Whoever looks at what is not done gives it time. */
static cl_int CL_API_CALL get_event_info(INFO(cl_event))
{
  const event *it = (const event *)of;
  driver.looks++;
  ck_assert_int_gt(it->references, 0);
  const cl_int progress = it->of->has_failed             ? CL_OUT_OF_RESOURCES
                          : it->of->done >= it->position ? CL_COMPLETE
                                                         : CL_RUNNING;
  if (progress > 0 && !it->of->is_stuck)
    it->of->done++;
  return ANSWER(progress);
}

/* --- references --- */

static int add(void *handle, int change)
{
  const int references = __atomic_add_fetch((int *)handle, change, __ATOMIC_SEQ_CST);
  ck_assert_int_ge(references, change > 0 ? 2 : 0);
  return references;
}

#define COUNTED(object, type, at_end)                                                              \
  static cl_int CL_API_CALL retain_##object(type of)                                               \
  {                                                                                                \
    add(of, 1);                                                                                    \
    return CL_SUCCESS;                                                                             \
  }                                                                                                \
  static cl_int CL_API_CALL release_##object(type of)                                              \
  {                                                                                                \
    if (add(of, -1) == 0)                                                                          \
      at_end;                                                                                      \
    return CL_SUCCESS;                                                                             \
  }

static void end_mem(cl_mem of)
{
  if (((mem *)of)->at_end)
    ((mem *)of)->at_end(of, NULL);
}

COUNTED(context, cl_context, (void)0)
COUNTED(queue, cl_command_queue, release_context(context))
COUNTED(mem, cl_mem, end_mem(of))
COUNTED(event, cl_event, (void)0)

static cl_int CL_API_CALL set_destructor(cl_mem of, void(CL_CALLBACK *notify)(cl_mem, void *),
                                         void *user_data)
{
  ((mem *)of)->at_end = notify;
  return CL_SUCCESS;
}

/* --- what is made --- */

static cl_context CL_API_CALL create_context(const cl_context_properties *properties, cl_uint count,
                                             const cl_device_id *devices,
                                             void(CL_CALLBACK *notify)(const char *, const void *,
                                                                       size_t, void *),
                                             void *user_data, cl_int *code)
{
  driver.references = 1;
  return context;
}

static cl_command_queue CL_API_CALL create_queue(cl_context of, cl_device_id on,
                                                 cl_command_queue_properties properties,
                                                 cl_int *code)
{
  retain_context(of);
  ck_assert_uint_lt(driver.queue_count, MOST_QUEUES);
  queue *made = &driver.queues[driver.queue_count++];
  *made = (queue){.references = 1, .properties = properties};
  return (cl_command_queue)made;
}

static event *make_event(queue *of)
{
  ck_assert_uint_lt(driver.event_count, MOST_EVENTS);
  event *made = &driver.events[driver.event_count++];
  *made = (event){1, of, of->given};
  return made;
}

static cl_event CL_API_CALL create_user_event(cl_context of, cl_int *code)
{
  return (cl_event)make_event(&driver.queues[0]);
}

static cl_mem CL_API_CALL create_buffer(cl_context of, cl_mem_flags flags, size_t bytes, void *host,
                                        cl_int *code)
{
  const bool is_refused = driver.refusals > 0;
  driver.refusals -= is_refused;
  if (code)
    *code = is_refused ? driver.refusal_code : CL_SUCCESS;
  if (is_refused)
    return NULL;
  pthread_mutex_lock(&driver.lock);
  ck_assert_uint_lt(driver.mem_count, MOST_MEMS);
  mem *made = &driver.mems[driver.mem_count++];
  *made = (mem){.references = 1, .bytes = bytes};
  pthread_mutex_unlock(&driver.lock);
  return (cl_mem)made;
}

static void *CL_API_CALL refuse_svm(cl_context of, cl_svm_mem_flags flags, size_t bytes,
                                    cl_uint alignment)
{
  return NULL;
}

static cl_mem CL_API_CALL create_with_properties(cl_context of, const cl_mem_properties *properties,
                                                 cl_mem_flags flags, size_t bytes, void *host,
                                                 cl_int *code)
{
  ck_assert(properties);
  return create_buffer(of, flags, bytes, host, code);
}

/* Of a buffer, and of the driver's memory no more than that. */
static cl_mem CL_API_CALL create_sub_buffer(cl_mem buffer, cl_mem_flags flags,
                                            cl_buffer_create_type type, const void *region,
                                            cl_int *code)
{
  ck_assert_int_gt(((mem *)buffer)->references, 0);
  return create_buffer(context, flags, ((const cl_buffer_region *)region)->size, NULL, code);
}

static cl_mem CL_API_CALL create_image(cl_context of, cl_mem_flags flags,
                                       const cl_image_format *format, const cl_image_desc *desc,
                                       void *host, cl_int *code)
{
  ck_assert(!desc->buffer || ((mem *)desc->buffer)->references > 0);
  const size_t rows = desc->image_height ? desc->image_height : 1;
  return create_buffer(of, flags, desc->image_width * rows, host, code);
}

/* --- work --- */

#define WAITS cl_uint count, const cl_event *list, cl_event *ended

size_t bytes_in_use(void)
{
  size_t bytes = 0;
  for (const mem *it = driver.mems; it < driver.mems + driver.mem_count; it++)
    if (it->user && (it->references > 0 || it->position > it->user->done))
      bytes += it->bytes;
  return bytes;
}

size_t bytes_of_blocks(void)
{
  size_t bytes = 0;
  for (const mem *it = driver.mems; it < driver.mems + driver.mem_count; it++)
    bytes += it->references > 0 ? it->bytes : 0;
  return bytes;
}

/* What another thread does meanwhile, once. */
static void run_beside(void *(**function)(void *))
{
  pthread_t own;
  void *(*once)(void *) = *function;
  *function = NULL;
  if (!once)
    return;
  ck_assert_int_eq(pthread_create(&own, NULL, once, NULL), 0);
  ck_assert_int_eq(pthread_join(own, NULL), 0);
}

static cl_int use_memory(cl_command_queue on, cl_mem handle)
{
  mem *it = (mem *)handle;
  ck_assert_int_gt(it->references, 0);
  driver.fills++;
  run_beside(&driver.beside_fill);
  if (driver.fill_code)
    return driver.fill_code;
  if (driver.capacity && !it->user && bytes_in_use() + it->bytes > driver.capacity) {
    run_beside(&driver.beside_lack);
    return CL_MEM_OBJECT_ALLOCATION_FAILURE;
  }
  it->user = (queue *)on;
  it->position = ++it->user->given;
  return CL_SUCCESS;
}

static cl_int CL_API_CALL fill_buffer(cl_command_queue on, cl_mem handle, const void *pattern,
                                      size_t pattern_bytes, size_t offset, size_t bytes, WAITS)
{
  driver.waits = count;
  if (!count != !list)
    return CL_INVALID_EVENT_WAIT_LIST;
  for (cl_uint i = 0; i < count; i++)
    ck_assert_int_gt(((const event *)list[i])->references, 0);
  return use_memory(on, handle);
}

static cl_int CL_API_CALL migrate_one(cl_command_queue on, cl_uint mem_count, const cl_mem *mems,
                                      cl_mem_migration_flags flags, cl_uint count,
                                      const cl_event *list, cl_event *ended)
{
  ck_assert_uint_eq(mem_count, 1);
  return use_memory(on, mems[0]);
}

/* A map of a part is no map of the whole. */
static void *CL_API_CALL map_buffer(cl_command_queue on, cl_mem handle, cl_bool blocking,
                                    cl_map_flags flags, size_t offset, size_t bytes, cl_uint count,
                                    const cl_event *list, cl_event *ended, cl_int *code)
{
  ((mem *)handle)->maps++;
  *code = CL_SUCCESS;
  return handle;
}

static cl_int CL_API_CALL marker(cl_command_queue on, WAITS)
{
  ((queue *)on)->given++;
  if (ended)
    *ended = (cl_event)make_event((queue *)on);
  return CL_SUCCESS;
}

static cl_int CL_API_CALL flush(cl_command_queue handle)
{
  const queue *of = (const queue *)handle;
  ck_assert_int_gt(of->references, 0);
  return of->properties & CL_QUEUE_ON_DEVICE ? CL_INVALID_COMMAND_QUEUE : CL_SUCCESS;
}

/* A callback of the program's runs on a thread of the driver's, before it is done. */
static cl_int CL_API_CALL wait_for_events(cl_uint count, const cl_event *list)
{
  queue *of = ((const event *)list[0])->of;
  const bool is_done = driver.callback != NULL;
  run_beside(&driver.callback);
  of->done = is_done ? of->given : of->done;
  for (cl_uint i = 0; i < count; i++)
    ck_assert(((const event *)list[i])->of->done >= ((const event *)list[i])->position);
  return CL_SUCCESS;
}

static void *CL_API_CALL get_extension(const char *name)
{
  return strncmp(name, "clTold", 6) == 0 ? (void *)&driver : NULL;
}

static void *CL_API_CALL get_extension_for_platform(cl_platform_id of, const char *name)
{
  return get_extension(name);
}

const cl_icd_dispatch target = {
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
    .clCreateBufferWithProperties = create_with_properties,
    .clSVMAlloc = refuse_svm,
    .clCreateSubBuffer = create_sub_buffer,
    .clCreateImage = create_image,
    .clGetImageInfo = get_mem_info,
    .clRetainMemObject = retain_mem,
    .clReleaseMemObject = release_mem,
    .clGetMemObjectInfo = get_mem_info,
    .clSetMemObjectDestructorCallback = set_destructor,
    .clEnqueueFillBuffer = fill_buffer,
    .clEnqueueMapBuffer = map_buffer,
    .clEnqueueMigrateMemObjects = migrate_one,
    .clEnqueueMarkerWithWaitList = marker,
    .clGetEventInfo = get_event_info,
    .clWaitForEvents = wait_for_events,
    .clCreateUserEvent = create_user_event,
    .clRetainEvent = retain_event,
    .clReleaseEvent = release_event,
    .clGetExtensionFunctionAddress = get_extension,
    .clGetExtensionFunctionAddressForPlatform = get_extension_for_platform,
};
