/* SPDX-License-Identifier: MIT */
/* One table of all calls that use CUDA's driver. In each, the driver's first call fails, then the
 * second one, and so on, and then each allocation of host memory. The call tells which failed, and
 * with which code; it leaves its out-pointer, the current context and the thread's capture mode as
 * promised, loses nothing, and works when it is made again. */
#include "core/allocator/allocator.h"
#include "support/cuda_device.h"
#include "support/failmalloc.h"
#include "support/pools.h"
#include "support/suite.h"

#include <stdalign.h>
#include <unistd.h>

enum { BYTES = 100000, DEVICES = 2 };
static const size_t TOO_MUCH = (size_t)2 << 30;

/* --- what the calls use, new for each --- */

static clpt_cuda cuda[DEVICES]; /* no context is current */
static CUstream home, second;   /* of device 0 */
static clp_allocator *allocator;
static clp_memory memory; /* of the allocator */
static void *mark;        /* of the allocator, on `second` */
static clp_cuda_mempool own[DEVICES], imported;
static clp_cuda_shared_pointer shared; /* tells of `exported` */
static unsigned long long exported;    /* of own[0] */
static clp_cuda_async_pool *pool, *limited;
static unsigned long long pointer; /* of `pool` */
static int fd;                     /* of own[0] */

static void make_mempools(void)
{
  for (int i = 0; i < DEVICES; i++)
    clpt_ok(clp_cuda_mempool_create(
        CLPT_MEMPOOL(.device = i, .handle_types = CLP_CUDA_HANDLE_POSIX_FD), &own[i]));
  exported = clpt_cuda_take(own[0], BYTES, home);
  clpt_ok(clp_cuda_mempool_export_fd(own[0], &fd));
  clpt_ok(clp_cuda_mempool_import_fd(fd, &imported));
  clpt_ok(clp_cuda_pointer_export(exported, &shared));
}

static void setup(void)
{
  fakecuda_reset();
  for (int i = 0; i < DEVICES; i++)
    clpt_cuda_open(&cuda[i], i);
  home = cuda[0].streams[0];
  second = cuda[0].streams[1];
  allocator = clpt_cuda_allocator(0, home);
  clpt_ok(clp_allocator_allocate(allocator, BYTES, &memory));
  clpt_ok(allocator->ops.mark_create(allocator->self, second, &mark));
  make_mempools();
  clpt_ok(clp_cuda_async_pool_create(NULL, &pool));
  clpt_ok(clp_cuda_async_pool_malloc(pool, BYTES, home, &pointer));
  clpt_ok(clp_cuda_async_pool_create(NULL, &limited));
  clpt_ok(clp_cuda_async_pool_set_limit(limited, BYTES * 2, 0));
}

static void teardown(void)
{
  ck_assert_ptr_null(clpt_cuda_current());
  clp_cuda_async_pool_release(limited);
  clpt_ok(clp_cuda_async_pool_free(pool, pointer, home));
  clp_cuda_async_pool_release(pool);
  clpt_ok(clp_cuda_mempool_destroy(imported));
  close(fd);
  if (exported)
    clpt_cuda_give(exported, home);
  for (int i = 0; i < DEVICES; i++)
    clpt_ok(clp_cuda_mempool_destroy(own[i]));
  allocator->ops.mark_destroy(allocator->self, mark);
  clpt_ok(clp_allocator_free(allocator, memory, BYTES));
  clp_allocator_release(allocator);
  ck_assert_uint_eq(fakecuda_live_allocations(), 0);
  for (int i = 0; i < DEVICES; i++)
    clpt_cuda_close(&cuda[i]);
  fakecuda_reset();
}

/* --- out-pointers --- */

static alignas(max_align_t) unsigned char out[64]; /* what the call's one points to */
static unsigned char expected[sizeof(out)];        /* what must be there if it fails */

static void *out_of(size_t bytes, int byte)
{
  memset(out, 0xEE, sizeof(out));
  memset(expected, 0xEE, sizeof(expected));
  memset(expected, byte, bytes);
  return out;
}

static clp_cuda_mempool_usage *usage_out(void)
{
  size_t size = sizeof(clp_cuda_mempool_usage);
  out_of(0, 0);
  memcpy(expected, &size, sizeof(size));
  return memcpy(out, &size, sizeof(size));
}

#define OBJECT     out_of(sizeof(void *), 0) /* becomes NULL */
#define DESCRIPTOR out_of(sizeof(int), 0xFF) /* becomes -1 */
#define VALUE      out_of(0, 0)              /* is left alone */
#define MADE(type) (*(type *)(void *)out)

/* --- the calls --- */

#define ALLOCATOR(...)                                                                             \
  clp_cuda_async_allocator_create(CLPT_WITH(clp_cuda_async_options, .stream = home, __VA_ARGS__),  \
                                  OBJECT)
#define POOL(...)                                                                                  \
  clp_cuda_async_pool_create(CLPT_WITH(clp_cuda_async_pool_options, __VA_ARGS__), OBJECT)
#define MEMPOOL(...)      clp_cuda_mempool_create(CLPT_MEMPOOL(__VA_ARGS__), OBJECT)
#define ALLOCATE(bytes)   clp_allocator_allocate(allocator, bytes, OBJECT)
#define MALLOC(of, bytes) clp_cuda_async_pool_malloc(of, bytes, home, OBJECT)
#define OP(op, ...)       allocator->ops.op(allocator->self, __VA_ARGS__)
#define DRAIN(op)         allocator->ops.op(allocator->self)
/* Once freed, it is no more to be freed. */
#define FREES(variable, call) ((freed = (call)) != 0 ? freed : (variable = 0, freed))
static clp_status freed;
static bool is_done;

/* A pool's blocks on several streams. It gets through, or its calls tell what failed. */
static clp_status use_a_pool(void)
{
  clp_pool *blocks = clpt_pool(allocator);
  clp_buffer *first = NULL, *next = NULL;
  if (!clp_pool_allocate_on(blocks, BYTES, second, &first)) {
    clp_buffer_record_use(first, home);
    clp_buffer_release_on(first, second);
    if (!clp_pool_allocate_on(blocks, BYTES, cuda[0].streams[2], &next))
      clp_buffer_release_on(next, cuda[0].streams[2]);
  }
  clp_pool_free_held(blocks);
  fakecuda_fail(NULL, 0, 0, 0);
  clpt_ok(clp_pool_free_held(blocks));
  ck_assert_uint_eq(clpt_stats(blocks).managed_bytes, 0);
  clp_pool_release(blocks);
  return CLP_SUCCESS;
}

enum kind {
  TELLS,       /* each failure */
  IN_CONTEXT,  /* likewise; the context of device 0 is current */
  LACKS,       /* likewise, but that without any it is out of device memory */
  DOES_WITHOUT /* it may succeed, or tell that something is not supported */
};

/* Memory of one of the async pools. */
static void end_pointer(void)
{
  clp_status status = clp_cuda_async_pool_free(pool, MADE(unsigned long long), home);
  if (status == CLP_INVALID_ARGUMENT)
    status = clp_cuda_async_pool_free(limited, MADE(unsigned long long), home);
  clpt_ok(status);
}

#define END_ALLOCATOR clp_allocator_release(MADE(clp_allocator *))
#define END_MEMORY    clpt_ok(clp_allocator_free(allocator, MADE(clp_memory), BYTES))
#define END_MEMPOOL   clpt_ok(clp_cuda_mempool_destroy(MADE(clp_cuda_mempool)))
#define END_POOL      clp_cuda_async_pool_release(MADE(clp_cuda_async_pool *))

/* T(name, call): of the kind TELLS, and makes nothing. X(name, kind, call, what ends what was
 * made).
 */
#define CALLS(T, X)                                                                                \
  T(count, clp_cuda_device_count(VALUE))                                                           \
  T(name, clp_cuda_device_name(0, VALUE, 32))                                                      \
  T(memory, clp_cuda_device_memory(0, VALUE))                                                      \
  T(supports, clp_cuda_device_supports_mempools(0, VALUE))                                         \
  X(allocator, TELLS, ALLOCATOR(.device = 0), END_ALLOCATOR)                                       \
  X(allocator_of_current, TELLS, ALLOCATOR(.mempool_choice = CLP_CUDA_MEMPOOL_CURRENT),            \
    END_ALLOCATOR)                                                                                 \
  X(allocator_of_own, TELLS, ALLOCATOR(.mempool = own[0]), END_ALLOCATOR)                          \
  X(allocate, TELLS, ALLOCATE(BYTES), END_MEMORY)                                                  \
  X(allocate_in_context, IN_CONTEXT, ALLOCATE(BYTES), END_MEMORY)                                  \
  X(allocate_too_much, LACKS, ALLOCATE(TOO_MUCH), )                                                \
  T(free, FREES(memory, clp_allocator_free(allocator, memory, BYTES)))                             \
  T(free_on, FREES(memory, OP(free_on, memory, BYTES, home)))                                      \
  T(drain, DRAIN(drain))                                                                           \
  T(return_cached, DRAIN(return_cached))                                                           \
  T(retain, OP(stream_retain, second))                                                             \
  X(mark, TELLS, OP(mark_create, home, VALUE),                                                     \
    allocator->ops.mark_destroy(allocator->self, MADE(void *)))                                    \
  T(mark_is_done, OP(mark_is_done, mark, &is_done))                                                \
  T(stream_wait, OP(stream_wait, home, mark))                                                      \
  T(host_wait, OP(host_wait, mark))                                                                \
  X(use_a_pool, DOES_WITHOUT, use_a_pool(), )                                                      \
  X(mempool, TELLS, MEMPOOL(.handle_types = CLP_CUDA_HANDLE_POSIX_FD), END_MEMPOOL)                \
  X(mempool_of_host, DOES_WITHOUT, MEMPOOL(.location = CLP_CUDA_ON_HOST_NUMA), END_MEMPOOL)        \
  X(destroy, TELLS, FREES(own[1], clp_cuda_mempool_destroy(own[1])),                               \
    clpt_ok(clp_cuda_mempool_create(NULL, &own[1])))                                               \
  T(mempool_default, clp_cuda_mempool_default(0, OBJECT))                                          \
  T(mempool_current, clp_cuda_mempool_current(0, OBJECT))                                          \
  T(set_current, clp_cuda_mempool_set_current(0, own[0]))                                          \
  T(trim_to, clp_cuda_mempool_trim_to(own[0], 0))                                                  \
  T(get_reuse, clp_cuda_mempool_get_reuse(own[0], VALUE))                                          \
  T(set_reuse, clp_cuda_mempool_set_reuse(own[0], 0))                                              \
  T(get_threshold, clp_cuda_mempool_get_release_threshold(own[0], VALUE))                          \
  T(set_threshold, clp_cuda_mempool_set_release_threshold(own[0], 0))                              \
  T(usage, clp_cuda_mempool_get_usage(own[0], usage_out()))                                        \
  T(reset_peaks, clp_cuda_mempool_reset_peaks(own[0]))                                             \
  T(get_access, clp_cuda_mempool_get_access(own[0], 1, VALUE))                                     \
  T(set_access, clp_cuda_mempool_set_access(own[0], 1, CLP_CUDA_ACCESS_READ_WRITE))                \
  X(export_fd, TELLS, clp_cuda_mempool_export_fd(own[0], DESCRIPTOR), close(MADE(int)))            \
  X(import_fd, TELLS, clp_cuda_mempool_import_fd(fd, OBJECT), END_MEMPOOL)                         \
  T(export_pointer, clp_cuda_pointer_export(exported, VALUE))                                      \
  X(import_pointer, TELLS, clp_cuda_pointer_import(imported, &shared, OBJECT),                     \
    clpt_cuda_give(MADE(unsigned long long), home))                                                \
  T(free_pointer, FREES(exported, clp_cuda_pointer_free(exported, home)))                          \
  X(pool, TELLS, clp_cuda_async_pool_create(NULL, OBJECT), END_POOL)                               \
  X(pool_of_one, TELLS, POOL(.mempools = own, .mempool_count = 1), END_POOL)                       \
  X(pool_of_two, TELLS, POOL(.mempools = own, .mempool_count = 2), END_POOL)                       \
  X(malloc, TELLS, MALLOC(pool, BYTES), end_pointer())                                             \
  X(malloc_in_context, IN_CONTEXT, MALLOC(pool, BYTES), end_pointer())                             \
  X(malloc_too_much, LACKS, MALLOC(pool, TOO_MUCH), )                                              \
  X(malloc_within_a_limit, DOES_WITHOUT, MALLOC(limited, BYTES), end_pointer())                    \
  T(pool_free, FREES(pointer, clp_cuda_async_pool_free(pool, pointer, home)))                      \
  T(free_all_blocks, clp_cuda_async_pool_free_all_blocks(pool, home))                              \
  T(total_bytes, clp_cuda_async_pool_total_bytes(pool, VALUE))                                     \
  T(pool_usage, clp_cuda_async_pool_get_usage(pool, usage_out()))                                  \
  T(pool_reset_peaks, clp_cuda_async_pool_reset_peaks(pool))                                       \
  T(set_limit, clp_cuda_async_pool_set_limit(pool, 0, 0.5))                                        \
  T(get_limit, clp_cuda_async_pool_get_limit(pool, VALUE))

#define FUNCTIONS(name, kind, call, ending)                                                        \
  static clp_status call_##name(void)                                                              \
  {                                                                                                \
    return call;                                                                                   \
  }                                                                                                \
  static void end_##name(void)                                                                     \
  {                                                                                                \
    ending;                                                                                        \
  }
#define PLAIN_FUNCTIONS(name, call) FUNCTIONS(name, TELLS, call, )
CALLS(PLAIN_FUNCTIONS, FUNCTIONS)

typedef struct call {
  const char *name;
  enum kind kind;
  void (*end)(void);
  clp_status (*make)(void);
} call;

#define ENTRY(name, kind, call, ending) {#name, kind, end_##name, call_##name},
#define PLAIN_ENTRY(name, call)         ENTRY(name, TELLS, call, )
static const call calls[] = {CALLS(PLAIN_ENTRY, ENTRY)};
enum { CALL_COUNT = sizeof(calls) / sizeof(calls[0]) };

/* --- failures of the driver --- */

static void check_works(const call *it)
{
  if (it->kind == LACKS) {
    clpt_fails(CLP_OUT_OF_DEVICE_MEMORY, it->make());
    ck_assert_int_eq(clp_last_error()->native_code, CLPI_CUDA_OUT_OF_MEMORY);
    clpt_message_has("for 2147483648 bytes failed with CUDA_ERROR_OUT_OF_MEMORY (2)");
    ck_assert_mem_eq(out, expected, sizeof(out));
    return;
  }
  clpt_ok_quietly(it->make());
  it->end();
}

static void check_told(const call *it, clp_status status, const char *failed)
{
  if (it->kind == DOES_WITHOUT && status == CLP_SUCCESS) {
    it->end();
    return;
  }
  ck_assert_msg(status == CLP_BACKEND_ERROR ||
                    (it->kind == DOES_WITHOUT && status == CLP_NOT_SUPPORTED),
                "%s gave %s", failed, clp_status_name(status));
  ck_assert_int_eq(clp_last_error()->status, status);
  ck_assert_mem_eq(out, expected, sizeof(out));
  if (status == CLP_NOT_SUPPORTED)
    return;
  ck_assert_int_eq(clp_last_error()->native_code, FAKECUDA_UNKNOWN);
  clpt_message_has(failed);
}

START_TEST(each_call_of_the_driver_fails)
{
  const call *it = &calls[_i];
  const char *failed;
  unsigned nth = 0;
  do {
    setup();
    if (it->kind == IN_CONTEXT)
      clpt_cuda_ok(cu.cuCtxPushCurrent(cuda[0].ctx));
    CUcontext before = clpt_cuda_current();
    out_of(0, 0);
    (void)clp_set_last_error(CLP_SUCCESS, 0, "");
    fakecuda_fail(NULL, FAKECUDA_UNKNOWN, nth++, 1);
    clp_status status = it->make();
    failed = fakecuda_failed();
    fakecuda_fail(NULL, 0, 0, 0);
    ck_assert_ptr_eq(clpt_cuda_current(), before);
    if (failed) {
      check_told(it, status, failed);
      check_works(it);
    } else if (it->kind == LACKS) {
      ck_assert_int_eq(status, CLP_OUT_OF_DEVICE_MEMORY);
    } else {
      clpt_ok(status);
      it->end();
    }
    ck_assert_ptr_eq(clpt_cuda_current(), before);
    if (before)
      clpt_cuda_pop();
    teardown();
  } while (failed);
  ck_assert_msg(nth > 1, "%s makes no call that can fail", it->name);
}

/* --- failures of host memory --- */

START_TEST(each_allocation_of_host_memory_fails)
{
  const call *it = &calls[_i];
  clpt_host_failures each = {0};
  while (!each.is_over && it->kind != LACKS && it->make != call_use_a_pool) {
    setup();
    clpt_host_fail_next(&each);
    clp_status status = it->make();
    clpt_host_check(&each, status);
    if (!status)
      it->end();
    teardown();
  }
}

CLPT_MAIN("cuda_failures", clpt_run)
{
  TCase *tests = clpt_case(suite, "driver");
  tcase_add_loop_test(tests, each_call_of_the_driver_fails, 0, CALL_COUNT);
  tests = clpt_case(suite, "host memory");
  tcase_add_loop_test(tests, each_allocation_of_host_memory_fails, 0, CALL_COUNT);
  clpt_cuda_use_fake();
}
