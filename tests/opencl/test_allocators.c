/* SPDX-License-Identifier: MIT */
/* The allocators of clpool/opencl.h, of every kind and on every sort of device, as one table: which
 * calls of OpenCL each operation makes. Each of these calls fails in turn, with each code: the
 * status, the native code, the message and what is left behind follow. Then what is told of them,
 * and how frees and marks keep to the order of queues. Devices are pretended. */
#include "core/allocator/allocator.h"
#include "support/failmalloc.h"
#include "support/pools.h"
#include "support/watch_opencl.h"
#include "support/workers.h"

#include <clpool/opencl.h>

enum { BYTES = 4096, PART = 1024 };

/* --- kinds of allocators --- */

/* NVIDIA's driver does not stand what other vendors' do. */
enum { NVIDIA = 0x10de, ANOTHER = 1 };

typedef enum home { NONE, IN_ORDER, OUT_OF_ORDER } home;

typedef struct kind {
  const char *name;
  const char *device; /* its version */
  cl_uint vendor;
  home home;
  /* The calls of an operation: their names; NULL: there is none. */
  const char *allocate, *free, *free_behind, *split, *unsplit, *drain;
} kind;

#define BUFFER      "clReleaseMemObject ", NULL, "clCreateSubBuffer ", "clReleaseMemObject "
#define SVM_FREE    "clEnqueueBarrierWithWaitList clEnqueueSVMFree clFlush "
#define NEW         "OpenCL 3.0 pretended"
#define NEW_VERSION NEW, ANOTHER
#define OLD_VERSION "OpenCL 1.1 x", ANOTHER

/* An immediate allocator makes sure of memory in a way that the device has and stands. */
static const kind kinds[] = {
    {"cl-deferred", "OpenCL 3.0 x", NVIDIA, NONE, "clCreateBuffer ", BUFFER, NULL},
    {"cl-deferred", OLD_VERSION, NONE, "clCreateBuffer ", BUFFER, NULL},
    {"cl-immediate", NEW_VERSION, IN_ORDER, "clCreateBuffer clEnqueueMigrateMemObjects ", BUFFER,
     "clFinish "},
    {"cl-immediate", "OpenCL 1.2 x", ANOTHER, OUT_OF_ORDER,
     "clCreateBuffer clEnqueueMigrateMemObjects clEnqueueBarrierWithWaitList ", BUFFER,
     "clFinish "},
    {"cl-immediate", "OpenCL 3.0 x", NVIDIA, IN_ORDER, "clCreateBuffer clEnqueueFillBuffer ",
     BUFFER, "clFinish "},
    {"cl-immediate", OLD_VERSION, IN_ORDER, "clCreateBuffer clEnqueueWriteBuffer ", BUFFER,
     "clFinish "},
    {"cl-immediate", "OpenCL 1.0 x", ANOTHER, OUT_OF_ORDER,
     "clCreateBuffer clEnqueueWriteBuffer clEnqueueBarrier ", BUFFER, "clFinish "},
    {"cl-svm", NEW_VERSION, NONE, "clSVMAlloc ", "clSVMFree ", SVM_FREE, "", "", ""},
    {"cl-svm", NEW_VERSION, IN_ORDER, "clSVMAlloc ", SVM_FREE, SVM_FREE, "", "", ""},
    {"cl-svm", NEW_VERSION, OUT_OF_ORDER, "clSVMAlloc ", SVM_FREE, SVM_FREE, "", "", ""},
    {"cl-svm", "OpenCL 3.0 x", NVIDIA, IN_ORDER, "clSVMAlloc ", "clFinish clSVMFree ", NULL, "", "",
     ""},
};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]), SVM_KIND = 7 };

static clpt_cl cl;

/* What a test has: an allocator of its kind, and what the steps made. */
static const kind *it;
static clp_allocator *allocator;
static clp_memory memory, part;
static void *mark;
static bool is_done;

static bool is_svm(void)
{
  return strcmp(it->name, "cl-svm") == 0;
}

static void pretend(void)
{
  clpt_cl_reset();
  clpt_cl_pretend_text(NULL, CL_DEVICE_VERSION, it->device);
  clpt_cl_pretend(NULL, CL_DEVICE_VENDOR_ID, &it->vendor, sizeof(it->vendor));
}

static cl_command_queue home_queue(void)
{
  return it->home == NONE ? NULL : it->home == IN_ORDER ? cl.queue : cl.out_of_order;
}

static clp_status create_with(cl_mem_flags flags)
{
  clp_cl_svm_options options = {sizeof(options), flags, 0, home_queue()};
  allocator = (clp_allocator *)&cl;
  clp_status status = is_svm() ? clp_cl_svm_allocator_create(cl.context, &options, &allocator)
                      : it->home == NONE
                          ? clp_cl_deferred_allocator_create(cl.context, flags, &allocator)
                          : clp_cl_immediate_allocator_create(home_queue(), flags, &allocator);
  ck_assert(!status == (allocator != NULL));
  return status;
}

static clp_status allocate(void)
{
  clp_status status = clp_allocator_allocate(allocator, BYTES, &memory);
  ck_assert(!status == (memory != 0));
  return status;
}

#define ASK(name, ...) allocator->ops.name(allocator->self, __VA_ARGS__)

/* One step of a test; without a status of its own, it succeeds. */
static clp_status run(char step)
{
#define DONE(...) ((__VA_ARGS__), (clp_status)CLP_SUCCESS)
  static clp_stream of_frees;
  return step == 'e'   ? DONE(clp_allocator_release(allocator), pretend()) /* the next is to come */
         : step == 'C' ? create_with(0)
         : step == 'A' ? allocate()
         : step == 'F' ? clp_allocator_free(allocator, memory, BYTES)
         : step == 'B' ? ASK(free_on, memory, BYTES, cl.other) /* behind */
         : step == 'S' ? ASK(split, memory, PART, PART, &part)
         : step == 'U' ? ASK(unsplit, part, PART)
         : step == 'D' ? allocator->ops.drain(allocator->self)
         : step == 'd' ? DONE((void)run('D')) /* no free is pending any more */
         : step == 'R' ? ASK(stream_retain, cl.other)
         : step == 'r' ? DONE(ASK(stream_release, cl.other))
         : step == 's' ? DONE(clpt_cl_stop(&cl, cl.other))
         : step == 'g' ? DONE(clpt_cl_go_all())
         : step == 'M' ? ASK(mark_create, cl.other, &mark)
         : step == 'm' ? DONE(ASK(mark_destroy, mark))
         : step == '!' ? DONE(clpt_cl_pretend_progress(CL_OUT_OF_RESOURCES)) /* at the next look */
         : step == 'L' ? ASK(mark_is_done, mark, &is_done)
         : step == 'W' ? ASK(stream_wait, cl.queue, mark)
         : step == 'O' ? ASK(stream_wait, cl.out_of_order, mark)
         : step == 'H' ? ASK(host_wait, mark)
         : step == 'Q' ? ASK(free_stream, &of_frees)
                       : (clp_status)(ASK(stream_is_in_order, cl.other) ? CLP_SUCCESS : CLP_BUSY);
}

static void must(const char *steps)
{
  while (*steps)
    clpt_ok(run(*steps++));
}

/* False: the device has no such memory, or does not stand it. */
static bool begin(int number)
{
  it = &kinds[number];
  if ((is_svm() && !clpt_cl_has(&cl, CLPT_SVM)) ||
      (clpt_cl_is(&cl, CLPT_NVIDIA_PLATFORM) && it->vendor != NVIDIA))
    return false;
  pretend();
  must("C");
  clpt_cl_reset();
  return true;
}

/* --- operations, each with what it needs before and what ends it --- */

#define EVENT  "clGetEventInfo "
#define QUEUE  "clGetCommandQueueInfo "
#define MARKER "clEnqueueMarkerWithWaitList "
#define OLD    "clEnqueueMarker "
#define WAIT   "clEnqueueWaitForEvents "
#define REACH  "gHm"

/* Those of all kinds, but that OpenCL 1.1 has calls of its own. A mark that has failed is set anew,
 * since other work that it stands for may still run. */
static const struct operation {
  const char *before, *after;
  char run;
  const char *calls, *calls_on_1_1; /* NULL: the kind says; as the other */
} operations[] = {
    {"e", "", 'C', "any", NULL},
    {"", "F", 'A', NULL, NULL},
    {"A", "d", 'F', NULL, NULL},
    {"A", "d", 'B', NULL, NULL},
    {"A", "UF", 'S', NULL, NULL},
    {"AS", "F", 'U', NULL, NULL},
    {"", "", 'D', NULL, NULL},
    {"", "r", 'R', QUEUE "clRetainCommandQueue ", NULL},
    {"", "m", 'M', "clRetainCommandQueue " MARKER "clFlush ",
     "clRetainCommandQueue " OLD "clFlush "},
    {"sM", REACH, 'L', EVENT, NULL},
    {"sM!", REACH, 'L', EVENT MARKER "clFlush ", EVENT OLD "clFlush "},
    {"sM!L!", REACH, 'L', EVENT MARKER "clFlush clReleaseEvent ",
     EVENT OLD "clFlush clReleaseEvent "},
    {"MH", "m", 'L', EVENT "clWaitForEvents ", NULL},
    {"sM", REACH, 'W', EVENT QUEUE MARKER, EVENT QUEUE WAIT},
    {"sM", REACH, 'O', EVENT QUEUE MARKER "clEnqueueBarrierWithWaitList ", EVENT QUEUE WAIT},
    {"sM!", REACH, 'W', EVENT MARKER "clFlush " QUEUE MARKER, EVENT OLD "clFlush " QUEUE WAIT},
    {"MH", "m", 'W', EVENT "clWaitForEvents ", NULL},
    {"MH", "m", 'H', "clRetainEvent clWaitForEvents clReleaseEvent ", NULL},
    {"eC", "", 'Q', "clGetContextInfo clGetContextInfo clCreateCommandQueue ", NULL},
    {"eCQ", "", 'Q', "", NULL},
    {"", "", '?', QUEUE, NULL},
};
enum { OPERATIONS = sizeof(operations) / sizeof(operations[0]) };

/* NULL: the kind has no such operation. */
static const char *calls_of(const struct operation *operation)
{
  const char *own = operation->run == 'A'   ? it->allocate
                    : operation->run == 'F' ? it->free
                    : operation->run == 'B' ? it->free_behind
                    : operation->run == 'S' ? it->split
                    : operation->run == 'U' ? it->unsplit
                                            : it->drain;
  return !operation->calls                                                 ? own
         : strcmp(it->device, "OpenCL 1.2") < 0 && operation->calls_on_1_1 ? operation->calls_on_1_1
                                                                           : operation->calls;
}

static const struct failure {
  cl_int code;
  clp_status status, memory_status; /* where memory was to be had */
  const char *name;
} failures[] = {
    {-4, CLP_BACKEND_ERROR, CLP_OUT_OF_DEVICE_MEMORY, "CL_MEM_OBJECT_ALLOCATION_FAILURE (-4)"},
    {-5, CLP_BACKEND_ERROR, CLP_OUT_OF_DEVICE_MEMORY, "CL_OUT_OF_RESOURCES (-5)"},
    {-6, CLP_OUT_OF_HOST_MEMORY, CLP_OUT_OF_DEVICE_MEMORY, "CL_OUT_OF_HOST_MEMORY (-6)"},
    {-14, CLP_BACKEND_ERROR, CLP_BACKEND_ERROR,
     "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST (-14)"},
    {-34, CLP_INVALID_ARGUMENT, CLP_BACKEND_ERROR, "CL_INVALID_CONTEXT (-34)"},
    {-61, CLP_BACKEND_ERROR, CLP_INVALID_ARGUMENT, "CL_INVALID_BUFFER_SIZE (-61)"},
    {-9999, CLP_BACKEND_ERROR, CLP_BACKEND_ERROR, "an unknown error (-9999)"},
};
enum { FAILURES = sizeof(failures) / sizeof(failures[0]) };

/* What succeeds all the same: a flush once the free is queued; a wait for work that failed, behind
 * which the host waits for the rest. */
static bool is_no_failure(char run, const char *call, cl_int code)
{
  return (strcmp(call, "clFlush") == 0 && (run == 'F' || run == 'B')) ||
         (run == 'H' && strcmp(call, "clWaitForEvents") == 0 && code == -14);
}

static void assert_told(char run, const char *call, clp_status status,
                        const struct failure *failure)
{
  const bool is_null = strcmp(call, "clSVMAlloc") == 0;
  const bool is_about_memory = run == 'A' || run == 'S';
  ck_assert_int_eq(status, is_null           ? CLP_OUT_OF_DEVICE_MEMORY
                           : is_about_memory ? failure->memory_status
                                             : failure->status);
  ck_assert_int_eq(clp_last_error()->status, status);
  ck_assert_int_eq(clp_last_error()->native_code, is_null ? 0 : failure->code);
  clpt_message_has(call);
  clpt_message_has(is_null ? "returned NULL" : failure->name);
  clpt_message_has(run == 'A' ? "for 4096 bytes" : run == 'S' ? "for 1024 bytes" : "failed with");
}

/* Call number `nth` of an operation fails. Returns false, once it has succeeded without, by the
 * calls that are its. */
static bool fail_one(const struct operation *operation, unsigned long nth,
                     const struct failure *failure, const char *calls)
{
  const char run_step = operation->run;
  must(operation->before);
  clpt_cl_live then = clpt_cl_live_now();
  const size_t already = strlen(clpt_cl_noted.trace);
  clpt_cl_fail(CLPT_CL_ANY, nth, 1, failure->code);
  clp_status status = run(run_step);
  const char *call = clpt_cl_noted.failed;
  clpt_cl_fail(CLPT_CL_ANY, 0, 0, CL_SUCCESS);
  if (!call) {
    ck_assert_int_eq(status, CLP_SUCCESS);
    if (*calls != 'a')
      ck_assert_str_eq(clpt_cl_noted.trace + already, calls);
    if (strstr(calls, "clEnqueueSVMFree"))
      ck_assert_ptr_eq(clpt_cl_noted.svm_free_queue, run_step == 'B' ? cl.other : home_queue());
    if (run_step == 'L')
      ck_assert(is_done == (operation->before[0] == 'M'));
    if (run_step == 'F' || run_step == 'B')
      ck_assert_int_eq(clpt_cl_live_now().mems + clpt_cl_live_now().svm, then.mems + then.svm - 1);
  } else if (run_step == '?') {
    ck_assert_int_eq(status, CLP_BUSY); /* it is taken for the worse */
  } else if (is_no_failure(run_step, call, failure->code)) {
    ck_assert_int_eq(status, CLP_SUCCESS);
    ck_assert_uint_eq(clpt_cl_noted.calls[CLPT_clFinish], run_step == 'H');
  } else {
    assert_told(run_step, call, status, failure);
    if (strcmp(operation->before, "sM!") == 0) /* a mark that was set anew keeps both */
      then.events = clpt_cl_live_now().events;
    clpt_cl_assert_live(&then);
    clpt_ok(run(run_step)); /* what was the caller's is there still */
  }
  must(operation->after);
  clpt_cl_reset();
  return call;
}

/* The calls are those of the table, and each of them fails with each code. */
START_TEST(each_call_of_each_operation)
{
  const struct operation *operation = &operations[_i % OPERATIONS];
  if (!begin(_i / OPERATIONS))
    return;
  const char *calls = calls_of(operation);
  for (size_t i = 0; i < FAILURES && calls; i++)
    for (unsigned long nth = 0; fail_one(operation, nth, &failures[i], calls); nth++)
      continue;
  clp_allocator_release(allocator);
}
END_TEST

/* --- what they say, and what they take --- */

static size_t told(cl_device_info what)
{
  cl_ulong value = 0; /* of a cl_uint, too, where the least byte comes first */
  clpt_cl_ok(clGetDeviceInfo(cl.devices[0], what, sizeof(value), &value, NULL));
  return value;
}

START_TEST(what_each_says_and_takes)
{
  const clpt_cl_live before = clpt_cl_live_now();
  if (!begin(_i))
    return;
  const clp_allocator_ops *ops = &allocator->ops;
  const bool is_deferred = strcmp(it->name, "cl-deferred") == 0;
  ck_assert_str_eq(clp_allocator_name(allocator), it->name);
  ck_assert(clp_allocator_is_deferred(allocator) == is_deferred);
  ck_assert_int_eq(ops->memory_kind, is_svm() ? CLP_MEMORY_CL_SVM : CLP_MEMORY_CL_MEM);
  ck_assert_uint_eq(ops->max_block_bytes, told(CL_DEVICE_MAX_MEM_ALLOC_SIZE));
  ck_assert_uint_eq(ops->device_bytes, told(CL_DEVICE_GLOBAL_MEM_SIZE));
  ck_assert_uint_eq(ops->alignment, is_svm() ? 128 : told(CL_DEVICE_MEM_BASE_ADDR_ALIGN) / 8);
  ck_assert_ptr_eq(ops->home_stream, home_queue());
  ck_assert(ops->free_is_ordered == !is_svm() && !ops->free_on == !it->free_behind);
  ck_assert(ops->exclusive_parts == (it->vendor == NVIDIA && !is_svm()));
  ck_assert(ops->allocate_uses_home == (!is_svm() && it->home != NONE));
  ck_assert_int_eq(run('D'), is_deferred ? CLP_NOT_SUPPORTED : CLP_SUCCESS);
  ck_assert(ASK(stream_is_in_order, cl.other) && !ASK(stream_is_in_order, cl.out_of_order));
  ck_assert_int_eq(clpt_cl_live_now().contexts, before.contexts + 1);
  ck_assert_int_eq(clpt_cl_live_now().queues, before.queues + (it->home != NONE));
  clpt_cl_reset();
  clpt_fails(CLP_INVALID_ARGUMENT,
             clp_allocator_allocate(allocator, ops->max_block_bytes + 1, &memory));
  ck_assert_str_eq(clpt_cl_noted.trace, "");
  for (size_t bytes = 1; bytes < 8; bytes++) { /* a driver refuses a write past the end */
    memory = clpt_memory(allocator, bytes);
    clpt_ok(clp_allocator_free(allocator, memory, bytes));
  }
  clpt_cl_fail(CLPT_clCreateBuffer, 0, 1, CLPT_CL_SILENT);
  clpt_cl_fail(CLPT_clSVMAlloc, 0, 1, CLPT_CL_SILENT);
  clpt_fails(is_svm() ? CLP_OUT_OF_DEVICE_MEMORY : CLP_BACKEND_ERROR, allocate());
  ck_assert_int_eq(clp_last_error()->native_code, 0);
  clp_allocator_release(allocator);
}
END_TEST

/* Those of the program, 0 for CL_MEM_READ_WRITE, and a bit of a vendor's that the driver judges. */
START_TEST(flags_reach_the_driver)
{
  const cl_mem_flags vendors = CL_MEM_READ_ONLY | (cl_mem_flags)1 << 40;
  const cl_mem_flags fine = CL_MEM_READ_WRITE | CL_MEM_SVM_FINE_GRAIN_BUFFER;
  const cl_mem_flags flags[2][3] = {
      {CL_MEM_READ_ONLY, CL_MEM_WRITE_ONLY | CL_MEM_ALLOC_HOST_PTR, vendors},
      {0, CL_MEM_READ_ONLY, fine}};
  if (!begin(_i))
    return;
  for (size_t i = 0; i < 3; i++) {
    const cl_mem_flags wanted = flags[is_svm()][i];
    must("e");
    if (create_with(wanted) == CLP_NOT_SUPPORTED) { /* this device has none */
      must("C");
      continue;
    }
    clpt_cl_fail(CLPT_clCreateBuffer, 0, wanted == vendors, CL_INVALID_VALUE);
    ck_assert_int_eq(run('A'), wanted == vendors ? CLP_BACKEND_ERROR : CLP_SUCCESS);
    ck_assert_uint_eq(is_svm() ? clpt_cl_noted.svm_flags : clpt_cl_noted.mem_flags,
                      wanted ? wanted : CL_MEM_READ_WRITE);
    if (wanted == fine)
      memset((void *)memory, 1, BYTES); /* the host may, at any time */
    if (wanted != vendors)
      must("F");
  }
  clp_allocator_release(allocator);
}
END_TEST

START_TEST(each_allocation_of_host_memory_fails)
{
  if (!begin(_i))
    return;
  must("e");
  for (const char *step = "CM"; *step; step++) {
    clpt_host_failures each = {.may_do_without = *step == 'M'};
    const clpt_cl_live then = clpt_cl_live_now();
    while (!each.is_over) {
      clpt_host_fail_next(&each);
      clp_status status = run(*step);
      clpt_host_check(&each, status);
      if (status)
        clpt_cl_assert_live(&then);
      else if (*step == 'M')
        must("m");
    }
  }
  clp_allocator_release(allocator);
}
END_TEST

/* --- devices --- */

#define COARSE CL_DEVICE_SVM_COARSE_GRAIN_BUFFER
#define FINE   CL_MEM_SVM_FINE_GRAIN_BUFFER

#define POCL "OpenCL 3.0 PoCL HSTR: pthread-x86_64"

static const struct {
  const char *version, *driver;
  cl_device_type type;
  bool is_pocl, aborts, cannot_be_read;
} devices[] = {
    {"OpenCL 1.2 pocl HSTR: pthread-x86_64", "1.6", CL_DEVICE_TYPE_CPU, true, false, false},
    {"OpenCL 2.0 pocl HSTR: pthread-x86_64", "1.8", CL_DEVICE_TYPE_CPU, true, true, false},
    {POCL, "3.0-rc2", CL_DEVICE_TYPE_CPU, true, true, false},
    {POCL, "3.1+debian", CL_DEVICE_TYPE_CPU | CL_DEVICE_TYPE_DEFAULT, true, true, false},
    {POCL, "7.1", CL_DEVICE_TYPE_GPU, true, false, false},
    {POCL, "unknown", CL_DEVICE_TYPE_CPU, true, false, false},
    {"OpenCL 3.0 (Build 0)", "2024.17", CL_DEVICE_TYPE_CPU, false, false, false},
    {"OpenCL 1.0 ", "1", CL_DEVICE_TYPE_GPU, false, false, false},
    {"OpenCL C 1.2 ", "1", CL_DEVICE_TYPE_GPU, false, false, true},
    {"", "1", CL_DEVICE_TYPE_GPU, false, false, true},
};
enum { DEVICES = sizeof(devices) / sizeof(devices[0]) };

/* PoCL's CPU devices end the process where memory is missing, unless it is the host's; and PoCL
 * forgets a wait in a queue that is out of order: there is none then. */
START_TEST(what_devices_need)
{
  it = &(const kind){.name = "cl-immediate", .home = IN_ORDER};
  clpt_cl_pretend_text(NULL, CL_DEVICE_VERSION, devices[_i].version);
  clpt_cl_pretend_text(NULL, CL_DRIVER_VERSION, devices[_i].driver);
  clpt_cl_pretend(NULL, CL_DEVICE_TYPE, &devices[_i].type, sizeof(devices[_i].type));
  if (devices[_i].cannot_be_read) {
    clpt_fails(CLP_BACKEND_ERROR, create_with(CL_MEM_READ_ONLY));
    clpt_message_has(devices[_i].version);
    return;
  }
  clpt_ok(create_with(CL_MEM_READ_ONLY));
  must("AFsM");
  ck_assert_uint_eq(clpt_cl_noted.mem_flags,
                    CL_MEM_READ_ONLY | (devices[_i].aborts ? CL_MEM_ALLOC_HOST_PTR : 0));
  clpt_cl_reset();
  ck_assert_int_eq(run('O'), devices[_i].is_pocl ? CLP_NOT_SUPPORTED : CLP_SUCCESS);
  if (devices[_i].is_pocl) {
    clpt_message_has("PoCL");
    ck_assert_str_eq(clpt_cl_noted.trace, "clGetEventInfo clGetCommandQueueInfo ");
  }
  must("W" REACH);
  clp_allocator_release(allocator);
}
END_TEST

/* The least memory and version and the greatest alignment count, whichever device has them. */
START_TEST(a_context_of_two_devices)
{
  static const struct {
    cl_device_info what;
    size_t bytes; /* the least come first */
    cl_ulong of[2];
  } told[] = {
      {CL_DEVICE_MAX_MEM_ALLOC_SIZE, 8, {1000, CL_ULONG_MAX}},
      {CL_DEVICE_GLOBAL_MEM_SIZE, 8, {CL_ULONG_MAX, 5000}},
      {CL_DEVICE_MEM_BASE_ADDR_ALIGN, 4, {512, 4096}},
      {CL_DEVICE_MIN_DATA_TYPE_ALIGN_SIZE, 4, {64, 128}},
      {CL_DEVICE_SVM_CAPABILITIES, 8, {COARSE | CL_DEVICE_SVM_FINE_GRAIN_BUFFER, COARSE}},
  };
  const clp_cl_svm_options fine = {sizeof(fine), FINE, 0, NULL};
  clpt_cl two;
  clpt_cl_open(&two, 2);
  for (size_t i = 0; i < two.device_count; i++) {
    const size_t k = (i + (size_t)_i) % 2;
    clpt_cl_pretend_text(two.devices[i], CL_DEVICE_VERSION, k ? NEW : "OpenCL 1.1 x");
    for (size_t j = 0; j < sizeof(told) / sizeof(told[0]); j++)
      clpt_cl_pretend(two.devices[i], told[j].what, &told[j].of[k], told[j].bytes);
  }
  if (two.device_count == 2) {
    clpt_ok(clp_cl_deferred_allocator_create(two.context, 0, &allocator));
    ck_assert_uint_eq(allocator->ops.max_block_bytes, 1000);
    ck_assert_uint_eq(allocator->ops.device_bytes, 5000);
    ck_assert_uint_eq(allocator->ops.alignment, 512);
    must("Mm");
    ck_assert_uint_eq(clpt_cl_noted.calls[CLPT_clEnqueueMarker],
                      1); /* the call of the old version */
    clp_allocator_release(allocator);
    clpt_fails(CLP_NOT_SUPPORTED, clp_cl_svm_allocator_create(two.context, NULL, &allocator));
    clpt_cl_pretend_text(NULL, CL_DEVICE_VERSION, NEW);
    clpt_fails(CLP_NOT_SUPPORTED, clp_cl_svm_allocator_create(two.context, &fine, &allocator));
    clpt_message_has("fine-grain");
    clpt_ok(clp_cl_svm_allocator_create(two.context, NULL, &allocator));
    ck_assert_uint_eq(allocator->ops.alignment, 64);
    clp_allocator_release(allocator);
  }
  clpt_cl_close(&two);
}
END_TEST

static const struct {
  cl_device_svm_capabilities has;
  cl_svm_mem_flags flags;
  size_t alignment;
  const char *message; /* NULL: it has such memory */
} svm_devices[] = {
    {0, 0, 0, "coarse-grain"},
    {COARSE, FINE, 0, "fine-grain"},
    {COARSE | CL_DEVICE_SVM_FINE_GRAIN_BUFFER, FINE | CL_MEM_SVM_ATOMICS, 0, "atomics"},
    {COARSE, 0, 128, "alignment is 128"},
    {COARSE, 0, 0, NULL},
    {COARSE, 0, 1, NULL},
    {COARSE, 0, 64, NULL},
};
enum { SVM_DEVICES = sizeof(svm_devices) / sizeof(svm_devices[0]) };

START_TEST(devices_with_shared_virtual_memory)
{
  const size_t alignment = svm_devices[_i].alignment;
  const clp_cl_svm_options options = {sizeof(options), svm_devices[_i].flags, alignment, NULL};
  const cl_uint largest = 64;
  clpt_cl_pretend_text(NULL, CL_DEVICE_VERSION, NEW);
  clpt_cl_pretend(NULL, CL_DEVICE_SVM_CAPABILITIES, &svm_devices[_i].has,
                  sizeof(svm_devices[_i].has));
  clpt_cl_pretend(NULL, CL_DEVICE_MIN_DATA_TYPE_ALIGN_SIZE, &largest, sizeof(largest));
  if (svm_devices[_i].message) {
    clpt_fails(alignment ? CLP_INVALID_ARGUMENT : CLP_NOT_SUPPORTED,
               clp_cl_svm_allocator_create(cl.context, &options, &allocator));
    clpt_message_has(svm_devices[_i].message);
  } else if (clpt_cl_has(&cl, CLPT_SVM)) {
    clpt_ok(clp_cl_svm_allocator_create(cl.context, &options, &allocator));
    ck_assert_uint_eq(allocator->ops.alignment, alignment ? alignment : largest);
    must("A");
    ck_assert_uint_eq(memory % allocator->ops.alignment, 0);
    must("F");
    clp_allocator_release(allocator);
  }
}
END_TEST

/* --- frees that are pending --- */

enum { WAITERS = 4, MANY = 40 };

static void wait_for_frees(clpt_worker *self)
{
  bool was_done = false;
  if (run('D') || ASK(mark_is_done, mark, &was_done) || !was_done)
    clpt_wrong(self, "the mark behind the free was not done when the wait was over");
}

/* Several threads wait for one free, and none of them goes on before it is done. */
START_TEST(threads_wait_for_frees_together)
{
  static const clpt_work works[] = {wait_for_frees};
  clpt_workers workers;
  if (!begin(SVM_KIND))
    return;
  must("AsMB");
  clpt_workers_start(&workers, WAITERS, works, 1, 1, NULL);
  clpt_cl_go_all();
  clpt_workers_join(&workers);
  must("m");
  clp_allocator_release(allocator);
}
END_TEST

/* What is done is dropped on the way, so that a program that never waits keeps few; and it
 * forgets the rest where there is no host memory for more. */
START_TEST(few_events_stay)
{
  if (!begin(SVM_KIND))
    return;
  const long before = clpt_cl_live_now().events;
  must("s");
  for (int i = 0; i < MANY; i++)
    must("AB");
  ck_assert_int_eq(clpt_cl_live_now().events, before + MANY);
  must("g");
  clpt_cl_reset();
  for (int i = 0; i < 10 * MANY; i++) {
    must("AB");
    if (i % MANY == 0)
      clpt_cl_ok(clFinish(cl.other));
  }
  ck_assert_int_lt(clpt_cl_live_now().events, before + 5 * MANY);
  ck_assert_uint_lt(clpt_cl_noted.calls[CLPT_clGetEventInfo],
                    60 * MANY); /* not all of them each time */
  must("Ds");
  ck_assert_int_eq(clpt_cl_live_now().events, before);
  for (int i = 0; i < 20 * MANY; i++) {
    must("A");
    clpt_host_start(CLPT_HOST_STAYS_OUT, 0);
    must("B");
    clpt_host_stop();
  }
  must("gD");
  clp_allocator_release(allocator);
}
END_TEST

/* A free behind work that failed is over; where a wait fails, the others are waited for. */
START_TEST(a_wait_for_frees_that_fails)
{
  if (!begin(SVM_KIND))
    return;
  must("ABABAB");
  clpt_cl_ok(clFinish(cl.other));
  clpt_cl_fail(CLPT_clWaitForEvents, 0, 1,
               _i ? CL_OUT_OF_RESOURCES : CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
  ck_assert_int_eq(run('D'), _i ? CLP_BACKEND_ERROR : CLP_SUCCESS);
  ck_assert_uint_eq(clpt_cl_noted.calls[CLPT_clWaitForEvents], 3);
  must("D");
  clp_allocator_release(allocator);
}
END_TEST

CLPT_MAIN("OpenCL's allocators", clpt_cl_run)
{
  /* Where PoCL is the driver, two devices that take user events (its basic one locks up); a
   * variable of the user's goes first. */
  setenv("POCL_DEVICES", "pthread pthread", 0);
  TCase *tests = clpt_cl_case(suite, "allocators", &cl);
  tcase_add_loop_test(tests, each_call_of_each_operation, 0, KINDS * OPERATIONS);
  tcase_add_loop_test(tests, what_each_says_and_takes, 0, KINDS);
  tcase_add_loop_test(tests, flags_reach_the_driver, 0, KINDS);
  tcase_add_loop_test(tests, each_allocation_of_host_memory_fails, 0, KINDS);
  tcase_add_loop_test(tests, what_devices_need, 0, DEVICES);
  tcase_add_loop_test(tests, a_context_of_two_devices, 0, 2);
  tcase_add_loop_test(tests, devices_with_shared_virtual_memory, 0, SVM_DEVICES);
  tcase_add_loop_test(tests, threads_wait_for_frees_together, 0, 1);
  tcase_add_loop_test(tests, few_events_stay, 0, 1);
  tcase_add_loop_test(tests, a_wait_for_frees_that_fails, 0, 2);
}
