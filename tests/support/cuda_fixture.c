/* SPDX-License-Identifier: MIT */
/* The fake CUDA driver for tests. */
#include "cuda_fixture.h"

#include <stdio.h>

static unsigned violations;
static char last_violation[256];

/* Linked with the program, it is loaded: the same file is the same library to the dynamic linker.
 */
const char *clpt_fake_library(void)
{
  static char path[4096];
  const char *build = getenv("top_builddir");

  (void)snprintf(path, sizeof(path), "%s/tests/fakecuda/.libs/libfakecuda.so",
                 build != NULL ? build : ".");
  return path;
}

static void begin_test(void)
{
  violations = 0;
  last_violation[0] = '\0';
  fakecuda_reset();
}

static void end_test(void)
{
  fakecuda_reset();
}

TCase *clpt_fake_case(Suite *suite, const char *name)
{
  TCase *tests = clpt_case(suite, name);

  tcase_add_checked_fixture(tests, begin_test, end_test);
  return tests;
}

int clpt_fake_run(Suite *suite)
{
  setenv("CLPOOL_CUDA_LIBRARY", clpt_fake_library(), 1);
  return clpt_run_apart(suite);
}

CUcontext clpt_fake_open(CUdevice device)
{
  CUcontext ctx;

  clpt_cu_ok(cuInit(0));
  clpt_cu_ok(cuDevicePrimaryCtxRetain(&ctx, device));
  clpt_cu_ok(cuCtxPushCurrent(ctx));
  return ctx;
}

void clpt_fake_close(CUdevice device)
{
  CUcontext ctx;

  clpt_cu_ok(cuCtxPopCurrent(&ctx));
  clpt_cu_ok(cuDevicePrimaryCtxRelease(device));
}

CUstream clpt_fake_stream(void)
{
  CUstream stream;

  clpt_cu_ok(cuStreamCreate(&stream, FAKECUDA_STREAM_NON_BLOCKING));
  return stream;
}

void clpt_fake_order(CUstream earlier, CUstream later)
{
  CUevent event;

  clpt_cu_ok(cuEventCreate(&event, CLPI_CUDA_EVENT_DISABLE_TIMING));
  clpt_cu_ok(cuEventRecord(event, earlier));
  clpt_cu_ok(cuStreamWaitEvent(later, event, 0));
  clpt_cu_ok(cuEventDestroy(event));
}

void clpt_fake_fill(CUdeviceptr memory, unsigned char byte, size_t bytes, CUstream stream)
{
  clpt_cu_ok(cuMemsetD8Async(memory, byte, bytes, stream));
}

void clpt_fake_assert_filled(CUdeviceptr memory, unsigned char byte, size_t bytes, CUstream stream)
{
  unsigned char *found = malloc(bytes);

  ck_assert_ptr_nonnull(found);
  clpt_cu_ok(cuMemcpyDtoHAsync(found, memory, bytes, stream));
  clpt_cu_ok(cuStreamSynchronize(stream));
  for (size_t i = 0; i < bytes; i++)
    ck_assert_msg(found[i] == byte, "byte %zu of %zu is %u, not %u", i, bytes, found[i], byte);
  free(found);
}

static void count_violation(const char *what)
{
  violations++;
  (void)snprintf(last_violation, sizeof(last_violation), "%s", what);
}

void clpt_fake_count_violations(void)
{
  fakecuda_on_violation(count_violation);
}

unsigned clpt_fake_violations(void)
{
  return violations;
}

const char *clpt_fake_last_violation(void)
{
  return last_violation;
}
