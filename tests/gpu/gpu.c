/* SPDX-License-Identifier: MIT */
/* A CUDA driver for tests. */
#include "gpu.h"

#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

enum { HANG_SECONDS = 120, SKIPPED = 77, STOPS = 8 };

clpt_gpu_calls cu;
CUstream clpt_stream, clpt_other;
static void (*reset_driver)(void);
static sem_t *stopped[STOPS]; /* what streams wait for; NULL: unused */

static bool load(const char *name)
{
  void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL), *address;
  bool found = library != NULL;

#define FIND(name, suffix, version, parameters)                                                    \
  address = found ? dlsym(library, #name #suffix) : NULL;                                          \
  found = address != NULL;                                                                         \
  memcpy(&cu.name, &address, sizeof(address)); /* POSIX has them the same size */
  FAKECUDA_FUNCTIONS(FIND)
#undef FIND
  return found;
}

static int skip(const char *why)
{
  (void)fprintf(stderr, "skipped: %s\n", why);
  return SKIPPED;
}

int clpt_gpu_main(int argument_count, char **arguments, const char *library,
                  void (*add)(Suite *suite), void (*reset)(void))
{
  bool is_importer = argument_count == 2 && strcmp(arguments[1], "import") == 0;
  int count = 0;

  reset_driver = reset;
  setenv("CLPOOL_CUDA_LIBRARY", library, 1);
  if (!load(library))
    return skip("there is no CUDA driver that has memory pools");
  if (is_importer)
    return clpt_gpu_import(reset);
  clpt_gpu_start_importer();
  if (cu.cuInit(0) != CLPI_CUDA_SUCCESS || cu.cuDeviceGetCount(&count) != CLPI_CUDA_SUCCESS ||
      count == 0)
    return skip("there is no GPU");
  Suite *suite = suite_create("cuda");
  clpt_gpu_add_driver(suite);
  clpt_gpu_add_allocator(suite);
  clpt_gpu_add_async_pool(suite);
  clpt_gpu_add_capture(suite);
  clpt_gpu_add_mempool(suite);
  clpt_gpu_add_share(suite);
  if (count > 1)
    clpt_gpu_add_two(suite);
  else
    (void)fprintf(stderr, "the case \"two\" is left out: there is one GPU\n");
  if (add)
    add(suite);
  setenv("CK_FORK", "no", 1);
  return clpt_run(suite);
}

/* Lets go what a test that failed has stopped. */
static void reset(void)
{
  for (size_t i = 0; i < STOPS; i++)
    if (stopped[i])
      clpt_gpu_go(stopped[i]);
  if (reset_driver)
    reset_driver();
}

static void setup(void)
{
  alarm(HANG_SECONDS); /* without a fork, Check has no time limit of its own */
  reset();
  clpt_gpu_open(0);
  clpt_stream = clpt_gpu_stream();
  clpt_other = clpt_gpu_stream();
}

static void teardown(void)
{
  clpt_gpu_ok(cu.cuStreamDestroy(clpt_stream));
  clpt_gpu_ok(cu.cuStreamDestroy(clpt_other));
  clpt_gpu_close(0);
  reset();
}

TCase *clpt_gpu_case(Suite *suite, const char *name)
{
  TCase *tests = clpt_case(suite, name);
  tcase_add_checked_fixture(tests, setup, teardown);
  return tests;
}

void clpt_gpu_open(CUdevice device)
{
  CUcontext ctx;
  clpt_gpu_ok(cu.cuDevicePrimaryCtxRetain(&ctx, device));
  clpt_gpu_ok(cu.cuCtxPushCurrent(ctx));
}

void clpt_gpu_close(CUdevice device)
{
  CUcontext ctx;
  clpt_gpu_ok(cu.cuCtxPopCurrent(&ctx));
  clpt_gpu_ok(cu.cuDevicePrimaryCtxRelease(device));
}

CUstream clpt_gpu_stream(void)
{
  CUstream stream;
  clpt_gpu_ok(cu.cuStreamCreate(&stream, FAKECUDA_STREAM_NON_BLOCKING));
  return stream;
}

static void wait_for_go(void *may_go_on)
{
  while (sem_wait(may_go_on) != 0)
    ; /* a signal came first */
}

void clpt_gpu_stop(sem_t *may_go_on, CUstream stream)
{
  size_t i = 0;
  while (stopped[i])
    ck_assert_uint_lt(++i, STOPS);
  ck_assert_int_eq(sem_init(may_go_on, 0, 0), 0);
  stopped[i] = may_go_on;
  clpt_gpu_ok(cu.cuLaunchHostFunc(stream, wait_for_go, may_go_on));
}

void clpt_gpu_go(sem_t *may_go_on)
{
  for (size_t i = 0; i < STOPS; i++)
    stopped[i] = stopped[i] == may_go_on ? NULL : stopped[i];
  ck_assert_int_eq(sem_post(may_go_on), 0);
}

void clpt_gpu_fill(CUdeviceptr memory, unsigned char byte, size_t bytes, CUstream stream)
{
  clpt_gpu_ok(cu.cuMemsetD8Async(memory, byte, bytes, stream));
}

void clpt_gpu_assert_filled(CUdeviceptr memory, unsigned char byte, size_t bytes, CUstream stream)
{
  unsigned char *found = malloc(bytes);
  size_t same = 0; /* an assertion for each byte would take long */

  ck_assert_ptr_nonnull(found);
  clpt_gpu_ok(cu.cuMemcpyDtoHAsync(found, memory, bytes, stream));
  clpt_gpu_ok(cu.cuStreamSynchronize(stream));
  while (same < bytes && found[same] == byte)
    same++;
  ck_assert_msg(same == bytes, "byte %zu is not %u", same, byte);
  free(found);
}
