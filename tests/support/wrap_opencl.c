/* SPDX-License-Identifier: MIT */
/* OpenCL that is watched: what the linker puts in place of the loader's functions. */
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS /* clEnqueueBarrier, -Marker, -WaitForEvents */
#include "wrap_opencl.h"

#include <pthread.h>
#include <unistd.h>

enum { MOST_PRETENCES = 16, MOST_PRETENDED_BYTES = 64, MOST_TRACE = 8192, MOST_TURNS = 20000 };

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
  unsigned long calls[CLPT_CL_CALL_COUNT];
  char trace[MOST_TRACE]; /* what does not fit is left out */
  size_t trace_length;
  planned_failure failures[CLPT_CL_CALL_COUNT];
  planned_failure any_failure;
  const char *failed;
  pretence pretences[MOST_PRETENCES];
  size_t pretence_count;
  bool pretends_progress;
  cl_int progress;
} watch; /* guarded by the lock, as what follows; that is not reset */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static clpt_cl_live live;
clpt_cl_last_calls clpt_cl_last;

#define NAME(name) #name,
static const char *const names[] = {CLPT_CL_FAILING_CALLS(NAME) CLPT_CL_OTHER_CALLS(NAME)};
#undef NAME
#define FAILING(name) +1
enum { FAILING_COUNT = 0 CLPT_CL_FAILING_CALLS(FAILING) };
#undef FAILING

/* Reads or sets something that the lock guards. */
#define LOCKED(...)                                                                                \
  do {                                                                                             \
    pthread_mutex_lock(&lock);                                                                     \
    __VA_ARGS__;                                                                                   \
    pthread_mutex_unlock(&lock);                                                                   \
  } while (0)

void clpt_cl_reset(void)
{
  LOCKED(memset(&watch, 0, sizeof(watch)));
}

const char *clpt_cl_trace(void)
{
  return watch.trace;
}

unsigned long clpt_cl_calls(clpt_cl_call call)
{
  unsigned long calls;
  LOCKED(calls = watch.calls[call]);
  return calls;
}

void clpt_cl_fail(clpt_cl_call call, unsigned long nth, unsigned long count, cl_int code)
{
  LOCKED(watch.failures[call] =
             ((planned_failure){.code = code, .calls_before = nth, .count = count}));
}

void clpt_cl_fail_any(unsigned long nth, cl_int code)
{
  LOCKED(watch.any_failure =
             ((planned_failure){.code = code, .calls_before = nth, .count = code != CL_SUCCESS}));
}

const char *clpt_cl_failed(void)
{
  const char *failed;
  LOCKED(failed = watch.failed);
  return failed;
}

void clpt_cl_pretend(cl_device_id device, cl_device_info what, const void *value, size_t bytes)
{
  pretence said = {.device = device, .what = what, .bytes = bytes};
  if (watch.pretence_count == MOST_PRETENCES || bytes > MOST_PRETENDED_BYTES)
    abort(); /* a test that wants more raises the bound */
  memcpy(said.value, value, bytes);
  LOCKED(watch.pretences[watch.pretence_count++] = said);
}

void clpt_cl_pretend_text(cl_device_id device, cl_device_info what, const char *text)
{
  clpt_cl_pretend(device, what, text, strlen(text) + 1);
}

void clpt_cl_pretend_vendor(cl_uint vendor)
{
  clpt_cl_pretend(NULL, CL_DEVICE_VENDOR_ID, &vendor, sizeof(vendor));
}

void clpt_cl_pretend_no_pocl(void)
{
  clpt_cl_pretend_text(NULL, CL_DEVICE_VERSION, "OpenCL 3.0 pretended");
}

void clpt_cl_pretend_progress(cl_int status)
{
  LOCKED(watch.pretends_progress = true; watch.progress = status);
}

clpt_cl_live clpt_cl_live_now(void)
{
  clpt_cl_live now;
  LOCKED(now = live);
  return now;
}

void clpt_cl_assert_live(const clpt_cl_live *then)
{
  clpt_cl_live now = clpt_cl_live_now();
  for (int i = 0; i < MOST_TURNS && memcmp(&now, then, sizeof(now)) != 0; i++) {
    usleep(100);
    now = clpt_cl_live_now();
  }
  ck_assert_int_eq(now.contexts, then->contexts);
  ck_assert_int_eq(now.queues, then->queues);
  ck_assert_int_eq(now.mems, then->mems);
  ck_assert_int_eq(now.events, then->events);
  ck_assert_int_eq(now.svm, then->svm);
}

static clpt_cl *fixture;
static clpt_cl_live at_start;

static void open_fixture(void)
{
  clpt_cl_open(fixture, 1);
}

static void close_fixture(void)
{
  clpt_cl_close(fixture);
}

static void setup(void)
{
  clpt_cl_reset();
  at_start = clpt_cl_live_now();
}

static void teardown(void)
{
  clpt_cl_reset();
  clpt_cl_finish(fixture);
  clpt_cl_assert_live(&at_start);
}

TCase *clpt_cl_case(Suite *suite, const char *name, clpt_cl *cl)
{
  TCase *tests = clpt_case(suite, name);
  fixture = cl;
  tcase_add_unchecked_fixture(tests, open_fixture, close_fixture);
  tcase_add_checked_fixture(tests, setup, teardown);
  return tests;
}

/* The code with which this call is to fail, if it is the one. */
static cl_int due_locked(clpt_cl_call call, planned_failure *failure)
{
  if (failure->count == 0)
    return CL_SUCCESS;
  if (failure->calls_before > 0) {
    failure->calls_before--;
    return CL_SUCCESS;
  }
  failure->count--;
  watch.failed = names[call];
  return failure->code;
}

static void note_locked(const char *name)
{
  size_t length = strlen(name);
  if (watch.trace_length + length + 2 > MOST_TRACE)
    return;
  memcpy(watch.trace + watch.trace_length, name, length);
  watch.trace_length += length + 1;
  watch.trace[watch.trace_length - 1] = ' ';
}

/* Notes a call. The code with which it shall fail, or CL_SUCCESS to go on. */
static cl_int enter(clpt_cl_call call)
{
  pthread_mutex_lock(&lock);
  watch.calls[call]++;
  note_locked(names[call]);
  cl_int code = due_locked(call, &watch.failures[call]);
  if (!code && (int)call < FAILING_COUNT)
    code = due_locked(call, &watch.any_failure);
  pthread_mutex_unlock(&lock);
  return code;
}

/* The linker's names: a call to clFinish becomes __wrap_clFinish, __real_clFinish is the loader's.
 * `counted` is what changes with a call that succeeds. */

#define WRAP(name, counted, parameters, arguments)                                                 \
  cl_int __real_##name parameters;                                                                 \
  cl_int __wrap_##name parameters;                                                                 \
  cl_int __wrap_##name parameters                                                                  \
  {                                                                                                \
    cl_int code = enter(CLPT_##name);                                                              \
    code = code ? code : __real_##name arguments;                                                  \
    if (!code)                                                                                     \
      LOCKED(counted);                                                                             \
    return code;                                                                                   \
  }

#define WRAP_CREATE(type, name, counted, parameters, arguments)                                    \
  type __real_##name parameters;                                                                   \
  type __wrap_##name parameters;                                                                   \
  type __wrap_##name parameters                                                                    \
  {                                                                                                \
    cl_int failure = enter(CLPT_##name);                                                           \
    if (failure && failure != CLPT_CL_SILENT && code)                                              \
      *code = failure;                                                                             \
    type made = failure ? NULL : __real_##name arguments;                                          \
    LOCKED(counted);                                                                               \
    return made;                                                                                   \
  }

typedef void(CL_CALLBACK *context_notice)(const char *, const void *, size_t, void *);
typedef void(CL_CALLBACK *mem_notice)(cl_mem, void *);
typedef void(CL_CALLBACK *svm_free)(cl_command_queue, cl_uint, void *[], void *);

WRAP_CREATE(cl_context, clCreateContext, live.contexts += made != NULL,
            (const cl_context_properties *properties, cl_uint devices, const cl_device_id *list,
             context_notice notice, void *user_data, cl_int *code),
            (properties, devices, list, notice, user_data, code))
WRAP_CREATE(cl_command_queue, clCreateCommandQueueWithProperties, live.queues += made != NULL,
            (cl_context context, cl_device_id device, const cl_queue_properties *properties,
             cl_int *code),
            (context, device, properties, code))
WRAP_CREATE(cl_command_queue, clCreateCommandQueue, live.queues += made != NULL,
            (cl_context context, cl_device_id device, cl_command_queue_properties properties,
             cl_int *code),
            (context, device, properties, code))
WRAP_CREATE(cl_mem, clCreateBuffer, live.mems += made != NULL;
            clpt_cl_last.mem_flags = flags,
            (cl_context context, cl_mem_flags flags, size_t bytes, void *host, cl_int *code),
            (context, flags, bytes, host, code))
WRAP_CREATE(cl_mem, clCreateSubBuffer, live.mems += made != NULL,
            (cl_mem parent, cl_mem_flags flags, cl_buffer_create_type type, const void *how,
             cl_int *code),
            (parent, flags, type, how, code))
WRAP_CREATE(cl_event, clCreateUserEvent, live.events += made != NULL,
            (cl_context context, cl_int *code), (context, code))
WRAP(clRetainContext, live.contexts++, (cl_context handle), (handle))
WRAP(clReleaseContext, live.contexts--, (cl_context handle), (handle))
WRAP(clRetainCommandQueue, live.queues++, (cl_command_queue handle), (handle))
WRAP(clReleaseCommandQueue, live.queues--, (cl_command_queue handle), (handle))
WRAP(clRetainMemObject, live.mems++, (cl_mem handle), (handle))
WRAP(clReleaseMemObject, live.mems--, (cl_mem handle), (handle))
WRAP(clRetainEvent, live.events++, (cl_event handle), (handle))
WRAP(clReleaseEvent, live.events--, (cl_event handle), (handle))
WRAP(clGetContextInfo, (void)0,
     (cl_context context, cl_context_info what, size_t bytes, void *out, size_t *bytes_out),
     (context, what, bytes, out, bytes_out))
WRAP(clGetCommandQueueInfo, (void)0,
     (cl_command_queue queue, cl_command_queue_info what, size_t bytes, void *out,
      size_t *bytes_out),
     (queue, what, bytes, out, bytes_out))
WRAP(clEnqueueMigrateMemObjects, live.events += event != NULL,
     (cl_command_queue queue, cl_uint mems, const cl_mem *list, cl_mem_migration_flags flags,
      cl_uint waits, const cl_event *wait_list, cl_event *event),
     (queue, mems, list, flags, waits, wait_list, event))
WRAP(clEnqueueWriteBuffer, live.events += event != NULL,
     (cl_command_queue queue, cl_mem mem, cl_bool blocking, size_t offset, size_t bytes,
      const void *source, cl_uint waits, const cl_event *wait_list, cl_event *event),
     (queue, mem, blocking, offset, bytes, source, waits, wait_list, event))
WRAP(clEnqueueFillBuffer, live.events += event != NULL,
     (cl_command_queue queue, cl_mem mem, const void *pattern, size_t pattern_bytes, size_t offset,
      size_t bytes, cl_uint waits, const cl_event *wait_list, cl_event *event),
     (queue, mem, pattern, pattern_bytes, offset, bytes, waits, wait_list, event))
WRAP(clEnqueueBarrierWithWaitList, live.events += event != NULL,
     (cl_command_queue queue, cl_uint waits, const cl_event *wait_list, cl_event *event),
     (queue, waits, wait_list, event))
WRAP(clEnqueueMarkerWithWaitList, live.events += event != NULL,
     (cl_command_queue queue, cl_uint waits, const cl_event *wait_list, cl_event *event),
     (queue, waits, wait_list, event))
WRAP(clEnqueueMarker, live.events += event != NULL, (cl_command_queue queue, cl_event *event),
     (queue, event))
WRAP(clEnqueueBarrier, (void)0, (cl_command_queue queue), (queue))
WRAP(clEnqueueSVMFree, live.events += event != NULL; live.svm -= pointers;
     clpt_cl_last.svm_free_queue = queue,
     (cl_command_queue queue, cl_uint pointers, void *list[], svm_free free_function,
      void *user_data, cl_uint waits, const cl_event *wait_list, cl_event *event),
     (queue, pointers, list, free_function, user_data, waits, wait_list, event))
WRAP(clWaitForEvents, (void)0, (cl_uint events, const cl_event *list), (events, list))
WRAP(clFlush, (void)0, (cl_command_queue queue), (queue))
WRAP(clFinish, (void)0, (cl_command_queue queue), (queue))
WRAP(clSetMemObjectDestructorCallback, (void)0, (cl_mem mem, mem_notice notice, void *user_data),
     (mem, notice, user_data))

/* PoCL 3.1 has this call in name only, and aborts. A barrier does the same. */
static cl_int __real_clEnqueueWaitForEvents(cl_command_queue queue, cl_uint events,
                                            const cl_event *list)
{
  return __real_clEnqueueBarrierWithWaitList(queue, events, list, NULL);
}

cl_int __wrap_clEnqueueWaitForEvents(cl_command_queue queue, cl_uint events, const cl_event *list);
cl_int __wrap_clEnqueueWaitForEvents(cl_command_queue queue, cl_uint events, const cl_event *list)
{
  cl_int code = enter(CLPT_clEnqueueWaitForEvents);
  return code ? code : __real_clEnqueueWaitForEvents(queue, events, list);
}

void *__real_clSVMAlloc(cl_context context, cl_svm_mem_flags flags, size_t bytes,
                        cl_uint alignment);
void *__wrap_clSVMAlloc(cl_context context, cl_svm_mem_flags flags, size_t bytes,
                        cl_uint alignment);
void *__wrap_clSVMAlloc(cl_context context, cl_svm_mem_flags flags, size_t bytes, cl_uint alignment)
{
  cl_int failure = enter(CLPT_clSVMAlloc);
  void *pointer = failure ? NULL : __real_clSVMAlloc(context, flags, bytes, alignment);
  LOCKED(clpt_cl_last.svm_flags = flags; live.svm += pointer != NULL);
  return pointer;
}

void __real_clSVMFree(cl_context context, void *pointer);
void __wrap_clSVMFree(cl_context context, void *pointer);
void __wrap_clSVMFree(cl_context context, void *pointer)
{
  (void)enter(CLPT_clSVMFree);
  __real_clSVMFree(context, pointer);
  LOCKED(live.svm--);
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
  pthread_mutex_lock(&lock);
  for (size_t i = watch.pretence_count; i > 0 && !found; i--) {
    *said = watch.pretences[i - 1];
    found = said->what == what && (!said->device || said->device == device);
  }
  pthread_mutex_unlock(&lock);
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
  bool pretends;
  LOCKED(pretends = watch.pretends_progress && what == CL_EVENT_COMMAND_EXECUTION_STATUS;
         *status = watch.progress; watch.pretends_progress &= !pretends);
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

#define ENTRY(name) (void (*)(void)) __wrap_##name,
static void (*const wrapped[])(void) = {CLPT_CL_FAILING_CALLS(ENTRY) CLPT_CL_OTHER_CALLS(ENTRY)};
#undef ENTRY

void *__real_dlsym(void *library, const char *symbol);
void *__wrap_dlsym(void *library, const char *symbol);
void *__wrap_dlsym(void *library, const char *symbol)
{
  void *address = __real_dlsym(library, symbol);
  for (size_t i = 0; address && i < CLPT_CL_CALL_COUNT; i++)
    if (strcmp(symbol, names[i]) == 0)
      memcpy(&address, &wrapped[i], sizeof(address)); /* POSIX has them the same size */
  return address;
}
