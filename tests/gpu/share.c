/* SPDX-License-Identifier: MIT */
/* Two processes share a memory pool: the program, and itself started once more. */
#include "gpu.h"
#include "support/other_process.h"

#include <stdio.h>
#include <unistd.h>

enum { BYTES = 100000 };

/* --- the other process --- */

/* Check's assertions are not for this process. 0, or the line of what is wrong. */
#define MUST(condition)                                                                            \
  do {                                                                                             \
    if (!(condition))                                                                              \
      return __LINE__;                                                                             \
  } while (0)

/* What is not for imported pools. */
static int misuse(clp_cuda_mempool mempool, const clp_cuda_shared_pointer *shared)
{
  clp_cuda_shared_pointer wrong = *shared;
  unsigned long long pointer = 1;
  int fd;

  MUST(clp_cuda_mempool_export_fd(mempool, &fd) == CLP_INVALID_ARGUMENT && fd == -1);
  MUST(clp_cuda_mempool_trim_to(mempool, 0) == CLP_INVALID_ARGUMENT);
  MUST(clp_cuda_mempool_set_current(0, mempool) == CLP_INVALID_ARGUMENT);
  memset(&wrong, 0, sizeof(wrong));
  MUST(clp_cuda_pointer_import(mempool, &wrong, &pointer) == CLP_INVALID_ARGUMENT);
  MUST(pointer == 0);
  return 0;
}

/* Finds 1 in all bytes, and leaves 2. */
static int use(unsigned long long memory)
{
  static unsigned char found[BYTES];

  MUST(!cu.cuMemcpyDtoHAsync(found, memory, BYTES, FAKECUDA_STREAM_LEGACY));
  MUST(!cu.cuStreamSynchronize(FAKECUDA_STREAM_LEGACY));
  for (size_t i = 0; i < BYTES; i++)
    MUST(found[i] == 1);
  MUST(!cu.cuMemsetD8Async(memory, 2, BYTES, FAKECUDA_STREAM_LEGACY));
  MUST(!clp_cuda_pointer_free(memory, NULL));
  MUST(!cu.cuStreamSynchronize(FAKECUDA_STREAM_LEGACY));
  return 0;
}

static int import(const clp_cuda_shared_pointer *shared, int fd)
{
  clp_cuda_mempool mempool;
  unsigned long long memory;
  CUcontext ctx;

  MUST(!cu.cuInit(0));
  MUST(!cu.cuDevicePrimaryCtxRetain(&ctx, 0) && !cu.cuCtxPushCurrent(ctx));
  MUST(!clp_cuda_mempool_import_fd(fd, &mempool));
  MUST(close(fd) == 0); /* the pool has what it needs */
  int wrong = misuse(mempool, shared);
  if (wrong)
    return wrong;
  MUST(!clp_cuda_pointer_import(mempool, shared, &memory) && memory);
  wrong = use(memory);
  if (wrong)
    return wrong;
  MUST(!clp_cuda_mempool_destroy(mempool));
  MUST(!cu.cuCtxPopCurrent(&ctx) && !cu.cuDevicePrimaryCtxRelease(0));
  return 0;
}

int clpt_gpu_import(void (*reset)(void))
{
  clp_cuda_shared_pointer shared;
  int fd;

  if (!clpt_receive_with_fd(CLPT_OTHER_SOCKET, &shared, sizeof(shared), &fd))
    return EXIT_FAILURE;
  int wrong = import(&shared, fd);
  if (!wrong && reset)
    reset(); /* nothing is left */
  if (wrong)
    (void)fprintf(stderr, "the importer, line %d: %s\n", wrong, clp_last_error()->message);
  return wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* --- this one --- */

static pid_t process; /* started before this one uses CUDA, which does not survive a fork */
static int other_end;

/* Where nothing is sent to it, it ends with the socket. */
void clpt_gpu_start_importer(void)
{
  process = clpt_other_start("import", &other_end);
}

START_TEST(another_process_sees_the_same_bytes)
{
  clp_cuda_shared_pointer shared;
  clp_cuda_mempool mempool;
  int fd;

  clpt_ok_quietly(
      clp_cuda_mempool_create(CLPT_MEMPOOL(.handle_types = CLP_CUDA_HANDLE_POSIX_FD), &mempool));
  CUdeviceptr before = clpt_cuda_take(mempool, 1000, gpu.stream);
  CUdeviceptr memory = clpt_cuda_take(mempool, BYTES, gpu.stream); /* on no page */
  clpt_cuda_fill(memory, 1, BYTES, gpu.stream);
  clpt_cuda_ok(cu.cuStreamSynchronize(gpu.stream));
  clpt_ok_quietly(clp_cuda_mempool_export_fd(mempool, &fd));
  clpt_ok_quietly(clp_cuda_pointer_export(memory, &shared));
  ck_assert(clpt_send_with_fd(other_end, &shared, sizeof(shared), fd));
  ck_assert_int_eq(close(fd), 0);
  ck_assert(clpt_other_succeeded(process));
  clpt_cuda_assert_filled(memory, 2, BYTES, gpu.stream);
  clpt_cuda_give(before, gpu.stream);
  clpt_cuda_give(memory, gpu.stream);
  clpt_ok(clp_cuda_mempool_destroy(mempool));
}
END_TEST

CLPT_SUITE("share")
{
  tcase_add_test(clpt_gpu_case(suite, "share"), another_process_sees_the_same_bytes);
}
