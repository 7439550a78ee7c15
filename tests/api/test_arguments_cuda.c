/* SPDX-License-Identifier: MIT */
/* Wrong arguments of all calls that need CUDA, on the fake driver: the tables are in cuda.def and
 * cuda_mempool.def. */
#include "api/rows.h"
#include "support/cuda_device.h"
#include "support/pools.h"
#include "support/suite.h"

#include <math.h>
#include <unistd.h>

/* --- what the rows use --- */

enum { DEVICES = 2, BYTES = 1000 };

static clpt_cuda cuda[DEVICES];
static CUcontext context; /* of device 0, not its primary one; it is current */
static CUstream foreign;  /* of that context */

static clp_cuda_mempool mempool, default_mempool; /* of device 0 */
static clp_allocator *allocator;                  /* of device 0 */
static clp_pool *pool;                            /* on that allocator */
static clp_buffer *buffer;                        /* of that pool, active */
static clp_cuda_async_pool *async_pool, *other_async_pool;
static unsigned long long pointer; /* of async_pool, allocated */
static int some_file;              /* a descriptor that is none of a memory pool */

static clp_allocator *host, *made_allocator; /* made_: by rows of SIZED */
static clp_cuda_async_pool *made_pool;
static clp_cuda_mempool made_mempool;
static clp_pool *host_pool;
static clp_buffer *host_buffer;

#define ASYNC_OPTIONS(...)                                                                         \
  (&(const clp_cuda_async_options){.struct_size = sizeof(clp_cuda_async_options), __VA_ARGS__})
#define ASYNC_POOL_OPTIONS(...)                                                                    \
  (&(const clp_cuda_async_pool_options){.struct_size = sizeof(clp_cuda_async_pool_options),        \
                                        __VA_ARGS__})
#define MEMPOOL_OPTIONS(...)                                                                       \
  (&(const clp_cuda_mempool_options){.struct_size = sizeof(clp_cuda_mempool_options), __VA_ARGS__})

/* clang-format off */
#include "api/cuda.def"
#include "api/cuda_mempool.def"
/* clang-format on */

/* --- each row on its own --- */

static void make_objects(void)
{
  clpt_ok(clp_cuda_mempool_create(NULL, &mempool));
  clpt_ok(clp_cuda_mempool_default(0, &default_mempool));
  allocator = clpt_cuda_allocator(0, NULL);
  pool = clpt_pool(allocator);
  clpt_hold(pool, BYTES, 2);
  buffer = clpt_allocate(pool, BYTES);
  clpt_ok(clp_cuda_async_pool_create(NULL, &async_pool));
  clpt_ok(clp_cuda_async_pool_create(NULL, &other_async_pool));
  clpt_ok(clp_cuda_async_pool_set_limit(async_pool, BYTES * BYTES, 0));
  clpt_ok(clp_cuda_async_pool_malloc(async_pool, BYTES, NULL, &pointer));
  clpt_ok(clp_host_allocator_create(0, &host));
  host_pool = clpt_pool(host);
  host_buffer = clpt_allocate(host_pool, BYTES);
}

static void setup(void)
{
  int ends[2];
  fakecuda_reset();
  for (int i = 0; i < DEVICES; i++)
    clpt_cuda_open(&cuda[i], i);
  clpt_cuda_ok(cuCtxCreate(&context, 0, cuda[0].device));
  clpt_cuda_ok(cuStreamCreate(&foreign, FAKECUDA_STREAM_NON_BLOCKING));
  make_objects();
  ck_assert_int_eq(pipe(ends), 0);
  close(ends[1]);
  some_file = ends[0];
}

static void teardown(void)
{
  close(some_file);
  clpt_ok(clp_buffer_release(host_buffer));
  clp_pool_release(host_pool);
  clp_allocator_release(host);
  clpt_ok(clp_cuda_async_pool_free(async_pool, pointer, NULL));
  clp_cuda_async_pool_release(other_async_pool);
  clp_cuda_async_pool_release(async_pool);
  clpt_ok(clp_buffer_release(buffer));
  clp_pool_release(pool);
  clp_allocator_release(allocator);
  clpt_ok(clp_cuda_mempool_destroy(mempool));
  ck_assert_uint_eq(fakecuda_live_allocations(), 0);
  clpt_cuda_ok(cuStreamDestroy(foreign));
  clpt_cuda_ok(cuCtxDestroy(context));
  ck_assert_ptr_null(clpt_cuda_current());
  for (int i = 0; i < DEVICES; i++)
    clpt_cuda_close(&cuda[i]);
  fakecuda_reset();
}

/* What a refused call must leave as it is. */
typedef struct figures {
  clp_pool_stats pool;
  clp_cuda_mempool_usage usage, default_usage;
  size_t limit;
  uint64_t threshold;
  clp_cuda_mempool current;
  unsigned reuse;
  clp_cuda_access access[DEVICES];
  size_t allocations;
  unsigned long calls; /* to allocate, to free and to trim */
  CUcontext context;
} figures;

static void read_figures(void *all)
{
  figures *read = all;
  read->pool = clpt_stats(pool);
  read->usage.struct_size = read->default_usage.struct_size = sizeof(read->usage);
  clpt_ok(clp_cuda_mempool_get_usage(mempool, &read->usage));
  clpt_ok(clp_cuda_mempool_get_usage(default_mempool, &read->default_usage));
  clpt_ok(clp_cuda_async_pool_get_limit(async_pool, &read->limit));
  clpt_ok(clp_cuda_mempool_get_release_threshold(mempool, &read->threshold));
  clpt_ok(clp_cuda_mempool_current(0, &read->current));
  clpt_ok(clp_cuda_mempool_get_reuse(mempool, &read->reuse));
  for (int i = 0; i < DEVICES; i++)
    clpt_ok(clp_cuda_mempool_get_access(mempool, i, &read->access[i]));
  read->allocations = fakecuda_live_allocations();
  read->calls = fakecuda_calls("cuMemAllocFromPoolAsync") + fakecuda_calls("cuMemFreeAsync") +
                fakecuda_calls("cuMemPoolTrimTo");
  read->context = clpt_cuda_current();
}

CLPT_MAIN("arguments: CUDA", clpt_run)
{
  clpt_cuda_use_fake();
  clpt_add_rows(suite, setup, teardown, read_figures, sizeof(figures));
}
