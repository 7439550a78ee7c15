/* SPDX-License-Identifier: MIT */
/* The cases of tests/gpu on the fake driver, and those that need its controls: memory that runs
 * out, streams that are late for long, what goes to the driver, old drivers, hooks. The fake looks
 * after the order itself: it ends the program where a stream may use memory that is another one's
 * at the time. */
#include "core/allocator/allocator.h"
#include "cuda/driver.h"
#include "gpu/gpu.h"
#include "support/pools.h"
#include "support/recorder.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIMIT "CLPOOL_MEMORY_LIMIT"

enum { KB = 1 << 10, MB = 1 << 20, DEVICE_BYTES = 256 * MB, TOO_MUCH = 257 * MB, BYTES = 64 * KB };

/* One case calls CUDA inside of a host function, to see what the library makes of it. */
static void end_program(const char *what)
{
  if (strstr(what, "inside of a host function"))
    return;
  (void)fprintf(stderr, "fakecuda: %s\n", what);
  abort();
}

static void reset(void)
{
  unsetenv(LIMIT);
  fakecuda_reset();
  fakecuda_has.bytes = DEVICE_BYTES;
  fakecuda_has.on_violation = end_program;
}

/* --- what goes to the driver --- */

START_TEST(what_needs_no_driver_calls_none)
{
  clp_memory memory = 7;
  ck_assert_str_eq(clp_allocator_name(gpu.allocator), "cuda-async");
  ck_assert(!clp_allocator_is_deferred(gpu.allocator));
  clpt_ok(clp_pool_set_limit_fraction(gpu.pool, 0.5));
  ck_assert_uint_eq(clp_pool_get_limit(gpu.pool), DEVICE_BYTES / 2);
  clpt_ok(clp_buffer_release(clpt_allocate(gpu.pool, BYTES)));
  unsigned long calls = fakecuda_calls(NULL), hits = clpt_stats(gpu.pool).hits;
  for (int i = 0; i < 10; i++) {
    clpt_ok(clp_buffer_release(clpt_allocate(gpu.pool, BYTES)));
    clpt_gpu_release(clpt_gpu_allocate(BYTES, gpu.stream), gpu.stream);
  }
  ck_assert_uint_eq(clpt_stats(gpu.pool).hits, hits + 20);
  clpt_ok_quietly(clp_allocator_allocate(gpu.allocator, 0, &memory));
  ck_assert_uint_eq(memory, 0);
  clpt_ok_quietly(clp_allocator_free(gpu.allocator, 0, 0));
  clpt_gpu_give(clpt_gpu_take(0, gpu.stream), gpu.stream);
  ck_assert_uint_eq(fakecuda_calls(NULL), calls);
}

START_TEST(the_host_waits_neither_to_allocate_nor_to_free)
{
  fakecuda_hold(gpu.stream);
  for (int i = 0; i < 2; i++) {
    clp_memory memory = clpt_memory(gpu.allocator, BYTES);
    unsigned long long pointer = clpt_gpu_take(BYTES, gpu.stream);
    clpt_cuda_fill(memory, 3, BYTES, gpu.stream);
    clpt_cuda_fill(pointer, 3, BYTES, gpu.stream);
    clpt_ok_quietly(clp_allocator_free(gpu.allocator, memory, BYTES));
    clpt_gpu_give(pointer, gpu.stream);
  }
  ck_assert_uint_gt(fakecuda_commands_left(gpu.stream), 0);
  fakecuda_go_on(gpu.stream);
}

START_TEST(events_are_used_again)
{
  enum { MANY = 40 }; /* more than are kept */
  const clp_allocator_ops *ops = &gpu.allocator->ops;
  void *marks[MANY];
  unsigned long made = 0;
  for (int round = 0; round < 2; round++) {
    made = fakecuda_calls("cuEventCreate");
    for (int i = 0; i < MANY; i++)
      clpt_ok_quietly(ops->mark_create(gpu.allocator->self, gpu.stream, &marks[i]));
    for (int i = round; i < MANY; i++)
      ops->mark_destroy(gpu.allocator->self, marks[i]);
  }
  ck_assert_uint_lt(fakecuda_calls("cuEventCreate"), made + MANY / 2);
  fakecuda_fail("cuCtxGetCurrent", FAKECUDA_UNKNOWN, 0, 1);
  (void)clp_set_last_error(CLP_BUSY, 5, "from before"); /* that one is left is told to nobody */
  ops->mark_destroy(gpu.allocator->self, marks[0]);
  ck_assert_int_eq(clp_last_error()->status, CLP_BUSY);
  clpt_cuda_ok(cu.cuEventDestroy(marks[0]));
}

/* --- out of memory --- */

/* Lets a stream go on when the host waits for it. */
static void *let_go(void *stream)
{
  while (!fakecuda_calls("cuCtxSynchronize") && !fakecuda_calls("cuEventSynchronize"))
    sched_yield();
  fakecuda_go_on(stream);
  return NULL;
}

/* Of a pool, and of another user of the memory pool, on a stream that no pool knows of. The driver
 * does not make one stream wait for what another one frees. */
START_TEST(late_frees_are_waited_for)
{
  pthread_t thread;
  clpt_ok(clp_cuda_mempool_set_reuse(gpu.mempool, CLP_CUDA_REUSE_FOLLOW_EVENT_DEPENDENCIES |
                                                      CLP_CUDA_REUSE_OPPORTUNISTIC));
  if (_i == 0) {
    clp_buffer *buffer = clpt_gpu_allocate(200 * MB, gpu.other);
    fakecuda_hold(gpu.other);
    clpt_cuda_fill(clp_buffer_cuda_pointer(buffer), 1, 1, gpu.other);
    clpt_gpu_release(buffer, gpu.other);
    clpt_ok(clp_pool_free_held(gpu.pool));
  } else {
    CUdeviceptr foreign = clpt_cuda_take(gpu.mempool, 200 * MB, gpu.other);
    fakecuda_hold(gpu.other);
    clpt_cuda_ok(cu.cuMemFreeAsync(foreign, gpu.other));
  }
  ck_assert_int_eq(pthread_create(&thread, NULL, let_go, gpu.other), 0);
  if (_i < 2)
    clpt_gpu_release(clpt_gpu_allocate(160 * MB, gpu.stream), gpu.stream);
  else
    clpt_gpu_give(clpt_gpu_take(160 * MB, gpu.stream), gpu.stream);
  ck_assert_int_eq(pthread_join(thread, NULL), 0);
}

/* Which another memory pool of the device can then have. */
START_TEST(kept_memory_is_trimmed)
{
  clp_buffer *refused = NULL;
  unsigned long long none;
  if (_i == 0) {
    clpt_hold(gpu.pool, 200 * MB, 1);
    clpt_ok(clp_pool_free_held(gpu.pool));
    clpt_fails(CLP_OUT_OF_DEVICE_MEMORY, clp_pool_allocate(gpu.pool, TOO_MUCH, &refused));
  } else {
    clpt_gpu_give(clpt_gpu_take(200 * MB, gpu.stream), gpu.stream);
    clpt_fails(CLP_OUT_OF_DEVICE_MEMORY,
               clp_cuda_async_pool_malloc(gpu.async, TOO_MUCH, gpu.stream, &none));
  }
  ck_assert_uint_eq(clpt_gpu_usage(gpu.mempool).reserved_bytes, 0);
}

/* --- the limit of an asynchronous pool --- */

static void refused(size_t bytes)
{
  unsigned long before = fakecuda_calls("cuMemAllocFromPoolAsync");
  unsigned long long none;
  clpt_fails(CLP_LIMIT_EXCEEDED, clp_cuda_async_pool_malloc(gpu.async, bytes, gpu.stream, &none));
  ck_assert_uint_eq(fakecuda_calls("cuMemAllocFromPoolAsync"), before);
}

START_TEST(what_fails_does_not_count)
{
  unsigned long long pointer = 0;
  clpt_ok(clp_cuda_async_pool_set_limit(gpu.async, 1024, 0));
  fakecuda_fail("cuMemAllocFromPoolAsync", FAKECUDA_UNKNOWN, 0, 1);
  clpt_fails(CLP_BACKEND_ERROR, clp_cuda_async_pool_malloc(gpu.async, 1024, gpu.stream, &pointer));
  pointer = clpt_gpu_take(1024, gpu.stream);
  fakecuda_fail("cuMemFreeAsync", FAKECUDA_UNKNOWN, 0, 1);
  clpt_fails(CLP_BACKEND_ERROR, clp_cuda_async_pool_free(gpu.async, pointer, gpu.stream));
  refused(1);
  clpt_gpu_give(pointer, gpu.stream);
  clpt_gpu_give(clpt_gpu_take(1024, gpu.stream), gpu.stream);
}

/* The memory pool keeps 8 MiB unused; a limit of 12 MiB trims that when it is noticed. */
START_TEST(what_is_kept_unused_is_trimmed_to_the_limit)
{
  clpt_gpu_give(clpt_gpu_take(8 * MB, gpu.stream), gpu.stream);
  clpt_cuda_ok(cu.cuStreamSynchronize(gpu.stream));
  ck_assert_uint_ge(clpt_gpu_usage(gpu.mempool).reserved_bytes, 8 * MB);
  clpt_ok(clp_cuda_async_pool_set_limit(gpu.async, 12 * MB, 0));
  unsigned long long pointer = clpt_gpu_take(12 * MB, gpu.stream);
  ck_assert_uint_eq(clpt_gpu_usage(gpu.mempool).reserved_bytes, 12 * MB);
  clpt_gpu_give(pointer, gpu.stream);
}

START_TEST(the_environment_sets_the_limit_of_each_device)
{
  static const char *const values[] = {"64M", "25%", "plenty"};
  clp_cuda_async_pool *limited = gpu.async;
  size_t limit;
  setenv(LIMIT, values[_i], 1);
  if (_i == 2) {
    clpt_fails(CLP_INVALID_ARGUMENT, clp_cuda_async_pool_create(NULL, &limited));
    clpt_message_has("plenty");
    ck_assert_ptr_null(limited);
    return;
  }
  unsigned long contexts = fakecuda_calls("cuDevicePrimaryCtxRetain");
  clpt_ok(clp_cuda_async_pool_create(NULL, &limited));
  ck_assert_uint_eq(fakecuda_calls("cuDevicePrimaryCtxRetain"), contexts);
  for (int device = 0; device < 2; device++) {
    clpt_cuda_retain(device);
    clpt_ok(clp_cuda_async_pool_get_limit(limited, &limit));
    ck_assert_uint_eq(limit, 64 * MB);
    clpt_cuda_release(device);
  }
  clp_cuda_async_pool_release(limited);
}

/* --- what a driver or a device cannot do --- */

#define not_supported(call, message)                                                               \
  do {                                                                                             \
    clpt_fails(CLP_NOT_SUPPORTED, call);                                                           \
    clpt_message_has(message);                                                                     \
  } while (0)

/* The library takes the driver for one of another version; the version so far. */
static int pretend_version(int version)
{
  int former = clpi_cuda.version;
  clpi_cuda.version = version;
  return former;
}

START_TEST(a_driver_that_does_not_count)
{
  int version = pretend_version(11020);
  clp_cuda_mempool_usage usage = CLP_CUDA_MEMPOOL_USAGE_INIT;
  size_t bytes = 7;
  ck_assert(!clp_cuda_async_pool_has_statistics(gpu.async));
  not_supported(clp_cuda_mempool_get_usage(gpu.mempool, &usage), "11.2");
  not_supported(clp_cuda_mempool_reset_peaks(gpu.mempool), "11.3");
  not_supported(clp_cuda_async_pool_total_bytes(gpu.async, &bytes), "11.3");
  not_supported(clp_cuda_async_pool_used_bytes(gpu.async, &bytes), "11.3");
  not_supported(clp_cuda_async_pool_free_bytes(gpu.async, &bytes), "11.3");
  not_supported(clp_cuda_async_pool_get_usage(gpu.async, &usage), "11.3");
  not_supported(clp_cuda_async_pool_reset_peaks(gpu.async), "11.3");
  ck_assert_uint_eq(bytes, 7);
  clpt_ok(clp_cuda_async_pool_set_limit(gpu.async, 512, 0));
  clpt_gpu_give(clpt_gpu_take(512, gpu.stream), gpu.stream);
  refused(513);
  ck_assert_uint_eq(fakecuda_calls("cuMemPoolGetAttribute"), 0);
  pretend_version(version);
}

START_TEST(pools_that_cannot_be_made)
{
  clp_cuda_mempool made = gpu.mempool;
  int version = pretend_version(12010);
  not_supported(clp_cuda_mempool_create(CLPT_MEMPOOL(.max_bytes = MB), &made), "1048576");
  clpt_message_has("12.1");
  ck_assert_ptr_null(made);
  clpt_ok(clp_cuda_mempool_create(NULL, &made));
  clpt_ok(clp_cuda_mempool_destroy(made));
  pretend_version(version);
  not_supported(clp_cuda_mempool_create(CLPT_MEMPOOL(.handle_types = 9), &made), "0x9");
  fakecuda_has.handle_types[0] = 9;
  clpt_ok(clp_cuda_mempool_create(CLPT_MEMPOOL(.handle_types = 9), &made));
  clpt_ok(clp_cuda_mempool_destroy(made));
  const clp_cuda_mempool_options *of_host = CLPT_MEMPOOL(.location = CLP_CUDA_ON_HOST_NUMA);
  clpt_ok(clp_cuda_mempool_create(of_host, &made));
  clpt_ok(clp_cuda_mempool_set_access(made, 0, CLP_CUDA_ACCESS_READ_WRITE));
  CUdeviceptr pointer = clpt_cuda_take(made, 1000, gpu.stream);
  clpt_cuda_fill(pointer, 9, 1000, gpu.stream);
  clpt_cuda_give(pointer, gpu.stream);
  clpt_ok(clp_cuda_mempool_destroy(made));
  fakecuda_has.host_numa = false;
  not_supported(clp_cuda_mempool_create(of_host, &made), "host");
  fakecuda_fail("cuDeviceGetAttribute", CLPI_CUDA_INVALID_VALUE, 0, 0); /* an old driver */
  not_supported(clp_cuda_mempool_create(of_host, &made), "host");
  ck_assert_ptr_null(made);
}

START_TEST(a_peer_that_cannot_reach_the_memory)
{
  clp_cuda_access access = CLP_CUDA_ACCESS_READ;
  fakecuda_has.peers = false;
  not_supported(clp_cuda_mempool_set_access(gpu.mempool, 1, CLP_CUDA_ACCESS_READ_WRITE), "reach");
  clpt_ok(clp_cuda_mempool_get_access(gpu.mempool, 1, &access));
  ck_assert_int_eq(access, CLP_CUDA_ACCESS_NONE);
  fakecuda_fail("cuMemPoolSetAccess", CLPI_CUDA_PEER_ACCESS_UNSUPPORTED, 0, 1);
  not_supported(clp_cuda_mempool_set_access(gpu.mempool, 1, CLP_CUDA_ACCESS_READ_WRITE), "reach");
  ck_assert_int_eq(clp_last_error()->native_code, CLPI_CUDA_PEER_ACCESS_UNSUPPORTED);
}

/* Calls for the others succeed. */
START_TEST(a_device_without_memory_pools)
{
  clp_cuda_mempool none = gpu.mempool;
  clp_cuda_async_pool *made;
  clp_allocator *allocator;
  unsigned long long pointer = 1;
  fakecuda_has.mempools[1] = false;
  not_supported(
      clp_cuda_async_allocator_create(CLPT_WITH(clp_cuda_async_options, .device = 1), &allocator),
      "CUDA device 1 does not support memory pools");
  not_supported(clp_cuda_mempool_create(CLPT_MEMPOOL(.device = 1), &none), "device 1");
  not_supported(clp_cuda_mempool_default(1, &none), "");
  not_supported(clp_cuda_mempool_current(1, &none), "");
  ck_assert_ptr_null(none);
  clpt_ok(clp_cuda_async_pool_create(NULL, &made));
  clpt_ok(clp_cuda_async_pool_malloc(made, BYTES, NULL, &pointer));
  clpt_ok(clp_cuda_async_pool_free(made, pointer, NULL));
  clpt_cuda_retain(1);
  not_supported(clp_cuda_async_pool_malloc(made, BYTES, NULL, &pointer),
                "CUDA device 1 does not support");
  ck_assert_uint_eq(pointer, 0);
  clpt_cuda_release(1);
  clp_cuda_async_pool_release(made);
  fakecuda_has.mempools[0] = false;
  not_supported(clp_cuda_async_pool_create(NULL, &made), "");
  ck_assert_ptr_null(made);
}

/* A fabric handle goes by bytes, which need no other process to be understood. Imported pools are
 * for use alone. */
START_TEST(a_pool_is_shared_by_fabric)
{
  clp_cuda_fabric_handle handle;
  clp_cuda_shared_pointer shared, wrong = {{0}};
  clp_cuda_mempool exported, imported;
  unsigned long long same;
  int fd;
  fakecuda_has.handle_types[0] = CLP_CUDA_HANDLE_FABRIC;
  clpt_ok(clp_cuda_mempool_create(CLPT_MEMPOOL(.handle_types = CLP_CUDA_HANDLE_FABRIC), &exported));
  CUdeviceptr before = clpt_cuda_take(exported, 1000, gpu.stream);
  CUdeviceptr memory = clpt_cuda_take(exported, BYTES, gpu.stream); /* on no page */
  clpt_ok_quietly(clp_cuda_mempool_export_fabric(exported, &handle));
  clpt_ok_quietly(clp_cuda_pointer_export(memory, &shared));
  fakecuda_fail("cuMemPoolImportFromShareableHandle", CLPI_CUDA_NOT_PERMITTED, 0, 1);
  not_supported(clp_cuda_mempool_import_fabric(&handle, &imported), "NOT_PERMITTED");
  clpt_ok_quietly(clp_cuda_mempool_import_fabric(&handle, &imported));
  clpt_fails(CLP_INVALID_ARGUMENT, clp_cuda_mempool_export_fd(imported, &fd));
  clpt_fails(CLP_INVALID_ARGUMENT, clp_cuda_mempool_trim_to(imported, 0));
  clpt_fails(CLP_INVALID_ARGUMENT, clp_cuda_mempool_set_current(0, imported));
  clpt_fails(CLP_INVALID_ARGUMENT, clp_cuda_pointer_import(imported, &wrong, &same));
  ck_assert_uint_eq(same, 0);
  clpt_ok_quietly(clp_cuda_pointer_import(imported, &shared, &same));
  clpt_cuda_fill(memory, 5, BYTES, gpu.stream);
  clpt_cuda_assert_filled(same, 5, BYTES, gpu.stream);
  clpt_ok_quietly(clp_cuda_pointer_free(same, gpu.stream));
  clpt_cuda_give(before, gpu.stream);
  clpt_cuda_give(memory, gpu.stream);
  clpt_ok(clp_cuda_mempool_destroy(imported));
  clpt_ok(clp_cuda_mempool_destroy(exported));
}

/* --- what hooks see of asynchronous pools --- */

static clpt_recorder recorder;

static void add_hook(void)
{
  clpt_recorder_init(&recorder, "recorder");
  clpt_ok(clp_hook_push(&recorder.hook));
}

static void remove_hook(void)
{
  clpt_ok(clp_hook_pop(&recorder.hook));
}

START_TEST(each_call_is_shown)
{
  unsigned long long pointer = clpt_gpu_take(1000, gpu.other);
  clpt_gpu_give(pointer, gpu.other);
  clpt_recorder_is(&recorder, "m<1000:1024 a<1024 a>1024 m>1000:1024 "
                              "f<1000:1024 d<1024 d>1024 f>1000:1024");
  for (size_t i = 0; i < 8; i++) {
    const clp_hook_event *event = &recorder.events[i];
    bool is_of_user = i == 0 || i == 3 || i == 4 || i == 7;
    ck_assert_ptr_null(event->pool);
    ck_assert_int_eq(event->device_id, 0);
    ck_assert_ptr_eq(event->stream, gpu.other);
    ck_assert_uint_eq(event->size, is_of_user ? 1000 : 0);
    ck_assert_uint_eq(event->mem_size, 1024);
    ck_assert_uint_eq(event->memory, i < 2 ? 0 : pointer);
    ck_assert_int_eq(event->buffer_id != 0, is_of_user && i > 0);
  }
  ck_assert_uint_eq(recorder.events[3].buffer_id, recorder.events[4].buffer_id);
}

static void shows(const char *expected)
{
  clpt_recorder_is(&recorder, expected);
  clpt_recorder_clear(&recorder);
}

START_TEST(failures_are_shown)
{
  unsigned long long pointer = clpt_gpu_take(512, NULL), none;
  ck_assert_ptr_eq(recorder.events[0].stream, CLP_CUDA_STREAM_LEGACY);
  clpt_recorder_clear(&recorder);
  clpt_fails(CLP_OUT_OF_DEVICE_MEMORY,
             clp_cuda_async_pool_malloc(gpu.async, TOO_MUCH, NULL, &none));
  shows("m<269484032:269484032 a<269484032 a>269484032! a<269484032 a>269484032! "
        "m>269484032:269484032!");
  clpt_ok(clp_cuda_async_pool_set_limit(gpu.async, 512, 0));
  refused(513);
  shows("m<513:1024 m>513:1024!");
  fakecuda_fail("cuMemFreeAsync", FAKECUDA_UNKNOWN, 0, 1);
  clpt_fails(CLP_BACKEND_ERROR, clp_cuda_async_pool_free(gpu.async, pointer, NULL));
  shows("f<512:512 d<512 d>512! f>512:512");
  clpt_gpu_give(pointer, NULL);
  clpt_recorder_clear(&recorder);
  clpt_gpu_give(clpt_gpu_take(0, NULL), NULL);
  clpt_fails(CLP_INVALID_ARGUMENT, clp_cuda_async_pool_free(gpu.async, 512, NULL));
  shows("");
}

/* A callback allocates itself, also on another device, and tries what callbacks must not. */
static void misbehave(clpt_recorder *self, const clp_hook_event *event)
{
  clp_allocator *of_other = self->also_data;
  clpt_gpu_give(clpt_gpu_take(512, gpu.other), gpu.other);
  clpt_ok(clp_allocator_free(of_other, clpt_memory(of_other, BYTES), BYTES));
  clpt_fails(CLP_BUSY, clp_hook_pop(&self->hook));
}

START_TEST(hooks_see_nothing_of_what_callbacks_do)
{
  clp_allocator *of_other = clpt_cuda_allocator(1, NULL);
  clpt_cuda_pop();
  recorder.also = misbehave;
  recorder.also_data = of_other;
  clpt_gpu_give(clpt_gpu_take(100, gpu.stream), gpu.stream); /* and the last error stays */
  clp_allocator_release(of_other);
  ck_assert_ptr_null(clpt_cuda_current());
  clpt_cuda_ok(cu.cuCtxPushCurrent(gpu.ctx));
  shows("m<100:512 a<512 a>512 m>100:512 f<100:512 d<512 d>512 f>100:512");
}

/* --- forks --- */

static clp_cuda_async_pool *unused; /* no memory of it is in use */

/* What the child makes anew, the driver refuses there, as the fake is told to. */
static bool is_refused_in_child(unsigned long long pointer)
{
  clp_buffer *buffer = NULL;
  clp_allocator *own;
  unsigned long long none;
  size_t bytes;
  fakecuda_fail(NULL, CLPI_CUDA_NOT_INITIALIZED, 0, 0);
  if (clp_pool_allocate(gpu.pool, BYTES, &buffer) != CLP_NOT_SUPPORTED || buffer ||
      clp_cuda_async_pool_malloc(gpu.async, BYTES, NULL, &none) != CLP_NOT_SUPPORTED || none ||
      clp_cuda_async_pool_get_limit(gpu.async, &bytes) != CLP_NOT_SUPPORTED ||
      clp_cuda_async_pool_free(gpu.async, pointer, NULL)) /* nothing of the parent's */
    return false;
  clp_cuda_async_pool_release(gpu.async);
  clp_cuda_async_pool_release(unused);
  return clp_cuda_async_allocator_create(NULL, &own) == CLP_BACKEND_ERROR && !own &&
         clp_last_error()->native_code == CLPI_CUDA_NOT_INITIALIZED;
}

START_TEST(a_forked_child_is_refused_and_gives_nothing_back)
{
  unsigned long long pointer = clpt_gpu_take(BYTES, gpu.stream);
  int status = 0;
  clpt_ok(clp_cuda_async_pool_create(NULL, &unused));
  pid_t child = fork();
  ck_assert_int_ge(child, 0);
  if (child == 0)
    clpt_leave(is_refused_in_child(pointer) ? 0 : 1);
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  ck_assert_int_eq(status, 0);
  clpt_ok(clp_buffer_release(clpt_allocate(gpu.pool, BYTES)));
  clp_cuda_async_pool_release(unused);
  clpt_gpu_give(pointer, gpu.stream);
}

CLPT_SUITE("fake")
{
  TCase *tests = clpt_gpu_case(suite, "fake");
  tcase_add_test(tests, what_needs_no_driver_calls_none);
  tcase_add_test(tests, the_host_waits_neither_to_allocate_nor_to_free);
  tcase_add_test(tests, events_are_used_again);
  tcase_add_loop_test(tests, late_frees_are_waited_for, 0, 3);
  tcase_add_loop_test(tests, kept_memory_is_trimmed, 0, 2);
  tcase_add_test(tests, what_fails_does_not_count);
  tcase_add_test(tests, what_is_kept_unused_is_trimmed_to_the_limit);
  tcase_add_loop_test(tests, the_environment_sets_the_limit_of_each_device, 0, 3);
  tcase_add_test(tests, a_driver_that_does_not_count);
  tcase_add_test(tests, pools_that_cannot_be_made);
  tcase_add_test(tests, a_peer_that_cannot_reach_the_memory);
  tcase_add_test(tests, a_device_without_memory_pools);
  tcase_add_test(tests, a_pool_is_shared_by_fabric);
  tcase_add_test(tests, a_forked_child_is_refused_and_gives_nothing_back);
  tests = clpt_gpu_case(suite, "hooks");
  tcase_add_checked_fixture(tests, add_hook, remove_hook);
  tcase_add_test(tests, each_call_is_shown);
  tcase_add_test(tests, failures_are_shown);
  tcase_add_test(tests, hooks_see_nothing_of_what_callbacks_do);
}

int main(void)
{
  clpt_cuda_use_fake();
  return clpt_gpu_main(getenv("CLPOOL_CUDA_LIBRARY"), reset);
}
