/* SPDX-License-Identifier: MIT */
#include "told_driver.h"

#include "support/suite.h"

told_driver driver = {.lock = PTHREAD_MUTEX_INITIALIZER};

static char device_object;
const cl_device_id device = (cl_device_id)&device_object;
const cl_context context = (cl_context)&driver;

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
  if (what == CL_DEVICE_PLATFORM)
    return answer(&device, sizeof(cl_platform_id), room, to, bytes);
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
  const cl_uint count = 1 + driver.more_devices;
  (void)of;
  if (what == CL_CONTEXT_NUM_DEVICES)
    return answer(&count, sizeof(count), room, to, bytes);
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
  (void)on, (void)code;
  retain_context(of);
  ck_assert_uint_lt(driver.queue_count, MOST_QUEUES);
  driver.queues[driver.queue_count].references = 1;
  driver.queues[driver.queue_count].properties = properties;
  return (cl_command_queue)&driver.queues[driver.queue_count++];
}

static cl_int CL_API_CALL get_queue_info(cl_command_queue of, cl_command_queue_info what,
                                         size_t room, void *to, size_t *bytes)
{
  if (what == CL_QUEUE_CONTEXT)
    return answer(&context, sizeof(cl_context), room, to, bytes);
  if (what == CL_QUEUE_DEVICE)
    return answer(&device, sizeof(cl_device_id), room, to, bytes);
  ck_assert_uint_eq(what, CL_QUEUE_PROPERTIES);
  return answer(&((const queue *)of)->properties, sizeof(cl_command_queue_properties), room, to,
                bytes);
}

static cl_int CL_API_CALL retain_queue(cl_command_queue handle)
{
  ck_assert_int_gt(__atomic_fetch_add(&((queue *)handle)->references, 1, __ATOMIC_SEQ_CST), 0);
  return CL_SUCCESS;
}

static cl_int CL_API_CALL release_queue(cl_command_queue handle)
{
  const int references = __atomic_sub_fetch(&((queue *)handle)->references, 1, __ATOMIC_SEQ_CST);
  ck_assert_int_ge(references, 0);
  return references > 0 ? CL_SUCCESS : release_context(context);
}

static cl_int CL_API_CALL flush(cl_command_queue handle)
{
  const queue *of = (const queue *)handle;
  ck_assert_int_gt(of->references, 0);
  return of->properties & CL_QUEUE_ON_DEVICE ? CL_INVALID_COMMAND_QUEUE : CL_SUCCESS;
}

static cl_mem CL_API_CALL create_buffer(cl_context of, cl_mem_flags flags, size_t bytes, void *host,
                                        cl_int *code)
{
  (void)of, (void)flags, (void)host;
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
  (void)of, (void)flags, (void)bytes, (void)alignment;
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
  (void)type;
  ck_assert_int_gt(((mem *)buffer)->references, 0);
  return create_buffer(context, flags, ((const cl_buffer_region *)region)->size, NULL, code);
}

static cl_mem CL_API_CALL create_image(cl_context of, cl_mem_flags flags,
                                       const cl_image_format *format, const cl_image_desc *desc,
                                       void *host, cl_int *code)
{
  (void)format;
  ck_assert(!desc->buffer || ((mem *)desc->buffer)->references > 0);
  size_t rows = desc->image_height ? desc->image_height : 1;
  return create_buffer(of, flags, desc->image_width * rows, host, code);
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
  mem *it = (mem *)handle;
  const int references = __atomic_sub_fetch(&it->references, 1, __ATOMIC_SEQ_CST);
  ck_assert_int_ge(references, 0);
  if (references == 0 && it->at_end)
    it->at_end(handle, NULL);
  return CL_SUCCESS;
}

static cl_int CL_API_CALL set_destructor(cl_mem handle, void(CL_CALLBACK *notify)(cl_mem, void *),
                                         void *user_data)
{
  (void)user_data;
  ((mem *)handle)->at_end = notify;
  return CL_SUCCESS;
}

static cl_int CL_API_CALL get_mem_info(cl_mem handle, cl_mem_info what, size_t room, void *to,
                                       size_t *bytes)
{
  const mem *it = (const mem *)handle;
  if (what == CL_MEM_MAP_COUNT)
    return answer(&it->maps, sizeof(it->maps), room, to, bytes);
  ck_assert_uint_eq(what, CL_MEM_SIZE);
  return answer(&it->bytes, sizeof(it->bytes), room, to, bytes);
}

/* A map of a part is no map of the whole. */
static void *CL_API_CALL map_buffer(cl_command_queue on, cl_mem handle, cl_bool blocking,
                                    cl_map_flags flags, size_t offset, size_t bytes, cl_uint count,
                                    const cl_event *list, cl_event *ended, cl_int *code)
{
  (void)on, (void)blocking, (void)flags, (void)offset, (void)bytes, (void)count, (void)list;
  (void)ended;
  ((mem *)handle)->maps++;
  *code = CL_SUCCESS;
  return handle;
}

static bool is_in_use(const mem *it)
{
  return it->user && (it->references > 0 || it->position > it->user->done);
}

size_t bytes_in_use(void)
{
  size_t bytes = 0;
  for (size_t i = 0; i < driver.mem_count; i++)
    bytes += is_in_use(&driver.mems[i]) ? driver.mems[i].bytes : 0;
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
  queue *user = (queue *)on;
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
  it->user = user;
  it->position = ++user->given;
  return CL_SUCCESS;
}

static cl_int CL_API_CALL fill_buffer(cl_command_queue on, cl_mem handle, const void *pattern,
                                      size_t pattern_bytes, size_t offset, size_t bytes,
                                      cl_uint count, const cl_event *list, cl_event *ended)
{
  (void)pattern, (void)pattern_bytes, (void)offset, (void)bytes, (void)ended;
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
  (void)flags, (void)count, (void)list, (void)ended;
  ck_assert_uint_eq(mem_count, 1);
  return use_memory(on, mems[0]);
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
  driver.looks++;
  ck_assert_uint_eq(what, CL_EVENT_COMMAND_EXECUTION_STATUS);
  ck_assert_int_gt(it->references, 0);
  const cl_int progress = it->of->has_failed             ? CL_OUT_OF_RESOURCES
                          : it->of->done >= it->position ? CL_COMPLETE
                                                         : CL_RUNNING;
  if (progress > 0 && !it->of->is_stuck)
    it->of->done++;
  return answer(&progress, sizeof(progress), room, to, bytes);
}

/* A callback of the program's runs on a thread of the driver's, before what is waited for is done.
 */
static cl_int CL_API_CALL wait_for_events(cl_uint count, const cl_event *list)
{
  if (driver.callback) {
    run_beside(&driver.callback);
    queue *of = ((const event *)list[0])->of;
    of->done = of->given;
  }
  for (cl_uint i = 0; i < count; i++)
    ck_assert(((const event *)list[i])->of->done >= ((const event *)list[i])->position);
  return CL_SUCCESS;
}

static cl_event CL_API_CALL create_user_event(cl_context of, cl_int *code)
{
  (void)of, (void)code;
  ck_assert_uint_lt(driver.event_count, MOST_EVENTS);
  event *made = &driver.events[driver.event_count++];
  *made = (event){.references = 1, .of = &driver.queues[0]};
  return (cl_event)made;
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

static void *CL_API_CALL get_extension(const char *name)
{
  return strncmp(name, "clTold", 6) == 0 ? (void *)&driver : NULL;
}

static void *CL_API_CALL get_extension_for_platform(cl_platform_id platform, const char *name)
{
  (void)platform;
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
    .clGetImageInfo = get_image_info,
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
