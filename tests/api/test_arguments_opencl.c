/* SPDX-License-Identifier: MIT */
/* Wrong arguments of all calls that need OpenCL: the tables are in opencl.def and opencl_svm.def.
 */
#include "api/rows.h"
#include "support/opencl_fixture.h"
#include "support/pools.h"
#include "support/suite.h"
#include "support/watch_opencl.h"

#include <clpool/opencl.h>
#include <stdint.h>

/* --- what the rows use --- */

enum { BYTES = 10000 };

static clpt_cl cl, other; /* contexts of their own */
static bool has_svm;
static clp_allocator *allocator, *svm, *host, *made; /* made: by a row of SIZED */
static clp_pool *pool, *svm_pool, *host_pool; /* svm_pool: NULL without shared virtual memory */
static clp_buffer *buffer, *svm_buffer, *host_buffer; /* of BYTES, active */

#define SVM_OPTIONS(...)                                                                           \
  (&(const clp_cl_svm_options){.struct_size = sizeof(clp_cl_svm_options), __VA_ARGS__})

/* clang-format off */
#include "api/opencl.def"
#include "api/opencl_svm.def"
/* clang-format on */

/* --- each row on its own --- */

static void setup(void)
{
  clpt_cl_open(&cl, 1);
  clpt_cl_open(&other, 1);
  clpt_cl_reset();
  has_svm = clpt_cl_has(&cl, CLPT_SVM);
  clpt_rows_left_out = has_svm ? NULL : "svm";
  clpt_ok(clp_cl_immediate_allocator_create(cl.queue, 0, &allocator));
  pool = clpt_pool(allocator);
  buffer = clpt_allocate(pool, BYTES);
  clpt_ok(clp_host_allocator_create(0, &host));
  host_pool = clpt_pool(host);
  host_buffer = clpt_allocate(host_pool, BYTES);
  if (!has_svm)
    return;
  clpt_ok(clp_cl_svm_allocator_create(cl.context, NULL, &svm));
  svm_pool = clpt_pool(svm);
  svm_buffer = clpt_allocate(svm_pool, BYTES);
}

static void teardown(void)
{
  clpt_ok(clp_buffer_release(svm_buffer));
  clp_pool_release(svm_pool);
  clp_allocator_release(svm);
  clpt_ok(clp_buffer_release(host_buffer));
  clp_pool_release(host_pool);
  clp_allocator_release(host);
  clpt_ok(clp_buffer_release(buffer));
  clp_pool_release(pool);
  clp_allocator_release(allocator);
  clpt_cl_reset();
  clpt_cl_close(&other);
  clpt_cl_close(&cl);
}

/* What a refused call must leave as it is. */
typedef struct figures {
  clp_pool_stats pool, svm_pool, host_pool;
  clpt_cl_live live;
  unsigned long taken; /* calls that take memory */
} figures;

static void read_figures(void *all)
{
  figures *read = all;
  read->pool = clpt_stats(pool);
  read->host_pool = clpt_stats(host_pool);
  if (has_svm)
    read->svm_pool = clpt_stats(svm_pool);
  read->live = clpt_cl_live_now();
  read->taken = clpt_cl_calls(CLPT_clCreateBuffer) + clpt_cl_calls(CLPT_clSVMAlloc);
}

CLPT_MAIN("arguments: OpenCL", clpt_cl_run)
{
  clpt_add_rows(suite, setup, teardown, read_figures, sizeof(figures));
}
