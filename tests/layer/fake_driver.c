/* SPDX-License-Identifier: MIT */
/* The functions of the fake driver. */
#include "fake_driver.h"

#include <pthread.h>

fake_driver driver;

/* --- queries --- */

#define WAITS      cl_uint count, const cl_event *list, cl_event *ended
#define INFO(type) type of, cl_uint what, size_t room, void *to, size_t *bytes

static cl_int answer(const void *value, size_t bytes, size_t room, void *to, size_t *bytes_ret)
{
  if (to)
    memcpy(to, value, bytes);
  if (bytes_ret)
    *bytes_ret = bytes;
  return CL_SUCCESS;
}

#define ANSWER(value) answer(&(value), sizeof(value), room, to, bytes)

static cl_int CL_API_CALL fake_GetDeviceInfo(INFO(cl_device_id))
{
  const cl_uint number = 1024; /* bits of alignment; nobody's vendor */
  const cl_ulong memory = FAKE_DEVICE_BYTES;
  static const char version[] = "OpenCL 1.2 fake";
  return what == CL_DEVICE_PLATFORM  ? ANSWER(device)
         : what == CL_DEVICE_VERSION ? ANSWER(version)
         : what == CL_DEVICE_MAX_MEM_ALLOC_SIZE || what == CL_DEVICE_GLOBAL_MEM_SIZE
             ? ANSWER(memory)
             : ANSWER(number);
}

/* Whether this call is the one that fails. It may be the end of a thread that was cancelled. */
static bool fails(void)
{
  pthread_testcancel();
  return driver.fails_at > 0 && --driver.fails_at == 0;
}

static cl_int CL_API_CALL fake_GetContextInfo(INFO(cl_context))
{
  const cl_uint count = 1 + driver.more_devices;
  return what == CL_CONTEXT_NUM_DEVICES ? ANSWER(count) : ANSWER(device);
}

static cl_int CL_API_CALL fake_GetCommandQueueInfo(INFO(cl_command_queue))
{
  return what == CL_QUEUE_CONTEXT  ? ANSWER(context)
         : what == CL_QUEUE_DEVICE ? ANSWER(device)
                                   : ANSWER(((fake_queue *)of)->properties);
}

/* Of an image, too. */
static cl_int CL_API_CALL fake_GetImageInfo(INFO(cl_mem))
{
  const fake_mem *it = (const fake_mem *)of;
  const size_t one = 1;
  return fails()                          ? CL_OUT_OF_RESOURCES
         : what == CL_MEM_MAP_COUNT       ? ANSWER(it->maps)
         : what == CL_MEM_SIZE            ? ANSWER(it->bytes)
         : what == CL_MEM_REFERENCE_COUNT ? ANSWER(it->references)
                                          : ANSWER(one);
}

/* Whoever looks at what is not done gives it time. */
static cl_int CL_API_CALL fake_GetEventInfo(INFO(cl_event))
{
  const fake_event *it = (const fake_event *)of;
  driver.looks++;
  ck_assert_int_gt(it->references, 0);
  if (fails())
    return CL_OUT_OF_RESOURCES;
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
  static cl_int CL_API_CALL fake_Retain##object(type of)                                           \
  {                                                                                                \
    return fails() ? CL_OUT_OF_RESOURCES : (add(of, 1), CL_SUCCESS);                               \
  }                                                                                                \
  static cl_int CL_API_CALL fake_Release##object(type of)                                          \
  {                                                                                                \
    if (add(of, -1) == 0)                                                                          \
      at_end;                                                                                      \
    return CL_SUCCESS;                                                                             \
  }

static void end_mem(cl_mem of)
{
  if (((fake_mem *)of)->at_end)
    ((fake_mem *)of)->at_end(of, NULL);
}

COUNTED(Context, cl_context, (void)0)
COUNTED(CommandQueue, cl_command_queue, fake_ReleaseContext(context))
COUNTED(MemObject, cl_mem, end_mem(of))
COUNTED(Event, cl_event, (void)0)

static cl_int CL_API_CALL fake_SetMemObjectDestructorCallback(
    cl_mem of, void(CL_CALLBACK *notify)(cl_mem, void *), void *user_data)
{
  ((fake_mem *)of)->at_end = notify;
  return CL_SUCCESS;
}

/* --- what is made --- */

static cl_context CL_API_CALL fake_CreateContext(
    const cl_context_properties *properties, cl_uint count, const cl_device_id *devices,
    void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *), void *user_data,
    cl_int *code)
{
  driver.references = 1;
  return context;
}

static cl_context CL_API_CALL
fake_CreateContextFromType(const cl_context_properties *properties, cl_device_type type,
                           void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *),
                           void *user_data, cl_int *code)
{
  return fake_CreateContext(properties, 1, NULL, notify, user_data, code);
}

static cl_command_queue CL_API_CALL fake_CreateCommandQueue(cl_context of, cl_device_id on,
                                                            cl_command_queue_properties properties,
                                                            cl_int *code)
{
  add(of, 1);
  ck_assert_uint_lt(driver.queue_count, MOST_QUEUES);
  fake_queue *made = &driver.queues[driver.queue_count++];
  *made = (fake_queue){.references = 1, .properties = properties};
  return (cl_command_queue)made;
}

static fake_event *make_event(fake_queue *of)
{
  ck_assert_uint_lt(driver.event_count, MOST_EVENTS);
  fake_event *made = &driver.events[driver.event_count++];
  *made = (fake_event){1, of, of->given};
  return made;
}

static cl_event CL_API_CALL fake_CreateUserEvent(cl_context of, cl_int *code)
{
  return (cl_event)make_event(&driver.queues[0]);
}

static cl_mem CL_API_CALL fake_CreateBuffer(cl_context of, cl_mem_flags flags, size_t bytes,
                                            void *host, cl_int *code)
{
  const bool is_refused = driver.refusals > 0;
  driver.refusals -= is_refused;
  if (code)
    *code = is_refused ? driver.refusal_code : CL_SUCCESS;
  if (is_refused)
    return NULL;
  const size_t number = __atomic_fetch_add(&driver.mem_count, 1, __ATOMIC_SEQ_CST);
  ck_assert_uint_lt(number, MOST_MEMS);
  fake_mem *made = &driver.mems[number];
  *made = (fake_mem){.references = 1, .bytes = bytes};
  return (cl_mem)made;
}

/* An odd alignment is the pointer, which is not freed. */
static void *CL_API_CALL fake_SVMAlloc(cl_context of, cl_svm_mem_flags flags, size_t bytes,
                                       cl_uint alignment)
{
  return alignment & 1 ? (void *)(uintptr_t)alignment
                       : fake_CreateBuffer(of, flags, bytes, NULL, NULL);
}

static void CL_API_CALL fake_SVMFree(cl_context of, void *pointer)
{
  if (!((uintptr_t)pointer & 1))
    fake_ReleaseMemObject(pointer);
}

/* The test itself does what a callback would. */
static cl_int CL_API_CALL fake_EnqueueSVMFree(cl_command_queue on, cl_uint few, void *pointers[],
                                              void(CL_CALLBACK *free_them)(cl_command_queue,
                                                                           cl_uint, void *[],
                                                                           void *),
                                              void *user_data, WAITS)
{
  return free_them ? CL_SUCCESS : fake_ReleaseMemObject(pointers[0]);
}

static cl_mem CL_API_CALL fake_CreateBufferWithProperties(cl_context of,
                                                          const cl_mem_properties *properties,
                                                          cl_mem_flags flags, size_t bytes,
                                                          void *host, cl_int *code)
{
  ck_assert(properties);
  return fake_CreateBuffer(of, flags, bytes, host, code);
}

/* Of a buffer, and of the driver's memory no more than that. */
static cl_mem CL_API_CALL fake_CreateSubBuffer(cl_mem buffer, cl_mem_flags flags,
                                               cl_buffer_create_type type, const void *region,
                                               cl_int *code)
{
  ck_assert_int_gt(((fake_mem *)buffer)->references, 0);
  return fake_CreateBuffer(context, flags, ((const cl_buffer_region *)region)->size, NULL, code);
}

static cl_mem CL_API_CALL fake_CreateImage(cl_context of, cl_mem_flags flags,
                                           const cl_image_format *format, const cl_image_desc *desc,
                                           void *host, cl_int *code)
{
  ck_assert(!desc->buffer || ((fake_mem *)desc->buffer)->references > 0);
  const size_t rows = desc->image_height ? desc->image_height : 1;
  return fake_CreateBuffer(of, flags, desc->image_width * rows, host, code);
}

static cl_mem CL_API_CALL fake_CreateImageWithProperties(
    cl_context of, const cl_mem_properties *properties, cl_mem_flags flags,
    const cl_image_format *format, const cl_image_desc *desc, void *host, cl_int *code)
{
  return fake_CreateImage(of, flags, format, desc, host, code);
}

#define MAKE(name, bytes, ...)                                                                     \
  static cl_mem CL_API_CALL fake_##name(cl_context of, cl_mem_flags flags, __VA_ARGS__,            \
                                        cl_int *code)                                              \
  {                                                                                                \
    return fake_CreateBuffer(of, flags, bytes, NULL, code);                                        \
  }
MAKE(CreateImage2D, width *height, const cl_image_format *format, size_t width, size_t height,
     size_t row_pitch, void *host)
MAKE(CreateImage3D, width *height *depth, const cl_image_format *format, size_t width,
     size_t height, size_t depth, size_t row_pitch, size_t slice_pitch, void *host)

/* --- work --- */

size_t fake_bytes_in_use(void)
{
  size_t bytes = 0;
  for (const fake_mem *it = driver.mems; it < driver.mems + driver.mem_count; it++)
    if (it->user && (it->references > 0 || it->position > it->user->done))
      bytes += it->bytes;
  return bytes;
}

size_t fake_bytes_of_blocks(void)
{
  size_t bytes = 0;
  for (const fake_mem *it = driver.mems; it < driver.mems + driver.mem_count; it++)
    bytes += it->references > 0 ? it->bytes : 0;
  return bytes;
}

void fake_run_beside(void *(**function)(void *))
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
  fake_mem *it = (fake_mem *)handle;
  ck_assert_int_gt(it->references, 0);
  driver.fills++;
  fake_run_beside(&driver.beside_fill);
  if (driver.fill_code)
    return driver.fill_code;
  if (driver.capacity && !it->user && fake_bytes_in_use() + it->bytes > driver.capacity) {
    fake_run_beside(&driver.beside_lack);
    return CL_MEM_OBJECT_ALLOCATION_FAILURE;
  }
  it->user = (fake_queue *)on;
  it->position = ++it->user->given;
  return CL_SUCCESS;
}

static cl_int CL_API_CALL fake_EnqueueFillBuffer(cl_command_queue on, cl_mem handle,
                                                 const void *pattern, size_t pattern_bytes,
                                                 size_t offset, size_t bytes, WAITS)
{
  driver.waits = count;
  if (!count != !list)
    return CL_INVALID_EVENT_WAIT_LIST;
  for (cl_uint i = 0; i < count; i++)
    ck_assert_int_gt(((const fake_event *)list[i])->references, 0);
  return use_memory(on, handle);
}

#define SUCCEED(name, ...)                                                                         \
  static cl_int CL_API_CALL fake_##name(cl_command_queue on, __VA_ARGS__)                          \
  {                                                                                                \
    return CL_SUCCESS;                                                                             \
  }
SUCCEED(EnqueueNativeKernel, void(CL_CALLBACK *function)(void *), void *arguments, size_t bytes,
        cl_uint mem_count, const cl_mem *mems, const void **places, WAITS)
SUCCEED(SetCommandQueueProperty, cl_command_queue_properties properties, cl_bool enable,
        cl_command_queue_properties *old)

/* A map of a part is no map of the whole. */
static void *CL_API_CALL fake_EnqueueMapBuffer(cl_command_queue on, cl_mem handle, cl_bool blocking,
                                               cl_map_flags flags, size_t offset, size_t bytes,
                                               WAITS, cl_int *code)
{
  ((fake_mem *)handle)->maps++;
  *code = CL_SUCCESS;
  return handle;
}

static cl_int CL_API_CALL fake_EnqueueMarkerWithWaitList(cl_command_queue on, WAITS)
{
  if (fails())
    return CL_OUT_OF_RESOURCES;
  ((fake_queue *)on)->given++;
  if (ended)
    *ended = (cl_event)make_event((fake_queue *)on);
  return CL_SUCCESS;
}

static cl_int CL_API_CALL fake_Flush(cl_command_queue handle)
{
  const fake_queue *of = (const fake_queue *)handle;
  ck_assert_int_gt(of->references, 0);
  return fails() || of->properties & CL_QUEUE_ON_DEVICE ? CL_INVALID_COMMAND_QUEUE : CL_SUCCESS;
}

/* A callback of the program's runs on a thread of the driver's, before it is done. */
static cl_int CL_API_CALL fake_WaitForEvents(cl_uint count, const cl_event *list)
{
  fake_queue *of = ((const fake_event *)list[0])->of;
  const bool is_done = driver.callback != NULL;
  fake_run_beside(&driver.callback);
  of->done = is_done ? of->given : of->done;
  for (cl_uint i = 0; i < count; i++)
    ck_assert(((const fake_event *)list[i])->of->done >= ((const fake_event *)list[i])->position);
  return CL_SUCCESS;
}

static void *CL_API_CALL fake_GetExtensionFunctionAddress(const char *name)
{
  return strstr(name, "Fake") ? (void *)&driver : NULL;
}

static void *CL_API_CALL fake_GetExtensionFunctionAddressForPlatform(cl_platform_id of,
                                                                     const char *name)
{
  return fake_GetExtensionFunctionAddress(name);
}

/* clang-format off */
#define FAKE(name)        .cl##name = fake_##name,
#define SAME(name, other) .cl##name = fake_##other,
const cl_icd_dispatch fake_functions = {
    FAKE(GetDeviceInfo) FAKE(CreateContext) FAKE(GetContextInfo) FAKE(RetainContext)
    FAKE(ReleaseContext) FAKE(CreateCommandQueue) FAKE(GetCommandQueueInfo) FAKE(RetainCommandQueue)
    FAKE(ReleaseCommandQueue) FAKE(Flush) FAKE(CreateBuffer) FAKE(CreateBufferWithProperties)
    FAKE(SVMAlloc) FAKE(SVMFree) FAKE(EnqueueSVMFree) FAKE(CreateSubBuffer) FAKE(CreateImage)
    FAKE(GetImageInfo) FAKE(RetainMemObject) FAKE(ReleaseMemObject)
    FAKE(SetMemObjectDestructorCallback) FAKE(EnqueueFillBuffer) FAKE(EnqueueMapBuffer)
    FAKE(EnqueueMarkerWithWaitList) FAKE(GetEventInfo)
    FAKE(WaitForEvents) FAKE(CreateUserEvent) FAKE(RetainEvent) FAKE(ReleaseEvent)
    FAKE(GetExtensionFunctionAddress) FAKE(GetExtensionFunctionAddressForPlatform)
    FAKE(CreateContextFromType) FAKE(CreateImageWithProperties) FAKE(CreateImage2D)
    FAKE(CreateImage3D) FAKE(EnqueueNativeKernel)
    FAKE(SetCommandQueueProperty) SAME(Finish, Flush)
    SAME(GetMemObjectInfo, GetImageInfo)
};
/* clang-format on */
