/* SPDX-License-Identifier: MIT */
/* Pools and arenas on CUDA memory: reuse, order across streams that run late, running out. The fake
 * driver looks after the order itself: it ends the program where a stream may use memory that is
 * another one's at the time. */
#include "core/allocator/allocator.h"
#include "support/cuda_device.h"
#include "support/one_block.h"
#include "support/pools.h"
#include "support/suite.h"
#include "support/workers.h"

#include <clpool/arena.h>
#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

enum { KB = 1 << 10, MB = 1 << 20, BYTES = 64 * KB };

static clpt_cuda cuda;
static clp_allocator *allocator; /* its home stream is the first */
static CUstream home, second, third;

static void open_device(size_t bytes)
{
  fakecuda_reset();
  fakecuda_set_devices(1, bytes);
  clpt_cuda_open(&cuda, 0);
  home = cuda.streams[0];
  second = cuda.streams[1];
  third = cuda.streams[2];
  allocator = clpt_cuda_allocator(0, home);
}

static void setup(void)
{
  open_device((size_t)1 << 30);
}

static void setup_small(void)
{
  open_device(64 * MB);
}

static void teardown(void)
{
  clp_allocator_release(allocator);
  ck_assert_ptr_null(clpt_cuda_current());
  ck_assert_uint_eq(fakecuda_live_allocations(), 0);
  clpt_cuda_close(&cuda);
  fakecuda_reset();
}

static clp_buffer *allocate_on(clp_pool *pool, size_t bytes, CUstream stream)
{
  clp_buffer *buffer = NULL;
  clpt_ok_quietly(clp_pool_allocate_on(pool, bytes, stream, &buffer));
  return buffer;
}

static void release_on(clp_buffer *buffer, CUstream stream)
{
  clpt_ok_quietly(clp_buffer_release_on(buffer, stream));
}

/* The stream fills the whole block. */
static void fill(const clp_buffer *buffer, CUstream stream, unsigned char byte)
{
  clpt_cuda_fill(&cuda, stream, clp_buffer_cuda_pointer(buffer), clp_buffer_capacity(buffer), byte);
}

static void assert_filled(const clp_buffer *buffer, CUstream stream, unsigned char byte)
{
  clpt_cuda_assert_filled(&cuda, stream, clp_buffer_cuda_pointer(buffer),
                          clp_buffer_capacity(buffer), byte);
}

static void synchronize(CUstream stream)
{
  clpt_cuda_enter(&cuda);
  clpt_cuda_ok(cuStreamSynchronize(stream));
  clpt_cuda_leave();
}

static size_t hits(const clp_pool *pool)
{
  return clpt_stats(pool).hits;
}

/* --- reuse --- */

START_TEST(a_warm_pair_calls_no_driver)
{
  clp_pool *pool = clpt_pool(allocator);
  clpt_ok(clp_buffer_release(clpt_allocate(pool, BYTES)));
  unsigned long calls = fakecuda_calls(NULL);

  for (int i = 0; i < 10; i++)
    clpt_ok(clp_buffer_release(clpt_allocate(pool, BYTES)));
  for (int i = 0; i < 10; i++)
    release_on(allocate_on(pool, BYTES, home), home);
  ck_assert_uint_eq(fakecuda_calls(NULL), calls);
  ck_assert_uint_eq(hits(pool), 20);
  clp_pool_release(pool);
}
END_TEST

START_TEST(a_limit)
{
  clp_pool *pool = clpt_pool(allocator);
  clp_buffer *buffer = NULL;
  clpt_ok(clp_pool_set_limit_fraction(pool, 0.5)); /* of 1 GiB */
  ck_assert_uint_eq(clp_pool_get_limit(pool), (size_t)1 << 29);
  clpt_ok(clp_pool_set_limit(pool, MB));
  clpt_hold(pool, 900 * KB, 1);
  buffer = clpt_allocate(pool, 500 * KB); /* what is held goes first */
  clp_buffer *refused = NULL;
  clpt_fails(CLP_LIMIT_EXCEEDED, clp_pool_allocate(pool, 900 * KB, &refused));
  clpt_ok(clp_buffer_release(buffer));
  clp_pool_release(pool);
}
END_TEST

/* --- out of memory --- */

static clp_buffer *allocate_or_fail(clp_pool *pool, size_t bytes, CUstream stream,
                                    clp_status *status)
{
  clp_buffer *buffer = NULL;
  *status = clp_pool_allocate_on(pool, bytes, stream, &buffer);
  return buffer;
}

START_TEST(held_memory_is_given_up)
{
  clp_pool *pool = clpt_pool(allocator);
  clpt_hold(pool, 20 * MB, 1);
  clpt_hold(pool, 30 * MB, 1);
  clp_buffer *buffer = clpt_allocate(pool, 50 * MB);
  ck_assert_uint_eq(clpt_stats(pool).out_of_memory_reactions, 1);
  clpt_ok(clp_buffer_release(buffer));
  clp_pool_release(pool);
}
END_TEST

START_TEST(of_other_pools_too)
{
  clp_pool *pool = clpt_pool(allocator), *other = clpt_pool(allocator);
  clpt_hold(other, 50 * MB, 1);
  clp_buffer *buffer = clpt_allocate(pool, 40 * MB);
  ck_assert_uint_eq(clpt_stats(other).held_blocks, 0);
  clpt_ok(clp_buffer_release(buffer));
  clp_pool_release(other);
  clp_pool_release(pool);
}
END_TEST

/* The driver does not make one stream wait for what another one frees. */
static void forbid_dependencies(void)
{
  CUmemoryPool mempool;
  int no = 0;
  clpt_cuda_ok(cuDeviceGetDefaultMemPool(&mempool, cuda.device));
  clpt_cuda_ok(cuMemPoolSetAttribute(mempool, CLPI_CUDA_MEMPOOL_REUSE_INTERNAL, &no));
}

/* Lets a stream go on when the host waits for it. */
static void *let_go(void *stream)
{
  while (!fakecuda_calls("cuCtxSynchronize") && !fakecuda_calls("cuEventSynchronize"))
    sched_yield();
  fakecuda_go_on(stream);
  return NULL;
}

/* Memory that another stream frees late is waited for. */
START_TEST(late_frees_are_waited_for)
{
  clp_pool *pool = clpt_pool(allocator);
  clp_buffer *buffer = allocate_on(pool, 50 * MB, second);
  clp_status status;
  pthread_t thread;
  forbid_dependencies();
  fakecuda_hold(second);
  clpt_cuda_fill(&cuda, second, clp_buffer_cuda_pointer(buffer), 1, 1);
  release_on(buffer, second);
  clpt_ok(clp_pool_free_held(pool));
  ck_assert_int_eq(pthread_create(&thread, NULL, let_go, second), 0);
  buffer = allocate_or_fail(pool, 40 * MB, home, &status);
  ck_assert_int_eq(pthread_join(thread, NULL), 0);
  clpt_ok(status);
  release_on(buffer, home);
  clp_pool_release(pool);
}
END_TEST

/* And what another user of the device's memory pool freed, on a stream that no pool knows of. */
START_TEST(frees_of_others_are_waited_for)
{
  clp_pool *pool = clpt_pool(allocator);
  CUdeviceptr foreign;
  clp_status status;
  pthread_t thread;
  forbid_dependencies();
  clpt_cuda_enter(&cuda);
  clpt_cuda_ok(cuMemAllocAsync(&foreign, 50 * MB, third));
  fakecuda_hold(third);
  clpt_cuda_ok(cuMemFreeAsync(foreign, third));
  clpt_cuda_leave();
  ck_assert_int_eq(pthread_create(&thread, NULL, let_go, third), 0);
  clp_buffer *buffer = allocate_or_fail(pool, 40 * MB, home, &status);
  ck_assert_int_eq(pthread_join(thread, NULL), 0);
  clpt_ok(status);
  ck_assert_uint_gt(fakecuda_calls("cuCtxSynchronize"), 0);
  release_on(buffer, home);
  clp_pool_release(pool);
}
END_TEST

/* Memory that the driver's pool keeps serves cuMemAlloc only after a trim: so does what is asked of
 * another memory pool of the same device. */
START_TEST(kept_memory_is_trimmed)
{
  CUmemoryPool mempool;
  uint64_t keep_all = UINT64_MAX;
  clpt_cuda_ok(cuDeviceGetDefaultMemPool(&mempool, cuda.device));
  clpt_cuda_ok(cuMemPoolSetAttribute(mempool, CLPI_CUDA_MEMPOOL_RELEASE_THRESHOLD, &keep_all));
  clp_pool *pool = clpt_pool(allocator);
  clp_buffer *refused = NULL;
  clpt_hold(pool, 50 * MB, 1);
  clpt_ok(clp_pool_free_held(pool));
  unsigned long trims = fakecuda_calls("cuMemPoolTrimTo");
  clpt_fails(CLP_OUT_OF_DEVICE_MEMORY, clp_pool_allocate(pool, 65 * MB, &refused));
  clpt_message_has("CUDA_ERROR_OUT_OF_MEMORY");
  ck_assert_uint_eq(fakecuda_calls("cuMemPoolTrimTo"), trims + 1);
  uint64_t reserved = 1;
  clpt_cuda_ok(cuMemPoolGetAttribute(mempool, CLPI_CUDA_MEMPOOL_RESERVED, &reserved));
  ck_assert_uint_eq(reserved, 0);
  clp_pool_release(pool);
}
END_TEST

START_TEST(memory_in_one_block)
{
  for (int i = 0; i < CLPT_ONE_BLOCK_CASES; i++) {
    clpt_limit_in_one_block(allocator, i, 40 * MB - 7);
    clpt_device_in_one_block(allocator, i, 64 * MB);
  }
}
END_TEST

/* --- arenas --- */

static clp_pool *arena_pool(void)
{
  clp_allocator *arena = NULL;
  clpt_ok(clp_arena_allocator_create(allocator, NULL, &arena));
  clp_pool *pool = clpt_pool(arena);
  clp_allocator_release(arena);
  return pool;
}

START_TEST(memory_in_one_block_of_an_arena)
{
  clp_pool *pool = arena_pool();
  for (int i = 0; i < CLPT_ONE_BLOCK_CASES; i++) {
    clpt_limit_in_one_block(clp_pool_allocator(pool), i, 40 * MB - 7);
    clpt_device_in_one_block(clp_pool_allocator(pool), i, 64 * MB);
  }
  clp_pool_release(pool);
}
END_TEST

START_TEST(blocks_of_an_arena)
{
  enum { COUNT = 20 };
  clp_pool *pool = arena_pool();
  clp_buffer *buffers[COUNT];

  for (size_t i = 0; i < COUNT; i++) {
    buffers[i] = clpt_allocate(pool, 1000 + 777 * i);
    ck_assert_uint_eq(clp_buffer_cuda_pointer(buffers[i]) % 256, 0);
    fill(buffers[i], home, (unsigned char)i);
  }
  for (size_t i = 0; i < COUNT; i++) {
    assert_filled(buffers[i], home, (unsigned char)i);
    clpt_ok(clp_buffer_release(buffers[i]));
  }
  ck_assert_uint_lt(fakecuda_live_allocations(), COUNT);
  clp_pool_release(pool);
}
END_TEST

START_TEST(an_arena_under_late_streams)
{
  clp_pool *pool = arena_pool();
  for (int round = 0; round < 50; round++) {
    CUstream late = cuda.streams[round % 3], next = cuda.streams[(round + 1) % 3];
    clp_buffer *first = allocate_on(pool, (size_t)(1 + round) * KB, late);
    clp_buffer *rest = allocate_on(pool, 3 * KB, late);
    fakecuda_hold(late);
    fill(first, late, 1);
    release_on(first, late);
    first = allocate_on(pool, (size_t)(50 - round) * KB, next);
    fill(first, next, 2);
    fakecuda_go_on(late);
    assert_filled(first, next, 2);
    release_on(first, next);
    release_on(rest, late);
  }
  clp_pool_release(pool);
}
END_TEST

/* --- streams that end --- */

static CUstream new_stream(void)
{
  CUstream stream;
  clpt_cuda_enter(&cuda);
  clpt_cuda_ok(cuStreamCreate(&stream, FAKECUDA_STREAM_NON_BLOCKING));
  clpt_cuda_leave();
  return stream;
}

static void destroy(CUstream stream)
{
  clpt_cuda_enter(&cuda);
  clpt_cuda_ok(cuStreamDestroy(stream));
  clpt_cuda_leave();
}

/* A new stream may have the handle of one that was destroyed. */
START_TEST(a_handle_comes_back)
{
  clp_pool *pool = _i == 0 ? clpt_pool(allocator) : arena_pool();
  fakecuda_reuse_stream_handles(true);
  CUstream old = new_stream();
  clp_buffer *buffer = allocate_on(pool, BYTES, old);
  fill(buffer, old, 1);
  release_on(buffer, old);
  clpt_ok_quietly(clp_pool_forget_stream(pool, old));
  synchronize(old);
  destroy(old);

  CUstream young = new_stream();
  ck_assert_ptr_eq(young, old);
  buffer = allocate_on(pool, BYTES, young);
  fakecuda_hold(young);
  fill(buffer, young, 2);
  release_on(buffer, young);
  buffer = allocate_on(pool, BYTES, second);
  fill(buffer, second, 3);
  fakecuda_go_on(young);
  assert_filled(buffer, second, 3);
  release_on(buffer, second);
  clpt_ok_quietly(clp_pool_forget_stream(pool, young));
  destroy(young);
  clp_pool_release(pool);
}
END_TEST

/* --- programs by chance --- */

enum { SLOTS = 6 };

typedef struct program {
  clp_pool *pool;
} program;

static clp_status use(clp_pool *pool, clp_buffer **buffer, CUstream stream, CUstream next,
                      size_t bytes)
{
  clp_status status = *buffer ? clp_buffer_release_on(*buffer, stream) : CLP_SUCCESS;
  *buffer = NULL;
  if (!status)
    status = clp_pool_allocate_on(pool, bytes, next, buffer);
  return status;
}

/* Each thread has its slots, whose buffers are filled on a stream and released on it. */
static void run_program(clpt_worker *self)
{
  const program *it = self->shared;
  clp_buffer *buffers[SLOTS] = {NULL};
  CUstream streams[SLOTS] = {NULL};
  CUcontext left;
  if (cuCtxPushCurrent(cuda.ctx))
    clpt_wrong(self, "cuCtxPushCurrent");
  for (unsigned i = 0; i < self->rounds; i++) {
    size_t slot = clpt_chance_below(&self->chance, SLOTS);
    CUstream next = cuda.streams[clpt_chance_below(&self->chance, CLPT_CUDA_STREAMS)];
    size_t bytes = 1 + clpt_chance_below(&self->chance, 8 * KB);
    clp_status status = use(it->pool, &buffers[slot], streams[slot], next, bytes);
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
  program shared = {_i == 0 ? clpt_pool(allocator) : arena_pool()};

  clpt_workers_start(&workers, 4, work, 1, clpt_iterations(1000), &shared);
  clpt_workers_join(&workers);
  clp_pool_release(shared.pool);
}
END_TEST

/* --- failures --- */

/* Each call of the driver's fails in turn, in a short program on two streams. The program gets
 * through or is told; nothing is lost, which teardown sees. */
static bool run_short_program(clp_pool *pool)
{
  clp_buffer *first = NULL, *next = NULL;
  if (clp_pool_allocate_on(pool, BYTES, second, &first))
    return false;
  bool failed = clp_buffer_record_use(first, third);
  failed = clp_buffer_release_on(first, second) || failed;
  failed = clp_pool_allocate_on(pool, BYTES, home, &next) || failed;
  if (next)
    failed = clp_buffer_release_on(next, home) || failed;
  return !clp_pool_free_held(pool) && !failed;
}

START_TEST(each_call_fails)
{
  unsigned long calls = 0, nth = 0;
  do {
    clp_pool *pool = clpt_pool(allocator);
    unsigned long before = fakecuda_calls(NULL);
    fakecuda_fail(NULL, FAKECUDA_UNKNOWN, (unsigned)nth, 1);
    run_short_program(pool);
    fakecuda_fail(NULL, 0, 0, 0);
    calls = fakecuda_calls(NULL) - before;
    clpt_ok(clp_pool_free_held(pool));
    ck_assert_uint_eq(clpt_stats(pool).active_blocks, 0);
    clp_pool_release(pool);
    ck_assert_uint_eq(fakecuda_live_allocations(), 0);
  } while (nth++ < calls);
  ck_assert_uint_gt(nth, 10);
}
END_TEST

/* What the child makes anew, the driver refuses there, as the fake is told to. */
static int use_in_child(clp_pool *pool)
{
  clp_buffer *buffer = NULL;
  clp_allocator *own;
  fakecuda_fail(NULL, CLPI_CUDA_NOT_INITIALIZED, 0, 0);
  if (clp_pool_allocate(pool, BYTES, &buffer) != CLP_NOT_SUPPORTED || buffer)
    return 1;
  if (clp_cuda_async_allocator_create(NULL, &own) != CLP_BACKEND_ERROR || own)
    return 2;
  return clp_last_error()->native_code == CLPI_CUDA_NOT_INITIALIZED ? 0 : 3;
}

START_TEST(what_the_driver_refuses_after_a_fork_is_told)
{
  clp_pool *pool = clpt_pool(allocator);
  int status = 0;
  pid_t child = fork();
  ck_assert_int_ge(child, 0);
  if (child == 0)
    _exit(use_in_child(pool));
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  ck_assert_int_eq(status, 0);
  clpt_ok(clp_buffer_release(clpt_allocate(pool, BYTES)));
  clp_pool_release(pool);
}
END_TEST

CLPT_MAIN("cuda_pool", clpt_run)
{
  TCase *tests = clpt_case(suite, "reuse");
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_test(tests, a_warm_pair_calls_no_driver);
  tcase_add_test(tests, a_limit);

  tests = clpt_case(suite, "order");
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_loop_test(tests, threads_and_streams, 0, 2);
  tcase_add_test(tests, each_call_fails);

  tests = clpt_case(suite, "out_of_memory");
  tcase_add_checked_fixture(tests, setup_small, teardown);
  tcase_add_test(tests, held_memory_is_given_up);
  tcase_add_test(tests, of_other_pools_too);
  tcase_add_test(tests, late_frees_are_waited_for);
  tcase_add_test(tests, frees_of_others_are_waited_for);
  tcase_add_test(tests, kept_memory_is_trimmed);
  tcase_add_test(tests, memory_in_one_block);
  tcase_add_test(tests, memory_in_one_block_of_an_arena);

  tests = clpt_case(suite, "arena");
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_test(tests, blocks_of_an_arena);
  tcase_add_test(tests, an_arena_under_late_streams);

  tests = clpt_case(suite, "ends");
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_loop_test(tests, a_handle_comes_back, 0, 2);
  tcase_add_test(tests, what_the_driver_refuses_after_a_fork_is_told);
  clpt_cuda_use_fake();
}
