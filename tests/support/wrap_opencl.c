/* SPDX-License-Identifier: MIT */
/* OpenCL that is watched: what the linker puts in place of the loader's functions. */
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS /* clEnqueueBarrier, -Marker, -WaitForEvents */
#include "wrap_opencl.h"

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PRETENCES = 8, MOST_PRETENDED_BYTES = 64 };

typedef struct planned_failure {
  cl_int code;
  unsigned long calls_before;
  unsigned long count; /* of calls that fail after those */
} planned_failure;

typedef struct pretence {
  cl_device_id device; /* NULL: all */
  cl_device_info what;
  size_t bytes;
  unsigned char value[MOST_PRETENDED_BYTES];
} pretence;

static struct {
  pthread_mutex_t lock; /* guards all below */
  unsigned long calls[CLPT_CL_CALL_COUNT];
  planned_failure failures[CLPT_CL_CALL_COUNT];
  planned_failure any_failure;
  bool failed;
  cl_mem_flags last_mem_flags;
  cl_svm_mem_flags last_svm_flags;
  cl_command_queue last_svm_free_queue;
  pretence pretences[MOST_PRETENCES];
  size_t pretence_count;
  bool pretends_progress;
  cl_int progress;
} watch = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Guarded by watch.lock too, but not reset. */
static long live_contexts, live_queues, live_mems, live_events, live_svm;

static void lock(void)
{
  pthread_mutex_lock(&watch.lock);
}

static void unlock(void)
{
  pthread_mutex_unlock(&watch.lock);
}

void clpt_cl_reset(void)
{
  lock();
  memset(watch.calls, 0, sizeof(watch.calls));
  memset(watch.failures, 0, sizeof(watch.failures));
  watch.any_failure = (planned_failure){0};
  watch.failed = false;
  watch.pretence_count = 0;
  watch.pretends_progress = false;
  unlock();
}

unsigned long clpt_cl_calls(clpt_cl_call call)
{
  lock();
  unsigned long calls = watch.calls[call];
  unlock();
  return calls;
}

void clpt_cl_fail(clpt_cl_call call, unsigned long nth, cl_int code)
{
  lock();
  watch.failures[call] = (planned_failure){.code = code, .calls_before = nth, .count = 1};
  unlock();
}

void clpt_cl_fail_next(clpt_cl_call call, unsigned long count, cl_int code)
{
  lock();
  watch.failures[call] = (planned_failure){.code = code, .count = count};
  unlock();
}

void clpt_cl_fail_all(clpt_cl_call call, cl_int code)
{
  lock();
  watch.failures[call] = (planned_failure){.code = code, .count = ULONG_MAX};
  unlock();
}

void clpt_cl_fail_any(unsigned long nth, cl_int code)
{
  lock();
  watch.any_failure = (planned_failure){.code = code, .calls_before = nth, .count = 1};
  unlock();
}

bool clpt_cl_failed(void)
{
  lock();
  bool failed = watch.failed;
  unlock();
  return failed;
}

void clpt_cl_pretend(cl_device_id device, cl_device_info what, const void *value, size_t bytes)
{
  lock();
  if (watch.pretence_count == MOST_PRETENCES || bytes > MOST_PRETENDED_BYTES)
    abort(); /* a test that wants more raises the bound */
  pretence *said = &watch.pretences[watch.pretence_count++];
  *said = (pretence){.device = device, .what = what, .bytes = bytes};
  memcpy(said->value, value, bytes);
  unlock();
}

void clpt_cl_pretend_vendor(cl_uint vendor)
{
  clpt_cl_pretend(NULL, CL_DEVICE_VENDOR_ID, &vendor, sizeof(vendor));
}

void clpt_cl_pretend_no_pocl(void)
{
  static const char version[] = "OpenCL 3.0 pretended";
  clpt_cl_pretend(NULL, CL_DEVICE_VERSION, version, sizeof(version));
}

void clpt_cl_pretend_progress(cl_int status)
{
  lock();
  watch.pretends_progress = true;
  watch.progress = status;
  unlock();
}

cl_mem_flags clpt_cl_last_mem_flags(void)
{
  lock();
  cl_mem_flags flags = watch.last_mem_flags;
  unlock();
  return flags;
}

cl_svm_mem_flags clpt_cl_last_svm_flags(void)
{
  lock();
  cl_svm_mem_flags flags = watch.last_svm_flags;
  unlock();
  return flags;
}

cl_command_queue clpt_cl_last_svm_free_queue(void)
{
  lock();
  cl_command_queue queue = watch.last_svm_free_queue;
  unlock();
  return queue;
}

static long read_live(const long *live)
{
  lock();
  long count = *live;
  unlock();
  return count;
}

long clpt_cl_live_contexts(void)
{
  return read_live(&live_contexts);
}

long clpt_cl_live_queues(void)
{
  return read_live(&live_queues);
}

long clpt_cl_live_mems(void)
{
  return read_live(&live_mems);
}

long clpt_cl_live_events(void)
{
  return read_live(&live_events);
}

long clpt_cl_live_svm(void)
{
  return read_live(&live_svm);
}

/* The code with which this call is to fail, if it is the one. */
static cl_int due(planned_failure *failure)
{
  if (failure->count == 0)
    return CL_SUCCESS;
  if (failure->calls_before > 0) {
    failure->calls_before--;
    return CL_SUCCESS;
  }
  failure->count--;
  watch.failed = true;
  return failure->code;
}

/* Counts a call. The code with which it shall fail, or CL_SUCCESS to go on. */
static cl_int enter(clpt_cl_call call)
{
  lock();
  watch.calls[call]++;
  cl_int code = due(&watch.failures[call]);
  if (!code && call < CLPT_CL_TAKING_COUNT)
    code = due(&watch.any_failure);
  unlock();
  return code;
}

static void tell(cl_int failure, cl_int *code)
{
  if (failure && failure != CLPT_CL_SILENT && code)
    *code = failure;
}

static void count(long *live, long change)
{
  lock();
  *live += change;
  unlock();
}

/* The linker's names: a call to clFinish becomes __wrap_clFinish, __real_clFinish is the loader's.
 */

#define WRAP(name, parameters, arguments)                                                          \
  cl_int __real_##name parameters;                                                                 \
  cl_int __wrap_##name parameters;                                                                 \
  cl_int __wrap_##name parameters                                                                  \
  {                                                                                                \
    cl_int code = enter(CLPT_##name);                                                              \
    return code ? code : __real_##name arguments;                                                  \
  }

/* For what hands an event out, if it is asked to. */
#define WRAP_EVENT(name, parameters, arguments)                                                    \
  cl_int __real_##name parameters;                                                                 \
  cl_int __wrap_##name parameters;                                                                 \
  cl_int __wrap_##name parameters                                                                  \
  {                                                                                                \
    cl_int code = enter(CLPT_##name);                                                              \
    code = code ? code : __real_##name arguments;                                                  \
    count(&live_events, !code && event);                                                           \
    return code;                                                                                   \
  }

#define WRAP_COUNTED(name, handle_type, live, change)                                              \
  cl_int __real_##name(handle_type handle);                                                        \
  cl_int __wrap_##name(handle_type handle);                                                        \
  cl_int __wrap_##name(handle_type handle)                                                         \
  {                                                                                                \
    cl_int code = enter(CLPT_##name);                                                              \
    code = code ? code : __real_##name(handle);                                                    \
    count(&(live), code ? 0 : (change));                                                           \
    return code;                                                                                   \
  }

#define WRAP_CREATE(type, name, live, parameters, arguments)                                       \
  type __real_##name parameters;                                                                   \
  type __wrap_##name parameters;                                                                   \
  type __wrap_##name parameters                                                                    \
  {                                                                                                \
    cl_int failure = enter(CLPT_##name);                                                           \
    tell(failure, code);                                                                           \
    type created = failure ? NULL : __real_##name arguments;                                       \
    count(&(live), created != NULL);                                                               \
    return created;                                                                                \
  }

typedef void(CL_CALLBACK *context_notice)(const char *, const void *, size_t, void *);

WRAP_CREATE(cl_context, clCreateContext, live_contexts,
            (const cl_context_properties *properties, cl_uint devices, const cl_device_id *list,
             context_notice notice, void *user_data, cl_int *code),
            (properties, devices, list, notice, user_data, code))
WRAP_CREATE(cl_command_queue, clCreateCommandQueueWithProperties, live_queues,
            (cl_context context, cl_device_id device, const cl_queue_properties *properties,
             cl_int *code),
            (context, device, properties, code))
WRAP_CREATE(cl_command_queue, clCreateCommandQueue, live_queues,
            (cl_context context, cl_device_id device, cl_command_queue_properties properties,
             cl_int *code),
            (context, device, properties, code))
WRAP_COUNTED(clRetainContext, cl_context, live_contexts, 1)
WRAP_COUNTED(clReleaseContext, cl_context, live_contexts, -1)
WRAP_COUNTED(clRetainCommandQueue, cl_command_queue, live_queues, 1)
WRAP_COUNTED(clReleaseCommandQueue, cl_command_queue, live_queues, -1)
WRAP_COUNTED(clReleaseMemObject, cl_mem, live_mems, -1)
WRAP_COUNTED(clRetainEvent, cl_event, live_events, 1)
WRAP_COUNTED(clReleaseEvent, cl_event, live_events, -1)
WRAP_CREATE(cl_mem, clCreateSubBuffer, live_mems,
            (cl_mem parent, cl_mem_flags flags, cl_buffer_create_type type, const void *how,
             cl_int *code),
            (parent, flags, type, how, code))
WRAP_CREATE(cl_event, clCreateUserEvent, live_events, (cl_context context, cl_int *code),
            (context, code))

WRAP(clGetContextInfo,
     (cl_context context, cl_context_info what, size_t bytes, void *out, size_t *bytes_out),
     (context, what, bytes, out, bytes_out))
WRAP(clGetCommandQueueInfo,
     (cl_command_queue queue, cl_command_queue_info what, size_t bytes, void *out,
      size_t *bytes_out),
     (queue, what, bytes, out, bytes_out))
WRAP_EVENT(clEnqueueMigrateMemObjects,
           (cl_command_queue queue, cl_uint mems, const cl_mem *list, cl_mem_migration_flags flags,
            cl_uint waits, const cl_event *wait_list, cl_event *event),
           (queue, mems, list, flags, waits, wait_list, event))
WRAP_EVENT(clEnqueueWriteBuffer,
           (cl_command_queue queue, cl_mem mem, cl_bool blocking, size_t offset, size_t bytes,
            const void *source, cl_uint waits, const cl_event *wait_list, cl_event *event),
           (queue, mem, blocking, offset, bytes, source, waits, wait_list, event))
WRAP_EVENT(clEnqueueFillBuffer,
           (cl_command_queue queue, cl_mem mem, const void *pattern, size_t pattern_bytes,
            size_t offset, size_t bytes, cl_uint waits, const cl_event *wait_list, cl_event *event),
           (queue, mem, pattern, pattern_bytes, offset, bytes, waits, wait_list, event))
WRAP_EVENT(clEnqueueBarrierWithWaitList,
           (cl_command_queue queue, cl_uint waits, const cl_event *wait_list, cl_event *event),
           (queue, waits, wait_list, event))
WRAP_EVENT(clEnqueueMarkerWithWaitList,
           (cl_command_queue queue, cl_uint waits, const cl_event *wait_list, cl_event *event),
           (queue, waits, wait_list, event))
WRAP_EVENT(clEnqueueMarker, (cl_command_queue queue, cl_event *event), (queue, event))
WRAP(clEnqueueBarrier, (cl_command_queue queue), (queue))

/* PoCL 3.1 has this call in name only, and aborts. A barrier does the same. */
cl_int __wrap_clEnqueueWaitForEvents(cl_command_queue queue, cl_uint events, const cl_event *list);
cl_int __wrap_clEnqueueWaitForEvents(cl_command_queue queue, cl_uint events, const cl_event *list)
{
  cl_int code = enter(CLPT_clEnqueueWaitForEvents);
  return code ? code : __real_clEnqueueBarrierWithWaitList(queue, events, list, NULL);
}

WRAP(clWaitForEvents, (cl_uint events, const cl_event *list), (events, list))
WRAP(clFlush, (cl_command_queue queue), (queue))
WRAP(clFinish, (cl_command_queue queue), (queue))

typedef void(CL_CALLBACK *mem_notice)(cl_mem, void *);

WRAP(clSetMemObjectDestructorCallback, (cl_mem mem, mem_notice notice, void *user_data),
     (mem, notice, user_data))

void *__real_clSVMAlloc(cl_context context, cl_svm_mem_flags flags, size_t bytes,
                        cl_uint alignment);
void *__wrap_clSVMAlloc(cl_context context, cl_svm_mem_flags flags, size_t bytes,
                        cl_uint alignment);
void *__wrap_clSVMAlloc(cl_context context, cl_svm_mem_flags flags, size_t bytes, cl_uint alignment)
{
  cl_int failure = enter(CLPT_clSVMAlloc);
  void *pointer = failure ? NULL : __real_clSVMAlloc(context, flags, bytes, alignment);
  lock();
  watch.last_svm_flags = flags;
  live_svm += pointer != NULL;
  unlock();
  return pointer;
}

void __real_clSVMFree(cl_context context, void *pointer);
void __wrap_clSVMFree(cl_context context, void *pointer);
void __wrap_clSVMFree(cl_context context, void *pointer)
{
  (void)enter(CLPT_clSVMFree);
  __real_clSVMFree(context, pointer);
  count(&live_svm, -1);
}

typedef void(CL_CALLBACK *svm_free)(cl_command_queue, cl_uint, void *[], void *);

cl_int __real_clEnqueueSVMFree(cl_command_queue queue, cl_uint pointers, void *list[],
                               svm_free free_function, void *user_data, cl_uint waits,
                               const cl_event *wait_list, cl_event *event);
cl_int __wrap_clEnqueueSVMFree(cl_command_queue queue, cl_uint pointers, void *list[],
                               svm_free free_function, void *user_data, cl_uint waits,
                               const cl_event *wait_list, cl_event *event);
cl_int __wrap_clEnqueueSVMFree(cl_command_queue queue, cl_uint pointers, void *list[],
                               svm_free free_function, void *user_data, cl_uint waits,
                               const cl_event *wait_list, cl_event *event)
{
  cl_int code = enter(CLPT_clEnqueueSVMFree);
  if (!code)
    code = __real_clEnqueueSVMFree(queue, pointers, list, free_function, user_data, waits,
                                   wait_list, event);
  lock();
  watch.last_svm_free_queue = queue;
  live_svm -= code ? 0 : (long)pointers;
  live_events += !code && event;
  unlock();
  return code;
}

cl_mem __real_clCreateBuffer(cl_context context, cl_mem_flags flags, size_t bytes, void *host,
                             cl_int *code);
cl_mem __wrap_clCreateBuffer(cl_context context, cl_mem_flags flags, size_t bytes, void *host,
                             cl_int *code);
cl_mem __wrap_clCreateBuffer(cl_context context, cl_mem_flags flags, size_t bytes, void *host,
                             cl_int *code)
{
  cl_int failure = enter(CLPT_clCreateBuffer);
  tell(failure, code);
  cl_mem created = failure ? NULL : __real_clCreateBuffer(context, flags, bytes, host, code);
  lock();
  watch.last_mem_flags = flags;
  live_mems += created != NULL;
  unlock();
  return created;
}

/* Answers as clGetDeviceInfo does. */
static cl_int answer(const void *said, size_t said_bytes, size_t bytes, void *out,
                     size_t *bytes_out)
{
  if (out && bytes < said_bytes)
    return CL_INVALID_VALUE;
  if (out)
    memcpy(out, said, said_bytes);
  if (bytes_out)
    *bytes_out = said_bytes;
  return CL_SUCCESS;
}

/* Copies what is pretended of a device to `*said`; false: nothing is. */
static bool find_pretence(cl_device_id device, cl_device_info what, pretence *said)
{
  bool found = false;
  lock();
  for (size_t i = watch.pretence_count; i > 0 && !found; i--) {
    *said = watch.pretences[i - 1];
    found = said->what == what && (!said->device || said->device == device);
  }
  unlock();
  return found;
}

cl_int __real_clGetDeviceInfo(cl_device_id device, cl_device_info what, size_t bytes, void *out,
                              size_t *bytes_out);
cl_int __wrap_clGetDeviceInfo(cl_device_id device, cl_device_info what, size_t bytes, void *out,
                              size_t *bytes_out);
cl_int __wrap_clGetDeviceInfo(cl_device_id device, cl_device_info what, size_t bytes, void *out,
                              size_t *bytes_out)
{
  cl_int code = enter(CLPT_clGetDeviceInfo);
  pretence said;
  if (code)
    return code;
  if (find_pretence(device, what, &said))
    return answer(said.value, said.bytes, bytes, out, bytes_out);
  return __real_clGetDeviceInfo(device, what, bytes, out, bytes_out);
}

/* Whether the answer to a question about an event's progress is made up; then to `*status`. */
static bool pretends_progress(cl_event_info what, cl_int *status)
{
  lock();
  bool pretends = watch.pretends_progress && what == CL_EVENT_COMMAND_EXECUTION_STATUS;
  if (pretends) {
    *status = watch.progress;
    watch.pretends_progress = false;
  }
  unlock();
  return pretends;
}

cl_int __real_clGetEventInfo(cl_event event, cl_event_info what, size_t bytes, void *out,
                             size_t *bytes_out);
cl_int __wrap_clGetEventInfo(cl_event event, cl_event_info what, size_t bytes, void *out,
                             size_t *bytes_out);
cl_int __wrap_clGetEventInfo(cl_event event, cl_event_info what, size_t bytes, void *out,
                             size_t *bytes_out)
{
  cl_int status;
  cl_int code = enter(CLPT_clGetEventInfo);
  if (code)
    return code;
  if (pretends_progress(what, &status))
    return answer(&status, sizeof(status), bytes, out, bytes_out);
  return __real_clGetEventInfo(event, what, bytes, out, bytes_out);
}

/* --- what the library finds --- */

#define ENTRY(name) {#name, (void (*)(void))__wrap_##name},
static const struct {
  const char *name;
  void (*function)(void);
} wrapped[] = {CLPT_CL_TAKING_CALLS(ENTRY) CLPT_CL_RELEASING_CALLS(ENTRY)};
#undef ENTRY

void *__real_dlsym(void *library, const char *symbol);
void *__wrap_dlsym(void *library, const char *symbol);
void *__wrap_dlsym(void *library, const char *symbol)
{
  void *address = __real_dlsym(library, symbol);
  for (size_t i = 0; address && i < sizeof(wrapped) / sizeof(wrapped[0]); i++)
    if (strcmp(symbol, wrapped[i].name) == 0)
      memcpy(&address, &wrapped[i].function, sizeof(address)); /* POSIX has them the same size */
  return address;
}
