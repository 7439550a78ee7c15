/* SPDX-License-Identifier: MIT */
/* The fake CUDA driver does what the driver documents: devices, contexts, streams and events; and
 * what tests ask of it beyond. */
#include "support/cuda_fixture.h"

#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>

enum { BYTES = 4096 };

/* --- the driver and its devices --- */

START_TEST(nothing_works_before_it_is_initialized)
{
  int count, version;

  if (cuDeviceGetCount(&count) != CLPI_CUDA_SUCCESS) /* unless Check does not fork */
    clpt_cu_fails(CLPI_CUDA_NOT_INITIALIZED, cuDeviceGetCount(&count));
  clpt_cu_ok(cuDriverGetVersion(&version));
  ck_assert_int_ge(version, 12000);
  clpt_cu_fails(CLPI_CUDA_INVALID_VALUE, cuInit(1));
  clpt_cu_ok(cuInit(0));
  clpt_cu_ok(cuDeviceGetCount(&count));
  ck_assert_int_eq(count, 2);
}
END_TEST

START_TEST(devices_are_as_the_test_sets_them)
{
  CUdevice device;
  size_t bytes;
  int value;
  char name[32];

  fakecuda_set_devices(3, 64 << 20);
  clpt_cu_ok(cuInit(0));
  clpt_cu_ok(cuDeviceGet(&device, 2));
  clpt_cu_fails(CLPI_CUDA_INVALID_DEVICE, cuDeviceGet(&device, 3));
  clpt_cu_ok(cuDeviceTotalMem(&bytes, 2));
  ck_assert_uint_eq(bytes, 64 << 20);
  clpt_cu_ok(cuDeviceGetName(name, sizeof(name), 2));
  ck_assert_str_eq(name, "Fake device 2");
  clpt_cu_ok(cuDeviceGetAttribute(&value, CLPI_CUDA_ATTRIBUTE_MEMORY_POOLS, 2));
  ck_assert_int_eq(value, 1);
  fakecuda_set_mempools_supported(2, false);
  clpt_cu_ok(cuDeviceGetAttribute(&value, CLPI_CUDA_ATTRIBUTE_MEMORY_POOLS, 2));
  ck_assert_int_eq(value, 0);
  clpt_cu_ok(cuDeviceCanAccessPeer(&value, 0, 1));
  ck_assert_int_eq(value, 1);
  fakecuda_set_peers(false);
  clpt_cu_ok(cuDeviceCanAccessPeer(&value, 0, 1));
  ck_assert_int_eq(value, 0);
  fakecuda_set_devices(0, 0);
  clpt_cu_fails(CLPI_CUDA_NO_DEVICE, cuInit(0));
}
END_TEST

START_TEST(errors_have_the_names_of_cuda)
{
  const char *name;

  clpt_cu_ok(cuGetErrorName(CLPI_CUDA_OUT_OF_MEMORY, &name));
  ck_assert_str_eq(name, "CUDA_ERROR_OUT_OF_MEMORY");
  clpt_cu_fails(CLPI_CUDA_INVALID_VALUE, cuGetErrorName(12345, &name));
  ck_assert_ptr_null(name);
}
END_TEST

/* --- symbols --- */

START_TEST(every_function_of_the_library_is_found_by_name)
{
  void *library = dlopen(clpt_fake_library(), RTLD_NOW | RTLD_LOCAL);
  void *function;
  char symbol[64];
  int status;

  ck_assert_msg(library != NULL, "%s", dlerror());
#define ASSERT_FOUND(name, suffix, version, parameters)                                            \
  clpt_cu_ok(cuGetProcAddress(#name, &function, version, 0, &status));                             \
  ck_assert_msg(status == 0 && function != NULL, "%s is not found", #name);                        \
  (void)snprintf(symbol, sizeof(symbol), "%s%s", #name, suffix);                                   \
  ck_assert_msg(dlsym(library, symbol) == function, "%s is another function", symbol);             \
  clpt_cu_ok(cuGetProcAddress(#name, &function, version - 10, 0, &status));                        \
  ck_assert_msg(status == 2 && function == NULL, "%s is found for an older version", #name);
  CLPI_CUDA_FUNCTIONS(ASSERT_FOUND)
#undef ASSERT_FOUND
  ck_assert_int_eq(dlclose(library), 0);
}
END_TEST

START_TEST(an_older_driver_does_not_have_newer_functions)
{
  void *function;
  int status, version;
  CUcontext ctx;

  fakecuda_set_version(11010);
  clpt_cu_ok(cuInit(0));
  clpt_cu_ok(cuDriverGetVersion(&version));
  ck_assert_int_eq(version, 11010);
  clpt_cu_ok(cuDevicePrimaryCtxRetain(&ctx, 0));
  clpt_cu_ok(cuDevicePrimaryCtxRelease(0));
  fakecuda_set_version(12000);
  fakecuda_hide("cuMemPoolCreate");
  clpt_cu_ok(cuGetProcAddress("cuMemPoolCreate", &function, 12000, 0, &status));
  ck_assert_int_eq(status, 1);
  fakecuda_hide(NULL);
  clpt_cu_ok(cuGetProcAddress("cuMemPoolCreate", &function, 12000, 0, NULL));
  ck_assert_ptr_nonnull(function);
}
END_TEST

/* --- contexts --- */

START_TEST(contexts_are_a_stack_of_each_thread)
{
  CUcontext first, second, current;
  CUdevice device;

  clpt_cu_ok(cuInit(0));
  clpt_cu_ok(cuCtxGetCurrent(&current));
  ck_assert_ptr_null(current);
  clpt_cu_fails(CLPI_CUDA_INVALID_CONTEXT, cuCtxGetDevice(&device));
  clpt_cu_ok(cuCtxCreate(&first, 0, 0));
  clpt_cu_ok(cuCtxCreate(&second, 0, 1));
  clpt_cu_ok(cuCtxGetDevice(&device));
  ck_assert_int_eq(device, 1);
  clpt_cu_ok(cuCtxPushCurrent(first));
  clpt_cu_ok(cuCtxGetDevice(&device));
  ck_assert_int_eq(device, 0);
  clpt_cu_ok(cuCtxPopCurrent(&current));
  ck_assert_ptr_eq(current, first);
  clpt_cu_ok(cuCtxSetCurrent(first));
  clpt_cu_ok(cuCtxPopCurrent(&current));
  clpt_cu_ok(cuCtxGetCurrent(&current));
  ck_assert_ptr_eq(current, first);
  clpt_cu_ok(cuCtxDestroy(first));
  clpt_cu_ok(cuCtxDestroy(second));
  clpt_cu_ok(cuCtxGetCurrent(&current));
  ck_assert_ptr_null(current);
}
END_TEST

START_TEST(a_primary_context_lives_as_long_as_it_is_retained)
{
  CUcontext one, other;
  CUstream stream;

  clpt_fake_count_violations();
  one = clpt_fake_open(0);
  clpt_cu_ok(cuDevicePrimaryCtxRetain(&other, 0));
  ck_assert_ptr_eq(one, other);
  stream = clpt_fake_stream();
  clpt_cu_ok(cuDevicePrimaryCtxRelease(0));
  clpt_cu_ok(cuStreamQuery(stream));
  ck_assert_uint_eq(clpt_fake_violations(), 0);
  clpt_cu_ok(cuDevicePrimaryCtxRelease(0));
  clpt_cu_fails(CLPI_CUDA_INVALID_HANDLE, cuStreamQuery(stream));
  ck_assert_uint_eq(clpt_fake_violations(), 1);
  clpt_cu_ok(cuCtxPopCurrent(&other));
}
END_TEST

/* --- streams --- */

static CUdeviceptr allocate(CUstream stream)
{
  CUdeviceptr memory;

  clpt_cu_ok(cuMemAllocAsync(&memory, BYTES, stream));
  return memory;
}

START_TEST(streams_run_late)
{
  CUstream stream;
  CUdeviceptr memory;

  clpt_fake_open(0);
  stream = clpt_fake_stream();
  fakecuda_hold(stream);
  memory = allocate(stream);
  clpt_fake_fill(memory, 7, BYTES, stream);
  clpt_cu_fails(CLPI_CUDA_NOT_READY, cuStreamQuery(stream));
  ck_assert_uint_eq(fakecuda_commands_left(stream), 2);
  fakecuda_go_on(stream);
  clpt_cu_ok(cuStreamSynchronize(stream));
  ck_assert_uint_eq(fakecuda_commands_left(stream), 0);
  clpt_cu_ok(cuStreamQuery(stream));
  clpt_fake_assert_filled(memory, 7, BYTES, stream);
  clpt_cu_ok(cuMemFreeAsync(memory, stream));
  clpt_cu_ok(cuStreamDestroy(stream));
  clpt_fake_close(0);
}
END_TEST

START_TEST(a_destroyed_stream_does_what_it_has)
{
  CUstream stream, other;
  CUdeviceptr memory;
  CUevent event;

  clpt_fake_open(0);
  stream = clpt_fake_stream();
  other = clpt_fake_stream();
  clpt_cu_ok(cuEventCreate(&event, CLPI_CUDA_EVENT_DISABLE_TIMING));
  memory = allocate(stream);
  fakecuda_hold(stream);
  clpt_fake_fill(memory, 7, BYTES, stream);
  clpt_cu_ok(cuEventRecord(event, stream));
  clpt_cu_ok(cuStreamDestroy(stream));
  clpt_cu_fails(CLPI_CUDA_NOT_READY, cuEventQuery(event));
  fakecuda_go_on(stream);
  clpt_cu_ok(cuStreamWaitEvent(other, event, 0));
  clpt_fake_assert_filled(memory, 7, BYTES, other);
  clpt_cu_ok(cuMemFreeAsync(memory, other));
  clpt_cu_ok(cuEventDestroy(event));
  clpt_cu_ok(cuStreamDestroy(other));
  clpt_fake_close(0);
}
END_TEST

START_TEST(a_new_stream_gets_an_old_handle_when_that_is_wanted)
{
  CUstream first, second;

  clpt_fake_open(0);
  first = clpt_fake_stream();
  clpt_cu_ok(cuStreamDestroy(first));
  second = clpt_fake_stream();
  ck_assert_ptr_ne(first, second);
  fakecuda_reuse_stream_handles(true);
  clpt_cu_ok(cuStreamDestroy(second));
  first = clpt_fake_stream();
  ck_assert_ptr_eq(first, second);
  clpt_cu_ok(cuStreamDestroy(first));
  clpt_fake_close(0);
}
END_TEST

typedef struct note {
  sem_t reached, may_go_on;
} note;

static void note_and_wait(void *user_data)
{
  note *note_of_test = user_data;

  sem_post(&note_of_test->reached);
  sem_wait(&note_of_test->may_go_on);
}

START_TEST(host_functions_run_in_stream_order)
{
  CUstream stream;
  CUdeviceptr memory;
  note progress;
  unsigned char found[BYTES] = {0};

  sem_init(&progress.reached, 0, 0);
  sem_init(&progress.may_go_on, 0, 0);
  clpt_fake_open(0);
  stream = clpt_fake_stream();
  memory = allocate(stream);
  clpt_fake_fill(memory, 3, BYTES, stream);
  clpt_cu_ok(cuLaunchHostFunc(stream, note_and_wait, &progress));
  clpt_fake_fill(memory, 4, BYTES, stream);
  clpt_cu_ok(cuMemcpyDtoHAsync(found, memory, BYTES, stream));
  sem_wait(&progress.reached);
  clpt_cu_fails(CLPI_CUDA_NOT_READY, cuStreamQuery(stream));
  sem_post(&progress.may_go_on);
  clpt_cu_ok(cuStreamSynchronize(stream));
  ck_assert_uint_eq(found[0], 4);
  clpt_cu_ok(cuMemFreeAsync(memory, stream));
  clpt_cu_ok(cuStreamDestroy(stream));
  clpt_fake_close(0);
  sem_destroy(&progress.reached);
  sem_destroy(&progress.may_go_on);
}
END_TEST

START_TEST(the_legacy_stream_is_ordered_with_blocking_streams_alone)
{
  CUstream blocking, free_stream;
  CUdeviceptr memory;

  clpt_fake_open(0);
  clpt_cu_ok(cuStreamCreate(&blocking, FAKECUDA_STREAM_DEFAULT));
  free_stream = clpt_fake_stream();
  memory = allocate(blocking);
  fakecuda_hold(blocking);
  clpt_fake_fill(memory, 1, BYTES, blocking);
  clpt_fake_fill(memory, 2, BYTES, FAKECUDA_STREAM_LEGACY); /* no violation: it waits */
  clpt_cu_fails(CLPI_CUDA_NOT_READY, cuStreamQuery(FAKECUDA_STREAM_LEGACY));
  clpt_cu_ok(cuStreamSynchronize(free_stream));
  clpt_fake_fill(memory, 3, BYTES, blocking);
  fakecuda_go_on(blocking);
  clpt_fake_assert_filled(memory, 3, BYTES, blocking);

  fakecuda_hold(free_stream);
  clpt_cu_ok(cuLaunchHostFunc(free_stream, free, NULL));
  clpt_cu_ok(cuMemFreeAsync(memory, NULL));
  clpt_cu_ok(cuStreamSynchronize(NULL));
  ck_assert_uint_eq(fakecuda_commands_left(free_stream), 1);
  clpt_cu_ok(cuStreamDestroy(free_stream));
  clpt_cu_ok(cuStreamDestroy(blocking));
  clpt_fake_close(0);
}
END_TEST

static void *fill_on_own_default_stream(void *argument)
{
  CUcontext ctx = argument;
  CUdeviceptr memory = 0;
  CUcontext popped;
  bool ok = cuCtxPushCurrent(ctx) == CLPI_CUDA_SUCCESS &&
            cuMemAllocAsync(&memory, BYTES, FAKECUDA_STREAM_PER_THREAD) == CLPI_CUDA_SUCCESS &&
            cuMemsetD8Async(memory, 5, BYTES, FAKECUDA_STREAM_PER_THREAD) == CLPI_CUDA_SUCCESS &&
            cuMemFreeAsync(memory, FAKECUDA_STREAM_PER_THREAD) == CLPI_CUDA_SUCCESS &&
            cuStreamSynchronize(FAKECUDA_STREAM_PER_THREAD) == CLPI_CUDA_SUCCESS &&
            cuCtxPopCurrent(&popped) == CLPI_CUDA_SUCCESS;

  return ok ? argument : NULL;
}

START_TEST(each_thread_has_a_default_stream_of_its_own)
{
  CUcontext ctx = clpt_fake_open(0);
  pthread_t thread;
  void *result;

  fakecuda_hold(FAKECUDA_STREAM_PER_THREAD); /* this thread's: the other one's goes on */
  clpt_cu_ok(cuLaunchHostFunc(FAKECUDA_STREAM_PER_THREAD, free, NULL));
  ck_assert_int_eq(pthread_create(&thread, NULL, fill_on_own_default_stream, ctx), 0);
  ck_assert_int_eq(pthread_join(thread, &result), 0);
  ck_assert_ptr_nonnull(result);
  ck_assert_uint_eq(fakecuda_commands_left(FAKECUDA_STREAM_PER_THREAD), 1);
  fakecuda_go_on(FAKECUDA_STREAM_PER_THREAD);
  clpt_cu_ok(cuCtxSynchronize());
  ck_assert_uint_eq(fakecuda_commands_left(FAKECUDA_STREAM_PER_THREAD), 0);
  clpt_fake_close(0);
}
END_TEST

/* --- events --- */

START_TEST(an_event_is_done_when_what_it_was_recorded_after_last_is)
{
  CUstream stream;
  CUevent event;

  clpt_fake_open(0);
  stream = clpt_fake_stream();
  clpt_cu_ok(cuEventCreate(&event, CLPI_CUDA_EVENT_DISABLE_TIMING));
  clpt_cu_ok(cuEventQuery(event)); /* of nothing */
  clpt_cu_ok(cuEventSynchronize(event));
  clpt_cu_ok(cuStreamWaitEvent(stream, event, 0));
  fakecuda_hold(stream);
  clpt_cu_ok(cuEventRecord(event, stream));
  clpt_cu_fails(CLPI_CUDA_NOT_READY, cuEventQuery(event));
  fakecuda_go_on(stream);
  clpt_cu_ok(cuEventSynchronize(event));
  clpt_cu_ok(cuEventQuery(event));
  fakecuda_hold(stream);
  clpt_cu_ok(cuEventRecord(event, stream));
  clpt_cu_fails(CLPI_CUDA_NOT_READY, cuEventQuery(event));
  clpt_cu_ok(cuEventDestroy(event)); /* before it is done */
  fakecuda_go_on(stream);
  clpt_cu_ok(cuStreamDestroy(stream));
  clpt_fake_close(0);
}
END_TEST

START_TEST(a_stream_waits_for_what_the_event_has_when_it_is_asked_to)
{
  CUstream first, second;
  CUevent event;
  CUdeviceptr memory;

  clpt_fake_open(0);
  first = clpt_fake_stream();
  second = clpt_fake_stream();
  memory = allocate(first);
  clpt_cu_ok(cuEventCreate(&event, 0));
  fakecuda_hold(first);
  clpt_fake_fill(memory, 1, BYTES, first);
  clpt_cu_ok(cuEventRecord(event, first));
  clpt_cu_ok(cuStreamWaitEvent(second, event, 0));
  clpt_fake_fill(memory, 2, BYTES, second);
  clpt_cu_ok(cuEventRecord(event, second)); /* what was waited for stays what it was */
  clpt_cu_ok(cuStreamWaitEvent(first, event, 0));
  clpt_cu_fails(CLPI_CUDA_NOT_READY, cuStreamQuery(second));
  fakecuda_go_on(first);
  clpt_fake_assert_filled(memory, 2, BYTES, first);
  clpt_cu_ok(cuMemFreeAsync(memory, first));
  clpt_cu_ok(cuEventDestroy(event));
  clpt_cu_ok(cuStreamDestroy(first));
  clpt_cu_ok(cuStreamDestroy(second));
  clpt_fake_close(0);
}
END_TEST

/* --- threads --- */

enum { THREADS = 4, ROUNDS = 200 };

/* A thread's own stream, and memory that it gets before its last work on it is done. */
static void *work_on_own_stream(void *argument)
{
  CUcontext ctx = argument, popped;
  CUstream stream = NULL;
  CUevent event = NULL;
  CUdeviceptr memory = 0;
  bool ok = cuCtxPushCurrent(ctx) == CLPI_CUDA_SUCCESS &&
            cuStreamCreate(&stream, FAKECUDA_STREAM_NON_BLOCKING) == CLPI_CUDA_SUCCESS &&
            cuEventCreate(&event, CLPI_CUDA_EVENT_DISABLE_TIMING) == CLPI_CUDA_SUCCESS;

  for (unsigned i = 0; ok && i < clpt_iterations(ROUNDS); i++)
    ok = cuMemAllocAsync(&memory, BYTES, stream) == CLPI_CUDA_SUCCESS &&
         cuMemsetD8Async(memory, (unsigned char)i, BYTES, stream) == CLPI_CUDA_SUCCESS &&
         cuEventRecord(event, stream) == CLPI_CUDA_SUCCESS &&
         (i % 8 != 0 || cuEventSynchronize(event) == CLPI_CUDA_SUCCESS) &&
         cuMemFreeAsync(memory, stream) == CLPI_CUDA_SUCCESS;
  ok = ok && cuEventDestroy(event) == CLPI_CUDA_SUCCESS &&
       cuStreamDestroy(stream) == CLPI_CUDA_SUCCESS &&
       cuCtxPopCurrent(&popped) == CLPI_CUDA_SUCCESS;
  return ok ? argument : NULL;
}

START_TEST(threads_work_side_by_side)
{
  CUcontext ctx = clpt_fake_open(0);
  pthread_t threads[THREADS];
  void *result;

  for (int i = 0; i < THREADS; i++)
    ck_assert_int_eq(pthread_create(&threads[i], NULL, work_on_own_stream, ctx), 0);
  for (int i = 0; i < THREADS; i++) {
    ck_assert_int_eq(pthread_join(threads[i], &result), 0);
    ck_assert_ptr_nonnull(result);
  }
  clpt_fake_close(0);
}
END_TEST

/* --- failures on demand --- */

START_TEST(calls_fail_when_they_are_to)
{
  CUevent event;

  clpt_fake_open(0);
  fakecuda_fail("cuEventCreate", CLPI_CUDA_OUT_OF_MEMORY, 1, 2);
  clpt_cu_ok(cuEventCreate(&event, 0));
  clpt_cu_ok(cuEventDestroy(event));
  clpt_cu_fails(CLPI_CUDA_OUT_OF_MEMORY, cuEventCreate(&event, 0));
  clpt_cu_fails(CLPI_CUDA_OUT_OF_MEMORY, cuEventCreate(&event, 0));
  clpt_cu_ok(cuEventCreate(&event, 0));
  fakecuda_fail("cuEventDestroy", FAKECUDA_UNKNOWN, 0, 0);
  clpt_cu_fails(FAKECUDA_UNKNOWN, cuEventDestroy(event));
  clpt_cu_fails(FAKECUDA_UNKNOWN, cuEventDestroy(event));
  fakecuda_fail("cuEventDestroy", CLPI_CUDA_SUCCESS, 0, 0);
  clpt_cu_ok(cuEventDestroy(event));
  ck_assert_uint_eq(fakecuda_calls("cuEventCreate"), 4);
  ck_assert_uint_ge(fakecuda_calls(NULL), 9);
  clpt_fake_close(0);
}
END_TEST

START_TEST(any_call_fails_but_those_that_give_back)
{
  CUevent event;
  CUcontext ctx;

  clpt_fake_open(0);
  clpt_cu_ok(cuEventCreate(&event, 0));
  fakecuda_fail(NULL, FAKECUDA_UNKNOWN, 1, 0);
  clpt_cu_ok(cuEventQuery(event));
  clpt_cu_fails(FAKECUDA_UNKNOWN, cuEventQuery(event));
  clpt_cu_fails(FAKECUDA_UNKNOWN, cuCtxGetCurrent(&ctx));
  clpt_cu_ok(cuEventDestroy(event));
  fakecuda_fail(NULL, CLPI_CUDA_SUCCESS, 0, 0);
  clpt_cu_ok(cuCtxGetCurrent(&ctx));
  clpt_fake_close(0);
}
END_TEST

CLPT_MAIN("fakecuda", clpt_fake_run)
{
  TCase *driver = clpt_fake_case(suite, "driver");
  TCase *contexts = clpt_fake_case(suite, "contexts");
  TCase *streams = clpt_fake_case(suite, "streams");
  TCase *events = clpt_fake_case(suite, "events");
  TCase *threads = clpt_fake_case(suite, "threads");
  TCase *failures = clpt_fake_case(suite, "failures");

  tcase_add_test(driver, nothing_works_before_it_is_initialized);
  tcase_add_test(driver, devices_are_as_the_test_sets_them);
  tcase_add_test(driver, errors_have_the_names_of_cuda);
  tcase_add_test(driver, every_function_of_the_library_is_found_by_name);
  tcase_add_test(driver, an_older_driver_does_not_have_newer_functions);
  tcase_add_test(contexts, contexts_are_a_stack_of_each_thread);
  tcase_add_test(contexts, a_primary_context_lives_as_long_as_it_is_retained);
  tcase_add_test(streams, streams_run_late);
  tcase_add_test(streams, a_destroyed_stream_does_what_it_has);
  tcase_add_test(streams, a_new_stream_gets_an_old_handle_when_that_is_wanted);
  tcase_add_test(streams, host_functions_run_in_stream_order);
  tcase_add_test(streams, the_legacy_stream_is_ordered_with_blocking_streams_alone);
  tcase_add_test(streams, each_thread_has_a_default_stream_of_its_own);
  tcase_add_test(events, an_event_is_done_when_what_it_was_recorded_after_last_is);
  tcase_add_test(events, a_stream_waits_for_what_the_event_has_when_it_is_asked_to);
  tcase_add_test(threads, threads_work_side_by_side);
  tcase_add_test(failures, calls_fail_when_they_are_to);
  tcase_add_test(failures, any_call_fails_but_those_that_give_back);
}
