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
static clp_allocator *made;                   /* by a row of SIZED */
static clp_pool *pool, *svm_pool, *host_pool; /* svm_pool: NULL without shared virtual memory */
static clp_buffer *buffer, *svm_buffer, *host_buffer; /* of BYTES, active */

#define SVM_OPTIONS(...)                                                                           \
  (&(const clp_cl_svm_options){.struct_size = sizeof(clp_cl_svm_options), __VA_ARGS__})

/* clang-format off */
#include "api/opencl.def"
#include "api/opencl_svm.def"
/* clang-format on */

/* --- each row on its own --- */

static void start(clp_allocator *allocator, clp_pool **out, clp_buffer **buffer_out)
{
  *out = clpt_pool(allocator);
  *buffer_out = clpt_allocate(*out, BYTES);
  clp_allocator_release(allocator);
}

static void setup(void)
{
  clp_allocator *host;
  clpt_cl_open(&cl, 1);
  clpt_cl_open(&other, 1);
  clpt_cl_reset();
  clpt_ok(clp_host_allocator_create(0, &host));
  start(host, &host_pool, &host_buffer);
  start(clpt_cl_allocator(&cl, CLPT_BUFFERS, cl.queue), &pool, &buffer);
  has_svm = clpt_cl_has(&cl, CLPT_SVM);
  clpt_rows_left_out = has_svm ? NULL : "svm";
  if (has_svm)
    start(clpt_cl_allocator(&cl, CLPT_SVM, NULL), &svm_pool, &svm_buffer);
}

static void teardown(void)
{
  clp_buffer *const buffers[] = {svm_buffer, host_buffer, buffer};
  clp_pool *const pools[] = {svm_pool, host_pool, pool};
  for (int i = 0; i < 3; i++) {
    clpt_ok(clp_buffer_release(buffers[i]));
    clp_pool_release(pools[i]);
  }
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
  read->taken = clpt_cl_noted.calls[CLPT_clCreateBuffer] + clpt_cl_noted.calls[CLPT_clSVMAlloc];
}

CLPT_MAIN("arguments: OpenCL", clpt_cl_run)
{
  clpt_add_rows(suite, setup, teardown, read_figures, sizeof(figures));
}
