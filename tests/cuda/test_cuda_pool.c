/* SPDX-License-Identifier: MIT */
/* What needs the fake driver to be seen: memory that runs out, streams that are late for long, what
 * goes to the driver and what does not, old drivers, and hooks. The fake looks after the order: it
 * ends the program where a stream may use memory that is another one's at the time. */
#include "core/allocator/allocator.h"
#include "cuda/stream_order.h"
#include "support/cuda_device.h"
#include "support/cuda_memory.h"
#include "support/pools.h"
#include "support/recorder.h"
#include "support/suite.h"
#include "support/workers.h"

#include <clpool/arena.h>
#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#define VARIABLE "CLPOOL_MEMORY_LIMIT"

enum { KB = 1 << 10, MB = 1 << 20, DEVICE_BYTES = 64 * MB, BYTES = 64 * KB };

static clpt_cuda cuda, other; /* devices 0 and 1; no context is current */
static CUstream home, second, third;
static clp_allocator *allocator; /* of device 0, on `home` and the default mempool */
static clp_pool *pool;
static clp_cuda_async_pool *async;
static clp_cuda_mempool mempool; /* the default one of device 0; keeps what it reserved */

static void setup(void)
{
  unsetenv(VARIABLE);
  fakecuda_reset();
  fakecuda_set_devices(2, DEVICE_BYTES);
  clpt_cuda_open(&cuda, 0);
  clpt_cuda_open(&other, 1);
  home = cuda.streams[0];
  second = cuda.streams[1];
  third = cuda.streams[2];
  allocator = clpt_cuda_allocator(0, home);
  pool = clpt_pool(allocator);
  clpt_ok(clp_cuda_async_pool_create(NULL, &async));
  clpt_ok(clp_cuda_mempool_default(0, &mempool));
  clpt_ok(clp_cuda_mempool_set_release_threshold(mempool, UINT64_MAX));
}

static void teardown(void)
{
  clp_cuda_async_pool_release(async);
  clp_pool_release(pool);
  clp_allocator_release(allocator);
  ck_assert_ptr_null(clpt_cuda_current());
  clpt_cuda_close(&cuda);
  clpt_cuda_close(&other);
  fakecuda_reset();
}

static clp_buffer *allocate_on(size_t bytes, CUstream stream)
{
  clp_buffer *buffer = NULL;
  clpt_ok_quietly(clp_pool_allocate_on(pool, bytes, stream, &buffer));
  return buffer;
}

static void release_on(clp_buffer *buffer, CUstream stream)
{
  clpt_ok_quietly(clp_buffer_release_on(buffer, stream));
}

static unsigned long long taken(size_t bytes, CUstream stream)
{
  unsigned long long pointer = 0;
  clpt_ok_quietly(clp_cuda_async_pool_malloc(async, bytes, stream, &pointer));
  return pointer;
}

static void given(unsigned long long pointer, CUstream stream)
{
  clpt_ok_quietly(clp_cuda_async_pool_free(async, pointer, stream));
}

static size_t reserved_bytes(void)
{
  clp_cuda_mempool_usage usage = CLP_CUDA_MEMPOOL_USAGE_INIT;
  clpt_ok(clp_cuda_mempool_get_usage(mempool, &usage));
  return usage.reserved_bytes;
}

/* --- what goes to the driver --- */

START_TEST(what_needs_no_driver_calls_none)
{
  clp_memory memory = 7;

  clpt_ok(clp_buffer_release(clpt_allocate(pool, BYTES)));
  unsigned long calls = fakecuda_calls(NULL), hits = clpt_stats(pool).hits;
  for (int i = 0; i < 10; i++) {
    clpt_ok(clp_buffer_release(clpt_allocate(pool, BYTES)));
    release_on(allocate_on(BYTES, home), home);
  }
  ck_assert_uint_eq(clpt_stats(pool).hits, hits + 20);
  clpt_ok_quietly(clp_allocator_allocate(allocator, 0, &memory));
  ck_assert_uint_eq(memory, 0);
  clpt_ok_quietly(clp_allocator_free(allocator, 0, 0));
  given(taken(0, home), home);
  ck_assert_uint_eq(fakecuda_calls(NULL), calls);
}
END_TEST

START_TEST(the_allocator_says_what_it_is)
{
  clp_allocator *of_other = clpt_cuda_allocator(1, other.streams[0]);
  const clp_allocator_ops *ops = &of_other->ops;

  ck_assert_str_eq(clp_allocator_name(of_other), "cuda-async");
  ck_assert(!clp_allocator_is_deferred(of_other));
  ck_assert_int_eq(ops->memory_kind, CLP_MEMORY_CUDA);
  ck_assert_int_eq(ops->device_id, 1);
  ck_assert_uint_eq(ops->device_bytes, DEVICE_BYTES);
  ck_assert_uint_eq(ops->alignment, 256);
  ck_assert_ptr_eq(ops->home_stream, other.streams[0]);
  ck_assert(ops->allocate_uses_home);
  ck_assert(clpi_allocator_orders_streams(of_other));
  clp_allocator_release(of_other);
}
END_TEST

START_TEST(the_host_waits_neither_to_allocate_nor_to_free)
{
  fakecuda_hold(home);
  for (int i = 0; i < 2; i++) {
    clp_memory memory = clpt_memory(allocator, BYTES);
    unsigned long long pointer = taken(BYTES, home);
    clpt_cuda_fill(&cuda, home, memory, BYTES, 3);
    clpt_cuda_fill(&cuda, home, pointer, BYTES, 3);
    clpt_ok_quietly(clp_allocator_free(allocator, memory, BYTES));
    given(pointer, home);
  }
  ck_assert_uint_gt(fakecuda_commands_left(home), 0);
  fakecuda_go_on(home);
}
END_TEST

START_TEST(no_context_is_made_before_one_is_needed)
{
  unsigned long before = fakecuda_calls("cuDevicePrimaryCtxRetain");
  clp_cuda_async_pool *brief;
  unsigned long long pointer;

  clpt_ok(clp_cuda_async_pool_create(NULL, &brief));
  clpt_cuda_enter(&other);
  clpt_ok(clp_cuda_async_pool_malloc(brief, BYTES, other.streams[0], &pointer));
  clpt_ok(clp_cuda_async_pool_free(brief, pointer, other.streams[0]));
  clpt_cuda_leave();
  ck_assert_uint_eq(fakecuda_calls("cuDevicePrimaryCtxRetain"), before);
  clp_cuda_async_pool_release(brief);
}
END_TEST

/* --- marks, which are events --- */

enum { MARKS = CLPI_CUDA_SPARE_EVENTS + 3 };

static void *mark_on(CUstream stream)
{
  void *mark = NULL;
  clpt_ok_quietly(allocator->ops.mark_create(allocator->self, stream, &mark));
  return mark;
}

static void let_go_of(void *mark)
{
  allocator->ops.mark_destroy(allocator->self, mark);
}

static bool is_done(void *mark)
{
  bool done;
  clpt_ok_quietly(allocator->ops.mark_is_done(allocator->self, mark, &done));
  return done;
}

START_TEST(a_mark_is_done_with_the_work_before_it)
{
  clp_memory memory = clpt_memory(allocator, BYTES);
  clpt_cuda_fill(&cuda, home, memory, BYTES, 1);
  void *earlier = mark_on(home);
  clpt_ok_quietly(allocator->ops.host_wait(allocator->self, earlier));
  fakecuda_hold(home);
  clpt_cuda_fill(&cuda, home, memory, BYTES, 2);
  void *mark = mark_on(home);
  ck_assert(is_done(earlier));
  ck_assert(!is_done(mark));
  fakecuda_go_on(home);
  clpt_ok_quietly(allocator->ops.host_wait(allocator->self, mark));
  ck_assert(is_done(mark));
  let_go_of(earlier);
  let_go_of(mark);
  clpt_ok(clp_allocator_free(allocator, memory, BYTES));
}
END_TEST

/* As many as are kept. That one more cannot be destroyed is told to nobody. */
START_TEST(events_are_used_again)
{
  void *marks[MARKS];
  unsigned long made = fakecuda_calls("cuEventCreate"), ended = fakecuda_calls("cuEventDestroy");

  for (int round = 0; round < 2; round++) {
    for (int i = 0; i < MARKS; i++)
      marks[i] = mark_on(i % 2 ? home : second);
    for (int i = 0; i < MARKS - round; i++)
      let_go_of(marks[i]);
  }
  ck_assert_uint_eq(fakecuda_calls("cuEventCreate") - made, MARKS + 3);
  ck_assert_uint_eq(fakecuda_calls("cuEventDestroy") - ended, 5);
  fakecuda_fail("cuCtxGetCurrent", FAKECUDA_UNKNOWN, 0, 1);
  (void)clp_set_last_error(CLP_BUSY, 5, "from before");
  let_go_of(marks[MARKS - 1]);
  ck_assert_int_eq(clp_last_error()->status, CLP_BUSY);
  clpt_cuda_ok(cuEventDestroy(marks[MARKS - 1]));
}
END_TEST

/* --- out of memory --- */

START_TEST(held_memory_is_given_up)
{
  clp_pool *neighbour = clpt_pool(allocator);

  clpt_hold(pool, 20 * MB, 1);
  clpt_hold(pool, 10 * MB, 1);
  clpt_hold(neighbour, 30 * MB, 1);
  clp_buffer *buffer = clpt_allocate(pool, 60 * MB);
  ck_assert_uint_eq(clpt_stats(pool).out_of_memory_reactions, 1);
  ck_assert_uint_eq(clpt_stats(neighbour).held_blocks, 0);
  clpt_ok(clp_buffer_release(buffer));
  clp_pool_release(neighbour);
}
END_TEST

/* The driver does not make one stream wait for what another one frees. */
static void forbid_dependencies(void)
{
  clpt_ok(clp_cuda_mempool_set_reuse(mempool, CLP_CUDA_REUSE_FOLLOW_EVENT_DEPENDENCIES |
                                                  CLP_CUDA_REUSE_OPPORTUNISTIC));
}

/* Lets a stream go on when the host waits for it. */
static void *let_go(void *stream)
{
  while (!fakecuda_calls("cuCtxSynchronize") && !fakecuda_calls("cuEventSynchronize"))
    sched_yield();
  fakecuda_go_on(stream);
  return NULL;
}

/* Of a pool, and of another user of the memory pool, on a stream that no pool knows of. */
START_TEST(late_frees_are_waited_for)
{
  CUdeviceptr foreign;
  pthread_t thread;

  forbid_dependencies();
  if (_i == 0) {
    clp_buffer *buffer = allocate_on(50 * MB, second);
    fakecuda_hold(second);
    clpt_cuda_fill(&cuda, second, clp_buffer_cuda_pointer(buffer), 1, 1);
    release_on(buffer, second);
    clpt_ok(clp_pool_free_held(pool));
  } else {
    clpt_cuda_enter(&cuda);
    clpt_cuda_ok(cuMemAllocAsync(&foreign, 50 * MB, second));
    fakecuda_hold(second);
    clpt_cuda_ok(cuMemFreeAsync(foreign, second));
    clpt_cuda_leave();
  }
  ck_assert_int_eq(pthread_create(&thread, NULL, let_go, second), 0);
  if (_i < 2)
    release_on(allocate_on(40 * MB, home), home);
  else
    given(taken(40 * MB, home), home);
  ck_assert_int_eq(pthread_join(thread, NULL), 0);
}
END_TEST

/* Which another memory pool of the device can then have. */
START_TEST(kept_memory_is_trimmed)
{
  unsigned long trims = fakecuda_calls("cuMemPoolTrimTo");
  clp_buffer *refused = NULL;
  unsigned long long none;

  if (_i == 0) {
    clpt_hold(pool, 50 * MB, 1);
    clpt_ok(clp_pool_free_held(pool));
    trims = fakecuda_calls("cuMemPoolTrimTo");
    clpt_fails(CLP_OUT_OF_DEVICE_MEMORY, clp_pool_allocate(pool, 65 * MB, &refused));
  } else {
    given(taken(50 * MB, home), home);
    clpt_fails(CLP_OUT_OF_DEVICE_MEMORY, clp_cuda_async_pool_malloc(async, 65 * MB, home, &none));
  }
  ck_assert_uint_eq(fakecuda_calls("cuMemPoolTrimTo"), trims + 1);
  ck_assert_uint_eq(reserved_bytes(), 0);
}
END_TEST

/* --- the limit of an asynchronous pool --- */

static void refused(size_t bytes)
{
  unsigned long before = fakecuda_calls("cuMemAllocFromPoolAsync");
  unsigned long long none;
  clpt_fails(CLP_LIMIT_EXCEEDED, clp_cuda_async_pool_malloc(async, bytes, home, &none));
  ck_assert_uint_eq(fakecuda_calls("cuMemAllocFromPoolAsync"), before);
}

START_TEST(what_fails_does_not_count)
{
  unsigned long long pointer = 0;

  clpt_ok(clp_cuda_async_pool_set_limit(async, 1024, 0));
  fakecuda_fail("cuMemAllocFromPoolAsync", FAKECUDA_UNKNOWN, 0, 1);
  clpt_fails(CLP_BACKEND_ERROR, clp_cuda_async_pool_malloc(async, 1024, home, &pointer));
  pointer = taken(1024, home);
  fakecuda_fail("cuMemFreeAsync", FAKECUDA_UNKNOWN, 0, 1);
  clpt_fails(CLP_BACKEND_ERROR, clp_cuda_async_pool_free(async, pointer, home));
  refused(1);
  given(pointer, home);
  given(taken(1024, home), home);
}
END_TEST

/* The memory pool keeps 8 MiB unused; a limit of 12 MiB trims that when it is noticed. */
START_TEST(what_is_kept_unused_is_trimmed_to_the_limit)
{
  given(taken(8 * MB, home), home);
  clpt_cuda_enter(&cuda);
  clpt_cuda_ok(cuStreamSynchronize(home));
  clpt_cuda_leave();
  ck_assert_uint_ge(reserved_bytes(), 8 * MB);
  clpt_ok(clp_cuda_async_pool_set_limit(async, 12 * MB, 0));
  unsigned long long pointer = taken(12 * MB, home);
  ck_assert_uint_eq(reserved_bytes(), 12 * MB);
  given(pointer, home);
}
END_TEST

START_TEST(the_environment_sets_the_limit_of_each_device)
{
  static const char *const values[] = {"16M", "25%", "plenty"};
  clp_cuda_async_pool *limited = async;
  size_t limit;

  setenv(VARIABLE, values[_i], 1);
  if (_i == 2) {
    clpt_fails(CLP_INVALID_ARGUMENT, clp_cuda_async_pool_create(NULL, &limited));
    clpt_message_has("plenty");
    ck_assert_ptr_null(limited);
    return;
  }
  clpt_ok(clp_cuda_async_pool_create(NULL, &limited));
  for (int device = 0; device < 2; device++) {
    clpt_cuda_enter(device ? &other : &cuda);
    clpt_ok(clp_cuda_async_pool_get_limit(limited, &limit));
    ck_assert_uint_eq(limit, 16 * MB);
    clpt_cuda_leave();
  }
  clp_cuda_async_pool_release(limited);
}
END_TEST

/* --- what a driver or a device cannot do --- */

#define MEMPOOL(...)                                                                               \
  (&(const clp_cuda_mempool_options){.struct_size = sizeof(clp_cuda_mempool_options), __VA_ARGS__})

static void not_supported(clp_status status, const char *message)
{
  ck_assert_int_eq(status, CLP_NOT_SUPPORTED);
  ck_assert_int_eq(clp_last_error()->status, CLP_NOT_SUPPORTED);
  clpt_message_has(message);
}

START_TEST(a_driver_that_does_not_count)
{
  int version = clpt_cuda_pretend_version(11020);
  clp_cuda_mempool_usage usage = CLP_CUDA_MEMPOOL_USAGE_INIT;
  size_t bytes = 7;

  ck_assert(!clp_cuda_async_pool_has_statistics(async));
  not_supported(clp_cuda_mempool_get_usage(mempool, &usage), "11.2");
  not_supported(clp_cuda_mempool_reset_peaks(mempool), "11.3");
  not_supported(clp_cuda_async_pool_total_bytes(async, &bytes), "11.3");
  not_supported(clp_cuda_async_pool_used_bytes(async, &bytes), "11.3");
  not_supported(clp_cuda_async_pool_free_bytes(async, &bytes), "11.3");
  not_supported(clp_cuda_async_pool_get_usage(async, &usage), "11.3");
  not_supported(clp_cuda_async_pool_reset_peaks(async), "11.3");
  ck_assert_uint_eq(bytes, 7);
  clpt_ok(clp_cuda_async_pool_set_limit(async, 512, 0));
  given(taken(512, home), home);
  refused(513);
  ck_assert_uint_eq(fakecuda_calls("cuMemPoolGetAttribute"), 0);
  clpt_cuda_pretend_version(version);
}
END_TEST

START_TEST(pools_that_cannot_be_made)
{
  clp_cuda_mempool made = mempool;
  int version = clpt_cuda_pretend_version(12010);

  not_supported(clp_cuda_mempool_create(MEMPOOL(.max_bytes = MB), &made), "1048576");
  clpt_message_has("12.1");
  ck_assert_ptr_null(made);
  clpt_ok(clp_cuda_mempool_create(NULL, &made));
  clpt_ok(clp_cuda_mempool_destroy(made));
  clpt_cuda_pretend_version(version);
  not_supported(clp_cuda_mempool_create(MEMPOOL(.handle_types = 9), &made), "0x9");
  fakecuda_set_handle_types(0, 9);
  clpt_ok(clp_cuda_mempool_create(MEMPOOL(.handle_types = 9), &made));
  clpt_ok(clp_cuda_mempool_destroy(made));
  fakecuda_set_host_numa_supported(false);
  not_supported(clp_cuda_mempool_create(MEMPOOL(.location = CLP_CUDA_ON_HOST_NUMA), &made), "host");
  fakecuda_set_host_numa_supported(true);
  fakecuda_fail("cuDeviceGetAttribute", CLPI_CUDA_INVALID_VALUE, 0, 0); /* an old driver */
  not_supported(clp_cuda_mempool_create(MEMPOOL(.location = CLP_CUDA_ON_HOST_NUMA), &made), "host");
  ck_assert_ptr_null(made);
}
END_TEST

START_TEST(memory_of_the_host)
{
  clp_cuda_mempool of_host;
  clpt_ok(clp_cuda_mempool_create(MEMPOOL(.location = CLP_CUDA_ON_HOST_NUMA), &of_host));
  clpt_ok(clp_cuda_mempool_set_access(of_host, 0, CLP_CUDA_ACCESS_READ_WRITE));
  CUdeviceptr pointer = clpt_cuda_allocated(&cuda, of_host, 1000);
  clpt_cuda_fill(&cuda, home, pointer, 1000, 9);
  clpt_cuda_freed(&cuda, pointer);
  clpt_ok(clp_cuda_mempool_destroy(of_host));
}
END_TEST

START_TEST(a_peer_that_cannot_reach_the_memory)
{
  clp_cuda_access access = CLP_CUDA_ACCESS_READ;

  fakecuda_set_peers(false);
  not_supported(clp_cuda_mempool_set_access(mempool, 1, CLP_CUDA_ACCESS_READ_WRITE), "reach");
  clpt_ok(clp_cuda_mempool_get_access(mempool, 1, &access));
  ck_assert_int_eq(access, CLP_CUDA_ACCESS_NONE);
  fakecuda_fail("cuMemPoolSetAccess", CLPI_CUDA_PEER_ACCESS_UNSUPPORTED, 0, 1);
  not_supported(clp_cuda_mempool_set_access(mempool, 1, CLP_CUDA_ACCESS_READ_WRITE), "reach");
  ck_assert_int_eq(clp_last_error()->native_code, CLPI_CUDA_PEER_ACCESS_UNSUPPORTED);
}
END_TEST

/* Calls for the others succeed. */
START_TEST(a_device_without_memory_pools)
{
  clp_cuda_mempool none = mempool;
  clp_cuda_async_pool *made;
  clp_allocator *refused_one = allocator;
  unsigned long long pointer = 1;

  fakecuda_set_mempools_supported(1, false);
  not_supported(
      clp_cuda_async_allocator_create(
          &(clp_cuda_async_options){.struct_size = sizeof(clp_cuda_async_options), .device = 1},
          &refused_one),
      "CUDA device 1 has no memory pools");
  not_supported(clp_cuda_mempool_create(MEMPOOL(.device = 1), &none), "device 1");
  not_supported(clp_cuda_mempool_default(1, &none), "");
  not_supported(clp_cuda_mempool_current(1, &none), "");
  ck_assert_ptr_null(none);
  clpt_ok(clp_cuda_async_pool_create(NULL, &made));
  clpt_ok(clp_cuda_async_pool_malloc(made, BYTES, NULL, &pointer));
  clpt_ok(clp_cuda_async_pool_free(made, pointer, NULL));
  clpt_cuda_enter(&other);
  not_supported(clp_cuda_async_pool_malloc(made, BYTES, NULL, &pointer), "device 1 has no memory");
  ck_assert_uint_eq(pointer, 0);
  clpt_cuda_leave();
  clp_cuda_async_pool_release(made);
  fakecuda_set_mempools_supported(0, false);
  not_supported(clp_cuda_async_pool_create(NULL, &made), "");
  ck_assert_ptr_null(made);
}
END_TEST

/* A fabric handle goes by bytes, which need no other process to be understood. */
START_TEST(a_pool_is_shared_by_fabric)
{
  clp_cuda_fabric_handle handle;
  clp_cuda_shared_pointer shared;
  clp_cuda_mempool exported, imported;
  unsigned long long same;

  fakecuda_set_handle_types(0, CLP_CUDA_HANDLE_FABRIC);
  clpt_ok(clp_cuda_mempool_create(MEMPOOL(.handle_types = CLP_CUDA_HANDLE_FABRIC), &exported));
  CUdeviceptr memory = clpt_cuda_allocated(&cuda, exported, BYTES);
  clpt_ok_quietly(clp_cuda_mempool_export_fabric(exported, &handle));
  clpt_ok_quietly(clp_cuda_pointer_export(memory, &shared));
  fakecuda_fail("cuMemPoolImportFromShareableHandle", CLPI_CUDA_NOT_PERMITTED, 0, 1);
  not_supported(clp_cuda_mempool_import_fabric(&handle, &imported), "NOT_PERMITTED");
  clpt_ok_quietly(clp_cuda_mempool_import_fabric(&handle, &imported));
  clpt_ok_quietly(clp_cuda_pointer_import(imported, &shared, &same));
  clpt_cuda_fill(&cuda, home, memory, BYTES, 5);
  clpt_cuda_assert_filled(&cuda, home, same, BYTES, 5);
  clpt_cuda_freed(&cuda, same);
  clpt_cuda_freed(&cuda, memory);
  clpt_ok(clp_cuda_mempool_destroy(imported));
  clpt_ok(clp_cuda_mempool_destroy(exported));
}
END_TEST

/* --- what hooks see of asynchronous pools --- */

static clpt_recorder recorder;

static void setup_hooks(void)
{
  setup();
  clpt_recorder_init(&recorder, "recorder");
  clpt_ok(clp_hook_push(&recorder.hook));
}

static void teardown_hooks(void)
{
  clpt_ok(clp_hook_pop(&recorder.hook));
  teardown();
}

START_TEST(each_call_is_shown)
{
  unsigned long long pointer = taken(1000, second);

  given(pointer, second);
  clpt_recorder_is(&recorder, "m<1000:1024 a<1024 a>1024 m>1000:1024 "
                              "f<1000:1024 d<1024 d>1024 f>1000:1024");
  for (size_t i = 0; i < 8; i++) {
    const clp_hook_event *event = &recorder.events[i];
    bool is_of_user = i == 0 || i == 3 || i == 4 || i == 7;
    ck_assert_ptr_null(event->pool);
    ck_assert_int_eq(event->device_id, 0);
    ck_assert_ptr_eq(event->stream, second);
    ck_assert_uint_eq(event->size, is_of_user ? 1000 : 0);
    ck_assert_uint_eq(event->mem_size, 1024);
    ck_assert_uint_eq(event->memory, i < 2 ? 0 : pointer);
    ck_assert_int_eq(event->buffer_id != 0, is_of_user && i > 0);
  }
  ck_assert_uint_eq(recorder.events[3].buffer_id, recorder.events[4].buffer_id);
}
END_TEST

START_TEST(failures_are_shown)
{
  unsigned long long pointer = taken(512, NULL), none;

  ck_assert_ptr_eq(recorder.events[0].stream, CLP_CUDA_STREAM_LEGACY);
  clpt_recorder_clear(&recorder);
  clpt_fails(CLP_OUT_OF_DEVICE_MEMORY, clp_cuda_async_pool_malloc(async, 65 * MB, NULL, &none));
  clpt_recorder_is(&recorder, "m<68157440:68157440 a<68157440 a>68157440! a<68157440 "
                              "a>68157440! m>68157440:68157440!");
  clpt_recorder_clear(&recorder);
  clpt_ok(clp_cuda_async_pool_set_limit(async, 512, 0));
  refused(513);
  clpt_recorder_is(&recorder, "m<513:1024 m>513:1024!");
  clpt_recorder_clear(&recorder);
  fakecuda_fail("cuMemFreeAsync", FAKECUDA_UNKNOWN, 0, 1);
  clpt_fails(CLP_BACKEND_ERROR, clp_cuda_async_pool_free(async, pointer, NULL));
  clpt_recorder_is(&recorder, "f<512:512 d<512 d>512! f>512:512");
  given(pointer, NULL);
  clpt_recorder_clear(&recorder);
  given(taken(0, NULL), NULL);
  clpt_fails(CLP_INVALID_ARGUMENT, clp_cuda_async_pool_free(async, 512, NULL));
  clpt_recorder_is(&recorder, "");
}
END_TEST

/* A callback allocates itself, also on another device, and tries what callbacks must not. */
static void misbehave(clpt_recorder *self, const clp_hook_event *event)
{
  clp_allocator *of_other = self->also_data;
  (void)event;
  given(taken(512, second), second);
  clpt_ok(clp_allocator_free(of_other, clpt_memory(of_other, BYTES), BYTES));
  clpt_fails(CLP_BUSY, clp_hook_pop(&self->hook));
}

START_TEST(hooks_see_nothing_of_what_callbacks_do)
{
  clp_allocator *of_other = clpt_cuda_allocator(1, other.streams[0]);

  recorder.also = misbehave;
  recorder.also_data = of_other;
  given(taken(100, home), home); /* and the last error stays */
  clp_allocator_release(of_other);
  ck_assert_ptr_null(clpt_cuda_current());
  clpt_recorder_is(&recorder, "m<100:512 a<512 a>512 m>100:512 f<100:512 d<512 d>512 f>100:512");
}
END_TEST

START_TEST(hooks_of_other_pools_see_nothing)
{
  clpt_recorder of_pool;

  clpt_recorder_init(&of_pool, "of a pool");
  clpt_ok(clp_pool_add_hook(pool, &of_pool.hook));
  clpt_ok(clp_hook_pop(&recorder.hook));
  given(taken(100, home), home);
  clpt_ok(clp_hook_push(&recorder.hook));
  clpt_recorder_is(&of_pool, "");
  clpt_recorder_is(&recorder, "");
  clpt_ok(clp_pool_remove_hook(pool, &of_pool.hook));
}
END_TEST

/* --- threads and forks --- */

enum { SLOTS = 6, THREADS = 4 };

/* Each thread has its slots, whose buffers are filled on a stream and released on it. */
static void run_program(clpt_worker *self)
{
  clp_buffer *buffers[SLOTS] = {NULL};
  CUstream streams[SLOTS] = {NULL};
  CUcontext left;
  if (cuCtxPushCurrent(cuda.ctx))
    clpt_wrong(self, "cuCtxPushCurrent");
  for (unsigned i = 0; i < self->rounds; i++) {
    size_t slot = clpt_chance_below(&self->chance, SLOTS);
    CUstream next = cuda.streams[clpt_chance_below(&self->chance, CLPT_CUDA_STREAMS)];
    size_t bytes = 1 + clpt_chance_below(&self->chance, 8 * KB);
    clp_status status =
        buffers[slot] ? clp_buffer_release_on(buffers[slot], streams[slot]) : CLP_SUCCESS;
    buffers[slot] = NULL;
    if (!status)
      status = clp_pool_allocate_on(self->shared, bytes, next, &buffers[slot]);
    if (status) {
      clpt_note_failure(self, "a step", status);
      break;
    }
    streams[slot] = next;
    if (cuMemsetD8Async(clp_buffer_cuda_pointer(buffers[slot]), (unsigned char)i, bytes, next))
      clpt_wrong(self, "cuMemsetD8Async");
  }
  for (size_t i = 0; i < SLOTS; i++)
    if (buffers[i])
      clp_buffer_release_on(buffers[i], streams[i]);
  cuCtxPopCurrent(&left);
}

START_TEST(threads_and_streams)
{
  static clpt_workers workers;
  const clpt_work work[] = {run_program};
  clp_allocator *arena;

  clpt_ok(clp_arena_allocator_create(allocator, NULL, &arena));
  clp_pool *shared = clpt_pool(_i ? arena : allocator);
  clpt_workers_start(&workers, THREADS, work, 1, clpt_iterations(1000), shared);
  clpt_workers_join(&workers);
  clp_pool_release(shared);
  clp_allocator_release(arena);
}
END_TEST

/* What the child makes anew, the driver refuses there, as the fake is told to. 0, or what was
 * wrong. */
static int use_in_child(unsigned long long pointer)
{
  clp_buffer *buffer = NULL;
  clp_allocator *own;
  unsigned long long none;
  size_t bytes;

  fakecuda_fail(NULL, CLPI_CUDA_NOT_INITIALIZED, 0, 0);
  if (clp_pool_allocate(pool, BYTES, &buffer) != CLP_NOT_SUPPORTED || buffer)
    return 1;
  if (clp_cuda_async_pool_malloc(async, BYTES, home, &none) != CLP_NOT_SUPPORTED || none)
    return 2;
  if (clp_cuda_async_pool_get_limit(async, &bytes) != CLP_NOT_SUPPORTED)
    return 3;
  if (clp_cuda_async_pool_free(async, pointer, home)) /* nothing of the parent's */
    return 4;
  clp_cuda_async_pool_release(async);
  if (clp_cuda_async_allocator_create(NULL, &own) != CLP_BACKEND_ERROR || own)
    return 5;
  return clp_last_error()->native_code == CLPI_CUDA_NOT_INITIALIZED ? 0 : 6;
}

START_TEST(a_forked_child_is_refused_and_gives_nothing_back)
{
  unsigned long long pointer = taken(BYTES, home);
  int status = 0;
  pid_t child = fork();

  ck_assert_int_ge(child, 0);
  if (child == 0)
    _exit(use_in_child(pointer));
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  ck_assert_int_eq(status, 0);
  clpt_ok(clp_buffer_release(clpt_allocate(pool, BYTES)));
  given(pointer, home);
}
END_TEST

static TCase *new_case(Suite *suite, const char *name, void (*before)(void), void (*after)(void))
{
  TCase *tests = clpt_case(suite, name);
  tcase_add_checked_fixture(tests, before, after);
  return tests;
}

CLPT_MAIN("cuda_pool", clpt_run)
{
  TCase *tests = new_case(suite, "driver", setup, teardown);
  tcase_add_test(tests, what_needs_no_driver_calls_none);
  tcase_add_test(tests, the_allocator_says_what_it_is);
  tcase_add_test(tests, the_host_waits_neither_to_allocate_nor_to_free);
  tcase_add_test(tests, no_context_is_made_before_one_is_needed);
  tcase_add_test(tests, a_mark_is_done_with_the_work_before_it);
  tcase_add_test(tests, events_are_used_again);

  tests = new_case(suite, "out of memory", setup, teardown);
  tcase_add_test(tests, held_memory_is_given_up);
  tcase_add_loop_test(tests, late_frees_are_waited_for, 0, 3);
  tcase_add_loop_test(tests, kept_memory_is_trimmed, 0, 2);

  tests = new_case(suite, "limit", setup, teardown);
  tcase_add_test(tests, what_fails_does_not_count);
  tcase_add_test(tests, what_is_kept_unused_is_trimmed_to_the_limit);
  tcase_add_loop_test(tests, the_environment_sets_the_limit_of_each_device, 0, 3);

  tests = new_case(suite, "not supported", setup, teardown);
  tcase_add_test(tests, a_driver_that_does_not_count);
  tcase_add_test(tests, pools_that_cannot_be_made);
  tcase_add_test(tests, memory_of_the_host);
  tcase_add_test(tests, a_peer_that_cannot_reach_the_memory);
  tcase_add_test(tests, a_device_without_memory_pools);
  tcase_add_test(tests, a_pool_is_shared_by_fabric);

  tests = new_case(suite, "hooks", setup_hooks, teardown_hooks);
  tcase_add_test(tests, each_call_is_shown);
  tcase_add_test(tests, failures_are_shown);
  tcase_add_test(tests, hooks_see_nothing_of_what_callbacks_do);
  tcase_add_test(tests, hooks_of_other_pools_see_nothing);

  tests = new_case(suite, "threads", setup, teardown);
  tcase_add_loop_test(tests, threads_and_streams, 0, 2);
  tcase_add_test(tests, a_forked_child_is_refused_and_gives_nothing_back);
  clpt_cuda_use_fake();
}
