/* SPDX-License-Identifier: MIT */
#include "watch_opencl.h"

#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { MOST_PRETENCES = 16, MOST_PRETENDED_BYTES = 64, MOST_TURNS = 20000 };

typedef struct planned_failure {
  cl_int code;
  unsigned long calls_before, count; /* of calls that fail after those */
} planned_failure;

typedef struct pretence {
  cl_device_id device; /* NULL: all */
  cl_device_info what;
  size_t bytes;
  unsigned char value[MOST_PRETENDED_BYTES];
} pretence;

static struct {
  size_t trace_length;
  planned_failure failures[CLPT_CL_CALLS + 1];
  pretence pretences[MOST_PRETENCES];
  size_t pretence_count;
  bool pretends_progress;
  cl_int progress;
} watch; /* guarded by the lock, as what follows */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static clpt_cl_live live;
struct clpt_cl_noted clpt_cl_noted;

static clpi_cl_functions real; /* empty: the library's calls are not watched yet */

#define NAME(name) #name,
static const char *const names[] = {CLPI_CL_FUNCTIONS(NAME)};

#define LOCKED(...)                                                                                \
  do {                                                                                             \
    pthread_mutex_lock(&lock);                                                                     \
    __VA_ARGS__;                                                                                   \
    pthread_mutex_unlock(&lock);                                                                   \
  } while (0)

void clpt_cl_fail(unsigned call, unsigned long nth, unsigned long count, cl_int code)
{
  LOCKED(watch.failures[call] = ((planned_failure){code, nth, code ? count : 0}));
}

void clpt_cl_pretend(cl_device_id device, cl_device_info what, const void *value, size_t bytes)
{
  pretence said = {.device = device, .what = what, .bytes = bytes};
  if (watch.pretence_count == MOST_PRETENCES || bytes > MOST_PRETENDED_BYTES)
    abort(); /* a test that wants more raises the bound */
  memcpy(said.value, value, bytes);
  LOCKED(watch.pretences[watch.pretence_count++] = said);
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
  if (failure->count == 0 || (failure->calls_before > 0 && failure->calls_before--))
    return CL_SUCCESS;
  failure->count--;
  clpt_cl_noted.failed = names[call];
  return failure->code;
}

/* Notes a call. The code with which it shall fail, or CL_SUCCESS to go on. */
static cl_int enter(clpt_cl_call call)
{
  pthread_mutex_lock(&lock);
  const size_t room = CLPT_CL_MOST_TRACE - watch.trace_length, length = strlen(names[call]) + 1;
  clpt_cl_noted.calls[call]++;
  if (length < room)
    watch.trace_length +=
        (size_t)snprintf(clpt_cl_noted.trace + watch.trace_length, room, "%s ", names[call]);
  cl_int code = due_locked(call, &watch.failures[call]);
  if (!code && call != CLPT_clReleaseContext && call != CLPT_clReleaseCommandQueue &&
      call != CLPT_clReleaseEvent && call != CLPT_clSVMFree &&
      call != CLPT_clGetExtensionFunctionAddress) /* whose failure nobody hears of */
    code = due_locked(call, &watch.failures[CLPT_CL_ANY]);
  pthread_mutex_unlock(&lock);
  return code;
}

/* --- the calls --- */

/* Parameters of these types, and the arguments that are passed on. */
#define P1(A)                   (A a), (a)
#define P2(A, B)                (A a, B b), (a, b)
#define P3(A, B, C)             (A a, B b, C c), (a, b, c)
#define P4(A, B, C, D)          (A a, B b, C c, D d), (a, b, c, d)
#define P5(A, B, C, D, E)       (A a, B b, C c, D d, E e), (a, b, c, d, e)
#define P7(A, B, C, D, E, F, G) (A a, B b, C c, D d, E e, F f, G g), (a, b, c, d, e, f, g)
#define P8(A, B, C, D, E, F, G, H)                                                                 \
  (A a, B b, C c, D d, E e, F f, G g, H h), (a, b, c, d, e, f, g, h)
#define P9(A, B, C, D, E, F, G, H, I)                                                              \
  (A a, B b, C c, D d, E e, F f, G g, H h, I i), (a, b, c, d, e, f, g, h, i)

/* `counted` is what changes with a call that succeeds. */
#define WATCH(name, counted, ...) WATCH_(name, counted, __VA_ARGS__)
#define WATCH_(name, counted, parameters, arguments)                                               \
  static cl_int watched_##name parameters                                                          \
  {                                                                                                \
    cl_int code = enter(CLPT_##name);                                                              \
    code = code ? code : real.name arguments;                                                      \
    if (!code)                                                                                     \
      LOCKED(counted);                                                                             \
    return code;                                                                                   \
  }

/* The same for what makes an object, and leaves its code in `code`. */
#define WATCH_MAKER(type, name, code, counted, ...)                                                \
  WATCH_MAKER_(type, name, code, counted, __VA_ARGS__)
#define WATCH_MAKER_(type, name, code, counted, parameters, arguments)                             \
  static type watched_##name parameters                                                            \
  {                                                                                                \
    cl_int failure = enter(CLPT_##name), *told = code;                                             \
    if (failure && failure != CLPT_CL_SILENT && told)                                              \
      *told = failure;                                                                             \
    type made = failure ? NULL : real.name arguments;                                              \
    LOCKED(counted);                                                                               \
    return made;                                                                                   \
  }

typedef void(CL_CALLBACK *mem_notice)(cl_mem, void *);
typedef void(CL_CALLBACK *svm_free)(cl_command_queue, cl_uint, void *[], void *);

WATCH_MAKER(cl_command_queue, clCreateCommandQueue, d, live.queues += made != NULL,
            P4(cl_context, cl_device_id, cl_command_queue_properties, cl_int *))
WATCH_MAKER(cl_mem, clCreateBuffer, e, clpt_cl_noted.mem_flags = b;
            live.mems += made != NULL, P5(cl_context, cl_mem_flags, size_t, void *, cl_int *))
WATCH_MAKER(cl_mem, clCreateSubBuffer, e, live.mems += made != NULL,
            P5(cl_mem, cl_mem_flags, cl_buffer_create_type, const void *, cl_int *))
WATCH_MAKER(void *, clSVMAlloc, NULL, clpt_cl_noted.svm_flags = b;
            live.svm += made != NULL, P4(cl_context, cl_svm_mem_flags, size_t, cl_uint))
WATCH_MAKER(void *, clGetExtensionFunctionAddress, NULL, (void)made, P1(const char *))
WATCH(clRetainContext, live.contexts++, P1(cl_context))
WATCH(clReleaseContext, live.contexts--, P1(cl_context))
WATCH(clRetainCommandQueue, live.queues++, P1(cl_command_queue))
WATCH(clReleaseCommandQueue, live.queues--, P1(cl_command_queue))
WATCH(clReleaseMemObject, live.mems--, P1(cl_mem))
WATCH(clRetainEvent, live.events++, P1(cl_event))
WATCH(clReleaseEvent, live.events--, P1(cl_event))
WATCH(clGetContextInfo, (void)0, P5(cl_context, cl_context_info, size_t, void *, size_t *))
WATCH(clGetMemObjectInfo, (void)0, P5(cl_mem, cl_mem_info, size_t, void *, size_t *))
WATCH(clGetCommandQueueInfo, (void)0,
      P5(cl_command_queue, cl_command_queue_info, size_t, void *, size_t *))
WATCH(clEnqueueMigrateMemObjects, live.events += g != NULL,
      P7(cl_command_queue, cl_uint, const cl_mem *, cl_mem_migration_flags, cl_uint,
         const cl_event *, cl_event *))
WATCH(clEnqueueWriteBuffer, live.events += i != NULL,
      P9(cl_command_queue, cl_mem, cl_bool, size_t, size_t, const void *, cl_uint, const cl_event *,
         cl_event *))
WATCH(clEnqueueFillBuffer, live.events += i != NULL,
      P9(cl_command_queue, cl_mem, const void *, size_t, size_t, size_t, cl_uint, const cl_event *,
         cl_event *))
WATCH(clEnqueueBarrierWithWaitList, live.events += d != NULL,
      P4(cl_command_queue, cl_uint, const cl_event *, cl_event *))
WATCH(clEnqueueMarkerWithWaitList, live.events += d != NULL,
      P4(cl_command_queue, cl_uint, const cl_event *, cl_event *))
WATCH(clEnqueueMarker, live.events += b != NULL, P2(cl_command_queue, cl_event *))
WATCH(clEnqueueBarrier, (void)0, P1(cl_command_queue))
WATCH(clEnqueueSVMFree, live.events += h != NULL; live.svm -= b;
      clpt_cl_noted.svm_free_queue = a, P8(cl_command_queue, cl_uint, void **, svm_free, void *,
                                           cl_uint, const cl_event *, cl_event *))
WATCH(clWaitForEvents, (void)0, P2(cl_uint, const cl_event *))
WATCH(clFlush, (void)0, P1(cl_command_queue))
WATCH(clFinish, (void)0, P1(cl_command_queue))
WATCH(clSetMemObjectDestructorCallback, (void)0, P3(cl_mem, mem_notice, void *))

/* PoCL 3.1 has this call in name only, and aborts. A barrier does the same. */
static cl_int watched_clEnqueueWaitForEvents(cl_command_queue queue, cl_uint events,
                                             const cl_event *list)
{
  cl_int code = enter(CLPT_clEnqueueWaitForEvents);
  return code ? code : real.clEnqueueBarrierWithWaitList(queue, events, list, NULL);
}

static void watched_clSVMFree(cl_context context, void *pointer)
{
  (void)enter(CLPT_clSVMFree);
  real.clSVMFree(context, pointer);
  LOCKED(live.svm--);
}

/* clGetDeviceInfo, with what is pretended. */
static cl_int watched_clGetDeviceInfo(cl_device_id device, cl_device_info what, size_t bytes,
                                      void *out, size_t *bytes_out)
{
  const pretence *said = NULL;
  cl_int code = enter(CLPT_clGetDeviceInfo);
  for (size_t i = 0; i < watch.pretence_count; i++) /* which no other thread adds to meanwhile */
    if (watch.pretences[i].what == what &&
        (!watch.pretences[i].device || watch.pretences[i].device == device))
      said = &watch.pretences[i];
  if (code || !said)
    return code ? code : real.clGetDeviceInfo(device, what, bytes, out, bytes_out);
  if (out && bytes < said->bytes)
    return CL_INVALID_VALUE;
  if (out)
    memcpy(out, said->value, said->bytes);
  if (bytes_out)
    *bytes_out = said->bytes;
  return CL_SUCCESS;
}

static cl_int watched_clGetEventInfo(cl_event event, cl_event_info what, size_t bytes, void *out,
                                     size_t *bytes_out)
{
  cl_int code = enter(CLPT_clGetEventInfo), progress;
  bool pretends;
  LOCKED(pretends = !code && watch.pretends_progress && what == CL_EVENT_COMMAND_EXECUTION_STATUS;
         progress = watch.progress; watch.pretends_progress &= !pretends);
  if (pretends)
    memcpy(out, &progress, sizeof(progress));
  return code || pretends ? code : real.clGetEventInfo(event, what, bytes, out, bytes_out);
}

void clpt_cl_reset(void)
{
#define WATCHED(name) .name = watched_##name,
  static const clpi_cl_functions watched = {CLPI_CL_FUNCTIONS(WATCHED)};
  if (!real.clFinish) {
    clpt_ok(clpi_cl_load());
    real = clpi_cl;
    clpi_cl_use(&watched);
  }
  LOCKED(memset(&watch, 0, sizeof(watch)); memset(&clpt_cl_noted, 0, sizeof(clpt_cl_noted)));
}
